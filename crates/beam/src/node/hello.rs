//! The description that a node sends about itself.

use crate::term::{Read, TermError, as_text, as_u64, field, find};
use eetf::Term;

/// The version of the protocol that this program uses.
const PROTOCOL: u64 = 1;

/// The description that a node sends when it starts. A value that the OTP does not know is
/// absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The pid of the VM's process.
    pub os_pid: u32,
    /// The release, such as `25`.
    pub otp_release: String,
    /// The version of the runtime system.
    pub erts: String,
    /// Schedulers, including offline ones.
    pub schedulers: u64,
    /// Online schedulers.
    pub schedulers_online: u64,
    /// Online dirty CPU schedulers.
    pub dirty_cpu_schedulers_online: u64,
    /// Dirty IO schedulers.
    pub dirty_io_schedulers: u64,
    /// CPUs that the VM may use by its affinity.
    pub logical_processors_available: Option<u64>,
    /// CPU quota that the VM found in its control group, in CPUs, if it checks.
    pub cpu_quota: Option<u64>,
}

impl Hello {
    pub(crate) fn read(map: &Term) -> Read<Self> {
        let protocol = field(map, "protocol", as_u64)?;
        if protocol != PROTOCOL {
            return Err(TermError {
                at: "protocol".to_owned(),
                expected: PROTOCOL.to_string(),
                found: protocol.to_string(),
            });
        }
        // The VM sends `unknown` for a value that it could not determine.
        let known = |key| find(map, key, |value| Ok(as_u64(value).ok())).map(Option::flatten);
        Ok(Hello {
            os_pid: field(map, "os_pid", pid)?,
            otp_release: field(map, "otp_release", as_text)?,
            erts: field(map, "erts", as_text)?,
            schedulers: field(map, "schedulers", as_u64)?,
            schedulers_online: field(map, "schedulers_online", as_u64)?,
            dirty_cpu_schedulers_online: field(map, "dirty_cpu_schedulers_online", as_u64)?,
            dirty_io_schedulers: field(map, "dirty_io_schedulers", as_u64)?,
            logical_processors_available: known("logical_processors_available")?,
            cpu_quota: known("cpu_quota")?,
        })
    }
}

/// A process id.
fn pid(value: &Term) -> Read<u32> {
    let number = as_u64(value)?;
    u32::try_from(number).ok().filter(|pid| *pid > 0).ok_or_else(|| TermError {
        at: String::new(),
        expected: "a process id".to_owned(),
        found: number.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::{atom, map, text, uint};

    fn hello(extra: (&str, Term)) -> Term {
        let numbers = [
            "os_pid",
            "schedulers",
            "schedulers_online",
            "dirty_cpu_schedulers_online",
            "dirty_io_schedulers",
        ];
        let numbers = numbers.map(|key| (key, uint(8)));
        let fixed = [
            ("protocol", uint(1)),
            ("otp_release", text("25")),
            ("erts", text("13.1.5")),
            ("logical_processors_available", uint(2)),
        ];
        map(numbers.into_iter().chain(fixed).chain([extra]))
    }

    #[test]
    fn what_is_unknown_or_absent_is_absent() {
        let known = Hello::read(&hello(("emu_flavor", atom("jit")))).unwrap();
        assert_eq!((known.logical_processors_available, known.cpu_quota), (Some(2), None));
        let unknown = Hello::read(&hello(("cpu_quota", atom("unknown")))).unwrap();
        assert_eq!(unknown.cpu_quota, None);
    }

    #[test]
    fn another_protocol_is_refused_by_number() {
        let message = Hello::read(&hello(("protocol", uint(2)))).unwrap_err().to_string();
        assert_eq!(message, "protocol: expected 1, found 2");
        let message = Hello::read(&hello(("os_pid", uint(0)))).unwrap_err().to_string();
        assert_eq!(message, "os_pid: expected a process id, found 0");
    }
}
