//! What a study that shows no stall could have missed.

use crate::measure::Unit;
use serde::{Deserialize, Serialize};

/// What a study that shows no stall could have missed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Missed {
    /// A trial whose judged figure is worse by more than this would have shown, in `unit`.
    pub shown_above: f64,
    /// Its unit.
    pub unit: Unit,
    /// The length of a freeze that adds this much to a trial, in milliseconds; absent if the
    /// figure is not lost time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeze_ms: Option<f64>,
    /// A stall in more than this share of the trials would have shown.
    pub share: f64,
    /// How long a trial measured, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial_ms: Option<f64>,
    /// For how long at least the load of a trial ran before that, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_ms: Option<f64>,
    /// A stall that comes at random intervals of this many seconds on average, or more often,
    /// would have shown.
    pub every_s: f64,
    /// The confidence of these statements, whenever the study was stopped.
    pub confidence: f64,
}
