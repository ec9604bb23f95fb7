//! Checks whether a kernel's configuration is suitable for a guest, before it is booted.

use crate::error::GuestError;
use os::arch::Arch;
use std::path::Path;

/// The longest configuration that is read, in bytes.
const LONGEST: u64 = 4 << 20;

/// Options without which no guest boots. Its initramfs is not compressed.
const NEEDED: [&str; 7] =
    ["64BIT", "BINFMT_ELF", "BLK_DEV_INITRD", "DEVTMPFS", "PROC_FS", "SYSFS", "TTY"];

/// Options for the serial ports of a guest of this architecture.
const fn needed_for_ports(arch: Arch) -> &'static [&'static str] {
    match arch {
        Arch::X86_64 => &["SERIAL_8250_CONSOLE"],
        // Its machine has one port; the other is a card.
        Arch::Aarch64 => &["PCI_HOST_GENERIC", "SERIAL_8250_PCI", "SERIAL_AMBA_PL011_CONSOLE"],
    }
}

/// Checks that a kernel with this configuration can be a guest of this architecture.
///
/// # Errors
/// If it lacks an option, with the names, or cannot be read.
pub fn check(path: &Path, arch: Arch) -> Result<(), GuestError> {
    let bytes = os::file::read_start(path, LONGEST)
        .map_err(|source| GuestError::File { path: path.to_owned(), source })?;
    let lacking = lacking(&String::from_utf8_lossy(&bytes), arch);
    match lacking.is_empty() {
        true => Ok(()),
        false => Err(GuestError::Options { path: path.to_owned(), lacking: lacking.join(", ") }),
    }
}

/// The missing options.
fn lacking(text: &str, arch: Arch) -> Vec<String> {
    let has = |name: &String| text.lines().any(|line| line == format!("{name}=y"));
    let needed = NEEDED.iter().chain(needed_for_ports(arch));
    needed.map(|option| format!("CONFIG_{option}")).filter(|name| !has(name)).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A configuration with all needed options.
    pub(in crate::kernel) fn whole(arch: Arch) -> String {
        let needed = NEEDED.iter().chain(needed_for_ports(arch));
        needed.map(|option| format!("CONFIG_{option}=y\n")).collect()
    }

    #[test]
    fn what_a_guest_needs_is_named() {
        let all = whole(Arch::X86_64);
        assert!(lacking(&all, Arch::X86_64).is_empty());
        assert!(!all.contains("CONFIG_RD_"), "no initramfs is compressed");
        assert!(lacking(&whole(Arch::Aarch64), Arch::Aarch64).is_empty());
        assert_eq!(lacking(&all, Arch::Aarch64).len(), 3);
        let without = all.replace("CONFIG_TTY=y\n", "# CONFIG_TTY is not set\n");
        let without = without.replace("CONFIG_DEVTMPFS=y", "CONFIG_DEVTMPFS=m");
        assert_eq!(lacking(&without, Arch::X86_64), ["CONFIG_DEVTMPFS", "CONFIG_TTY"]);
        let small = include_str!("../../../../vm/small.config");
        // make tinyconfig enables this option on an x86_64 machine.
        let small = format!("{small}\nCONFIG_64BIT=y\n");
        assert!(lacking(&small, Arch::X86_64).is_empty());
    }
}
