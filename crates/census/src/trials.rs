//! The trials of a record as rows, and the file that holds them until it is known which records
//! count.

use model::{Measure, Trial};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The longest name of an arm, in bytes.
const LONGEST_NAME: usize = 255;

/// The trials of a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trials {
    /// The figure that represents each trial: the one that decided the verdict, else the judged
    /// one.
    pub measure: Option<String>,
    /// The trials, in the order in which they ran.
    pub all: Vec<TrialRow>,
}

/// A trial. A field is None if it could not be measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialRow {
    /// The block, from 0.
    pub block: u32,
    /// The arm.
    pub arm: String,
    /// Its start, in milliseconds after the start of the study.
    pub started_ms: f64,
    /// Its duration with set-up, in milliseconds.
    pub took_ms: f64,
    /// The measured time, in milliseconds.
    pub window_ms: f64,
    /// Whether the work under test missed its deadline.
    pub hang: bool,
    /// The figure.
    pub value: Option<Measure>,
    /// Time that the hypervisor took from all CPUs together, in milliseconds.
    pub steal_ms: Option<f64>,
    /// Time in which the measured thread was runnable but not running, in milliseconds.
    pub run_delay_ms: Option<f64>,
    /// Time in which tailback's threads were throttled by a CPU quota around it, in milliseconds.
    pub enclosing_throttled_ms: Option<f64>,
    /// Time in which some task waited for a CPU, in milliseconds.
    pub cpu_pressure_ms: Option<f64>,
    /// Time in which some task waited for memory, in milliseconds.
    pub memory_pressure_ms: Option<f64>,
    /// Time in which some task waited for I/O, in milliseconds.
    pub io_pressure_ms: Option<f64>,
}

/// The rows of a record's trials in the stored form. None if the name of an arm is too long.
pub(crate) fn packed(trials: &[Trial], measure: &str) -> Option<Box<[u8]>> {
    if trials.iter().any(|trial| trial.arm.len() > LONGEST_NAME) {
        return None;
    }
    let all = trials.iter().map(|trial| row(trial, measure)).collect();
    let trials = Trials { measure: Some(os::terminal::line(measure)), all };
    serde_json::to_vec(&trials).ok().map(Vec::into_boxed_slice)
}

fn row(trial: &Trial, measure: &str) -> TrialRow {
    let (seen, around) = (&trial.observation, &trial.disturbance);
    TrialRow {
        block: trial.block,
        arm: os::terminal::line(&trial.arm),
        started_ms: trial.started_ms,
        took_ms: trial.took_ms,
        window_ms: seen.window_ms,
        hang: seen.hang,
        value: seen.measures.get(measure).copied(),
        steal_ms: around.steal_ms,
        run_delay_ms: around.run_delay_ms,
        enclosing_throttled_ms: around.enclosing_throttled_ms,
        cpu_pressure_ms: around.cpu_pressure_ms,
        memory_pressure_ms: around.memory_pressure_ms,
        io_pressure_ms: around.io_pressure_ms,
    }
}

/// The place of a record's trials in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    start: u64,
    len: u32,
}

/// A file that stores the trials of records while a fleet is read, since only after that it is
/// known which records count.
#[derive(Debug)]
pub(crate) struct Keeper<'a> {
    file: &'a File,
    end: u64,
}

impl<'a> Keeper<'a> {
    pub(crate) fn new(file: &'a File) -> Self {
        Keeper { file, end: 0 }
    }

    /// Stores the trials of a record.
    pub(crate) fn keep(&mut self, packed: &[u8]) -> io::Result<Span> {
        let len = u32::try_from(packed.len()).map_err(io::Error::other)?;
        self.file.write_all_at(packed, self.end)?;
        let span = Span { start: self.end, len };
        self.end += u64::from(len);
        Ok(span)
    }
}

/// The trials that are stored there.
///
/// # Errors
/// If the file cannot be read.
pub fn kept(file: &File, span: Span) -> io::Result<Trials> {
    let mut bytes = vec![0; span.len as usize];
    file.read_exact_at(&mut bytes, span.start)?;
    serde_json::from_slice(&bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Disturbance, Observation, Unit};

    fn trial(arm: &str) -> Trial {
        let lost = Measure::at_least(7.5, Unit::MillisecondsPerSecond);
        let measures = [("lost".to_owned(), lost)].into();
        Trial {
            block: 1,
            arm: arm.to_owned(),
            started_ms: 2.5,
            took_ms: 3.0,
            observation: Observation { window_ms: 9.0, hang: true, measures, ..Default::default() },
            disturbance: Disturbance { steal_ms: Some(4.0), ..Default::default() },
        }
    }

    #[test]
    fn what_is_kept_is_found_again() {
        let file = tempfile::tempfile().unwrap();
        let mut keeper = Keeper::new(&file);
        let both = [trial("busy\u{1b}"), trial("idle")];
        let one = keeper.keep(&packed(&both, "lost").unwrap()).unwrap();
        let other = keeper.keep(&packed(&[], "lost").unwrap()).unwrap();
        let trials = kept(&file, one).unwrap();
        assert_eq!((trials.all.len(), trials.all[0].arm.as_str()), (2, "busy "));
        assert_eq!(trials.all[1].value.map(|value| value.value), Some(7.5));
        let unit = trials.all[1].value.map(|value| value.unit);
        assert_eq!(unit, Some(Unit::MillisecondsPerSecond));
        assert_eq!(trials.all[1].steal_ms, Some(4.0));
        assert_eq!(kept(&file, other).unwrap().all, []);
    }

    #[test]
    fn a_name_that_is_too_long_is_not_kept() {
        assert_eq!(packed(&[trial(&"x".repeat(300))], "lost"), None);
    }
}
