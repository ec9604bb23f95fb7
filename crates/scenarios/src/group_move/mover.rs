//! The mover: moves a sleeping child between two groups, or makes the call of another arm, again
//! and again, and records how long each call takes.
//!
//! It keeps the caller's rights, because only the owner of the groups may write to their files and
//! make children in them. The child runs as the load's user.

use super::params::By;
use hdrhistogram::Histogram;
use load::protocol::{Failure, FailureKind, Message};
use load::{OwnArgs, OwnGenerator, histogram};
use os::child::Child;
use os::death;
use os::pipe::{Input, Next};
use os::time::whole_ns;
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, waitpid};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The generator of the mover.
pub(super) const MOVER: OwnGenerator = OwnGenerator { name: "group-mover", prepare };

/// The generator of the child that is moved.
pub(super) const SLEEPER: OwnGenerator = OwnGenerator { name: "group-sleeper", prepare: sleeper };

/// A call that takes longer than this counts as a stall. In an emulated Linux 5.10, moves took up
/// to 3.8 ms. Where they waited for a grace period, half of them took 11 ms or more with 250 ticks
/// a second, 4 ms with 1000 (2026-11-29).
const STALL_NS: u64 = 5_000_000;

/// The file by which a process joins a group.
const PROCS: &str = "cgroup.procs";

/// How long the child may take to get ready.
const READY_LIMIT: Duration = Duration::from_secs(20);

/// Most unread bytes of the child. It sends one line.
const MOST: usize = 64 << 10;

/// The settings of the mover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MoverSpec {
    /// The call that is timed.
    pub(super) by: By,
    /// The folders of the two groups.
    pub(super) groups: [PathBuf; 2],
    /// The name of the file that the control writes to.
    pub(super) other_file: String,
    /// The user that the child becomes, as UID:GID. None: the mover's user.
    pub(super) user: Option<String>,
    /// Pause before each call, in nanoseconds.
    pub(super) gap_ns: u64,
    /// Duration of the work, in milliseconds.
    pub(super) duration_ms: u64,
}

/// The report of the mover.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct MoveReport {
    /// Duration of the work, in nanoseconds.
    pub(super) window_ns: u64,
    /// Number of calls.
    pub(super) calls: u64,
    /// Number of calls that were stalls.
    pub(super) over: u64,
    /// Time of these calls, in nanoseconds.
    pub(super) lost_ns: u64,
    /// The longest call, in nanoseconds.
    pub(super) worst_ns: u64,
    /// Durations of all calls: HdrHistogram V2, base64.
    pub(super) durations: String,
}

fn broken(what: impl std::fmt::Display) -> Failure {
    Failure { kind: FailureKind::System, what: format!("{}: {what}", MOVER.name) }
}

/// The failure for a file or a program that the kernel refused.
fn refused(what: impl std::fmt::Display, error: &std::io::Error) -> Failure {
    let kind = match error.kind() {
        std::io::ErrorKind::PermissionDenied => FailureKind::Permission,
        std::io::ErrorKind::OutOfMemory | std::io::ErrorKind::WouldBlock => FailureKind::Limit,
        _ => FailureKind::System,
    };
    Failure { kind, what: format!("{}: {what}: {error}", MOVER.name) }
}

/// The child has no work: it sleeps until it is killed.
fn sleeper(_: Value) -> Result<load::Work, Failure> {
    Ok(Box::new(|| Ok(Value::Null)))
}

fn prepare(spec: Value) -> Result<load::Work, Failure> {
    let unusable = |what| Failure { kind: FailureKind::Unusable, what };
    let spec: MoverSpec = serde_json::from_value(spec)
        .map_err(|error| unusable(format!("{}: {error}", MOVER.name)))?;
    let mut child = start_sleeper(spec.user.as_deref())?;
    // This move is not timed.
    let procs = spec.groups[0].join(PROCS);
    let moved = to_write(&procs)?.write_all(child.pid().to_string().as_bytes());
    moved.map_err(|error| refused(procs.display(), &error))?;
    let calls = Calls::open(&spec, child.pid())?;
    Ok(Box::new(move || {
        let report = repeat(&spec, &calls).map_err(|error| refused(spec.by, &error))?;
        match child.ended() {
            Ok(None) => serde_json::to_value(report).map_err(broken),
            _ => Err(broken("the child that is moved has ended")),
        }
    }))
}

/// Starts the child, and waits until it sleeps.
fn start_sleeper(user: Option<&str>) -> Result<Child, Failure> {
    let mut command = Command::new("/proc/self/exe");
    command.arg("load");
    if let Some(user) = user {
        command.args(["--run-as", user]);
    }
    command.args(OwnArgs::to_args(&SLEEPER, &Value::Null));
    command.args(["--parent", &std::process::id().to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let started = command.spawn().map_err(|error| refused("the child cannot be started", &error));
    let mut child = Child::alone(started?);
    let output = child.take_stdout().ok_or_else(|| broken("no pipe to the child"))?;
    let mut output = Input::new(output, MOST).map_err(broken)?;
    let line = output.next_line(Instant::now() + READY_LIMIT).map_err(broken)?;
    let Next::Line(line) = line else { return Err(broken("the child did not get ready")) };
    match serde_json::from_slice(&line) {
        Ok(Message::Ready(_)) => Ok(child),
        Ok(Message::Error(failure)) => Err(failure),
        _ => Err(broken("the child said something else than that it is ready")),
    }
}

/// What is done to each of the two groups.
enum Calls {
    /// This text is written to this file.
    Write([(File, String); 2]),
    /// A child is made in the group, whose folder is open.
    Clone([File; 2]),
}

impl Calls {
    /// Opens what the calls need. `pid` is the child that is moved.
    fn open(spec: &MoverSpec, pid: u32) -> Result<Self, Failure> {
        let [one, other] = &spec.groups;
        match spec.by {
            By::Move => {
                let file = |group: &Path| -> Result<_, Failure> {
                    Ok((to_write(&group.join(PROCS))?, pid.to_string()))
                };
                Ok(Calls::Write([file(one)?, file(other)?]))
            }
            By::OtherFile => {
                let file = |group: &Path| unchanged(&group.join(&spec.other_file));
                Ok(Calls::Write([file(one)?, file(other)?]))
            }
            By::CloneInto => {
                let cannot = |error| refused("the folder of a group", &error);
                let folder = |group: &Path| File::open(group).map_err(cannot);
                Ok(Calls::Clone([folder(one)?, folder(other)?]))
            }
        }
    }

    /// Makes the call for one of the groups, and returns how long it took.
    fn make(&self, group: usize) -> std::io::Result<Duration> {
        match self {
            Calls::Write(files) => {
                let (file, text) = &files[group];
                let asked = Instant::now();
                write(file, text)?;
                Ok(asked.elapsed())
            }
            Calls::Clone(folders) => {
                let asked = Instant::now();
                let child = death::short_lived_in(folders[group].as_fd())?;
                let took = asked.elapsed();
                reap(child)?;
                Ok(took)
            }
        }
    }
}

fn to_write(path: &Path) -> Result<File, Failure> {
    let file = File::options().write(true).open(path);
    file.map_err(|error| refused(path.display(), &error))
}

/// A file of a group and the value that it has. Writing this value changes nothing.
fn unchanged(path: &Path) -> Result<(File, String), Failure> {
    let value = std::fs::read_to_string(path);
    let value = value.map_err(|error| refused(path.display(), &error))?;
    Ok((to_write(path)?, value.trim().to_owned()))
}

fn write(mut file: &File, text: &str) -> std::io::Result<()> {
    file.write_all(text.as_bytes())
}

/// Waits for the end of a child.
pub(super) fn reap(child: Pid) -> std::io::Result<()> {
    loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Makes the calls until the time is over, for each group in turn. It makes at least one.
fn repeat(spec: &MoverSpec, calls: &Calls) -> std::io::Result<MoveReport> {
    let gap = Duration::from_nanos(spec.gap_ns);
    let duration = Duration::from_millis(spec.duration_ms);
    let mut durations: Histogram<u64> = histogram::empty();
    let mut report = MoveReport::default();
    let began = Instant::now();
    // The child begins in the first group.
    let mut group = 1;
    loop {
        if !gap.is_zero() {
            std::thread::sleep(gap);
        }
        let took_ns = whole_ns(calls.make(group)?);
        group = 1 - group;
        histogram::record(&mut durations, took_ns);
        report.count(took_ns);
        if began.elapsed() >= duration {
            break;
        }
    }
    report.window_ns = whole_ns(began.elapsed());
    report.durations = histogram::encode(&durations);
    Ok(report)
}

impl MoveReport {
    fn count(&mut self, took_ns: u64) {
        self.calls += 1;
        self.worst_ns = self.worst_ns.max(took_ns);
        if took_ns > STALL_NS {
            self.over += 1;
            self.lost_ns += took_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::Tree;

    fn spec(tree: &Tree, by: By, duration_ms: u64) -> MoverSpec {
        MoverSpec {
            by,
            groups: [tree.path("one"), tree.path("other")],
            other_file: "cgroup.max.depth".to_owned(),
            user: None,
            gap_ns: 0,
            duration_ms,
        }
    }

    fn tree() -> Tree {
        Tree::new(&[
            ("one/cgroup.procs", ""),
            ("other/cgroup.procs", ""),
            ("one/cgroup.max.depth", "max\n"),
            ("other/cgroup.max.depth", "max\n"),
        ])
    }

    fn text(tree: &Tree, path: &str) -> String {
        std::fs::read_to_string(tree.path(path)).unwrap()
    }

    #[test]
    fn a_child_is_moved_into_each_group_in_turn() {
        let tree = tree();
        let once = spec(&tree, By::Move, 0);
        let report = repeat(&once, &Calls::open(&once, 77).unwrap()).unwrap();
        assert_eq!((report.calls, text(&tree, "other/cgroup.procs").as_str()), (1, "77"));
        assert_eq!(text(&tree, "one/cgroup.procs"), "", "the child is there from the start");
        let calls = Calls::open(&once, 8).unwrap();
        for group in [1, 0, 1] {
            assert!(calls.make(group).is_ok());
        }
        // A plain file keeps what was written before, unlike a file of a group.
        assert_eq!(text(&tree, "one/cgroup.procs"), "8");
        assert_eq!(text(&tree, "other/cgroup.procs"), "88");
    }

    #[test]
    fn the_control_writes_the_value_that_is_there_and_moves_nothing() {
        let tree = tree();
        let control = spec(&tree, By::OtherFile, 20);
        let report = repeat(&control, &Calls::open(&control, 77).unwrap()).unwrap();
        assert!(report.calls >= 1 && report.window_ns >= 20_000_000, "{report:?}");
        let written = text(&tree, "other/cgroup.max.depth");
        assert!(written.starts_with("max"), "{written}");
        assert_eq!(text(&tree, "other/cgroup.procs"), "");
        let counted = histogram::decode(&report.durations).unwrap();
        assert_eq!(counted.len(), report.calls);
    }

    #[test]
    fn only_calls_longer_than_the_limit_are_lost_time() {
        let mut report = MoveReport::default();
        [4_900_000, 5_000_000, 12_000_000, 30_000_000].into_iter().for_each(|ns| report.count(ns));
        assert_eq!((report.calls, report.over), (4, 2));
        assert_eq!((report.lost_ns, report.worst_ns), (42_000_000, 30_000_000));
    }

    #[test]
    fn no_child_is_made_in_what_is_no_group() {
        let tree = tree();
        let spec = spec(&tree, By::CloneInto, 0);
        assert!(Calls::open(&spec, 7).unwrap().make(0).is_err());
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(prepare(serde_json::json!({"by": "walk"})).is_err());
        let nowhere = MoverSpec {
            by: By::OtherFile,
            groups: ["/nowhere/one".into(), "/nowhere/other".into()],
            other_file: "x".to_owned(),
            user: None,
            gap_ns: 0,
            duration_ms: 1,
        };
        let Err(failure) = Calls::open(&nowhere, 7) else { panic!() };
        assert!(failure.what.contains("/nowhere/one/x"), "{}", failure.what);
    }
}
