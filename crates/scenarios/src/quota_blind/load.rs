//! The stream of requests: a generator of this scenario's own, outside of the group. It starts the
//! runtime through another one, which joins the group and becomes it.

use super::failure::failure;
use super::stream::{self, Plan, Report};
use super::worker::Worker;
use load::protocol::{Failure, FailureKind};
use load::{OwnGenerator, Work};
use os::user::User;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Sends requests and times the answers.
pub(super) const REQUESTS: OwnGenerator = OwnGenerator { name: "runtime-requests", prepare };

/// Joins the group, and becomes the runtime.
pub(super) const RUNTIME: OwnGenerator = OwnGenerator { name: "runtime", prepare: become_runtime };

/// Stands in a command for the compiled worker, which the runtime finds open.
pub(super) const ARTIFACT: &str = "{artifact}";

/// What the generator is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Spec {
    /// How the runtime is started.
    pub runtime: Start,
    /// What it is asked.
    pub asked: Asked,
}

/// How a runtime is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    /// The program and its words; [`ARTIFACT`] is replaced in them.
    pub command: Vec<String>,
    /// Its environment.
    pub variables: Vec<(String, String)>,
    /// The compiled worker, a file or a folder.
    pub artifact: Option<PathBuf>,
    /// Groups that it joins.
    pub join: Vec<PathBuf>,
    /// Whether it is in a cgroup namespace of its own.
    pub namespace: bool,
    /// Whom it becomes, as `UID:GID`; the caller if absent.
    pub user: Option<String>,
}

/// What a runtime is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Asked {
    /// How many rounds of each kind of work it does in a millisecond.
    Speed,
    /// To serve this.
    Serve(Plan),
}

/// What the generator reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Answer {
    /// Rounds in a millisecond: of requests, and of jobs.
    Speed([u32; 2]),
    /// How it served.
    Served(Report),
}

fn prepare(spec: Value) -> Result<Work, Failure> {
    let spec: Spec =
        serde_json::from_value(spec).map_err(|error| failure(FailureKind::Unusable, error))?;
    let mut worker = Worker::start(launcher(&spec.runtime)?)?;
    if let Asked::Serve(plan) = &spec.asked {
        stream::warm_up(&mut worker, plan)?;
    }
    Ok(Box::new(move || {
        let answer = match &spec.asked {
            Asked::Speed => Answer::Speed(stream::speed(&mut worker)?),
            Asked::Serve(plan) => Answer::Served(stream::serve(&mut worker, plan)?),
        };
        serde_json::to_value(answer).map_err(|error| failure(FailureKind::System, error))
    }))
}

/// The command that becomes the runtime, by way of this very program.
fn launcher(start: &Start) -> Result<Command, Failure> {
    let told = serde_json::to_string(start).map_err(|e| failure(FailureKind::System, e))?;
    let mut command = Command::new("/proc/self/exe");
    command.arg0("tailback").args(["load", "own", RUNTIME.name, "--spec", &told]);
    command.args(["--parent", &std::process::id().to_string()]);
    Ok(command)
}

/// Joins the group and the namespace, becomes the user, and executes the runtime; returns only
/// where that fails.
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
    // The kernel forgot it as the user changed.
    parent
        .map_or(Ok(()), |parent| os::death::die_with(parent, Signal::KILL))
        .map_err(|error| failure(FailureKind::System, error))?;
    Err(failure(FailureKind::System, execute(&start, artifact.as_ref())))
}

/// Executes the runtime in the place of this process; why it could not.
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

/// Keeps a file open in the program that is executed; the path by which that finds it.
fn open_for_it(file: &std::fs::File) -> std::io::Result<String> {
    use std::os::fd::AsRawFd;
    rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty())?;
    Ok(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
