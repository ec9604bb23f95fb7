//! The leader: keeps a worker in the group, restarts it if it is killed, and counts.
//!
//! The leader itself is never in the group, so the limit does not slow it down.

use super::load::{Spec, Work, WorkReport, failure};
use super::worker;
use hdrhistogram::Histogram;
use load::protocol::{Failure, FailureKind, Message};
use load::{OwnArgs, OwnGenerator, histogram};
use os::child::Child;
use os::pipe::{Got, Input, Next};
use os::time;
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The generator.
pub(super) const GENERATOR: OwnGenerator = OwnGenerator { name: "memory-leader", prepare };

/// How long a worker may take to fill its first memory.
const READY_LIMIT: Duration = Duration::from_secs(30);

/// Most unread bytes of a worker. It sends a line first, and then small records.
const MOST: usize = 64 << 10;

/// Size of a record that a worker sends for a unit, in bytes.
const RECORD: usize = 8;

fn broken(what: impl std::fmt::Display) -> Failure {
    Failure { kind: FailureKind::System, what: format!("{}: {what}", GENERATOR.name) }
}

fn prepare(spec: Value) -> Result<load::Work, Failure> {
    let unusable = |what| Failure { kind: FailureKind::Unusable, what };
    let spec: Spec = serde_json::from_value(spec)
        .map_err(|error| unusable(format!("{}: {error}", GENERATOR.name)))?;
    // Opened with the caller's rights. For a write to this file, the kernel checks the rights of
    // the process that opened it.
    let procs = File::options().write(true).open(&spec.procs);
    let what = format!("memory worker: cannot join the group of {}", spec.procs.display());
    let procs = procs.map_err(|error| failure(&what, &error))?;
    let worker = Worker::start(&spec.work, spec.user.as_deref(), &procs)?;
    let worker = worker.filled(Instant::now() + READY_LIMIT)?;
    let seconds = READY_LIMIT.as_secs();
    let unfilled =
        || broken(format!("the worker did not fill its memory in {seconds} s, or was killed"));
    let worker = worker.ok_or_else(unfilled)?;
    Ok(Box::new(move || {
        let report = lead(&spec, &procs, worker)?;
        serde_json::to_value(report).map_err(broken)
    }))
}

/// The counts of the leader.
struct Counts {
    units: u64,
    restarts: u64,
    down_ns: u64,
    worst_ns: u64,
    durations: Histogram<u64>,
}

impl Counts {
    fn duration(&mut self, ns: u64) {
        histogram::record(&mut self.durations, ns);
        self.worst_ns = self.worst_ns.max(ns);
    }
}

/// Runs workers until the time is over.
fn lead(spec: &Spec, procs: &File, first: Worker) -> Result<WorkReport, Failure> {
    let mut counts =
        Counts { units: 0, restarts: 0, down_ns: 0, worst_ns: 0, durations: histogram::empty() };
    let began = Instant::now();
    let deadline = began + Duration::from_millis(spec.duration_ms);
    let mut last = began;
    let mut worker = Some(first);
    while let Some(mut running) = worker.take() {
        running.work_until(deadline, &mut counts, &mut last)?;
        drop(running);
        let ended = Instant::now();
        if ended >= deadline {
            break;
        }
        counts.restarts += 1;
        // A restarted worker begins without memory, like a service that was killed. It runs as the
        // user of the leader.
        let again = Work { fill: 0, ..spec.work };
        worker = Worker::start(&again, None, procs)?.filled(deadline)?;
        counts.down_ns = counts.down_ns.saturating_add(time::whole_ns(ended.elapsed()));
    }
    // A unit that has not ended counts with its time so far, without the pause before it.
    let pause = Duration::from_micros(spec.work.every_us);
    counts.duration(time::whole_ns(last.elapsed().saturating_sub(pause)));
    Ok(WorkReport {
        window_ns: time::whole_ns(began.elapsed()),
        down_ns: counts.down_ns,
        units: counts.units,
        restarts: counts.restarts,
        worst_ns: counts.worst_ns,
        durations: histogram::encode(&counts.durations),
    })
}

/// A running worker. It is killed on drop.
struct Worker {
    child: Child,
    input: File,
    output: Input,
}

impl Worker {
    /// Starts a worker, and moves it into the group before it takes memory.
    fn start(work: &Work, user: Option<&str>, mut procs: &File) -> Result<Self, Failure> {
        let told = serde_json::to_value(work).map_err(broken)?;
        let mut command = Command::new("/proc/self/exe");
        command.arg("load");
        if let Some(user) = user {
            command.args(["--run-as", user]);
        }
        command.args(OwnArgs::to_args(&worker::GENERATOR, &told));
        command.args(["--parent", &std::process::id().to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let cannot = |error| failure("memory worker: cannot be started", &error);
        let mut child = Child::alone(command.spawn().map_err(cannot)?);
        let (Some(input), Some(output)) = (child.take_stdin(), child.take_stdout()) else {
            return Err(broken("no pipe to the worker"));
        };
        let output = Input::new(output, MOST).map_err(broken)?;
        let mut worker = Worker { child, input: input.into(), output };
        worker.wait_until_ready()?;
        let moved = procs.write_all(worker.child.pid().to_string().as_bytes());
        moved.map_err(|error| failure("memory worker: cannot join its group", &error))?;
        Ok(worker)
    }

    /// Waits for the line by which the worker reports that it is set up.
    fn wait_until_ready(&mut self) -> Result<(), Failure> {
        let line = self.output.next_line(Instant::now() + READY_LIMIT).map_err(broken)?;
        let Next::Line(line) = line else { return Err(broken("the worker did not get ready")) };
        match serde_json::from_slice(&line) {
            Ok(Message::Ready(_)) => Ok(()),
            Ok(Message::Error(failure)) => Err(failure),
            _ => Err(broken("the worker said something else than that it is ready")),
        }
    }

    /// Lets the worker fill its first memory and then start its work. None if it was killed
    /// meanwhile, or if the time is over.
    fn filled(mut self, deadline: Instant) -> Result<Option<Self>, Failure> {
        // If the worker was killed, the read below detects it.
        let _ = self.input.write_all(b"g");
        while self.output.pending.len() < RECORD {
            match self.output.read_before(deadline).map_err(broken)? {
                Got::Bytes => {}
                Got::End | Got::Nothing => return Ok(None),
            }
        }
        self.output.pending.drain(..RECORD);
        Ok(Some(self))
    }

    /// Lets the worker work until it ends or the time is over. Then it is killed.
    fn work_until(
        &mut self,
        deadline: Instant,
        counts: &mut Counts,
        last: &mut Instant,
    ) -> Result<(), Failure> {
        let _ = self.input.write_all(b"g");
        loop {
            while let Some(record) = self.output.pending.first_chunk::<RECORD>().copied() {
                counts.duration(u64::from_le_bytes(record));
                counts.units += 1;
                *last = Instant::now();
                self.output.pending.drain(..RECORD);
            }
            match self.output.read_before(deadline).map_err(broken)? {
                Got::Bytes => {}
                Got::End | Got::Nothing => return Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused() {
        assert!(prepare(serde_json::json!({"procs": 7})).is_err());
        let spec = Spec {
            procs: "/nowhere/cgroup.procs".into(),
            user: None,
            work: Work { need: 8192, unit: 4096, every_us: 0, fill: 0 },
            duration_ms: 1,
        };
        let Err(refused) = prepare(serde_json::to_value(spec).unwrap()) else { panic!() };
        assert!(refused.what.contains("/nowhere/cgroup.procs"), "{}", refused.what);
    }
}
