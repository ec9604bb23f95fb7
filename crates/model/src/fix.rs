//! What the arms that should fix a stall did to it.

use crate::arm::Changed;
use crate::estimate::{Comparison, Estimate, Proportion};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What an arm that should fix the stall did to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fix {
    /// The arm.
    pub arm: String,
    /// What was changed.
    pub change: Changed,
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
    /// The e-value for "the stall is less than without the change".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e_value_less: Option<f64>,
    /// The e-value for "the stall is gone", left in less than 15% of the trials; of all that is
    /// affected, the least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e_value_gone: Option<f64>,
    /// The e-value that both take: the error rate is split over the fixes that were tried, and
    /// allows for what of all that could have been affected is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The highest share of the trials in which the stall may be left, by the same error rate;
    /// below 0.15 where the fix is called fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_at_most: Option<f64>,
    /// Blocks in which the case stalled, and how many of them the fix stalled in too; of all that
    /// is affected, where the e-value that it is gone is least.
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
