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

/// If this many kernels fail under KVM and none works, the reason is the host.
const FAILURES_OF_HOST: usize = 2;

/// Chooses the accelerator. With [`Choice::Auto`] this guest is started once under KVM. The result
/// is stored for this host's kernel and QEMU; the first failure is stored for this guest's kernel
/// alone. `note` gets a line about a new failure.
///
/// # Errors
/// If the user asked for KVM and it is not available, or interrupted. KVM runs only guests of the
/// host's own architecture.
pub fn choose(
    choice: Choice,
    setup: &Setup<'_>,
    cache: &Cache,
    note: &mut dyn FnMut(&str),
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
        Choice::Auto => tested(setup, cache, note, interrupted),
    }
}

fn tested(
    setup: &Setup<'_>,
    cache: &Cache,
    note: &mut dyn FnMut(&str),
    interrupted: &dyn Fn() -> bool,
) -> Result<Accel, GuestError> {
    let file = cache.folder().join("kvm-test");
    let host = host(setup.qemu);
    let kernel = setup.kernel;
    let stored = cache.read(&file).ok().flatten().and_then(|bytes| String::from_utf8(bytes).ok());
    let stored = stored.unwrap_or_default();
    if let Some(works) = recall(&stored, &host, &kernel.sha256) {
        return Ok(accel(works));
    }
    let works = guest::boots(setup, Accel::Kvm, FIRST_OUTPUT, interrupted)?;
    // A result that cannot be stored is tested again.
    if cache.make(cache.folder()).is_ok() {
        let _ = cache.write(&file, with(&stored, &host, &kernel.sha256, works).as_bytes());
    }
    if !works {
        note(&format!(
            "guest {}: it printed nothing under KVM, so it is emulated; to test KVM again, remove \
             {}",
            kernel.name,
            file.display()
        ));
    }
    Ok(accel(works))
}

fn accel(kvm_works: bool) -> Accel {
    if kvm_works { Accel::Kvm } else { Accel::Tcg }
}

/// The kernel of this host, and its QEMU.
fn host(qemu: &Qemu) -> String {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    format!("{release}, qemu {}", qemu.version)
}

/// The line for a result. If KVM works for one kernel, it works for all. A failure may be the
/// kernel's, or chance on a busy host, so it holds for that kernel alone. After
/// [`FAILURES_OF_HOST`] it is the host's.
fn line_of(host: &str, sha256: &str, works: bool) -> String {
    match works {
        true => format!("{host}: true"),
        false => format!("{host}, kernel {sha256}: false"),
    }
}

/// The stored result for a guest with this kernel.
fn recall(stored: &str, host: &str, sha256: &str) -> Option<bool> {
    let is_stored = |works| stored.lines().any(|line| line == line_of(host, sha256, works));
    if is_stored(true) {
        return Some(true);
    }
    let failures = stored.lines().filter(|line| line.starts_with(&of_failures(host))).count();
    (is_stored(false) || failures >= FAILURES_OF_HOST).then_some(false)
}

/// How the line of a failure on this host begins.
fn of_failures(host: &str) -> String {
    format!("{host}, kernel ")
}

/// The stored results and a new one. Failures of other kernels on this host are kept.
fn with(stored: &str, host: &str, sha256: &str, works: bool) -> String {
    let new = line_of(host, sha256, works);
    let is_failure = |line: &&str| line.starts_with(&of_failures(host));
    let kept = stored.lines().filter(|line| !works && is_failure(line));
    kept.chain([new.as_str()]).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::{recall, with};

    const HOST: &str = "6.18, qemu 7.2";

    #[test]
    fn success_is_remembered_for_its_host_and_failure_for_its_kernel_too() {
        let works = with("", HOST, "a", true);
        assert_eq!(recall(&works, HOST, "b"), Some(true));
        assert_eq!(recall(&works, "6.19, qemu 7.2", "b"), None);
        let fails = with("", HOST, "a", false);
        assert_eq!(recall(&fails, HOST, "a"), Some(false));
        assert_eq!(recall(&fails, HOST, "b"), None, "another kernel is tested");
        assert_eq!(recall(&fails, "6.19, qemu 7.2", "a"), None);
        assert_eq!(recall("", HOST, "a"), None);
        assert_eq!(recall("6.18, qemu 7.2: false\n", HOST, "a"), None, "of an earlier version");
    }

    #[test]
    fn failures_of_several_kernels_stand_side_by_side_until_kvm_works() {
        let both = with(&with("of an earlier version", HOST, "a", false), HOST, "b", false);
        let recalled = ["a", "b", "c"].map(|kernel| recall(&both, HOST, kernel));
        assert_eq!(recalled, [Some(false); 3], "so it is the host");
        assert_eq!(both.lines().count(), 2, "{both}");
        let works = with(&both, HOST, "c", true);
        assert_eq!(recall(&works, HOST, "a"), Some(true));
        assert_eq!(works.lines().count(), 1, "{works}");
    }
}
