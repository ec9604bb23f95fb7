//! The side of the tool: starting, releasing, reading and ending children.

use crate::live::LivePage;
use crate::page::inherit;
use crate::protocol::{Failure, FailureKind, Message, Ready, Report};
use os::child;
use os::pipe::{Input, Next};
use os::user::User;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a child that was asked to end is given before it is reaped by force.
const GRACE: Duration = Duration::from_secs(5);

/// The longest line that is taken, in bytes; a mapper's report is some hundred kilobytes at most.
const MOST: usize = 8 << 20;

/// Why a child did not do what it was started for. It is told where it is shown.
#[derive(Debug)]
pub enum LoadError {
    /// It could not be started.
    Start {
        /// Which generator.
        role: &'static str,
        /// What was to be executed.
        program: String,
        /// The kernel's reason.
        source: std::io::Error,
    },
    /// It reported why it gave up.
    Failed {
        /// Which generator.
        role: &'static str,
        /// Its process.
        pid: u32,
        /// What it says.
        failure: Failure,
    },
    /// It died.
    Died {
        /// Which generator.
        role: &'static str,
        /// Its process.
        pid: u32,
        /// How.
        how: Death,
    },
    /// It was not ready or did not report in time.
    Late {
        /// Which generator.
        role: &'static str,
        /// Its process.
        pid: u32,
        /// What it was waited for.
        what: Awaited,
        /// For how long.
        limit: Duration,
    },
    /// It sent a message that makes no sense here.
    Protocol {
        /// Which generator.
        role: &'static str,
        /// Its process.
        pid: u32,
        /// The message.
        message: String,
    },
    /// A pipe or a page could not be had.
    System {
        /// Which generator.
        role: &'static str,
        /// The kernel's reason.
        source: std::io::Error,
    },
}

impl LoadError {
    /// What sort of failure it is, for the exit code.
    pub fn kind(&self) -> FailureKind {
        match self {
            LoadError::Failed { failure, .. } => failure.kind,
            _ => FailureKind::System,
        }
    }
}

/// How a child ended that was not asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// It was killed by this signal.
    Killed(i32),
    /// It ended with this exit code.
    Exited(i32),
    /// It closed its output.
    Closed,
}

/// What a child was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// To be set up.
    Ready,
    /// To report.
    Report,
}

/// How the generators are executed.
#[derive(Debug, Clone)]
pub struct LoadSpawner {
    /// The program.
    pub program: PathBuf,
    /// Arguments before the generator's own.
    pub prefix: Vec<String>,
    /// The user that generators become once they are placed; absent: the caller.
    pub user: Option<User>,
}

impl Default for LoadSpawner {
    /// This binary with its hidden subcommand, as the user for what needs no root. The link in
    /// /proc survives an upgrade of the file on disk.
    fn default() -> Self {
        LoadSpawner {
            program: "/proc/self/exe".into(),
            prefix: vec!["load".to_owned()],
            user: os::user::unprivileged().map(|account| account.user),
        }
    }
}

/// A generator that runs.
#[derive(Debug)]
pub struct Child {
    role: &'static str,
    process: child::Child,
    control: Option<File>,
    lines: Input,
}

impl LoadSpawner {
    /// Starts a generator with these arguments; `live` is inherited where there is one.
    ///
    /// # Errors
    /// If the process cannot be made.
    pub fn start(
        &self,
        role: &'static str,
        args: &[String],
        live: Option<&LivePage>,
    ) -> Result<Child, LoadError> {
        let start =
            |source| LoadError::Start { role, program: self.program.display().to_string(), source };
        let mut command = Command::new(&self.program);
        // A group of its own keeps Ctrl-C on the terminal for the tool, which ends its children.
        command.arg0("tailback").args(&self.prefix);
        if let Some(user) = self.user {
            command.args(["--run-as", &user.to_string()]);
            // The caller's may be closed to that user by the folders above it.
            command.current_dir("/");
        }
        command.args(args).process_group(0);
        // A generator needs nothing of it, and its user may read what the caller's holds.
        command.env_clear();
        // A thread can register one place for restartable sequences, and `slice` has its own.
        command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        command.args(["--parent", &std::process::id().to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some(live) = live {
            command.args(["--live-fd", &live.as_fd().as_raw_fd().to_string()]);
            inherit(live, true).map_err(start)?;
        }
        let process = command.spawn();
        if let Some(live) = live {
            inherit(live, false).map_err(start)?;
        }
        Child::new(role, process.map_err(start)?)
    }
}

impl Child {
    fn new(role: &'static str, process: std::process::Child) -> Result<Self, LoadError> {
        let mut process = child::Child::leading(process);
        let system = |source| LoadError::System { role, source };
        let control = process.take_stdin().map(File::from);
        let stdout = process.take_stdout();
        let stdout = stdout.ok_or_else(|| system(std::io::ErrorKind::BrokenPipe.into()))?;
        let lines = Input::new(stdout, MOST).map_err(system)?;
        Ok(Child { role, process, control, lines })
    }

    /// The child's process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Whether the generator is set up before `deadline`, and as what.
    ///
    /// # Errors
    /// If it gives up or dies.
    pub fn ready_before(&mut self, deadline: Instant) -> Result<Option<Ready>, LoadError> {
        match self.next(deadline)? {
            Some(Message::Ready(ready)) => Ok(Some(ready)),
            Some(other) => Err(self.unexpected(&other)),
            None => Ok(None),
        }
    }

    /// Releases the generator.
    ///
    /// # Errors
    /// If it is gone.
    pub fn go(&mut self) -> Result<(), LoadError> {
        if self.send(b"g") { Ok(()) } else { Err(self.died()) }
    }

    /// Tells a worker pool that the window begins: what its workers did before does not count.
    pub fn window_begins(&mut self) {
        self.send(b"b");
    }

    /// Tells a worker pool that the window ends: what its workers do from now on does not count.
    pub fn window_ends(&mut self) {
        self.send(b"e");
    }

    /// Sends bytes; whether the generator still reads.
    fn send(&mut self, bytes: &[u8]) -> bool {
        self.control.as_mut().is_some_and(|control| control.write_all(bytes).is_ok())
    }

    /// Tells the generator to end now and report; a worker pool kills its workers.
    pub fn stop(&mut self) {
        self.control = None;
    }

    /// Whether the mapper has made its last call before `deadline`.
    ///
    /// # Errors
    /// If the generator gave up or died.
    pub fn done_before(&mut self, deadline: Instant) -> Result<bool, LoadError> {
        match self.next(deadline)? {
            Some(Message::Done) => Ok(true),
            Some(other) => Err(self.unexpected(&other)),
            None => Ok(false),
        }
    }

    /// The report, if it comes before `deadline`.
    ///
    /// # Errors
    /// If the generator gave up or died.
    pub fn report_before(&mut self, deadline: Instant) -> Result<Option<Report>, LoadError> {
        match self.next(deadline)? {
            Some(Message::Report(report)) => Ok(Some(report)),
            Some(other) => Err(self.unexpected(&other)),
            None => Ok(None),
        }
    }

    /// Kills the child and all workers that it leads.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    fn next(&mut self, deadline: Instant) -> Result<Option<Message>, LoadError> {
        let role = self.role;
        match self.lines.next_line(deadline).map_err(|source| LoadError::System { role, source })? {
            Next::Line(line) => self.parse(&line).map(Some),
            Next::Late => Ok(None),
            Next::End => Err(self.died()),
        }
    }

    fn parse(&self, line: &[u8]) -> Result<Message, LoadError> {
        match serde_json::from_slice(line) {
            Ok(Message::Error(failure)) => {
                Err(LoadError::Failed { role: self.role, pid: self.pid(), failure })
            }
            Ok(message) => Ok(message),
            Err(_) => Err(self.malformed(&String::from_utf8_lossy(line))),
        }
    }

    fn unexpected(&self, message: &Message) -> LoadError {
        self.malformed(&format!("{message:?}"))
    }

    fn malformed(&self, message: &str) -> LoadError {
        let message = message.chars().take(200).collect();
        LoadError::Protocol { role: self.role, pid: self.pid(), message }
    }

    /// The error of a generator that did not answer in time.
    pub fn late(&self, what: Awaited, limit: Duration) -> LoadError {
        LoadError::Late { role: self.role, pid: self.pid(), what, limit }
    }

    fn died(&mut self) -> LoadError {
        let how = self.reap().map_or(Death::Closed, death);
        LoadError::Died { role: self.role, pid: self.pid(), how }
    }

    /// Reaps the child within its grace, then by force; its pid is free afterwards.
    ///
    /// A child that even SIGKILL does not end, since it is stuck in the kernel, is left to init
    /// after a second grace.
    pub fn reap(&mut self) -> Option<ExitStatus> {
        self.control = None;
        self.process.wait_until(Instant::now() + GRACE).or_else(|| self.process.end())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.control = None;
        self.process.end();
    }
}

fn death(status: ExitStatus) -> Death {
    match (status.signal(), status.code()) {
        (Some(signal), _) => Death::Killed(signal),
        (None, Some(code)) => Death::Exited(code),
        (None, None) => Death::Closed,
    }
}
