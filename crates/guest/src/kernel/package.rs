//! Taking a kernel out of a Debian package.

use super::modules;
use crate::error::GuestError;
use debian::package::{self, Member};
use debian::{Cache, DebianError, failed, sha256, sums};
use host::{Roots, Temporary};
use std::path::{Path, PathBuf};

/// Takes the kernel, its configuration and the modules for a shared root out of packages, each a
/// path and its name in messages, once for each checksum of the first; their folder.
pub(super) fn unpack(
    packages: &[(&Path, &str)],
    cache: &Cache,
    interrupted: &dyn Fn() -> bool,
) -> Result<PathBuf, GuestError> {
    let (first, name) = packages.first().copied().unwrap_or((Path::new(""), ""));
    let folder = cache.unpacked(&sha256(first)?);
    let complete = |folder: &Path| {
        sums::is_whole(folder) && (packages.len() == 1 || has_configuration(folder))
    };
    if complete(&folder) {
        return Ok(folder);
    }
    let parent = folder.parent().unwrap_or(cache.folder());
    cache.make(parent)?;
    let beside = Temporary::folder(&Roots::real(), parent, ".unpacking-");
    let beside = beside.map_err(|source| GuestError::from(failed(parent, source)))?;
    let new = beside.path().join("new");
    cache.make(&new.join(modules::FOLDER))?;
    let taken = packages.iter().map(|(path, of)| take_out(path, Path::new(of), &new, interrupted));
    let done = taken.sum::<Result<usize, _>>().and_then(|kernels| match kernels {
        0 => Err(GuestError::NotKernel {
            path: name.into(),
            why: "a Debian package without a kernel in it".to_owned(),
        }),
        _ => Ok(()),
    });
    done.and_then(|()| Ok(sums::keep(&new, cache)?)).and_then(|()| put(&new, &folder, complete))?;
    Ok(folder)
}

/// Whether what was unpacked has a kernel's configuration. Where that is in a package of its own,
/// the kernel may have been fetched without it.
fn has_configuration(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| entry.file_name().to_string_lossy().starts_with("config-"))
}

/// Puts what was taken out in its place. Another run may have unpacked the same one meanwhile, and
/// theirs is as good; one that lacks something, as what was unpacked before checksums were kept,
/// goes.
fn put(new: &Path, folder: &Path, complete: impl Fn(&Path) -> bool) -> Result<(), GuestError> {
    if folder.is_dir() && !complete(folder) {
        std::fs::remove_dir_all(folder).map_err(|source| failed(folder, source))?;
    }
    match std::fs::rename(new, folder) {
        Err(source) if !folder.is_dir() => Err(failed(folder, source).into()),
        _ => Ok(()),
    }
}

/// Writes kernel and configuration of an archive to a folder; how many kernels there were.
fn take_out(
    path: &Path,
    name: &Path,
    folder: &Path,
    interrupted: &dyn Fn() -> bool,
) -> Result<usize, GuestError> {
    let mut kernels = 0;
    package::each_member(path, name, interrupted, &mut |member| {
        take(member, folder, &mut kernels)
    })?;
    Ok(kernels)
}

/// As [`take_out`], of an archive that is at hand.
#[cfg(feature = "fuzz")]
pub(crate) fn take_members(
    archive: impl std::io::Read,
    path: &Path,
    folder: &Path,
    interrupted: &dyn Fn() -> bool,
) -> Result<usize, GuestError> {
    let mut kernels = 0;
    package::each_of_archive(archive, path, interrupted, &mut |member| {
        take(member, folder, &mut kernels)
    })?;
    Ok(kernels)
}

fn take(mut member: Member<'_>, folder: &Path, kernels: &mut usize) -> Result<(), DebianError> {
    let Some(name) = wanted(member.parts()).filter(|_| member.link().is_none()) else {
        return Ok(());
    };
    *kernels += usize::from(name.starts_with("vmlinuz"));
    member.write(&folder.join(name))
}

/// The name under which a member of a package is kept; none for what is not needed.
fn wanted(parts: &[String]) -> Option<String> {
    let (name, place) = parts.split_last()?;
    let place = place.join("/");
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
        let wanted = |name: &str| {
            let parts = name.split('/').filter(|part| *part != ".").map(str::to_owned);
            wanted(&parts.collect::<Vec<_>>())
        };
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
        put(&first, &folder, sums::is_whole).unwrap();
        put(&second, &folder, sums::is_whole).unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("vmlinuz-6")).unwrap(), "first");
        let third = place.path().join("c");
        std::fs::create_dir_all(third.join(modules::FOLDER)).unwrap();
        std::fs::write(third.join("config-6"), "CONFIG_EXT4_FS=m").unwrap();
        sums::keep(&third, &cache).unwrap();
        assert!(!has_configuration(&folder) && has_configuration(&third));
        put(&third, &folder, has_configuration).unwrap();
        assert!(has_configuration(&folder));
    }

    #[test]
    fn a_file_that_begins_as_a_package_and_is_none_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("cache"));
        let file = folder.path().join("k.deb");
        std::fs::write(&file, [package::MAGIC, b"nonsense"].concat()).unwrap();
        assert!(package::is_package(&file).unwrap());
        assert!(unpack(&[(&file, "k.deb")], &cache, &|| false).is_err());
        let left = std::fs::read_dir(cache.folder().join("packages")).unwrap().count();
        assert_eq!(left, 0);
    }
}
