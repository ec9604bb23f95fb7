//! KVM if it works, else emulation.

use crate::accel::{Accel, Choice};
use crate::error::GuestError;
use crate::guest::{self, Setup};
use crate::qemu::Qemu;
use debian::Cache;
use os::arch::Arch;
use rustix::fs::{Access, access};
use std::time::Duration;

/// Time limit for a kernel's first line under KVM. Usually it takes 0.1 s.
const FIRST_OUTPUT: Duration = Duration::from_secs(10);

/// Chooses the accelerator. With [`Choice::Auto`] this guest is started once under KVM. The
/// result is stored for this host's kernel and QEMU.
///
/// # Errors
/// If the user asked for KVM and it is not available, or interrupted. KVM runs only guests of the
/// host's own architecture.
pub fn choose(
    choice: Choice,
    setup: &Setup<'_>,
    cache: &Cache,
    interrupted: &dyn Fn() -> bool,
) -> Result<Accel, GuestError> {
    let device = access("/dev/kvm", Access::READ_OK | Access::WRITE_OK);
    let arch = setup.qemu.arch;
    match choice {
        Choice::Only(Accel::Kvm) if arch != Arch::OWN => Err(GuestError::Room(format!(
            "--accel kvm: this host emulates guests for {}; use --accel tcg",
            arch.word()
        ))),
        Choice::Only(Accel::Kvm) => device.map(|()| Accel::Kvm).map_err(|error| {
            GuestError::Room(format!(
                "/dev/kvm: {error}; use --accel tcg, or run as root or in the group kvm"
            ))
        }),
        Choice::Only(Accel::Tcg) => Ok(Accel::Tcg),
        Choice::Auto if arch != Arch::OWN || device.is_err() => Ok(Accel::Tcg),
        Choice::Auto => tested(setup, cache, interrupted),
    }
}

fn tested(
    setup: &Setup<'_>,
    cache: &Cache,
    interrupted: &dyn Fn() -> bool,
) -> Result<Accel, GuestError> {
    let file = cache.folder().join("kvm-test");
    let key = key(setup.qemu);
    let known = cache.read(&file).ok().flatten().and_then(|bytes| String::from_utf8(bytes).ok());
    if let Some(works) = known.and_then(|text| recall(&text, &key)) {
        return Ok(if works { Accel::Kvm } else { Accel::Tcg });
    }
    let works = guest::boots(setup, Accel::Kvm, FIRST_OUTPUT, interrupted)?;
    // A result that cannot be stored is tested again.
    if cache.make(cache.folder()).is_ok() {
        let _ = cache.write(&file, format!("{key}: {works}\n").as_bytes());
    }
    Ok(if works { Accel::Kvm } else { Accel::Tcg })
}

fn key(qemu: &Qemu) -> String {
    let host = rustix::system::uname().release().to_string_lossy().into_owned();
    format!("{host}, qemu {}", qemu.version)
}

fn recall(text: &str, key: &str) -> Option<bool> {
    let (of, works) = text.trim_end().rsplit_once(": ")?;
    (of == key).then(|| works.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::recall;

    #[test]
    fn a_test_is_remembered_for_its_host_alone() {
        assert_eq!(recall("6.18, qemu 7.2: false\n", "6.18, qemu 7.2"), Some(false));
        assert_eq!(recall("6.18, qemu 7.2: true", "6.18, qemu 7.2"), Some(true));
        assert_eq!(recall("6.18, qemu 7.2: false", "6.19, qemu 7.2"), None);
        assert_eq!(recall("", "x"), None);
    }
}
