//! Taking a kernel out of a Debian package.

use super::cache::{Cache, failed, sha256};
use super::{modules, sums};
use crate::error::GuestError;
use crate::tool::Tool;
use host::{Roots, Temporary};
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The first bytes of a Debian package.
const MAGIC: &[u8] = b"!<arch>\ndebian-binary";

/// The largest package, in bytes.
pub(super) const MOST_PACKAGE: u64 = 512 << 20;

/// The largest file that is taken out of a package, in bytes.
const MOST: u64 = 256 << 20;

/// What a package may hold unpacked, in bytes: a few hundred MiB are usual.
const MOST_UNPACKED: u64 = 4 << 30;

/// How many members a package may have: some thousand are usual.
const MOST_MEMBERS: usize = 200_000;

/// How long unpacking may take.
const LIMIT: Duration = Duration::from_secs(180);

/// Whether a file is a Debian package.
pub(super) fn is_package(path: &Path) -> Result<bool, GuestError> {
    let file = |source| GuestError::File { path: path.to_owned(), source };
    let mut start = Vec::new();
    let most = MAGIC.len() as u64;
    File::open(path).and_then(|f| f.take(most).read_to_end(&mut start)).map_err(file)?;
    Ok(start == MAGIC)
}

/// Takes the kernel, its configuration and the modules for a shared root out of a package, once for
/// each checksum; their folder.
pub(super) fn unpack(
    path: &Path,
    cache: &Cache,
    interrupted: &dyn Fn() -> bool,
) -> Result<PathBuf, GuestError> {
    let folder = cache.unpacked(&sha256(path)?);
    if sums::is_whole(&folder) {
        return Ok(folder);
    }
    let packages = folder.parent().unwrap_or(cache.folder());
    cache.make(packages)?;
    let beside = Temporary::folder(&Roots::real(), packages, ".unpacking-");
    let beside = beside.map_err(|source| failed(packages, source))?;
    let new = beside.path().join("new");
    cache.make(&new.join(modules::FOLDER))?;
    let done = take_out(path, &new, interrupted).and_then(|count| match count {
        0 => Err(GuestError::NotKernel {
            path: path.to_owned(),
            why: "a Debian package without a kernel in it".to_owned(),
        }),
        _ => Ok(()),
    });
    done.and_then(|()| sums::keep(&new, cache)).and_then(|()| put(&new, &folder))?;
    Ok(folder)
}

/// Puts what was taken out in its place. Another run may have unpacked the same one meanwhile, and
/// theirs is as good; one that was unpacked before checksums were kept goes.
fn put(new: &Path, folder: &Path) -> Result<(), GuestError> {
    if folder.is_dir() && !sums::is_whole(folder) {
        std::fs::remove_dir_all(folder).map_err(|source| failed(folder, source))?;
    }
    match std::fs::rename(new, folder) {
        Err(source) if !folder.is_dir() => Err(failed(folder, source)),
        _ => Ok(()),
    }
}

/// Writes kernel and configuration to a folder; how many kernels there were.
fn take_out(
    path: &Path,
    folder: &Path,
    interrupted: &dyn Fn() -> bool,
) -> Result<usize, GuestError> {
    let mut command = Tool::new("dpkg-deb", "install the package dpkg, or unpack it elsewhere");
    command.arg("--fsys-tarfile").arg(path).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    take_members(child.take_stdout()?, path, folder, interrupted)
}

/// Writes kernel and configuration of an archive to a folder; how many kernels there were.
pub(crate) fn take_members(
    archive: impl Read,
    path: &Path,
    folder: &Path,
    interrupted: &dyn Fn() -> bool,
) -> Result<usize, GuestError> {
    let torn = |why: String| GuestError::NotKernel { path: path.to_owned(), why };
    let mut archive = tar::Archive::new(archive.take(MOST_UNPACKED));
    let deadline = Instant::now() + LIMIT;
    let mut kernels = 0;
    let entries = archive.entries().map_err(|error| torn(error.to_string()))?;
    for (count, entry) in entries.enumerate() {
        if interrupted() {
            return Err(GuestError::Interrupted);
        }
        if count >= MOST_MEMBERS || Instant::now() > deadline {
            return Err(torn(format!(
                "a package of more than {MOST_MEMBERS} members, or that takes longer than {} s",
                LIMIT.as_secs()
            )));
        }
        let mut entry = entry.map_err(|error| {
            torn(format!("torn, or more than {} GiB unpacked: {error}", MOST_UNPACKED >> 30))
        })?;
        let name = entry.path().map(std::borrow::Cow::into_owned).unwrap_or_default();
        let Some(name) = wanted(&name).filter(|_| entry.header().entry_type().is_file()) else {
            continue;
        };
        if entry.size() > MOST {
            return Err(torn(format!("{name} in it is larger than {} MiB", MOST >> 20)));
        }
        kernels += usize::from(name.starts_with("vmlinuz"));
        let to = folder.join(name);
        let mut file = File::create(&to).map_err(|source| failed(&to, source))?;
        std::io::copy(&mut entry.by_ref().take(MOST), &mut file)
            .map_err(|source| failed(&to, source))?;
    }
    Ok(kernels)
}

/// The name under which a member of a package is kept; none for what is not needed.
fn wanted(member: &Path) -> Option<String> {
    let mut parts: Vec<&str> = member
        .components()
        .filter(|part| !matches!(part, Component::CurDir | Component::RootDir))
        .map(|part| part.as_os_str().to_str())
        .collect::<Option<_>>()?;
    let name = parts.pop()?;
    let place = parts.join("/");
    let modules = place.strip_prefix("usr/").unwrap_or(&place).strip_prefix("lib/modules/");
    let release = modules.filter(|release| !release.is_empty() && !release.contains('/'));
    match (place.as_str(), release) {
        ("boot", _) if name.starts_with("vmlinuz-") || name.starts_with("config-") => {
            Some(name.to_owned())
        }
        (_, Some(release)) if name == "vmlinuz" || name == "config" => {
            Some(format!("{name}-{release}"))
        }
        _ if modules.is_some_and(|place| place.contains("/kernel/")) && modules::wanted(name) => {
            Some(format!("{}/{name}", modules::FOLDER))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_where_debian_puts_them() {
        let wanted = |name: &str| wanted(Path::new(name));
        assert_eq!(wanted("./boot/vmlinuz-6.1.0"), Some("vmlinuz-6.1.0".into()));
        assert_eq!(wanted("./boot/config-6.1.0"), Some("config-6.1.0".into()));
        assert_eq!(wanted("./usr/lib/modules/7.2/vmlinuz"), Some("vmlinuz-7.2".into()));
        assert_eq!(wanted("lib/modules/7.2/config"), Some("config-7.2".into()));
        assert_eq!(
            wanted("./lib/modules/6.1/kernel/fs/fuse/virtiofs.ko"),
            Some("modules/virtiofs.ko".into())
        );
        for other in ["./lib/modules/6.1/kernel/fs/ext4/ext4.ko", "./fuse.ko"] {
            assert_eq!(wanted(other), None, "{other}");
        }
        for other in ["./boot/System.map-6", "./boot/a/vmlinuz-6", "../boot/vmlinuz-1", "vmlinuz"] {
            assert_eq!(wanted(other), None, "{other}");
        }
    }

    /// An archive without an end, of empty members.
    struct Endless {
        member: Vec<u8>,
        at: usize,
    }

    impl Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let rest = &self.member[self.at..];
            let count = rest.len().min(into.len());
            into[..count].copy_from_slice(&rest[..count]);
            self.at = (self.at + count) % self.member.len();
            Ok(count)
        }
    }

    #[test]
    fn an_archive_without_an_end_is_given_up() {
        let mut header = tar::Header::new_ustar();
        header.set_path("./x").unwrap();
        header.set_size(0);
        header.set_cksum();
        let endless = Endless { member: header.as_bytes().to_vec(), at: 0 };
        let folder = tempfile::tempdir().unwrap();
        let taken = take_members(endless, Path::new("k.deb"), folder.path(), &|| false);
        let message = taken.unwrap_err().to_string();
        assert!(message.contains("more than 200000 members"), "{message}");
    }

    #[test]
    fn a_folder_of_an_older_version_is_replaced_and_one_with_checksums_stays() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path().to_owned());
        let (first, second, folder) =
            (place.path().join("a"), place.path().join("b"), place.path().join("old"));
        for (new, text) in [(&first, "first"), (&second, "second"), (&folder, "older")] {
            std::fs::create_dir_all(new.join(modules::FOLDER)).unwrap();
            std::fs::write(new.join("vmlinuz-6"), text).unwrap();
        }
        sums::keep(&first, &cache).unwrap();
        sums::keep(&second, &cache).unwrap();
        put(&first, &folder).unwrap();
        put(&second, &folder).unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("vmlinuz-6")).unwrap(), "first");
    }

    #[test]
    fn a_file_that_begins_as_a_package_and_is_none_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("cache"));
        let file = folder.path().join("k.deb");
        std::fs::write(&file, [MAGIC, b"nonsense"].concat()).unwrap();
        assert!(is_package(&file).unwrap());
        assert!(unpack(&file, &cache, &|| false).is_err());
        let left = std::fs::read_dir(cache.folder().join("packages")).unwrap().count();
        assert_eq!(left, 0);
    }
}
