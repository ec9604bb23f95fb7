//! What a verdict rests on: the counts from which its test follows.

use serde::{Deserialize, Serialize};

/// One judged figure of a study: from these counts its test decides as from the trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tested {
    /// The figure.
    pub measure: String,
    /// A difference of no more than this, in the figure's unit, does not matter.
    pub margin: f64,
    /// Noise that hides more than this, over the margin, is too much for `not-affected`.
    pub control_limit: f64,
    /// Highest rate of wrong `affected` verdicts.
    pub error_rate: f64,
    /// Highest rate of wrong `not-affected` verdicts.
    pub error_rate_not_affected: f64,
    /// Whole blocks.
    pub blocks: u32,
    /// Each arm with the cause.
    pub cases: Vec<CaseTested>,
    /// For each control, in how many blocks it was the best trial of it and its cases.
    pub together: Vec<Wins>,
    /// The same, less what the absence of a CPU explains, among the cases that were not robbed.
    pub together_net: Vec<Wins>,
    /// What a stall has to add to a trial to show in nine blocks of ten, in the figure's unit;
    /// absent where nothing would show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shows_above: Option<f64>,
    /// Whether it can be said of every case which stall would have shown.
    pub tells: bool,
}

/// An arm with the cause, in its whole blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaseTested {
    /// The arm.
    pub arm: String,
    /// The place of its control among the controls, from 0.
    pub control: u32,
    /// Blocks in which its control was clearly better, and clearly worse.
    pub plain: Wins,
    /// The same, less what the absence of a CPU explains.
    pub net: Wins,
    /// Blocks in which it was worse than its control by more than the margin.
    pub worse: u32,
    /// Blocks in which neither was.
    pub alike: u32,
    /// Blocks in which it was better by more than the margin.
    pub better: u32,
    /// It hung in a larger share of its trials than its control.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hung_more_often: bool,
    /// The hypervisor took so much more from it than from its control that it proves nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub robbed: bool,
}

/// How often the control was the best trial, and how often another was; where none was clearly the
/// best, nothing is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wins {
    /// The control was.
    pub control: u32,
    /// Another arm was.
    pub other: u32,
}
