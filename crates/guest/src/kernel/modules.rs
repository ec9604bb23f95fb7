//! The modules for a shared root file system, for kernels without built-in support.

use std::path::{Path, PathBuf};

/// The folder for modules within the folder of an unpacked package.
pub(super) const FOLDER: &str = "modules";

/// Modules that virtiofs needs; each kernel has those of its version.
const NAMES: &[&str] = &[
    "virtio",
    "virtio_ring",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "fuse",
    "virtiofs",
];

/// Their folders below `kernel` in a module folder.
const PLACES: &[&str] = &["drivers/virtio", "fs/fuse"];

/// Endings of module files, uncompressed and in the formats that kernels decompress.
const ENDS: &[&str] = &["ko", "ko.xz", "ko.zst", "ko.gz"];

/// Whether a file is one of these modules.
pub(super) fn wanted(name: &str) -> bool {
    files(Path::new("")).any(|path| path == Path::new(name))
}

/// The modules of this kind in a folder.
pub(super) fn among(folder: &Path) -> Vec<PathBuf> {
    files(folder).filter(|path| path.is_file()).collect()
}

/// The modules of this kind for one release, from a folder like `/lib/modules/RELEASE`.
pub(super) fn of_release(modules: &Path) -> Vec<PathBuf> {
    let places: Vec<PathBuf> =
        PLACES.iter().map(|place| modules.join("kernel").join(place)).collect();
    let in_order = NAMES.iter().flat_map(|name| places.iter().map(move |place| (name, place)));
    in_order.flat_map(|(name, place)| named(name, place)).filter(|path| path.is_file()).collect()
}

fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    NAMES.iter().flat_map(move |name| named(name, folder))
}

fn named(name: &str, folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let (name, folder) = (name.to_owned(), folder.to_owned());
    ENDS.iter().map(move |end| folder.join(format!("{name}.{end}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_a_kernel_has_are_found_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let fuse = folder.path().join("kernel/fs/fuse");
        let virtio = folder.path().join("kernel/drivers/virtio");
        for (place, names) in [
            (&fuse, &["virtiofs.ko", "fuse.ko", "cuse.ko"][..]),
            (&virtio, &["virtio_pci.ko.xz", "virtio_ring.ko", "virtio.ko", "virtio_mem.ko"]),
        ] {
            std::fs::create_dir_all(place).unwrap();
            for name in names {
                std::fs::write(place.join(name), "").unwrap();
            }
        }
        let names = |paths: Vec<PathBuf>| -> Vec<String> {
            let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
            paths.iter().map(name).collect()
        };
        assert_eq!(
            names(of_release(folder.path())),
            ["virtio.ko", "virtio_ring.ko", "virtio_pci.ko.xz", "fuse.ko", "virtiofs.ko"]
        );
        assert_eq!(names(among(&fuse)), ["fuse.ko", "virtiofs.ko"]);
        assert!(wanted("fuse.ko.xz") && !wanted("ext4.ko") && !wanted("fuse"));
    }
}
