//! Scheduling policies of processes.

/// Whether a process has the policy SCHED_IDLE; false if the process has ended.
pub fn is_idle(pid: u32) -> bool {
    of(pid) == Some(libc::SCHED_IDLE)
}

/// Whether a process has the usual policy (SCHED_OTHER); false if the process has ended.
pub fn is_usual(pid: u32) -> bool {
    of(pid) == Some(libc::SCHED_OTHER)
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
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn a_process_of_the_idle_policy_is_told_from_others() {
        let mut idle = Command::new("chrt").args(["--idle", "0", "sleep", "60"]).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
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
