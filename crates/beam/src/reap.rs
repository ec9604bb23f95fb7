//! Ending a child for certain.

use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// How long a killed child may take; one that the kernel holds even then is left to init.
const GRACE: Duration = Duration::from_secs(5);

/// Waits for the end until `deadline`.
pub(crate) fn wait_until(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
            _ => return None,
        }
    }
}

/// Kills a child with its process group, unless it has ended, and reaps it.
pub(crate) fn kill(child: &mut Child) -> Option<ExitStatus> {
    // While the child is not reaped its number cannot belong to another process.
    if let Ok(None) = child.try_wait()
        && let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw)
    {
        // Where the group is gone there is nothing to kill.
        let _ = kill_process_group(group, Signal::KILL);
    }
    wait_until(child, Instant::now() + GRACE)
}

/// How a process ended, in words that follow its name.
pub(crate) fn describe(status: Option<ExitStatus>) -> String {
    match status.map(|status| (status.signal(), status.code())) {
        Some((Some(signal), _)) => format!("was killed by signal {signal}"),
        Some((None, Some(code))) => format!("ended with exit code {code}"),
        Some((None, None)) => "ended".to_owned(),
        None => "closed its pipes but did not end".to_owned(),
    }
}
