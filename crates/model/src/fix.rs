//! The effect of each fix that a study tried on the stall.

use crate::arm::Changed;
use crate::estimate::{Comparison, Estimate, Proportion};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The effect of one arm with a fix on the stall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fix {
    /// The arm.
    pub arm: String,
    /// What was changed.
    pub change: Changed,
    /// The outcome for the stall.
    pub outcome: FixOutcome,
    /// The affected arm that the figures belong to. The fix is compared with all affected arms.
    pub case: String,
    /// The figure that was judged.
    pub measure: String,
    /// Every figure with the change, by name.
    pub with: BTreeMap<String, Estimate>,
    /// The same figures without the change.
    pub without: BTreeMap<String, Estimate>,
    /// The e-value for "the stall is less than without the change".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e_value_less: Option<f64>,
    /// The e-value for "the stall is gone", which means that it is left in less than 15% of the
    /// trials. It is the smallest e-value over all affected arms and figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e_value_gone: Option<f64>,
    /// The e-value that both claims need. The error rate is split over the fixes that were tried.
    /// The threshold also allows for how many of the arms and figures that could be affected are
    /// affected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The highest share of the trials in which the stall may be left, at the same error rate. It
    /// is below 0.15 if the fix is called fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_at_most: Option<f64>,
    /// Blocks in which the case stalled, and in how many of these the fix stalled too. The counts
    /// belong to the affected arm and figure with the smallest e-value for "gone".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Proportion>,
    /// The judged figure with the change, compared with the figure without it. Below zero it is
    /// better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}

/// What happened to a stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FixOutcome {
    /// The stall is less than without the change, and it is gone. Each claim has its own test.
    Fixed,
    /// The stall is clearly less than without the change, but it is still there or that is not
    /// settled.
    Helped,
    /// No clear change was seen.
    NotShown,
}

impl FixOutcome {
    /// The outcome in words, such as `fixed` or `not shown to help`.
    pub fn word(self) -> &'static str {
        match self {
            FixOutcome::Fixed => "fixed",
            FixOutcome::Helped => "helped",
            FixOutcome::NotShown => "not shown to help",
        }
    }
}
