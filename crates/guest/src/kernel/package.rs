//! Extracts a kernel from a Debian package.

use super::modules;
use super::search::Search;
use crate::error::GuestError;
use debian::package::{self, Member};
use debian::{Cache, DebianError, failed, sha256, sums};
use host::{Roots, Temporary};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A package: its path, and its name in messages.
pub(super) type Named<'a> = (&'a Path, &'a str);

/// The same as [`unpack`], for a package that the user named. Another user may be able to exchange
/// or change it, so a copy in the cache is unpacked. If an earlier version of tailback unpacked it
/// without the driver of loop devices, its modules are added.
pub(super) fn unpack_given(
    path: &Path,
    cache: &Cache,
    search: Search,
    note: &mut dyn FnMut(&str),
    interrupted: &dyn Fn() -> bool,
) -> Result<PathBuf, GuestError> {
    let copy = package::take_in(path, cache)?;
    let name = path.display().to_string();
    let folder = unpack((copy.path(), &name), cache, interrupted)?;
    if search.loop_devices && lacks_loop(&folder) {
        let _turn = cache.lock(note, interrupted)?;
        add_modules((copy.path(), &name), &folder, cache, interrupted)?;
    }
    Ok(folder)
}

/// Extracts the kernel, its configuration and the modules that some guests load from a package,
/// once for each checksum. Returns the folder. The package is opened twice, so no other user may
/// be able to exchange or change it.
pub(super) fn unpack(
    (path, name): Named,
    cache: &Cache,
    interrupted: &dyn Fn() -> bool,
) -> Result<PathBuf, GuestError> {
    let folder = cache.unpacked(&sha256(path)?);
    if sums::is_whole(&folder) {
        return Ok(folder);
    }
    let beside = beside(&folder, cache)?;
    let new = beside.path().join("new");
    cache.make(&new.join(modules::FOLDER))?;
    let done = take_out(path, Path::new(name), &new, interrupted).and_then(|count| match count {
        0 => Err(GuestError::NotKernel {
            path: name.into(),
            why: "a Debian package without a kernel in it".to_owned(),
        }),
        _ => Ok(()),
    });
    done.and_then(|()| Ok(sums::keep(&new, cache)?)).and_then(|()| publish(&new, &folder))?;
    Ok(folder)
}

/// Adds the configuration from another package to a kernel that was unpacked without it. A guest
/// may be booting that kernel.
pub(super) fn add_configuration(
    (path, name): Named,
    folder: &Path,
    cache: &Cache,
    interrupted: &dyn Fn() -> bool,
) -> Result<(), GuestError> {
    let beside = beside(folder, cache)?;
    take_out(path, Path::new(name), beside.path(), interrupted)?;
    if let Some(name) = configuration(beside.path()) {
        sums::add(&beside.path().join(&name), Path::new(&name), folder, cache)?;
    }
    Ok(())
}

/// Adds the modules of a package to a kernel that was unpacked without them: by an earlier version
/// of tailback, or from another package. Earlier versions ignore them. A guest may be booting that
/// kernel. The caller holds the lock of the cache.
pub(super) fn add_modules(
    (path, name): Named,
    folder: &Path,
    cache: &Cache,
    interrupted: &dyn Fn() -> bool,
) -> Result<(), GuestError> {
    let beside = beside(folder, cache)?;
    let new = beside.path().join(modules::FOLDER);
    cache.make(&new)?;
    take_out(path, Path::new(name), beside.path(), interrupted)?;
    cache.make(&folder.join(modules::FOLDER))?;
    for module in modules::among(&new) {
        let below = Path::new(modules::FOLDER).join(module.file_name().unwrap_or_default());
        if folder.join(&below).symlink_metadata().is_err() {
            sums::add(&module, &below, folder, cache)?;
        }
    }
    Ok(())
}

/// Whether an unpacked kernel has loop devices only as a module, and that module is not there.
pub(super) fn lacks_loop(folder: &Path) -> bool {
    let config = configuration(folder).map(|name| folder.join(name));
    let there = modules::among(&folder.join(modules::FOLDER));
    modules::LOOP.is_missing(config.as_deref(), &there)
}

/// A temporary folder on the same file system as its final place.
fn beside(folder: &Path, cache: &Cache) -> Result<Temporary, GuestError> {
    let parent = folder.parent().unwrap_or(cache.folder());
    cache.make(parent)?;
    let beside = Temporary::folder(&Roots::real(), parent, ".unpacking-");
    beside.map_err(|source| GuestError::from(failed(parent, source)))
}

/// The name of a kernel's configuration in a folder. If the configuration is in a separate
/// package, the kernel may have been fetched without it.
pub(super) fn configuration(folder: &Path) -> Option<OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name());
    names.find(|name| name.to_string_lossy().starts_with("config-"))
}

/// Moves the extracted files to their place. If another run has unpacked the same package
/// meanwhile, its files are used. Files from before checksums were kept are replaced.
fn publish(new: &Path, folder: &Path) -> Result<(), GuestError> {
    if folder.is_dir() && !sums::is_whole(folder) {
        std::fs::remove_dir_all(folder).map_err(|source| failed(folder, source))?;
    }
    match std::fs::rename(new, folder) {
        Err(source) if !folder.is_dir() => Err(failed(folder, source).into()),
        _ => Ok(()),
    }
}

/// Writes kernel and configuration from an archive to a folder. Returns the number of kernels.
fn take_out(
    path: &Path,
    name: &Path,
    folder: &Path,
    interrupted: &dyn Fn() -> bool,
) -> Result<usize, GuestError> {
    let mut kernels = 0;
    package::each_member(path, name, interrupted, &mut |member| {
        unpack_member(member, folder, &mut kernels)
    })?;
    Ok(kernels)
}

/// The same as [`take_out`], for an archive in memory.
#[cfg(feature = "fuzz")]
pub(crate) fn take_members(
    archive: impl std::io::Read,
    path: &Path,
    folder: &Path,
    interrupted: &dyn Fn() -> bool,
) -> Result<usize, GuestError> {
    let mut kernels = 0;
    package::each_of_archive(archive, path, interrupted, &mut |member| {
        unpack_member(member, folder, &mut kernels)
    })?;
    Ok(kernels)
}

fn unpack_member(
    mut member: Member<'_>,
    folder: &Path,
    kernels: &mut usize,
) -> Result<(), DebianError> {
    let Some(name) = wanted(member.parts()).filter(|_| member.link().is_none()) else {
        return Ok(());
    };
    *kernels += usize::from(name.starts_with("vmlinuz"));
    member.write(&folder.join(name))
}

/// The file name for a member of a package. None for members that are not needed.
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
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    /// A package with this name and this file, whose content is the name. None without dpkg-deb.
    fn deb(place: &Path, name: &str, file: &str) -> Option<PathBuf> {
        deb_of(place, name, &[(file, name)])
    }

    /// A package with this name and these files, with their content.
    fn deb_of(place: &Path, name: &str, files: &[(&str, &str)]) -> Option<PathBuf> {
        let tree = place.join(name);
        let control = "Package: x\nVersion: 1\nArchitecture: all\nDescription: x\n\
                       Maintainer: x <x@example.org>\n";
        for (path, text) in [("DEBIAN/control", control)].iter().chain(files) {
            std::fs::create_dir_all(tree.join(path).parent().unwrap()).unwrap();
            std::fs::write(tree.join(path), text).unwrap();
        }
        let deb = tree.with_extension("deb");
        let mut made = std::process::Command::new("dpkg-deb");
        let made = made.arg("--build").arg(&tree).arg(&deb).output().ok();
        made.filter(|made| made.status.success()).map(|_| deb)
    }

    #[test]
    fn a_package_that_is_exchanged_meanwhile_is_kept_under_its_own_checksum() {
        let place = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| deb(place.path(), name, "boot/vmlinuz-6"));
        let (Some(one), Some(other)) = (one, other) else {
            return testing::skipped("no dpkg-deb");
        };
        let right = [("one", sha256(&one).unwrap()), ("other", sha256(&other).unwrap())];
        let done = AtomicBool::new(false);
        let unpacked: Vec<_> = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                    std::thread::sleep(Duration::from_micros(50));
                }
            });
            let cache = |number: u32| Cache::at(place.path().join(format!("cache-{number}")));
            let unpack = |number| {
                let search = Search::default();
                unpack_given(&one, &cache(number), search, &mut |_| {}, &|| false)
            };
            let unpacked = (0..20).map(unpack).collect();
            done.store(true, Ordering::Relaxed);
            unpacked
        });
        for folder in unpacked.into_iter().map(Result::unwrap) {
            let kernel = std::fs::read_to_string(folder.join("vmlinuz-6")).unwrap();
            let sum = folder.file_name().unwrap().to_str().unwrap().to_owned();
            assert!(right.contains(&(kernel.as_str(), sum)), "{kernel}: {}", folder.display());
        }
    }

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
        assert_eq!(
            wanted("./usr/lib/modules/7.2/kernel/drivers/block/loop.ko.xz"),
            Some("modules/loop.ko.xz".into())
        );
        for other in ["./lib/modules/6.1/kernel/fs/xfs/xfs.ko", "./fuse.ko", "./loop.ko"] {
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
        publish(&first, &folder).unwrap();
        publish(&second, &folder).unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("vmlinuz-6")).unwrap(), "first");
    }

    #[test]
    fn a_configuration_of_another_package_is_added_to_a_kernel_that_is_there() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path().join("cache"));
        let deb = |name, file| deb(place.path(), name, file);
        let (kernel, base) = (deb("kernel", "boot/vmlinuz-6"), deb("base", "boot/config-6"));
        let (Some(kernel), Some(base)) = (kernel, base) else {
            return testing::skipped("no dpkg-deb");
        };
        let folder = unpack((&kernel, "kernel"), &cache, &|| false).unwrap();
        let inode = || std::os::unix::fs::MetadataExt::ino(&folder.metadata().unwrap());
        let (before, is_there) = (inode(), || configuration(&folder).is_some());
        // A package without a kernel is an error, and a package without a configuration adds
        // nothing.
        assert!(unpack((&base, "base"), &cache, &|| false).is_err());
        add_configuration((&kernel, "kernel"), &folder, &cache, &|| false).unwrap();
        assert!(!is_there());
        for _ in 0..2 {
            add_configuration((&base, "base"), &folder, &cache, &|| false).unwrap();
            assert!(is_there() && inode() == before);
            sums::compare_all(&folder, &cache).unwrap();
        }
        assert_eq!(unpack((&kernel, "kernel"), &cache, &|| false).unwrap(), folder);
        let left = std::fs::read_dir(folder.parent().unwrap()).unwrap().count();
        assert!(is_there() && left == 1);
    }

    /// The state of a cache after an earlier version of tailback, which took no such module.
    #[test]
    fn a_kernel_that_an_earlier_version_cached_gets_its_driver_of_loop_devices() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path().join("cache"));
        let module = "lib/modules/6/kernel/drivers/block/loop.ko.xz";
        let files = [
            ("boot/vmlinuz-6", "kernel"),
            ("boot/config-6", "CONFIG_BLK_DEV_LOOP=m\n"),
            (module, "module"),
        ];
        let Some(deb) = deb_of(place.path(), "kernel", &files) else {
            return testing::skipped("no dpkg-deb");
        };
        let folder = cache.unpacked(&sha256(&deb).unwrap());
        cache.make(&folder.join(modules::FOLDER)).unwrap();
        for (name, text) in [("vmlinuz-6", files[0].1), ("config-6", files[1].1)] {
            std::fs::write(folder.join(name), text).unwrap();
        }
        sums::keep(&folder, &cache).unwrap();
        let unpack = |loop_devices| {
            let search = Search { loop_devices, ..Search::default() };
            unpack_given(&deb, &cache, search, &mut |_| {}, &|| false).unwrap()
        };
        assert_eq!(unpack(false), folder);
        assert!(lacks_loop(&folder), "a guest that needs no loop device changes nothing");
        for _ in 0..2 {
            assert_eq!(unpack(true), folder);
            assert!(!lacks_loop(&folder));
            let added = std::fs::read_to_string(folder.join("modules/loop.ko.xz")).unwrap();
            assert_eq!(added, "module");
            sums::compare_all(&folder, &cache).unwrap();
        }
        let left = std::fs::read_dir(folder.parent().unwrap()).unwrap().count();
        assert_eq!(left, 1);
    }

    #[test]
    fn modules_of_a_package_of_their_own_are_added_to_their_kernel() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path().join("cache"));
        let module = "usr/lib/modules/7.2/kernel/drivers/block/loop.ko.xz";
        let kernel = deb(place.path(), "kernel", "usr/lib/modules/7.2/vmlinuz");
        let (Some(kernel), Some(other)) = (kernel, deb(place.path(), "modules", module)) else {
            return testing::skipped("no dpkg-deb");
        };
        let folder = unpack((&kernel, "kernel"), &cache, &|| false).unwrap();
        add_modules((&kernel, "kernel"), &folder, &cache, &|| false).unwrap();
        assert_eq!(modules::among(&folder.join(modules::FOLDER)), Vec::<PathBuf>::new());
        add_modules((&other, "modules"), &folder, &cache, &|| false).unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("modules/loop.ko.xz")).unwrap(), "modules");
        sums::compare_all(&folder, &cache).unwrap();
    }

    #[test]
    fn a_file_that_begins_as_a_package_and_is_none_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("cache"));
        let file = folder.path().join("k.deb");
        std::fs::write(&file, [package::MAGIC, b"nonsense"].concat()).unwrap();
        assert!(package::is_package(&file).unwrap());
        assert!(unpack((&file, "k.deb"), &cache, &|| false).is_err());
        let left = std::fs::read_dir(cache.folder().join("packages")).unwrap().count();
        assert_eq!(left, 0);
    }
}
