//! Estimates with their intervals: what the analysis makes of the trials of each arm.

use crate::arm::Role;
use crate::measure::Unit;
use crate::verdict::State;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A median over trials with its interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Unit of all figures.
    pub unit: Unit,
    /// How many trials it rests on.
    pub trials: u32,
    /// Median over the trials.
    pub median: f64,
    /// The median is at least this: a censored trial stands in the middle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub median_at_least: bool,
    /// Lower end of the interval; absent where so few trials give none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the interval; absent where so few trials give none, or where it is unbounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The upper end is unbounded, since trials were cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub high_unbounded: bool,
    /// Confidence that the interval has by the exact distribution of order statistics.
    pub confidence: f64,
    /// Smallest figure of a trial.
    pub min: f64,
    /// Largest figure of a trial.
    pub max: f64,
    /// The largest figure is at least this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub max_at_least: bool,
}

/// How often something happened, with a Clopper-Pearson interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proportion {
    /// Trials in which it happened.
    pub count: u32,
    /// All trials.
    pub of: u32,
    /// Lower end of the interval of the rate.
    pub low: f64,
    /// Upper end of the interval of the rate.
    pub high: f64,
    /// Confidence of the interval.
    pub confidence: f64,
}

/// One arm held against the control, for one figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Unit of the shift.
    pub unit: Unit,
    /// Hodges-Lehmann shift from the control to the arm; above zero the arm is worse.
    pub shift: f64,
    /// The shift is at least this, since trials of the arm were cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shift_at_least: bool,
    /// Lower end of the shift's interval; absent where so few trials give none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the shift's interval; absent where so few trials give none, or unbounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Chance that a trial of the arm is worse than one of the control, ties counting half.
    pub superiority: f64,
    /// Lower end of its interval; absent where it cannot be estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superiority_low: Option<f64>,
    /// Upper end of its interval; absent where it cannot be estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superiority_high: Option<f64>,
    /// Two-sided p-value of the Brunner-Munzel test; absent where it cannot be computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
}

/// All that is estimated of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmResult {
    /// The arm.
    pub id: String,
    /// Its role.
    pub role: Role,
    /// What is said of this arm by itself; the control has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Its trials.
    pub trials: u32,
    /// How often a trial hung.
    pub hangs: Proportion,
    /// How often a trial lost more than the margin over the control of its block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worse: Option<Proportion>,
    /// Each figure, by name.
    pub measures: BTreeMap<String, Estimate>,
    /// Each figure held against the control, by name; the control has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub against_control: BTreeMap<String, Comparison>,
    /// Evidence of this arm alone against "no effect", as a gambler's wealth: 20 is 1 in 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<f64>,
}
