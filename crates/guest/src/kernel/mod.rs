//! Finds a kernel by the name that the user gives.

mod config;
mod debian;
pub mod image;
mod modules;
pub(crate) mod package;
mod search;

use crate::error::GuestError;
use ::debian::{Cache, sha256, sums};
use os::arch::Arch;
pub use search::Search;
use std::path::{Path, PathBuf};

/// The folder of the cache with the kernels of `make kernels`.
const BUILT: &str = "built";

/// Starts of the names of kernel images in a folder.
const IMAGES: &[&str] = &["vmlinuz", "bzImage", "Image"];

/// Path of the image in a kernel source tree after `make`.
const fn image_in_tree(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "arch/x86/boot/bzImage",
        Arch::Aarch64 => "arch/arm64/boot/Image",
    }
}

/// A bootable kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The name that the user gave.
    pub name: String,
    /// Its image.
    pub image: PathBuf,
    /// Its release, from its image.
    pub release: String,
    /// The SHA-256 of its image, in hexadecimal.
    pub sha256: String,
    /// Its configuration, if that is beside it.
    pub config: Option<PathBuf>,
    /// Those of its modules that some guests load.
    pub modules: Vec<PathBuf>,
}

impl Kernel {
    /// Whether it has virtiofs only as a module, and that module is not available.
    ///
    /// Without a configuration, virtiofs is assumed to be built in.
    pub fn lacks_virtiofs(&self) -> bool {
        modules::VIRTIOFS.is_missing(self.config.as_deref(), &self.modules)
    }

    /// The same for its driver of loop devices.
    pub fn lacks_loop(&self) -> bool {
        modules::LOOP.is_missing(self.config.as_deref(), &self.modules)
    }

    /// The modules that a guest loads before its command begins: those for a shared root, and
    /// those for file systems on loop devices.
    pub fn modules_for(&self, root: bool, loop_devices: bool) -> Vec<PathBuf> {
        modules::loaded(&self.modules, root, loop_devices)
    }
}

/// The kernel for this architecture with this name: `debian:6.12`, `built:slices-expire`, an
/// image, a Debian package, the folder of an unpacked package, or a kernel source tree in which it
/// was built.
///
/// `note` receives a line about each slow step. A package in the cache that lacks what the search
/// has to find is fetched or unpacked again. If it cannot be fetched, it is used as it is.
///
/// # Errors
/// If there is none, if it is a kernel for another architecture, or if it could not be fetched.
pub fn find(
    name: &str,
    arch: Arch,
    cache: &Cache,
    search: Search,
    note: &mut dyn FnMut(&str),
    interrupted: &dyn Fn() -> bool,
) -> Result<Kernel, GuestError> {
    let Found { image, config, modules } = match name.split_once(':') {
        Some(("debian", series)) => {
            let folder = debian::fetch(series, arch, cache, search, note, interrupted)?;
            of_cache(&folder, cache)?
        }
        Some((BUILT, which)) => built(name, which, arch, cache)?,
        _ => of_path(Path::new(name), arch, cache, search, note, interrupted)?,
    };
    let release = image::check(&image, arch)?;
    config.as_deref().map_or(Ok(()), |config| config::check(config, arch))?;
    let sha256 = sha256(&image)?;
    // The modules of a kernel that is installed on this host are in another folder.
    let modules = match modules.is_empty() && host::roots::is_release(&release) {
        true => modules::of_release(&Path::new("/lib/modules").join(&release)),
        false => modules,
    };
    Ok(Kernel { name: name.to_owned(), image, release, sha256, config, modules })
}

/// The SHA-256 of the image of the kernel with this name. That of a package is the one of the
/// package itself, which is not unpacked.
///
/// # Errors
/// Those of [`find`].
pub fn checksum(
    name: &str,
    arch: Arch,
    cache: &Cache,
    note: &mut dyn FnMut(&str),
    interrupted: &dyn Fn() -> bool,
) -> Result<String, GuestError> {
    let path = Path::new(name);
    match path.is_file() && ::debian::package::is_package(path)? {
        true => Ok(sha256(path)?),
        false => {
            let kernel = find(name, arch, cache, Search::default(), note, interrupted)?;
            Ok(kernel.sha256)
        }
    }
}

/// The files of a kernel.
struct Found {
    image: PathBuf,
    config: Option<PathBuf>,
    modules: Vec<PathBuf>,
}

fn built(name: &str, which: &str, arch: Arch, cache: &Cache) -> Result<Found, GuestError> {
    if arch != Arch::X86_64 {
        let why = "make kernels builds kernels for x86_64 only; name an Image or debian:6.12";
        return Err(GuestError::Unknown { spec: name.to_owned(), why: why.to_owned() });
    }
    let plain = !which.is_empty() && which.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let folder = cache.folder().join(BUILT).join(which);
    match plain && folder.join("bzImage").is_file() {
        true => {
            let found = of_folder(&folder)?;
            files(&found).try_for_each(|file| cache.check(file))?;
            Ok(found)
        }
        false => Err(GuestError::Unknown {
            spec: name.to_owned(),
            why: format!("{} is not there; build it: make kernels", folder.display()),
        }),
    }
}

fn of_path(
    path: &Path,
    arch: Arch,
    cache: &Cache,
    search: Search,
    note: &mut dyn FnMut(&str),
    interrupted: &dyn Fn() -> bool,
) -> Result<Found, GuestError> {
    let metadata = std::fs::metadata(path).map_err(|error| GuestError::Unknown {
        spec: path.display().to_string(),
        why: format!(
            "{error}; name a bzImage (arm64: an Image), a Debian package, a folder with a \
             kernel, a built kernel tree, or debian:6.12"
        ),
    })?;
    if metadata.is_dir() {
        return match is_tree(path, arch) {
            true => of_tree(path, arch),
            false => of_folder(path),
        };
    }
    // Users often name the vmlinux of their tree, but QEMU boots the image that is built from it.
    let tree = path.parent().filter(|tree| is_tree(tree, arch));
    if let (Some(tree), true) = (tree, path.file_name().is_some_and(|name| name == "vmlinux")) {
        return of_tree(tree, arch);
    }
    if !metadata.is_file() {
        return Err(GuestError::NotKernel { path: path.to_owned(), why: "not a file".to_owned() });
    }
    if ::debian::package::is_package(path)? {
        let folder = package::unpack_given(path, cache, search, note, interrupted)?;
        return of_cache(&folder, cache);
    }
    Ok(Found { image: path.to_owned(), config: None, modules: Vec::new() })
}

/// Whether a folder is a kernel source tree, or a build folder of one (`make O=`).
fn is_tree(folder: &Path, arch: Arch) -> bool {
    ["Kbuild", "source", image_in_tree(arch)].iter().any(|name| folder.join(name).exists())
        && folder.join("Makefile").is_file()
}

/// The kernel that was built in a tree.
fn of_tree(tree: &Path, arch: Arch) -> Result<Found, GuestError> {
    let place = image_in_tree(arch);
    let image = tree.join(place);
    if !image.is_file() {
        let why = format!("a kernel tree without {place}: run make in it");
        return Err(GuestError::Unknown { spec: tree.display().to_string(), why });
    }
    let changed = |file: &Path| std::fs::metadata(file).and_then(|file| file.modified()).ok();
    if changed(&tree.join("vmlinux")) > changed(&image) {
        let why = format!("{place} is older than vmlinux: run make in it");
        return Err(GuestError::Unknown { spec: tree.display().to_string(), why });
    }
    let config = Some(tree.join(".config")).filter(|config| config.is_file());
    Ok(Found { image, config, modules: Vec::new() })
}

/// The kernel that was unpacked into the cache, if it is unchanged.
fn of_cache(folder: &Path, cache: &Cache) -> Result<Found, GuestError> {
    let found = of_folder(folder)?;
    sums::compare(folder, files(&found), cache)?;
    Ok(found)
}

fn files(found: &Found) -> impl Iterator<Item = &PathBuf> {
    std::iter::once(&found.image).chain(&found.config).chain(&found.modules)
}

/// The image and the configuration in a folder, or in its `boot` folder or its module folder.
fn of_folder(folder: &Path) -> Result<Found, GuestError> {
    let mut places = vec![folder.to_owned(), folder.join("boot")];
    let mut found_modules = modules::among(&folder.join(modules::FOLDER));
    for modules in ["lib/modules", "usr/lib/modules"] {
        let entries = std::fs::read_dir(folder.join(modules)).into_iter().flatten().flatten();
        for release in entries.map(|entry| entry.path()) {
            found_modules.extend(modules::of_release(&release));
            places.push(release);
        }
    }
    let file = |starts: &[&str]| {
        let entries = places.iter().filter_map(|place| std::fs::read_dir(place).ok()).flatten();
        let mut found: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                starts.iter().any(|start| name.starts_with(start)) && path.is_file()
            })
            .collect();
        found.sort();
        found
    };
    let mut images = file(IMAGES);
    match (images.pop(), images.is_empty()) {
        (Some(image), true) => {
            Ok(Found { image, config: file(&["config"]).pop(), modules: found_modules })
        }
        (Some(_), false) => Err(GuestError::NotKernel {
            path: folder.to_owned(),
            why: "a folder with several kernels: name one of the files".to_owned(),
        }),
        (None, _) => Err(GuestError::NotKernel {
            path: folder.to_owned(),
            why: "a folder without vmlinuz, bzImage or Image".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_in(cache: &Cache, name: &str) -> Result<Kernel, GuestError> {
        find(name, Arch::X86_64, cache, Search::default(), &mut |_| {}, &|| false)
    }

    /// An x86 kernel with this release.
    fn bzimage(release: &str) -> Vec<u8> {
        image::tests::kernel(Arch::X86_64, release)
    }

    #[test]
    fn an_image_is_found_alone_and_in_folders() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("cache"));
        let boot = folder.path().join("boot");
        std::fs::create_dir_all(&boot).unwrap();
        std::fs::write(boot.join("vmlinuz-6.1"), bzimage("6.1.0-x")).unwrap();
        std::fs::write(boot.join("config-6.1"), config::tests::whole(Arch::X86_64)).unwrap();
        for name in [folder.path().to_owned(), boot.clone(), boot.join("vmlinuz-6.1")] {
            let kernel = find_in(&cache, name.to_str().unwrap()).unwrap();
            assert_eq!((kernel.release.as_str(), kernel.sha256.len()), ("6.1.0-x", 64));
            assert_eq!(kernel.config.is_some(), name != boot.join("vmlinuz-6.1"));
        }
        std::fs::write(boot.join("vmlinuz-6.2"), "").unwrap();
        assert!(find_in(&cache, boot.to_str().unwrap()).is_err());
    }

    #[test]
    fn the_checksum_of_a_name_is_that_of_the_image_or_the_package_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("cache"));
        let path = folder.path().join("kernel");
        let checksum = || {
            checksum(path.to_str().unwrap(), Arch::X86_64, &cache, &mut |_| {}, &|| false).unwrap()
        };
        std::fs::write(&path, bzimage("6.1.0")).unwrap();
        let first = checksum();
        assert_eq!(first, find_in(&cache, path.to_str().unwrap()).unwrap().sha256);
        std::fs::write(&path, bzimage("6.1.1")).unwrap();
        assert_ne!(checksum(), first);
        std::fs::write(&path, [::debian::package::MAGIC, b"a"].concat()).unwrap();
        assert_eq!(checksum(), sha256(&path).unwrap());
        assert!(!cache.folder().exists(), "nothing is unpacked");
    }

    #[test]
    fn a_kernel_tree_is_booted_by_its_folder_or_its_vmlinux() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("cache"));
        for arch in [Arch::X86_64, Arch::Aarch64] {
            let tree = folder.path().join(arch.word());
            let image = tree.join(image_in_tree(arch));
            std::fs::create_dir_all(image.parent().unwrap()).unwrap();
            for name in ["Makefile", "Kbuild", "vmlinux"] {
                std::fs::write(tree.join(name), "").unwrap();
            }
            let find = |path: &Path| {
                let name = path.to_str().unwrap();
                super::find(name, arch, &cache, Search::default(), &mut |_| {}, &|| false)
            };
            let error = find(&tree).unwrap_err().to_string();
            assert!(error.ends_with("run make in it"), "{error}");
            std::fs::write(&image, image::tests::kernel(arch, "6.18.0-rc1")).unwrap();
            for path in [tree.clone(), tree.join("vmlinux"), image] {
                assert_eq!(find(&path).unwrap().release, "6.18.0-rc1", "{}", path.display());
            }
            std::fs::write(tree.join(".config"), "CONFIG_64BIT=y\n").unwrap();
            let error = find(&tree).unwrap_err().to_string();
            assert!(error.contains(".config: lacks CONFIG_BINFMT_ELF, "), "{error}");
        }
    }

    #[test]
    fn a_kernel_that_was_not_built_says_how_to_build_it() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        for name in ["built:plain", "built:../plain", "built:"] {
            let error = find_in(&cache, name).unwrap_err();
            assert!(error.to_string().contains("make kernels"), "{error}");
        }
        let built = folder.path().join("built/plain");
        std::fs::create_dir_all(&built).unwrap();
        std::fs::write(built.join("bzImage"), bzimage("6.12.1")).unwrap();
        assert_eq!(find_in(&cache, "built:plain").unwrap().release, "6.12.1");
        let arm = Arch::Aarch64;
        let arm = find("built:plain", arm, &cache, Search::default(), &mut |_| {}, &|| false);
        assert!(arm.unwrap_err().to_string().contains("x86_64 only"));
    }

    #[test]
    fn a_kernel_that_is_not_what_was_unpacked_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        let package = folder.path().join("packages/sum");
        std::fs::create_dir_all(package.join(modules::FOLDER)).unwrap();
        let image = package.join("vmlinuz-6.1");
        std::fs::write(&image, bzimage("6.1.0")).unwrap();
        sums::keep(&package, &cache).unwrap();
        assert_eq!(of_cache(&package, &cache).unwrap().image, image);
        std::fs::write(&image, bzimage("6.1.0-evil")).unwrap();
        let error = of_cache(&package, &cache).err().unwrap().to_string();
        assert!(error.contains("differs from what was unpacked"), "{error}");
    }

    #[test]
    fn a_built_kernel_of_another_user_is_not_booted() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        let built = folder.path().join("built/plain");
        std::fs::create_dir_all(&built).unwrap();
        let image = built.join("bzImage");
        std::fs::write(&image, bzimage("6.12.1")).unwrap();
        if std::os::unix::fs::chown(&image, Some(65_534), None).is_err() {
            return testing::skipped("only root can give a file away");
        }
        let error = find_in(&cache, "built:plain").unwrap_err();
        assert!(
            matches!(error, GuestError::Debian(::debian::DebianError::Unsafe { .. })),
            "{error}"
        );
    }

    #[test]
    fn what_is_not_there_is_said_to_be_not_there() {
        let cache = Cache::at("/nonexistent/cache".into());
        for name in ["/nonexistent/k", ""] {
            assert!(matches!(find_in(&cache, name), Err(GuestError::Unknown { .. })), "{name}");
        }
        assert!(matches!(find_in(&cache, "/dev/null"), Err(GuestError::NotKernel { .. })));
        assert!(matches!(find_in(&cache, "debian:2.4"), Err(GuestError::Unknown { .. })));
    }

    #[test]
    fn a_kernel_lacks_virtiofs_where_it_is_a_module_that_is_not_here() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config");
        let kernel = |modules: &[&str]| Kernel {
            name: "k".into(),
            image: "/k".into(),
            release: "6.1.0".into(),
            sha256: String::new(),
            config: Some(config.clone()),
            modules: modules.iter().map(PathBuf::from).collect(),
        };
        for (text, lacks) in [("CONFIG_VIRTIO_FS=y\n", false), ("CONFIG_VIRTIO_FS=m\n", true)] {
            std::fs::write(&config, text).unwrap();
            assert_eq!(kernel(&["/m/fuse.ko"]).lacks_virtiofs(), lacks);
            assert!(!kernel(&["/m/fuse.ko", "/m/virtiofs.ko"]).lacks_virtiofs());
        }
        assert!(!Kernel { config: None, ..kernel(&[]) }.lacks_virtiofs());
    }
}
