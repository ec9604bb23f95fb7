//! What is said in the end, and on what grounds.

use crate::estimate::{Comparison, Estimate, Proportion};
use crate::measure::Unit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The verdict in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The stall is here, beyond doubt and large enough to matter.
    Affected,
    /// The stall did not show in a study that would have shown it.
    NotAffected,
    /// The study was too short for either.
    Inconclusive,
    /// The study was not run, since something that it needs is missing.
    Skipped,
    /// What disturbed the machine can explain the effect, the kernel became tainted, or a trial broke.
    Untrustworthy,
}

impl State {
    /// The word, as it stands in the record.
    pub fn word(self) -> &'static str {
        match self {
            State::Affected => "affected",
            State::NotAffected => "not-affected",
            State::Inconclusive => "inconclusive",
            State::Skipped => "skipped",
            State::Untrustworthy => "untrustworthy",
        }
    }

    /// The exit code that scripts see.
    pub fn exit_code(self) -> u8 {
        match self {
            State::NotAffected => 0,
            State::Affected => 1,
            State::Skipped => 3,
            State::Inconclusive | State::Untrustworthy => 4,
        }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.word())
    }
}

/// The verdict of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// In one word.
    pub state: State,
    /// Which of several stalls of the scenario, where it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// In one sentence, with figures and their intervals.
    pub headline: String,
    /// The grounds, a sentence each, and what the study cannot tell.
    pub because: Vec<String>,
    /// What to do next: what fixes it, or what would settle it.
    pub next: Vec<String>,
    /// The figure that decided; absent where nothing was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// Figures that are judged too and not settled yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// What the arms that should fix the stall did, in this very study.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<Fix>,
    /// The test that decided; absent where nothing was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Test>,
}

/// What an arm that should fix the stall did to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fix {
    /// The arm.
    pub arm: String,
    /// What was changed, ready to be used: a flag, a setting, a change of code.
    pub change: String,
    /// What became of the stall.
    pub outcome: FixOutcome,
    /// The arm with the stall that the figures are of; it is held against all that are affected.
    pub case: String,
    /// The figure that was judged.
    pub measure: String,
    /// Every figure with the change, by name.
    pub with: BTreeMap<String, Estimate>,
    /// The same figures without it.
    pub without: BTreeMap<String, Estimate>,
    /// Evidence that the stall is less than without the change; older records do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_less: Option<f64>,
    /// Evidence that the stall is gone: left in less than a quarter of the trials; the least of all
    /// that is affected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_gone: Option<f64>,
    /// The wealth that both take: the error rate is split over the fixes that were tried, and allows
    /// for what of all that could have been affected is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Blocks in which the case stalled, and how many of them the fix stalled in too; of what is
    /// affected, where there is least evidence that it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Proportion>,
    /// The judged figure with the change held against the one without; below zero it is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}

/// What became of a stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FixOutcome {
    /// By tests of its own it is less than without the change, and gone.
    #[serde(alias = "mended")]
    Fixed,
    /// It is clearly less than without the change, but still there or not settled.
    Helped,
    /// No clear change was seen.
    NotShown,
}

impl FixOutcome {
    /// In words, as `fixed` or `not shown to help`.
    pub fn word(self) -> &'static str {
        match self {
            FixOutcome::Fixed => "fixed",
            FixOutcome::Helped => "helped",
            FixOutcome::NotShown => "not shown to help",
        }
    }
}

/// What a study that shows no stall could still have missed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Missed {
    /// The judged figure of a trial would have shown so much more as worse, in `unit`.
    pub shown_above: f64,
    /// Its unit.
    pub unit: Unit,
    /// The length of a freeze that adds so much to a trial, in milliseconds; absent where the
    /// figure is not time lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeze_ms: Option<f64>,
    /// A stall in more than this share of the trials would have shown.
    pub share: f64,
    /// A stall that comes at random once in so many seconds or more often would have shown.
    pub every_s: f64,
    /// How surely, however the study was stopped.
    pub confidence: f64,
}

/// The anytime-valid test behind a verdict.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Test {
    /// Its name and source.
    pub method: String,
    /// Whole blocks it has seen.
    pub blocks: u32,
    /// Evidence against "no arm differs from the control", as a gambler's wealth.
    pub evidence_affected: f64,
    /// Evidence against "an arm is worse than its control in a third more of the blocks than it is
    /// better", of the arm with the least.
    pub evidence_not_affected: f64,
    /// The wealth that decides on `affected`: one over the error rate.
    pub threshold: f64,
    /// The wealth that decides on `not-affected`; where it is absent, `threshold` does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_not_affected: Option<f64>,
    /// Highest rate of wrong `affected` verdicts, over all ways of stopping.
    pub error_rate: f64,
    /// What could have been missed; where no stall was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<Missed>,
}
