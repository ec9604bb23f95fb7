//! Taking a kernel out of a Debian package.

use super::modules;
use crate::error::GuestError;
use debian::package::{self, Member};
use debian::{Cache, DebianError, failed, sha256, sums};
use host::{Roots, Temporary};
use std::ffi::OsString;
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
    if sums::is_whole(&folder) && (packages.len() == 1 || configuration(&folder).is_some()) {
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
    done.and_then(|()| Ok(sums::keep(&new, cache)?)).and_then(|()| put(&new, &folder))?;
    Ok(folder)
}

/// The name of a kernel's configuration in a folder. Where that is in a package of its own, the
/// kernel may have been fetched without it.
fn configuration(folder: &Path) -> Option<OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name());
    names.find(|name| name.to_string_lossy().starts_with("config-"))
}

/// Puts what was taken out in its place. Another run may have unpacked the same one meanwhile, and
/// theirs is as good; one that was unpacked before checksums were kept goes.
fn put(new: &Path, folder: &Path) -> Result<(), GuestError> {
    if sums::is_whole(folder) {
        return add_configuration(new, folder);
    }
    if folder.is_dir() {
        std::fs::remove_dir_all(folder).map_err(|source| failed(folder, source))?;
    }
    match std::fs::rename(new, folder) {
        Err(source) if !folder.is_dir() => Err(failed(folder, source).into()),
        _ => Ok(()),
    }
}

/// Adds a configuration to a kernel that was unpacked without it, and that a guest may be booting.
/// Its checksum comes first: who finds the file already finds that too.
fn add_configuration(new: &Path, folder: &Path) -> Result<(), GuestError> {
    let Some(name) = configuration(new).filter(|_| configuration(folder).is_none()) else {
        return Ok(());
    };
    for name in [sums::FILE.as_ref(), name.as_os_str()] {
        let place = folder.join(name);
        std::fs::rename(new.join(name), &place).map_err(|source| failed(&place, source))?;
    }
    Ok(())
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
        put(&first, &folder).unwrap();
        put(&second, &folder).unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("vmlinuz-6")).unwrap(), "first");
    }

    #[test]
    fn a_configuration_of_another_package_is_added_to_a_kernel_that_is_there() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path().join("cache"));
        let deb = |name: &str, file: &str| {
            let tree = place.path().join(name);
            for (path, text) in [
                (
                    "DEBIAN/control",
                    "Package: x\nVersion: 1\nArchitecture: all\nDescription: x\n\
                                    Maintainer: x <x@example.org>\n",
                ),
                (file, name),
            ] {
                std::fs::create_dir_all(tree.join(path).parent().unwrap()).unwrap();
                std::fs::write(tree.join(path), text).unwrap();
            }
            let deb = tree.with_extension("deb");
            let mut made = std::process::Command::new("dpkg-deb");
            let made = made.arg("--build").arg(&tree).arg(&deb).output().ok();
            made.filter(|made| made.status.success()).map(|_| deb)
        };
        let (kernel, base) = (deb("kernel", "boot/vmlinuz-6"), deb("base", "boot/config-6"));
        let (Some(kernel), Some(base)) = (kernel, base) else {
            return testing::skipped("no dpkg-deb");
        };
        let alone = [(kernel.as_path(), "kernel")];
        let both = [alone[0], (base.as_path(), "base")];
        let folder = unpack(&alone, &cache, &|| false).unwrap();
        let inode = || std::os::unix::fs::MetadataExt::ino(&folder.metadata().unwrap());
        let (before, is_there) = (inode(), || configuration(&folder).is_some());
        assert!(!is_there());
        // A package without a kernel is none, beside one of a kernel or not.
        assert!(unpack(&[both[1]], &cache, &|| false).is_err());
        for _ in 0..2 {
            assert_eq!(unpack(&both, &cache, &|| false).unwrap(), folder);
            assert!(is_there() && inode() == before);
            sums::compare_all(&folder, &cache).unwrap();
        }
        assert_eq!(unpack(&alone, &cache, &|| false).unwrap(), folder);
        assert!(is_there());
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
