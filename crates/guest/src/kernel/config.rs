//! Checks whether a kernel's configuration is suitable for a guest, before it is booted.

use crate::error::GuestError;
use std::path::Path;

/// The longest configuration that is read, in bytes.
const LONGEST: u64 = 4 << 20;

/// Options without which a guest does not boot.
const NEEDED: [&str; 9] = [
    "64BIT",
    "BINFMT_ELF",
    "BLK_DEV_INITRD",
    "DEVTMPFS",
    "PROC_FS",
    "RD_GZIP",
    "SERIAL_8250_CONSOLE",
    "SYSFS",
    "TTY",
];

/// Checks that a kernel with this configuration can be a guest.
///
/// # Errors
/// If it lacks an option, with the names, or cannot be read.
pub fn check(path: &Path) -> Result<(), GuestError> {
    let bytes = os::file::read_start(path, LONGEST)
        .map_err(|source| GuestError::File { path: path.to_owned(), source })?;
    let lacking = lacking(&String::from_utf8_lossy(&bytes));
    match lacking.is_empty() {
        true => Ok(()),
        false => Err(GuestError::Options { path: path.to_owned(), lacking: lacking.join(", ") }),
    }
}

/// The missing options.
fn lacking(text: &str) -> Vec<String> {
    let name = |option: &&str| format!("CONFIG_{option}");
    let has = |name: &String| text.lines().any(|line| line == format!("{name}=y"));
    NEEDED.iter().map(name).filter(|name| !has(name)).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A configuration with all needed options.
    pub(in crate::kernel) fn whole() -> String {
        NEEDED.iter().map(|option| format!("CONFIG_{option}=y\n")).collect()
    }

    #[test]
    fn what_a_guest_needs_is_named() {
        let all = whole();
        assert!(lacking(&all).is_empty());
        let without = all.replace("CONFIG_TTY=y\n", "# CONFIG_TTY is not set\n");
        let without = without.replace("CONFIG_DEVTMPFS=y", "CONFIG_DEVTMPFS=m");
        assert_eq!(lacking(&without), ["CONFIG_DEVTMPFS", "CONFIG_TTY"]);
        let small = include_str!("../../../../vm/small.config");
        // make tinyconfig enables this option on an x86_64 machine.
        assert!(lacking(&format!("{small}\nCONFIG_64BIT=y\n")).is_empty());
    }
}
