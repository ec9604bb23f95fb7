//! Where Debian's kernels are, and which kernels count instructions: vm/kernels.toml.

use crate::accel::Clock;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const TEXT: &str = include_str!("../../../vm/kernels.toml");

/// What is known of kernels.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// Kernels that boot with a clock that counts instructions, on QEMU 7.2, as `--kernel` takes
    /// them.
    pub counts_instructions: Vec<String>,
    /// Debian suites that are searched for a series, those with short package lists first.
    pub suites: Vec<String>,
    /// The series that are known to exist, each with the suite that is searched first.
    pub debian: BTreeMap<String, String>,
}

/// The catalogue of this version.
pub fn catalogue() -> &'static Catalogue {
    // Parsing this constant cannot fail: a test parses it, so the empty default is never used. A
    // static, since a constant text has one content for the whole process.
    static CATALOGUE: LazyLock<Catalogue> =
        LazyLock::new(|| toml::from_str(TEXT).unwrap_or_default());
    &CATALOGUE
}

/// The clock for an emulated guest with the kernel of this name. It counts instructions if that
/// kernel is known to boot with such a clock, because then other work of the host is invisible in
/// the guest.
pub fn clock_of(kernel: &str) -> Clock {
    match catalogue().counts_instructions.iter().any(|name| name == kernel) {
        true => Clock::Instructions,
        false => Clock::Host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_holds_together() {
        let catalogue: Catalogue = toml::from_str(TEXT).unwrap();
        assert!(catalogue.suites.len() > 2 && catalogue.debian.len() > 5);
        assert!(catalogue.debian.values().all(|suite| catalogue.suites.contains(suite)));
        assert_eq!(clock_of("built:plain"), Clock::Instructions);
        assert_eq!(clock_of("debian:6.12"), Clock::Host);
    }
}
