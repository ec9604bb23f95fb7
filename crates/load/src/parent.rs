//! The tool's side: it starts, releases, reads and ends child processes.

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

/// How long a child may take to end after a request, before it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// The longest line that is accepted, in bytes. A mapper's report has some hundred kilobytes at
/// most.
const MOST: usize = 8 << 20;

/// Why a child process failed. The message text is made where the error is shown.
#[derive(Debug)]
pub enum LoadError {
    /// The child could not be started.
    Start {
        /// Which generator.
        role: &'static str,
        /// The program that failed to start.
        program: String,
        /// The kernel's reason.
        source: std::io::Error,
    },
    /// The child reported a failure and ended.
    Failed {
        /// Which generator.
        role: &'static str,
        /// Process ID.
        pid: u32,
        /// The reported failure.
        failure: Failure,
    },
    /// The child died.
    Died {
        /// Which generator.
        role: &'static str,
        /// Process ID.
        pid: u32,
        /// How it died.
        how: Death,
    },
    /// The child was not ready or did not report in time.
    Late {
        /// Which generator.
        role: &'static str,
        /// Process ID.
        pid: u32,
        /// What the tool waited for.
        what: Awaited,
        /// How long the tool waited.
        limit: Duration,
    },
    /// The child sent an unexpected message.
    Protocol {
        /// Which generator.
        role: &'static str,
        /// Process ID.
        pid: u32,
        /// The message.
        message: String,
    },
    /// A pipe or a shared page was not available.
    System {
        /// Which generator.
        role: &'static str,
        /// The kernel's reason.
        source: std::io::Error,
    },
}

impl LoadError {
    /// The kind of failure, for the exit code.
    pub fn kind(&self) -> FailureKind {
        match self {
            LoadError::Failed { failure, .. } => failure.kind,
            _ => FailureKind::System,
        }
    }
}

/// How a child ended without a request to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// A signal killed it.
    Killed(i32),
    /// It ended with this exit code.
    Exited(i32),
    /// It closed its output.
    Closed,
}

/// What the tool waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// The child is set up.
    Ready,
    /// The report of the child.
    Report,
}

/// How to start the generators.
#[derive(Debug, Clone)]
pub struct LoadSpawner {
    /// The program.
    pub program: PathBuf,
    /// Arguments before the arguments of the generator.
    pub prefix: Vec<String>,
    /// The user that a generator becomes after its set-up. None: it stays the caller.
    pub user: Option<User>,
}

impl Default for LoadSpawner {
    /// This binary with its hidden subcommand, run as the user for tasks that need no root. The
    /// link in /proc still works after an upgrade has replaced the file on disk.
    fn default() -> Self {
        LoadSpawner {
            program: "/proc/self/exe".into(),
            prefix: vec!["load".to_owned()],
            user: os::user::unprivileged().map(|account| account.user),
        }
    }
}

/// A running generator.
#[derive(Debug)]
pub struct Child {
    role: &'static str,
    process: child::Child,
    control: Option<File>,
    lines: Input,
}

impl LoadSpawner {
    /// Starts a generator with these arguments. It inherits the page `live` if there is one.
    ///
    /// # Errors
    /// If the process cannot be created.
    pub fn start(
        &self,
        role: &'static str,
        args: &[String],
        live: Option<&LivePage>,
    ) -> Result<Child, LoadError> {
        let start =
            |source| LoadError::Start { role, program: self.program.display().to_string(), source };
        let mut command = Command::new(&self.program);
        // The child has its own process group, so Ctrl-C on the terminal reaches only the tool.
        // The tool then ends its children.
        command.arg0("tailback").args(&self.prefix);
        if let Some(user) = self.user {
            command.args(["--run-as", &user.to_string()]);
            // That user may have no access to the caller's working directory.
            command.current_dir("/");
        }
        command.args(args).process_group(0);
        // A generator needs no environment. The caller's environment may hold secrets that the
        // generator's user could read.
        command.env_clear();
        // A thread has only one registration for restartable sequences, and `slice` needs it.
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

    /// Process ID of the child.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Waits until the generator is set up. None if `deadline` passes before that.
    ///
    /// # Errors
    /// If the generator gives up or dies.
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
    /// If the generator has ended.
    pub fn go(&mut self) -> Result<(), LoadError> {
        if self.send(b"g") { Ok(()) } else { Err(self.died()) }
    }

    /// Tells a worker pool that the window begins. Earlier work does not count.
    pub fn window_begins(&mut self) {
        self.send(b"b");
    }

    /// Tells a worker pool that the window ends. Later work does not count.
    pub fn window_ends(&mut self) {
        self.send(b"e");
    }

    /// Sends bytes. Returns whether the generator still reads.
    fn send(&mut self, bytes: &[u8]) -> bool {
        self.control.as_mut().is_some_and(|control| control.write_all(bytes).is_ok())
    }

    /// Tells the generator to stop and report. A worker pool kills its workers.
    pub fn stop(&mut self) {
        self.control = None;
    }

    /// Waits until the mapper has made its last call. False if `deadline` passes before that.
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

    /// Waits for the report. None if `deadline` passes before that.
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

    /// Kills the child and all its workers.
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

    /// The error for a generator that did not answer in time.
    pub fn late(&self, what: Awaited, limit: Duration) -> LoadError {
        LoadError::Late { role: self.role, pid: self.pid(), what, limit }
    }

    fn died(&mut self) -> LoadError {
        let how = self.reap().map_or(Death::Closed, death);
        LoadError::Died { role: self.role, pid: self.pid(), how }
    }

    /// Waits for the child to end, then kills it. Its process ID is free afterwards.
    ///
    /// A child that hangs in the kernel survives even SIGKILL. It is left to init after a second
    /// wait.
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
