//! The modules that a guest loads, for kernels that lack these parts built in.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The folder for modules within the folder of an unpacked package.
pub(super) const FOLDER: &str = "modules";

/// Most bytes of a kernel configuration that are read.
const MOST_OF_CONFIG: u64 = 4 << 20;

/// Modules that virtiofs needs; each kernel has those of its version.
const FOR_ROOT: &[&str] = &[
    "virtio",
    "virtio_ring",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "fuse",
    "virtiofs",
];

/// Modules that ext4 on a loop device needs. Debian's cloud kernels have all but the last built in.
/// They are added to a cached kernel in this order, and the last one shows that all are there.
const FOR_LOOP: &[&str] = &["crc16", "crc32c_generic", "mbcache", "jbd2", "ext4", "loop"];

/// Their folders below `kernel` in a module folder.
const PLACES: &[&str] = &[
    "drivers/virtio",
    "fs/fuse",
    "drivers/block",
    "fs",
    "fs/ext4",
    "fs/jbd2",
    "lib",
    "lib/crc",
    "crypto",
];

/// Endings of module files, uncompressed and in the formats that kernels decompress.
const ENDS: &[&str] = &["ko", "ko.xz", "ko.zst", "ko.gz"];

/// A part of a kernel that some kernels have as a module.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    option: &'static str,
    module: &'static str,
}

/// A shared root.
pub(super) const VIRTIOFS: Part = Part { option: "CONFIG_VIRTIO_FS", module: "virtiofs" };

/// Loop devices.
pub(super) const LOOP: Part = Part { option: "CONFIG_BLK_DEV_LOOP", module: "loop" };

impl Part {
    /// Whether a kernel with this configuration has this part only as a module, and these modules
    /// lack it. Without a configuration, the part is assumed to be built in.
    pub fn is_missing(self, config: Option<&Path>, modules: &[PathBuf]) -> bool {
        let config = config.and_then(|path| os::file::read_start(path, MOST_OF_CONFIG).ok());
        let as_module = format!("{}=m", self.option);
        let mut lines = config.iter().flat_map(|text| text.split(|byte| *byte == b'\n'));
        lines.any(|line| line == as_module.as_bytes())
            && !modules.iter().any(|path| name(path) == self.module)
    }
}

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
    let in_order = names().flat_map(|name| places.iter().map(move |place| (name, place)));
    in_order.flat_map(|(name, place)| named(name, place)).filter(|path| path.is_file()).collect()
}

/// Those of these modules that a guest loads.
pub(super) fn loaded(modules: &[PathBuf], root: bool, loop_devices: bool) -> Vec<PathBuf> {
    let is_loaded = |path: &&PathBuf| {
        let name = name(path);
        (root && FOR_ROOT.contains(&name)) || (loop_devices && FOR_LOOP.contains(&name))
    };
    modules.iter().filter(is_loaded).cloned().collect()
}

/// The name of the module in a file.
fn name(path: &Path) -> &str {
    let file = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    file.split('.').next().unwrap_or_default()
}

fn names() -> impl Iterator<Item = &'static str> {
    FOR_ROOT.iter().chain(FOR_LOOP).copied()
}

fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    names().flat_map(move |name| named(name, folder))
}

fn named(name: &str, folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let (name, folder) = (name.to_owned(), folder.to_owned());
    ENDS.iter().map(move |end| folder.join(format!("{name}.{end}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_names(paths: Vec<PathBuf>) -> Vec<String> {
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        paths.iter().map(name).collect()
    }

    #[test]
    fn those_that_a_kernel_has_are_found_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join("kernel").join(name);
        let fuse = place("fs/fuse");
        for (place, names) in [
            (&fuse, &["virtiofs.ko", "fuse.ko", "cuse.ko"][..]),
            (
                &place("drivers/virtio"),
                &["virtio_pci.ko.xz", "virtio_ring.ko", "virtio.ko", "virtio_mem.ko"],
            ),
            (&place("drivers/block"), &["loop.ko.zst", "nbd.ko.zst"]),
            (&place("fs/ext4"), &["ext4.ko"]),
        ] {
            std::fs::create_dir_all(place).unwrap();
            for name in names {
                std::fs::write(place.join(name), "").unwrap();
            }
        }
        let for_root =
            ["virtio.ko", "virtio_ring.ko", "virtio_pci.ko.xz", "fuse.ko", "virtiofs.ko"];
        let for_loop = ["ext4.ko", "loop.ko.zst"];
        let all = of_release(folder.path());
        assert_eq!(file_names(all.clone()), [&for_root[..], &for_loop].concat());
        let loaded = |root, loop_devices| file_names(loaded(&all, root, loop_devices));
        assert_eq!(loaded(true, false), for_root);
        assert_eq!(loaded(false, true), for_loop);
        assert_eq!((loaded(true, true).len(), loaded(false, false).len()), (7, 0));
        assert_eq!(file_names(among(&fuse)), ["fuse.ko", "virtiofs.ko"]);
        assert!(wanted("fuse.ko.xz") && wanted("loop.ko.xz"));
        assert!(!wanted("xfs.ko") && !wanted("tcm_loop.ko.xz") && !wanted("fuse"));
    }

    #[test]
    fn a_part_is_missing_where_it_is_a_module_that_is_not_here() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config");
        let missing = |modules: &[&str]| {
            let modules: Vec<PathBuf> = modules.iter().map(PathBuf::from).collect();
            LOOP.is_missing(Some(&config), &modules)
        };
        assert!(!missing(&[]), "without a configuration");
        for (text, is_module) in [
            ("CONFIG_BLK_DEV_LOOP=m\n", true),
            ("CONFIG_BLK_DEV_LOOP=y\n", false),
            ("# CONFIG_BLK_DEV_LOOP is not set\n", false),
        ] {
            std::fs::write(&config, text).unwrap();
            assert_eq!(missing(&["/m/virtiofs.ko", "/m/nvme-loop.ko"]), is_module, "{text}");
            assert!(!missing(&["/m/loop.ko.xz"]), "{text}");
        }
    }
}
