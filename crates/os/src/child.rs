//! Child processes: killed and reaped when dropped, waited for with a time limit. Their output is
//! read without waiting for processes that they left running.
//!
//! What has to be set up before a program is executed is in [`crate::death`].

use crate::pipe::{Got, Input, wait_for};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{self, ExitStatus};
use std::time::{Duration, Instant};

/// How long to wait for a killed program. If the kernel holds it longer, init has to reap it.
const GRACE: Duration = Duration::from_secs(5);

/// How often the end of a program is checked while its pipes stay open.
const TICK: Duration = Duration::from_millis(20);

/// A running program. Dropping it kills and reaps it.
#[derive(Debug)]
pub struct Child {
    process: process::Child,
    leads: bool,
    status: Option<ExitStatus>,
}

/// The result of running a program.
#[derive(Debug)]
pub struct Ran {
    /// How the program ended; None if the wait for it ended first.
    pub status: Option<ExitStatus>,
    /// The start of its standard output.
    pub stdout: Vec<u8>,
    /// The start of its standard error.
    pub stderr: Vec<u8>,
}

impl Child {
    /// A program that is killed alone.
    pub fn alone(process: process::Child) -> Self {
        Child { process, leads: false, status: None }
    }

    /// A program that leads its own process group. The whole group is killed with it.
    pub fn leading(process: process::Child) -> Self {
        Child { process, leads: true, status: None }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Takes its standard input, if that is a pipe. Later calls return None.
    pub fn take_stdin(&mut self) -> Option<OwnedFd> {
        self.process.stdin.take().map(Into::into)
    }

    /// Takes its standard output, if that is a pipe. Later calls return None.
    pub fn take_stdout(&mut self) -> Option<OwnedFd> {
        self.process.stdout.take().map(Into::into)
    }

    /// Takes its standard error, if that is a pipe. Later calls return None.
    pub fn take_stderr(&mut self) -> Option<OwnedFd> {
        self.process.stderr.take().map(Into::into)
    }

    /// How the program ended; None while it runs.
    ///
    /// # Errors
    /// If the kernel cannot tell.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.process.try_wait()?;
        }
        Ok(self.status)
    }

    /// Waits for the program's end, but not beyond `deadline`.
    pub fn wait_until(&mut self, deadline: Instant) -> Option<ExitStatus> {
        loop {
            match self.ended() {
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                ended => return ended.ok().flatten(),
            }
        }
    }

    /// Sends it a signal, unless it has been reaped.
    pub fn signal(&mut self, signal: Signal) {
        self.send(signal, false);
    }

    /// Kills the program, unless it has been reaped. If it leads a group, the whole group is
    /// killed.
    pub fn kill(&mut self) {
        self.send(Signal::KILL, self.leads);
    }

    fn send(&mut self, signal: Signal, to_group: bool) {
        // Until the program is reaped, its process id cannot belong to another process. What is
        // left of its group can be killed even if the program itself has ended.
        if self.status.is_none()
            && let Some(pid) = i32::try_from(self.pid()).ok().and_then(Pid::from_raw)
        {
            // An error here means that the program ended just now, which is as good.
            let _ =
                if to_group { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
        }
    }

    /// Kills and reaps it.
    pub fn end(&mut self) -> Option<ExitStatus> {
        self.kill();
        self.wait_until(Instant::now() + GRACE)
    }

    /// Reads both outputs until the program ends, until `deadline`, or until `interrupted`. Keeps
    /// the first `most` bytes of each and discards the rest.
    ///
    /// # Errors
    /// If an output cannot be set up or waited for, or the kernel cannot tell whether the program
    /// ended.
    pub fn run_to_end(
        &mut self,
        most: usize,
        deadline: Instant,
        interrupted: &dyn Fn() -> bool,
    ) -> io::Result<Ran> {
        let mut out = Output::new(self.take_stdout())?;
        let mut err = Output::new(self.take_stderr())?;
        let mut status = None;
        while status.is_none() && Instant::now() < deadline && !interrupted() {
            let open = [&out, &err].into_iter().filter_map(|output| output.pipe.as_ref());
            let mut ends: Vec<PollFd<'_>> =
                open.map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
            wait_for(&mut ends, Instant::now() + TICK)?;
            // Checked before the last read, so that nothing written before the end is missed.
            status = self.ended()?;
            out.drain(most);
            err.drain(most);
        }
        Ok(Ran { status, stdout: out.kept, stderr: err.kept })
    }
}

/// An output of a program.
struct Output {
    /// None after the pipe has ended.
    pipe: Option<Input>,
    kept: Vec<u8>,
}

impl Output {
    fn new(pipe: Option<OwnedFd>) -> io::Result<Self> {
        let pipe = pipe.map(|pipe| Input::new(pipe, usize::MAX)).transpose()?;
        Ok(Output { pipe, kept: Vec::new() })
    }

    /// Reads what is there, without waiting. Keeps at most `most` bytes in all.
    fn drain(&mut self, most: usize) {
        for _ in 0..64 {
            let Some(pipe) = &mut self.pipe else { return };
            match pipe.read() {
                Ok(Got::Bytes) => {
                    let room = most.saturating_sub(self.kept.len());
                    let count = pipe.pending.len();
                    self.kept.extend(pipe.pending.drain(..).take(count.min(room)));
                }
                Ok(Got::Nothing) => return,
                Ok(Got::End) | Err(_) => self.pipe = None,
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

/// How a process ended, as a phrase that follows its name.
pub fn describe(status: Option<ExitStatus>) -> String {
    match status.map(|status| (status.signal(), status.code())) {
        Some((Some(signal), _)) => format!("was killed by signal {signal}"),
        Some((None, Some(code))) => format!("ended with exit code {code}"),
        Some((None, None)) => "ended".to_owned(),
        None => "closed its pipes but did not end".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::death;
    use crate::stat::Stat;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        death::bind(&mut command, Signal::KILL);
        Child::leading(command.spawn().unwrap())
    }

    fn far() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn both_outputs_and_the_end_are_heard() {
        let ran = shell("echo a; echo b >&2; exit 3").run_to_end(9, far(), &|| false).unwrap();
        assert_eq!((ran.stdout, ran.stderr), (b"a\n".to_vec(), b"b\n".to_vec()));
        assert_eq!(ran.status.unwrap().code(), Some(3));
        let ran = shell("head -c 3000000 /dev/zero").run_to_end(9, far(), &|| false).unwrap();
        assert_eq!((ran.status.unwrap().code(), ran.stdout.len()), (Some(0), 9));
    }

    #[test]
    fn what_never_ends_is_killed_with_its_group() {
        let tried = |seconds| {
            let mut child = shell("sleep 300 & echo $!; sleep 300");
            let soon = Instant::now() + Duration::from_secs(seconds);
            let ran = child.run_to_end(99, soon, &|| false).unwrap();
            assert!(ran.status.is_none() && child.ended().unwrap().is_none());
            (!ran.stdout.is_empty()).then_some((child, ran))
        };
        // On a busy machine the shell may need longer until it writes.
        let (mut child, ran) = [1, 10, 60].into_iter().find_map(tried).unwrap();
        let other: i32 = String::from_utf8(ran.stdout).unwrap().trim().parse().unwrap();
        let other = Pid::from_raw(other).unwrap();
        assert_eq!(child.end().unwrap().signal(), Some(Signal::KILL.as_raw()));
        // Init may need a moment to reap it.
        let is_gone = || {
            let stat = std::fs::read(format!("/proc/{}/stat", other.as_raw_pid()));
            Stat::parse(&stat.unwrap_or_default()).is_none_or(|stat| stat.is_dead())
        };
        assert!((0..500).any(|_| is_gone() || {
            std::thread::sleep(Duration::from_millis(10));
            false
        }));
    }

    #[test]
    fn one_that_has_ended_is_sent_nothing() {
        let mut child = shell("exit 0");
        assert!(child.wait_until(far()).unwrap().success());
        child.signal(Signal::INT);
        assert!(child.end().unwrap().success());
        assert_eq!(describe(child.ended().unwrap()), "ended with exit code 0");
    }

    #[test]
    fn somebody_can_interrupt() {
        let ran = shell("sleep 300").run_to_end(9, far(), &|| true).unwrap();
        assert!(ran.status.is_none());
    }
}
