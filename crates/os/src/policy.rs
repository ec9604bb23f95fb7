//! Scheduling policies of processes, and the kernel's calls for the CPUs of a thread.

/// Most CPUs that a kernel is built for: 8,192 on x86-64, 4,096 on arm64.
pub(crate) const MOST_CPUS: u32 = 8_192;

/// Number of words in [`CpuBits`].
const WORDS: usize = MOST_CPUS as usize / libc::c_ulong::BITS as usize;

/// CPUs in the kernel's format, one bit for each.
pub(crate) type CpuBits = [libc::c_ulong; WORDS];

/// No CPU.
pub(crate) const NO_CPUS: CpuBits = [0; WORDS];

/// The CPUs that the calling thread may use.
///
/// # Errors
/// EINVAL if the kernel has more CPUs than [`MOST_CPUS`].
pub(crate) fn usable_cpus() -> std::io::Result<CpuBits> {
    let mut cpus = NO_CPUS;
    // SAFETY: the call writes at most as many bytes as the bits have.
    let returned =
        unsafe { libc::sched_getaffinity(0, size_of::<CpuBits>(), (&raw mut cpus).cast()) };
    checked(returned).map(|()| cpus)
}

/// Limits the calling thread to these CPUs, as far as they exist.
///
/// Makes one system call and allocates nothing, so it may run between fork and exec.
///
/// # Errors
/// If none of them exists, or a cpuset forbids them.
pub(crate) fn use_cpus(cpus: &CpuBits) -> std::io::Result<()> {
    // SAFETY: the call reads as many bytes as the bits have.
    checked(unsafe {
        libc::sched_setaffinity(0, size_of::<CpuBits>(), std::ptr::from_ref(cpus).cast())
    })
}

fn checked(returned: libc::c_int) -> std::io::Result<()> {
    if returned == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Whether a process has the policy SCHED_IDLE; false if the process has ended.
pub fn is_idle(pid: u32) -> bool {
    of(pid) == Some(libc::SCHED_IDLE)
}

/// Whether a process has the usual policy (SCHED_OTHER); false if the process has ended.
pub fn is_usual(pid: u32) -> bool {
    of(pid) == Some(libc::SCHED_OTHER)
}

/// A real-time policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RealTime {
    /// SCHED_FIFO: a thread keeps its CPU from others of the same priority until it sleeps.
    Fifo,
    /// SCHED_RR: threads of the same priority take turns.
    RoundRobin,
}

/// The real-time policy of a thread, and its priority, 1 to 99; None if the thread has another
/// policy or has ended.
pub fn real_time(thread: u32) -> Option<(RealTime, u32)> {
    let policy = match of(thread)? {
        libc::SCHED_FIFO => RealTime::Fifo,
        libc::SCHED_RR => RealTime::RoundRobin,
        _ => return None,
    };
    let thread = libc::pid_t::try_from(thread).ok()?;
    let mut parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call writes the parameters, which live until it returns.
    checked(unsafe { libc::sched_getparam(thread, &raw mut parameters) }).ok()?;
    let priority = u32::try_from(parameters.sched_priority).ok()?;
    // It is 0 if the thread got the usual policy between the two calls.
    (priority > 0).then_some((policy, priority))
}

fn of(pid: u32) -> Option<libc::c_int> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    // SAFETY: the call takes a number and touches no memory.
    let policy = unsafe { libc::sched_getscheduler(pid) };
    // This flag concerns only its children, which get the usual policy.
    (policy >= 0).then_some(policy & !libc::SCHED_RESET_ON_FORK)
}

/// Gives the calling thread the policy SCHED_IDLE: beside other threads it gets little CPU time.
///
/// # Errors
/// If the kernel refuses.
pub fn become_idle() -> std::io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads the parameters, which live until it returns.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn a_process_of_the_idle_policy_is_told_from_others() {
        let mut idle = Command::new("chrt").args(["--idle", "0", "sleep", "60"]).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(100);
        while !is_idle(idle.id()) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        let was_idle = is_idle(idle.id());
        idle.kill().unwrap();
        idle.wait().unwrap();
        assert!(was_idle);
        assert!(is_usual(std::process::id()) && !is_usual(u32::MAX));
        assert!(!is_idle(std::process::id()) && !is_idle(u32::MAX) && !is_idle(2_000_000_000));
    }

    /// What [`real_time`] reads of a thread with this policy; None if the kernel refuses it.
    fn read_with(policy: libc::c_int) -> Option<Option<(RealTime, u32)>> {
        let thread = std::thread::spawn(move || {
            let parameters = libc::sched_param { sched_priority: 7 };
            // SAFETY: the call reads the parameters, which live until it returns.
            checked(unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) }).ok()?;
            let own = rustix::thread::gettid().as_raw_nonzero().get();
            Some(real_time(own.cast_unsigned()))
        });
        thread.join().unwrap()
    }

    #[test]
    fn the_two_real_time_policies_are_told_apart() {
        assert_eq!((real_time(std::process::id()), real_time(u32::MAX)), (None, None));
        let round_robin = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
        let all = [(libc::SCHED_FIFO, RealTime::Fifo), (round_robin, RealTime::RoundRobin)];
        for (policy, name) in all {
            let Some(read) = read_with(policy) else {
                return testing::skipped("the kernel refuses real-time policies");
            };
            assert_eq!(read, Some((name, 7)));
        }
    }

    #[test]
    fn a_thread_becomes_one_of_the_idle_policy_and_its_process_does_not() {
        let id = std::thread::spawn(|| {
            become_idle().unwrap();
            let own = rustix::thread::gettid().as_raw_nonzero().get();
            is_idle(own.cast_unsigned())
        });
        assert!(id.join().unwrap());
        assert!(!is_idle(std::process::id()));
    }
}
