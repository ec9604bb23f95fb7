//! The worker in the runtime, as seen by its generator. A second generator joins the group and
//! becomes the runtime. Then both sides exchange lines of text.

use load::protocol::{Failure, FailureKind};
use load::{OwnGenerator, Work};
use os::child::Child;
use os::pipe::{Got, Input, set_nonblocking, wait_for};
use os::user::User;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Joins the group and becomes the runtime.
pub(super) const RUNTIME: OwnGenerator = OwnGenerator { name: "runtime", prepare: become_runtime };

/// Placeholder in a command for the compiled worker, which the runtime inherits as an open file.
pub(super) const ARTIFACT: &str = "{artifact}";

/// How long a runtime may take to start. In an emulated guest under a quota it takes seconds.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Most bytes of its output that wait to be read as lines. A line has about twenty.
const MOST: usize = 1 << 20;

/// Most bytes that wait to be written to it.
const MOST_OUT: usize = 16 << 20;

/// Most bytes of its standard error that are kept, from the first one on.
const MOST_ERRORS: usize = 4096;

/// Longest text of a runtime that is kept, in characters.
const LONGEST: usize = 64;

/// How to start a runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    /// The program and its arguments. [`ARTIFACT`] is replaced in them.
    pub command: Vec<String>,
    /// Its environment.
    pub variables: Vec<(String, String)>,
    /// The compiled worker, a file or a folder.
    pub artifact: Option<PathBuf>,
    /// Control groups that it joins.
    pub join: Vec<PathBuf>,
    /// Whether it runs in a cgroup namespace of its own.
    pub namespace: bool,
    /// The user that it becomes, as `UID:GID`. None: the caller.
    pub user: Option<String>,
}

/// A running worker. It is killed on drop.
#[derive(Debug)]
pub(super) struct Worker {
    child: Child,
    /// None after the order to end.
    to: Option<OwnedFd>,
    from: Input,
    /// Its standard error. None once it is closed.
    errors: Option<Input>,
    /// The start of what it wrote there.
    words: Vec<u8>,
    unsent: Vec<u8>,
    /// Number of CPUs that the runtime reports.
    pub cpus: u32,
    /// Version of the runtime, in its own words.
    pub release: String,
}

impl Worker {
    /// Starts the worker and waits for its first line.
    ///
    /// # Errors
    /// If it does not start, or sends anything else.
    pub fn start(mut command: Command) -> Result<Self, Failure> {
        let system = |error: std::io::Error| failure(FailureKind::System, error);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Child::alone(command.spawn().map_err(system)?);
        let (Some(to), Some(from)) = (child.take_stdin(), child.take_stdout()) else {
            return Err(failure(FailureKind::System, "no pipes"));
        };
        set_nonblocking(&to).map_err(system)?;
        let from = Input::new(from, MOST).map_err(system)?;
        let errors = child.take_stderr().map(|pipe| Input::new(pipe, MOST)).transpose();
        let mut worker = Worker {
            child,
            to: Some(to),
            from,
            errors: errors.map_err(system)?,
            words: Vec::new(),
            unsent: Vec::new(),
            cpus: 0,
            release: String::new(),
        };
        worker.hear_ready()?;
        Ok(worker)
    }

    fn hear_ready(&mut self) -> Result<(), Failure> {
        let Some(line) = self.line(Instant::now() + START_LIMIT)? else {
            let why = format!("it did not start within {START_LIMIT:?}");
            return Err(failure(FailureKind::System, why));
        };
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        match words.as_slice() {
            ["ready", cpus, release] => {
                self.cpus = cpus.parse().map_err(|_| strange(&line))?;
                self.release = plain(release);
                Ok(())
            }
            _ => Err(refusal(&line)),
        }
    }

    /// Process ID of the worker.
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Sends a line as soon as the worker reads.
    ///
    /// # Errors
    /// If the worker has ended, or has not read for a long time.
    pub fn send(&mut self, line: &str) -> Result<(), Failure> {
        self.unsent.extend_from_slice(line.as_bytes());
        if self.unsent.len() > MOST_OUT {
            return Err(failure(FailureKind::System, "it takes no more requests"));
        }
        self.push()
    }

    fn push(&mut self) -> Result<(), Failure> {
        while !self.unsent.is_empty() {
            let Some(to) = &self.to else { return Ok(()) };
            match rustix::io::write(to, &self.unsent) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(_) => return Err(self.gone()),
            }
        }
        Ok(())
    }

    /// The next line. None if `deadline` passes before that.
    ///
    /// # Errors
    /// If the worker has ended, or sends an endless line.
    pub fn line(&mut self, deadline: Instant) -> Result<Option<String>, Failure> {
        loop {
            if let Some(line) = self.from.take_line() {
                return Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()));
            }
            match self.from.read() {
                Ok(Got::Bytes) => {}
                Ok(Got::Nothing) if self.wait(deadline)? => {}
                Ok(Got::Nothing) => return Ok(None),
                Ok(Got::End) => return Err(self.gone()),
                Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
                    return Err(failure(FailureKind::System, "it says lines without end"));
                }
                Err(error) => return Err(failure(FailureKind::System, error)),
            }
        }
    }

    /// Waits for output of the worker. Sends unsent bytes and reads its standard error meanwhile.
    /// False if `deadline` passes before that.
    fn wait(&mut self, deadline: Instant) -> Result<bool, Failure> {
        let mut ends = vec![PollFd::new(&self.from, PollFlags::IN)];
        ends.extend(self.errors.iter().map(|errors| PollFd::new(errors, PollFlags::IN)));
        let unsent = self.to.iter().filter(|_| !self.unsent.is_empty());
        ends.extend(unsent.map(|to| PollFd::new(to, PollFlags::OUT)));
        let came = wait_for(&mut ends, deadline);
        let came = came.map_err(|error| failure(FailureKind::System, error))?;
        if came {
            self.read_errors();
            self.push()?;
        }
        Ok(came)
    }

    /// Reads once from its standard error, without waiting. A runtime would stop at a full pipe,
    /// and count as one that hangs.
    fn read_errors(&mut self) {
        let Some(errors) = &mut self.errors else { return };
        match errors.read() {
            Ok(Got::Bytes) => {
                let room = MOST_ERRORS.saturating_sub(self.words.len());
                self.words.extend(errors.pending.drain(..).take(room));
            }
            Ok(Got::Nothing) => {}
            Ok(Got::End) | Err(_) => self.errors = None,
        }
    }

    /// Why the worker has ended, in its own words if it has any.
    fn gone(&mut self) -> Failure {
        self.read_errors();
        let text = String::from_utf8_lossy(&self.words);
        let first = text.lines().map(str::trim).find(|line| !line.is_empty());
        let why = first.map_or_else(|| "it ended".to_owned(), plain);
        failure(FailureKind::System, why)
    }

    /// Number of threads of its process. None if /proc does not show it.
    pub fn threads(&self) -> Option<u32> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid())).ok()?;
        u32::try_from(tasks.count()).ok()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A worker that runs as root cannot be killed by a process without root. It ends when its
        // input ends.
        self.to = None;
        self.child.end();
    }
}

/// The command that becomes the runtime, by way of this program itself.
pub(super) fn launcher(start: &Start) -> Result<Command, Failure> {
    let told = serde_json::to_string(start).map_err(|e| failure(FailureKind::System, e))?;
    let mut command = Command::new("/proc/self/exe");
    command.arg0("tailback").args(["load", "own", RUNTIME.name, "--spec", &told]);
    command.args(["--parent", &std::process::id().to_string()]);
    Ok(command)
}

/// Joins the groups and the namespace, becomes the user, and executes the runtime. Returns only if
/// one of these steps fails.
fn become_runtime(spec: Value) -> Result<Work, Failure> {
    let unusable = |error| failure(FailureKind::Unusable, error);
    let start: Start = serde_json::from_value(spec).map_err(unusable)?;
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned());
    let artifact = start.artifact.as_ref().map(std::fs::File::open).transpose();
    let artifact = artifact.map_err(|error| failure(FailureKind::System, error))?;
    for group in &start.join {
        let file = group.join("cgroup.procs");
        std::fs::write(&file, "0").map_err(|error| {
            failure(FailureKind::Permission, format_args!("{}: {error}", file.display()))
        })?;
    }
    if start.namespace {
        host::cgroup::enter_namespace(&host::Roots::real()).map_err(|error| {
            failure(FailureKind::Permission, format_args!("a cgroup namespace: {error}"))
        })?;
    }
    let user = start.user.as_deref().map(str::parse::<User>).transpose();
    if let Some(user) = user.map_err(|why| failure(FailureKind::Unusable, why))? {
        user.become_it().map_err(|error| failure(FailureKind::System, error))?;
    }
    // Changing the user clears the parent-death signal, so it is set again.
    parent
        .map_or(Ok(()), |parent| os::death::die_with(parent, Signal::KILL))
        .map_err(|error| failure(FailureKind::System, error))?;
    Err(failure(FailureKind::System, execute(&start, artifact.as_ref())))
}

/// Replaces this process with the runtime. Returns why that failed.
fn execute(start: &Start, artifact: Option<&std::fs::File>) -> String {
    let path = match artifact.map(open_for_it).transpose() {
        Ok(path) => path.unwrap_or_default(),
        Err(error) => return error.to_string(),
    };
    let mut words = start.command.iter().map(|word| word.replace(ARTIFACT, &path));
    let Some(program) = words.next() else { return "no command".to_owned() };
    let variables = start.variables.iter().map(|(name, value)| (name, value));
    let error =
        Command::new(&program).args(words).env_clear().envs(variables).current_dir("/").exec();
    format!("{program}: {error}")
}

/// Keeps a file open in the executed program. Returns the path by which the program finds it.
fn open_for_it(file: &std::fs::File) -> std::io::Result<String> {
    rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty())?;
    Ok(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// A line of a program without terminal control characters, cut to a maximum length.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !os::terminal::steers(*c)).take(LONGEST).collect()
}

fn strange(line: &str) -> Failure {
    failure(FailureKind::System, format_args!("it said `{}`", plain(line)))
}

/// The failure for an unexpected first line: the refusal by the process that should become the
/// runtime, or any other text.
fn refusal(line: &str) -> Failure {
    match serde_json::from_str(line) {
        Ok(load::protocol::Message::Error(refused)) => refused,
        _ => strange(line),
    }
}

/// A failure of this kind.
pub(super) fn failure(kind: FailureKind, what: impl std::fmt::Display) -> Failure {
    Failure { kind, what: format!("runtime: {what}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Worker, Failure> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Worker::start(command)
    }

    #[test]
    fn a_worker_says_what_it_is_and_answers() {
        let mut worker = shell("echo ready 2 v1; while read a b; do echo \"$b\"; done").unwrap();
        assert_eq!((worker.cpus, worker.release.as_str()), (2, "v1"));
        worker.send("r 7\n").unwrap();
        let line = worker.line(Instant::now() + START_LIMIT).unwrap();
        assert_eq!(line.as_deref(), Some("7"));
        assert_eq!(worker.line(Instant::now()).unwrap(), None);
        assert!(worker.threads().is_some_and(|count| count >= 1));
    }

    #[test]
    fn one_that_ends_is_told_in_its_own_words() {
        let error = shell("echo no room >&2; exit 1").unwrap_err();
        assert_eq!(error.what, "runtime: no room");
        let error = shell("echo hello").unwrap_err();
        assert_eq!(error.what, "runtime: it said `hello`");
        let refused = r#"{"error":{"kind":"permission","what":"runtime: no"}}"#;
        let error = shell(&format!("echo '{refused}'")).unwrap_err();
        assert_eq!((error.kind, error.what.as_str()), (FailureKind::Permission, "runtime: no"));
    }

    /// A pipe has room for 64 KiB.
    #[test]
    fn one_that_prints_many_errors_does_not_stop() {
        let errors = "head -c 300000 /dev/zero >&2";
        let script = format!(
            "echo no room >&2; {errors}; echo ready 2 v1; read a; {errors}; echo 7; read a; exit 1"
        );
        let mut worker = shell(&script).unwrap();
        worker.send("r 7\n").unwrap();
        let line = worker.line(Instant::now() + START_LIMIT).unwrap();
        assert_eq!(line.as_deref(), Some("7"));
        worker.send("end\n").unwrap();
        let error = worker.line(Instant::now() + START_LIMIT).unwrap_err();
        assert_eq!(error.what, "runtime: no room");
        assert!(worker.words.len() <= MOST_ERRORS);
    }
}
