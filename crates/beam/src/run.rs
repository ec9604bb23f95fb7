//! Running a program to its end, with a limit on its time and its output.

use crate::{reap, spawner, supervisor};
use os::user::User;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The most bytes of each stream that are kept; the rest is read and thrown away.
const MOST: usize = 256 << 10;

/// How often a program that closed nothing is checked.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// What a program did.
#[derive(Debug)]
pub struct Ran {
    /// How it ended; absent where it was killed for taking too long.
    pub status: Option<ExitStatus>,
    /// The beginning of its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
}

/// Runs a program as that user, or as the caller, with nothing to read, and kills it with its group
/// after `limit`, and all that it has left running once it ends.
///
/// # Errors
/// If it cannot be started.
pub fn run(mut command: Command, user: Option<User>, limit: Duration) -> io::Result<Ran> {
    let deadline = Instant::now() + limit;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Guard(supervised(command, user)?);
    let mut out = Stream::new(child.0.stdout.take().map(OwnedFd::from))?;
    let mut err = Stream::new(child.0.stderr.take().map(OwnedFd::from))?;
    let mut status = None;
    while status.is_none() && Instant::now() < deadline {
        wait_for(&out, &err);
        // Checked before the last read, so that nothing written before the end is missed.
        status = child.0.try_wait()?;
        out.drain();
        err.drain();
    }
    Ok(Ran { status, stdout: out.kept, stderr: err.kept })
}

/// Starts a program behind a supervisor, which ends all that the program has started once the tool
/// is gone: a compiler's own passes would outlive it.
fn supervised(mut command: Command, user: Option<User>) -> io::Result<Child> {
    command.process_group(0);
    let tool = std::process::id();
    // SAFETY: the supervisor makes system calls only, and neither allocates nor locks.
    unsafe { command.pre_exec(move || supervisor::split(tool)?.hand_over(user)) };
    spawner::spawn_as_is(command)
}

fn wait_for(out: &Stream, err: &Stream) {
    let pipes = [&out.pipe, &err.pipe];
    let mut fds: Vec<PollFd<'_>> =
        pipes.into_iter().flatten().map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
    if fds.is_empty() {
        return std::thread::sleep(Duration::from_millis(1));
    }
    // Whatever poll returns, the pipes and the child are checked next.
    let _ = poll(&mut fds, Some(&TICK));
}

struct Stream {
    pipe: Option<OwnedFd>,
    kept: Vec<u8>,
}

impl Stream {
    fn new(pipe: Option<OwnedFd>) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        Ok(Stream { pipe, kept: Vec::new() })
    }

    /// Reads what is there, up to a limit.
    fn drain(&mut self) {
        let mut chunk = [0; 16 << 10];
        for _ in 0..64 {
            let Some(pipe) = &self.pipe else { return };
            match rustix::io::read(pipe, &mut chunk) {
                Ok(count) if count > 0 => {
                    let room = MOST.saturating_sub(self.kept.len());
                    self.kept.extend_from_slice(&chunk[..count.min(room)]);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                _ => self.pipe = None,
            }
        }
    }
}

/// Ends the program's group and reaps it.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        reap::kill(&mut self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_and_the_end_are_heard() {
        let ran = run(shell("echo a; echo b >&2; exit 3"), None, Duration::from_secs(60)).unwrap();
        assert_eq!((ran.stdout, ran.stderr), (b"a\n".to_vec(), b"b\n".to_vec()));
        assert_eq!(ran.status.unwrap().code(), Some(3));
    }

    #[test]
    fn what_never_ends_is_killed_with_its_children() {
        let ran =
            run(shell("echo $$; sleep 300 & sleep 300"), None, Duration::from_millis(400)).unwrap();
        assert!(ran.status.is_none());
        let group = String::from_utf8(ran.stdout).unwrap();
        let left = format!("kill -0 -- -{}", group.trim());
        // The group's last process may need a moment until init has reaped it.
        let gone = (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            let ran = run(shell(&left), None, Duration::from_secs(60)).unwrap();
            !ran.status.unwrap().success()
        });
        assert!(gone);
    }

    #[test]
    fn a_daemon_that_keeps_the_pipe_open_holds_nobody_up() {
        let script = "setsid sleep 3 & echo done";
        let began = Instant::now();
        let ran = run(shell(script), None, Duration::from_secs(60)).unwrap();
        assert!(ran.status.unwrap().success());
        assert_eq!(ran.stdout, b"done\n");
        assert!(began.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn endless_output_is_cut() {
        let ran = run(shell("head -c 3000000 /dev/zero"), None, Duration::from_secs(60)).unwrap();
        assert!(ran.status.unwrap().success());
        assert_eq!(ran.stdout.len(), MOST);
    }
}
