//! The trials of a record, as rows of their own: what stands in each, and where they are kept until
//! it is known which records count.

use model::{Measure, Unit};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The longest name of an arm, in bytes.
const LONGEST_NAME: usize = 255;

/// The trials of a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trials {
    /// The figure that each trial is told by: the one that decided, else the one that is judged.
    pub measure: Option<String>,
    /// The trials, in the order they ran.
    pub all: Vec<TrialRow>,
}

/// A trial; absent is what could not be read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialRow {
    /// The block, from 0.
    pub block: u32,
    /// The arm.
    pub arm: String,
    /// When it began, in milliseconds after the study.
    pub started_ms: f64,
    /// How long it took with its set-up, in milliseconds.
    pub took_ms: f64,
    /// How long was measured, in milliseconds.
    pub window_ms: f64,
    /// The work under test did not come back by its deadline.
    pub hang: bool,
    /// The figure.
    pub value: Option<Measure>,
    /// Time that the hypervisor took from all CPUs together, in milliseconds.
    pub steal_ms: Option<f64>,
    /// Time in which the measured thread was ready to run and had no CPU, in milliseconds.
    pub run_delay_ms: Option<f64>,
    /// Time in which a CPU quota around tailback held its threads off the CPU, in milliseconds.
    pub enclosing_throttled_ms: Option<f64>,
    /// Time in which some task waited for a CPU, in milliseconds.
    pub cpu_pressure_ms: Option<f64>,
    /// Time in which some task waited for memory, in milliseconds.
    pub memory_pressure_ms: Option<f64>,
    /// Time in which some task waited for I/O, in milliseconds.
    pub io_pressure_ms: Option<f64>,
}

impl TrialRow {
    /// Its figure's unit.
    pub fn unit(&self) -> Option<Unit> {
        self.value.map(|value| value.unit)
    }
}

/// What is read of a trial; all else is skipped.
#[derive(Deserialize)]
struct Head<'a> {
    block: u32,
    #[serde(borrow)]
    arm: Cow<'a, str>,
    started_ms: f64,
    took_ms: f64,
    observation: Seen,
    #[serde(default)]
    #[serde(alias = "surroundings")]
    disturbance: Around,
}

#[derive(Deserialize)]
struct Seen {
    window_ms: f64,
    hang: bool,
    measures: BTreeMap<String, Measure>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Around {
    steal_ms: Option<f64>,
    run_delay_ms: Option<f64>,
    enclosing_throttled_ms: Option<f64>,
    cpu_pressure_ms: Option<f64>,
    memory_pressure_ms: Option<f64>,
    io_pressure_ms: Option<f64>,
}

/// The rows of a record's trials, in the form in which they are kept; `None` where they cannot be
/// read.
pub(crate) fn packed(trials: &str, measure: Option<&str>) -> Option<Box<[u8]>> {
    let heads: Vec<Head> = serde_json::from_str(trials).ok()?;
    if heads.iter().any(|head| head.arm.len() > LONGEST_NAME) {
        return None;
    }
    let row = |head: Head| TrialRow {
        block: head.block,
        arm: os::terminal::line(&head.arm),
        started_ms: head.started_ms,
        took_ms: head.took_ms,
        window_ms: head.observation.window_ms,
        hang: head.observation.hang,
        value: measure.and_then(|name| head.observation.measures.get(name).copied()),
        steal_ms: head.disturbance.steal_ms,
        run_delay_ms: head.disturbance.run_delay_ms,
        enclosing_throttled_ms: head.disturbance.enclosing_throttled_ms,
        cpu_pressure_ms: head.disturbance.cpu_pressure_ms,
        memory_pressure_ms: head.disturbance.memory_pressure_ms,
        io_pressure_ms: head.disturbance.io_pressure_ms,
    };
    let all = heads.into_iter().map(row).collect();
    let trials = Trials { measure: measure.map(os::terminal::line), all };
    serde_json::to_vec(&trials).ok().map(Vec::into_boxed_slice)
}

/// Where the trials of a record are in the file that keeps them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    start: u64,
    len: u32,
}

/// A file that keeps the trials of records while a fleet is read, since only then it is known which
/// of them count.
#[derive(Debug)]
pub(crate) struct Keeper<'a> {
    file: &'a File,
    end: u64,
}

impl<'a> Keeper<'a> {
    pub(crate) fn new(file: &'a File) -> Self {
        Keeper { file, end: 0 }
    }

    /// Keeps the trials of a record.
    pub(crate) fn keep(&mut self, packed: &[u8]) -> io::Result<Span> {
        let len = u32::try_from(packed.len()).map_err(io::Error::other)?;
        self.file.write_all_at(packed, self.end)?;
        let span = Span { start: self.end, len };
        self.end += u64::from(len);
        Ok(span)
    }
}

/// The trials that were kept there.
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

    const TRIAL: &str = r#"{"block":1,"arm":"busy\u001b","started_ms":2.5,"took_ms":3,"observation":
        {"window_ms":9,"hang":true,"measures":{"lost":{"value":7.5,"unit":"ms/s","at_least":true}}},
        "disturbance":{"steal_ms":4}}"#;

    #[test]
    fn what_is_kept_is_found_again() {
        let file = tempfile::tempfile().unwrap();
        let mut keeper = Keeper::new(&file);
        let text = format!("[{TRIAL},{TRIAL}]");
        let one = keeper.keep(&packed(&text, Some("lost")).unwrap()).unwrap();
        let other = keeper.keep(&packed("[]", None).unwrap()).unwrap();
        let trials = kept(&file, one).unwrap();
        assert_eq!((trials.all.len(), trials.all[1].arm.as_str()), (2, "busy "));
        assert_eq!(trials.all[0].value.map(|value| value.value), Some(7.5));
        assert_eq!(trials.all[0].unit(), Some(Unit::MillisecondsPerSecond));
        assert_eq!(trials.all[0].steal_ms, Some(4.0));
        assert_eq!(kept(&file, other).unwrap(), Trials::default());
    }

    #[test]
    fn what_is_no_trial_is_not_kept() {
        for text in ["{}", "[1]", "[{\"block\":-1}]", "[", &TRIAL.replace("2.5", "1e999")] {
            assert_eq!(packed(text, Some("lost")), None, "{text}");
        }
        let long = format!("[{}]", TRIAL.replace("busy", &"x".repeat(300)));
        assert_eq!(packed(&long, None), None);
    }
}
