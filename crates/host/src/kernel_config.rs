//! The configuration that the running kernel was built with.

use crate::roots::{self, Roots};
use flate2::read::GzDecoder;
use std::io::Read;
use std::path::Path;

/// Largest size of an unpacked configuration, in bytes; a full one has about 300 kB.
const UNPACKED_LIMIT: u64 = 4 << 20;

/// A kernel configuration as text.
///
/// It is kept as text, since a line `# CONFIG_X is not set` shows that X could have been chosen.
#[derive(Debug, Default)]
pub(crate) struct KernelConfig(String);

impl KernelConfig {
    /// The configuration of the kernel with this release, from the first source that has it.
    pub(crate) fn read(roots: &Roots, release: &str) -> Option<Self> {
        let packed = || unpack(&roots.proc.join("config.gz"));
        let beside_the_kernel = || {
            let plain = roots::is_release(release);
            let modules = roots.resolve(Path::new("/lib/modules")).join(release).join("config");
            [roots.boot.join(format!("config-{release}")), modules]
                .iter()
                .filter(|_| plain)
                .find_map(|path| roots::read_text(path).ok())
        };
        packed().or_else(beside_the_kernel).map(KernelConfig)
    }

    /// The value of an option; None if it is off or unknown.
    pub(crate) fn value(&self, option: &str) -> Option<&str> {
        self.0
            .lines()
            .filter_map(|line| line.split_once('='))
            .find(|(name, _)| *name == option)
            .map(|(_, value)| value.trim())
    }

    /// Whether an option is built in.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.value(option) == Some("y")
    }

    /// Whether an option could be chosen for this kernel, whether or not it was.
    pub(crate) fn offers(&self, option: &str) -> bool {
        let declined = || {
            self.0.lines().any(|line| {
                line.strip_prefix("# ").and_then(|line| line.strip_suffix(" is not set"))
                    == Some(option)
            })
        };
        self.value(option).is_some() || declined()
    }

    #[cfg(test)]
    pub(crate) fn from_text(text: &str) -> Self {
        KernelConfig(text.to_owned())
    }
}

fn unpack(path: &Path) -> Option<String> {
    let packed = roots::read_bytes(path, roots::FILE_LIMIT).ok()?;
    let mut plain = Vec::new();
    GzDecoder::new(&packed[..]).take(UNPACKED_LIMIT).read_to_end(&mut plain).ok()?;
    Some(String::from_utf8_lossy(&plain).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::fs;
    use std::io::Write;

    fn pack(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn the_running_kernels_own_copy_comes_first() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::at(dir.path());
        fs::create_dir_all(&roots.proc).unwrap();
        fs::create_dir_all(&roots.boot).unwrap();
        assert!(KernelConfig::read(&roots, "6.1.0").is_none());

        fs::write(roots.boot.join("config-6.1.0"), "CONFIG_HZ=1000\n").unwrap();
        fs::write(roots.boot.join("config-5.10.0"), "CONFIG_HZ=300\n").unwrap();
        let config = KernelConfig::read(&roots, "6.1.0").unwrap();
        assert_eq!(config.value("CONFIG_HZ"), Some("1000"));

        fs::write(roots.proc.join("config.gz"), pack(b"CONFIG_HZ=250\n")).unwrap();
        let config = KernelConfig::read(&roots, "6.1.0").unwrap();
        assert_eq!(config.value("CONFIG_HZ"), Some("250"));
    }

    #[test]
    fn a_release_does_not_lead_out_of_the_tree() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::at(dir.path().join("tree"));
        fs::create_dir_all(&roots.boot).unwrap();
        fs::create_dir_all(roots.boot.join("config-")).unwrap();
        fs::write(dir.path().join("secret"), "CONFIG_HZ=1\n").unwrap();
        assert!(KernelConfig::read(&roots, "/../../../secret").is_none());
    }

    #[test]
    fn a_torn_archive_is_no_configuration_and_a_bomb_is_cut_off() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.gz");
        let packed = pack(b"CONFIG_HZ=250\n");
        fs::write(&path, &packed[..packed.len() / 2]).unwrap();
        assert!(unpack(&path).is_none());
        fs::write(&path, pack(&vec![b'x'; 2 * UNPACKED_LIMIT as usize])).unwrap();
        assert_eq!(unpack(&path).unwrap().len() as u64, UNPACKED_LIMIT);
    }

    #[test]
    fn options_are_set_declined_or_unknown() {
        let config = KernelConfig::from_text("CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=m\n");
        assert!(config.has("CONFIG_A") && !config.has("CONFIG_B") && !config.has("CONFIG_C"));
        assert!(config.offers("CONFIG_A") && config.offers("CONFIG_B"));
        assert!(!config.offers("CONFIG") && !config.offers("CONFIG_D"));
    }
}
