//! Futex calls as counted by strace. This is for machines without probes, and only on request:
//! strace stops the node twice for each call.

use crate::ScenarioError;
use model::{Need, Problem};
use os::child::Child;
use rustix::process::Signal;
use std::fs::File;
use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// How long strace may take to attach to all threads.
const ATTACH: Duration = Duration::from_secs(5);

/// The counts of strace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Counted {
    /// Number of futex calls.
    pub calls: f64,
    /// The time that strace reports for these calls.
    pub time: Duration,
}

/// A running strace. It ends on drop, and when the watched process ends.
pub(crate) struct Strace {
    child: Child,
}

impl Strace {
    /// Watches all threads of a process.
    ///
    /// # Errors
    /// If strace is not installed, or does not attach.
    pub(crate) fn start(pid: u32) -> Result<Self, ScenarioError> {
        let mut command = host::program::command("strace").map_err(|error| {
            ScenarioError::Missing(Need::Strace { error: error.to_string(), unsafe_program: true })
        })?;
        command.args(["-qq", "-f", "-c", "-e", "trace=futex", "-p", &pid.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        os::death::bind(&mut command, Signal::KILL);
        let child = command.spawn().map_err(|error| {
            ScenarioError::Missing(Need::Strace { error: error.to_string(), unsafe_program: false })
        })?;
        let mut strace = Strace { child: Child::alone(child) };
        strace.attached(pid)?;
        Ok(strace)
    }

    fn attached(&mut self, pid: u32) -> Result<(), ScenarioError> {
        let deadline = Instant::now() + ATTACH;
        while !is_traced(pid) {
            let ended = !matches!(self.child.ended(), Ok(None));
            if ended || Instant::now() > deadline {
                return Err(ScenarioError::Broken(Problem::StraceLate));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Ends the watch. None if strace reported nothing about futex.
    pub(crate) fn finish(mut self) -> Option<Counted> {
        self.child.signal(Signal::INT);
        counted(File::from(self.child.take_stderr()?))
    }
}

/// Reads strace's final report about futex.
pub(crate) fn counted(said: impl Read) -> Option<Counted> {
    let mut bytes = Vec::new();
    // The report has a few lines, whatever the node did.
    said.take(65536).read_to_end(&mut bytes).ok()?;
    String::from_utf8_lossy(&bytes).lines().find_map(row)
}

/// Whether a tracer is attached to the process.
fn is_traced(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

/// Reads `100.00    0.965618        7543       128         1 futex`. The number of errors may be
/// missing.
fn row(line: &str) -> Option<Counted> {
    let mut words = line.split_whitespace();
    let (_, seconds, _, calls) = (words.next()?, words.next()?, words.next()?, words.next()?);
    if words.last() != Some("futex") {
        return None;
    }
    let time = Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?;
    let calls: u64 = calls.parse().ok()?;
    Some(Counted { calls: calls as f64, time })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_of_futex_is_read_with_and_without_errors() {
        let want = Counted { calls: 128.0, time: Duration::from_micros(965_618) };
        assert_eq!(row("100.00    0.965618        7543       128         1 futex"), Some(want));
        assert_eq!(row("100.00    0.965618        7543       128           futex"), Some(want));
        for other in [
            "",
            "------ ----------- -----------",
            "100.00 0.965618 7543 128 1 total",
            "100.00 nan 7543 128 1 futex",
            "100.00 0.965618 7543 inf 1 futex",
            "100.00 0.965618 7543 -128 1 futex",
        ] {
            assert_eq!(row(other), None, "{other}");
        }
    }
}
