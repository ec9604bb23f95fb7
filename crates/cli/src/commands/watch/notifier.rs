//! `--on-finding`: starts a program when an incident begins, and when it has ended.
//!
//! `watch` may start no program once it watches. So it starts a helper process before that. The
//! helper waits for lines and starts the program for each, one at a time. If root started
//! `watch`, the helper runs as the user of the load. It ends when `watch` has ended and every
//! line is delivered.

use crate::command::{Failure, Run, Session as Program};
use crate::output;
use crate::signals;
use os::child::Child;
use os::user::User;
use os::{death, sandbox};
use rustix::io::Errno;
use rustix::process::{Signal, geteuid, getppid, setsid};
use rustix::thread::CapabilitySet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Shortest time between two starts.
const RATE: Duration = Duration::from_secs(5);

/// The longest time that the program may run.
const LONGEST: Duration = Duration::from_secs(60);

/// How long `watch` waits at its end for lines that are not delivered yet.
const PATIENCE: Duration = Duration::from_secs(15);

/// Most bytes that may wait for delivery.
const MOST: usize = 256 << 10;

/// Size limit of a line, in bytes.
const LINE: u64 = 1 << 20;

/// The search path for programs.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The helper process that starts the program, as `watch` sees it.
pub struct Notifier {
    process: Child,
    pipe: Option<OwnedFd>,
    pending: Vec<u8>,
    has_complained: bool,
}

/// Refuses a program that does not exist.
///
/// # Errors
/// If there is no such file.
pub fn check(program: &Path) -> Result<(), Failure> {
    match program.is_file() {
        true => Ok(()),
        false => Err(Failure::usage(format!(
            "--on-finding {}: no such program; name it with its path",
            program.display()
        ))),
    }
}

impl Notifier {
    /// Starts the helper process.
    ///
    /// # Errors
    /// If the process cannot be started, or root has no other user to run the program as.
    pub fn start(program: &Path) -> Result<Self, Failure> {
        let failed =
            |why: String| Failure::need(format!("--on-finding {}: {why}", program.display()));
        let user = os::user::unprivileged().map(|account| account.user);
        if geteuid().is_root() && user.is_none() {
            return Err(failed("root cannot become another user here".to_owned()));
        }
        Self::spawn(program, user).map_err(|why| failed(why.to_string()))
    }

    fn spawn(program: &Path, user: Option<User>) -> std::io::Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        command.arg0("tailback").arg("notifier").arg(program.canonicalize()?);
        command.args(user.map(|user| format!("--user={user}")));
        command.env_clear().env("PATH", PATH).current_dir("/");
        // The output of the program must not be mixed with the figures.
        let errors = std::io::stderr().as_fd().try_clone_to_owned()?;
        command.stdin(Stdio::piped()).stdout(Stdio::from(errors));
        let mut process = Child::alone(command.spawn()?);
        let pipe = process.take_stdin().ok_or(Errno::PIPE)?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(Notifier { process, pipe: Some(pipe), pending: Vec::new(), has_complained: false })
    }

    /// Delivers a line now or later. Drops it if too many bytes wait already.
    pub fn send(&mut self, line: &str) {
        if self.pending.len() + line.len() < MOST {
            self.pending.extend_from_slice(line.as_bytes());
            self.pending.push(b'\n');
        } else {
            self.complain("the program is too slow; some incidents are not passed on");
        }
        self.flush();
    }

    /// Delivers waiting lines, as far as the pipe has room.
    pub fn flush(&mut self) {
        while let (Some(pipe), false) = (&self.pipe, self.pending.is_empty()) {
            match rustix::io::write(pipe, &self.pending) {
                Ok(count) => drop(self.pending.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    self.pipe = None;
                    let _ = self.process.ended();
                    // Whatever was reported before: from here on nothing is passed on.
                    self.has_complained = false;
                    self.complain("the process that starts the program has ended");
                }
            }
        }
    }

    /// Waits until all lines are delivered, for a limited time.
    pub fn end(mut self) {
        let until = Instant::now() + PATIENCE;
        while self.pipe.is_some() && !self.pending.is_empty() && Instant::now() < until {
            self.flush();
            std::thread::sleep(Duration::from_millis(10));
        }
        if !self.pending.is_empty() {
            self.complain("the last incidents could not be passed on");
        }
        self.pipe = None;
        if self.process.wait_until(until).is_none() {
            self.complain("its process does not end and is killed; the last incidents may be lost");
        }
    }

    /// Reports only the first problem, and the end of the helper process.
    fn complain(&mut self, why: &str) {
        if !std::mem::replace(&mut self.has_complained, true) {
            output::complain(&format!("--on-finding: {why}"));
        }
    }
}

/// Start a program for each line of standard input, for watch
#[derive(clap::Args)]
pub struct NotifierFlags {
    /// The program
    program: PathBuf,
    /// The user and group that the program runs as
    #[arg(long, value_name = "UID:GID")]
    user: Option<User>,
}

impl Run for NotifierFlags {
    fn run(&self, _: &Program) -> Result<u8, Failure> {
        // The process was started as /proc/self/exe, and would be shown as `exe`.
        let _ = rustix::thread::set_name(c"tailback-notify");
        // It ends with its `watch`.
        signals::ignore_requests();
        self.restrict().map_err(|why| {
            Failure::need(format!("--on-finding {}: {why}", self.program.display()))
        })?;
        let watch = getppid();
        let mut input = BufReader::new(std::io::stdin());
        let mut next = Instant::now();
        loop {
            let mut line = Vec::new();
            let read = Read::take(&mut input, LINE).read_until(b'\n', &mut line);
            // A line without an end was cut off.
            if read.is_err() || !line.ends_with(b"\n") {
                return Ok(0);
            }
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            // Lines that wait in the pipe are lost when `watch` has ended.
            if getppid() != watch {
                return Ok(0);
            }
            next = Instant::now() + RATE;
            if let Some(why) = wrong(start(&self.program, line, LONGEST)) {
                output::complain(&format!("--on-finding {}: {why}", self.program.display()));
            }
        }
    }
}

impl NotifierFlags {
    /// Gives up root, all privileges and the terminal, for good.
    fn restrict(&self) -> std::io::Result<()> {
        let _ = setsid();
        match self.user {
            Some(user) => user.become_it(),
            None if geteuid().is_root() => Err(std::io::ErrorKind::PermissionDenied.into()),
            None => sandbox::keep_privileges(CapabilitySet::empty()),
        }
    }
}

/// Runs the program with this line as its standard input. Returns how it ended; None if it ran
/// too long and was killed.
fn start(program: &Path, line: Vec<u8>, longest: Duration) -> std::io::Result<Option<ExitStatus>> {
    let mut command = Command::new(program);
    command.stdin(Stdio::piped()).process_group(0);
    death::bind(&mut command, Signal::KILL);
    let mut child = Child::leading(command.spawn()?);
    if let Some(pipe) = child.take_stdin() {
        // The program need not read the line. If it is killed, this thread ends too.
        std::thread::spawn(move || File::from(pipe).write_all(&line));
    }
    Ok(child.wait_until(Instant::now() + longest))
}

/// The reason of a failure, if any.
fn wrong(ran: std::io::Result<Option<ExitStatus>>) -> Option<String> {
    match ran {
        Ok(Some(status)) if status.success() => None,
        Ok(Some(status)) => Some(format!("it ended with {status}")),
        Ok(None) => Some(format!("it took longer than {} s and was killed", LONGEST.as_secs())),
        Err(why) => Some(why.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_takes_too_long_is_killed_and_said() {
        let folder = tempfile::tempdir().unwrap();
        let program = |name: &str, text: &str| {
            let path = folder.path().join(name);
            testing::write_program(&path, &format!("#!/bin/sh\n{text}\n"));
            path
        };
        let ran = |path: &Path, longest| wrong(start(path, b"{}\n".to_vec(), longest));
        let (long, short) = (Duration::from_secs(60), Duration::from_millis(50));
        assert_eq!(ran(&program("reads", "read -r line && [ \"$line\" = '{}' ]"), long), None);
        assert!(ran(&program("fails", "exit 3"), long).unwrap().contains("exit status: 3"));
        let began = Instant::now();
        assert!(ran(&program("hangs", "sleep 600"), short).unwrap().contains("was killed"));
        assert!(began.elapsed() < long);
    }

    #[test]
    fn what_waits_for_a_slow_program_is_bounded_and_said() {
        let mut command = Command::new("sleep");
        let mut process = Child::alone(command.arg("600").stdin(Stdio::piped()).spawn().unwrap());
        let pipe = process.take_stdin().unwrap();
        rustix::io::ioctl_fionbio(&pipe, true).unwrap();
        let pipe = Some(pipe);
        let mut notifier = Notifier { process, pipe, pending: Vec::new(), has_complained: false };
        let line = "x".repeat(4_000);
        (0..1_000).for_each(|_| notifier.send(&line));
        assert!(notifier.has_complained);
        assert!((MOST - 2 * line.len()..=MOST).contains(&notifier.pending.len()));
    }
}
