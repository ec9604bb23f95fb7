//! The stage of a trial: it makes both file systems, starts the writer, and is the victim itself.
//!
//! It keeps the caller's rights, because only root may mount. Nothing of it is left when it ends:
//! the file systems are mounted without a place in the file tree, and their disk is in memory.

use super::failure::{broken, refused, settings};
use super::file_systems::FileSystems;
use super::journal::locked_ms;
use super::params::{By, On};
use super::running_writer::RunningWriter;
use super::span::{Span, common_ns};
use super::victim::Victim;
use super::writer::WriterSpec;
use load::OwnGenerator;
use load::protocol::Failure;
use os::time::whole_ns;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The generator.
pub(super) const STAGE: OwnGenerator = OwnGenerator { name: "journal-stage", prepare };

/// The settings of the stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StageSpec {
    /// The program that makes a file system.
    pub(super) mkfs: PathBuf,
    /// The file by which the writer joins its group.
    pub(super) procs: PathBuf,
    /// The file with the limits of the writer's group.
    pub(super) limits: PathBuf,
    /// The file system of the writer.
    pub(super) on: On,
    /// How the writer writes.
    pub(super) by: By,
    /// The cap of the writer's group, in bytes a second.
    pub(super) cap: u64,
    /// Number of pages of a round of the writer.
    pub(super) pages: u64,
    /// Pause of the victim before each call, in nanoseconds.
    pub(super) pause_ns: u64,
    /// Duration of the work, in milliseconds.
    pub(super) duration_ms: u64,
}

/// The report of the stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct StageReport {
    /// Duration of the work, in nanoseconds.
    pub(super) window_ns: u64,
    /// Number of calls of the victim.
    pub(super) calls: u64,
    /// Number of calls that were stalls.
    pub(super) over: u64,
    /// Time of these calls, in nanoseconds.
    pub(super) lost_ns: u64,
    /// The part of that time in which the writer was in fsync, in nanoseconds.
    pub(super) behind_ns: u64,
    /// The longest call, in nanoseconds.
    pub(super) worst_ns: u64,
    /// Durations of all calls: HdrHistogram V2, base64.
    pub(super) durations: String,
    /// Number of rounds of the writer, with one that had not ended.
    pub(super) rounds: u64,
    /// The writer's longest fsync, in nanoseconds. One that had not returned counts with its time
    /// so far.
    pub(super) writer_ns: u64,
    /// Mean time for which a transaction of the victim's journal was locked, in milliseconds. None
    /// if the kernel does not count it.
    pub(super) locked_ms: Option<u64>,
}

fn prepare(spec: Value) -> Result<load::Work, Failure> {
    let spec: StageSpec = settings(STAGE.name, spec)?;
    let stage = Stage::set_up(&spec)?;
    Ok(Box::new(move || {
        let report = stage.perform(&spec)?;
        serde_json::to_value(report).map_err(broken)
    }))
}

/// What a trial needs. The fields are dropped in this order: the disk comes last.
struct Stage {
    writer: RunningWriter,
    victim: Victim,
    file_systems: FileSystems,
}

impl Stage {
    fn set_up(spec: &StageSpec) -> Result<Self, Failure> {
        let file_systems = FileSystems::make(&spec.mkfs)?;
        let victim = Victim::new(file_systems.file("victim")?);
        let of_writer = match spec.on {
            On::Same => &file_systems.first,
            On::Other => &file_systems.second,
        };
        let of_writer_spec = WriterSpec {
            procs: spec.procs.clone(),
            limits: spec.limits.clone(),
            disk: file_systems.disk()?,
            cap: spec.cap,
            by: spec.by,
            pages: spec.pages,
            folder: PathBuf::new(),
        };
        let writer = RunningWriter::start(of_writer_spec, of_writer)?;
        Ok(Stage { writer, victim, file_systems })
    }

    /// Repeats the victim's call until the time is over, at least once, while the writer makes its
    /// rounds. The time begins with the writer's first fsync.
    fn perform(mut self, spec: &StageSpec) -> Result<StageReport, Failure> {
        let pause = Duration::from_nanos(spec.pause_ns);
        let duration = Duration::from_millis(spec.duration_ms);
        self.writer.begin()?;
        let began = Instant::now();
        loop {
            if !pause.is_zero() {
                std::thread::sleep(pause);
            }
            self.victim.call().map_err(|error| refused("the victim's file", &error))?;
            self.writer.look()?;
            if began.elapsed() >= duration {
                break;
            }
        }
        let window_ns = whole_ns(began.elapsed());
        let rounds = self.writer.rounds();
        let locked_ms = locked_ms(&self.file_systems.device);
        self.writer.end()?;
        let report = report(&self.victim, &rounds);
        Ok(StageReport { window_ns, locked_ms, ..report })
    }
}

/// The report of a victim, beside these rounds of the writer.
fn report(victim: &Victim, rounds: &[Span]) -> StageReport {
    StageReport {
        calls: victim.calls,
        over: victim.stalls.len() as u64,
        lost_ns: victim.lost_ns(),
        behind_ns: common_ns(&victim.stalls, rounds),
        worst_ns: victim.worst_ns,
        durations: victim.durations(),
        rounds: rounds.len() as u64,
        writer_ns: rounds.iter().map(|round| round.length_ns()).max().unwrap_or(0),
        ..StageReport::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_laid_beside_the_rounds_of_the_writer() {
        let ms = |began: u64, ended: u64| Span {
            began_ns: began * 1_000_000,
            ended_ns: ended * 1_000_000,
        };
        let mut victim = Victim::new(tempfile::tempfile().unwrap());
        victim.call().unwrap();
        victim.stalls = vec![ms(10, 110), ms(200, 300)];
        let report = report(&victim, &[ms(0, 100), ms(150, 900)]);
        assert_eq!((report.calls, report.over, report.rounds), (1, 2, 2));
        assert_eq!((report.lost_ns, report.behind_ns), (200_000_000, 190_000_000));
        assert_eq!((report.writer_ns, report.locked_ms), (750_000_000, None));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(prepare(serde_json::json!({"on": "third"})).is_err());
    }
}
