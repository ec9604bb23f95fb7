//! What a study that shows no stall could still have missed.

use crate::measure::Unit;
use serde::{Deserialize, Serialize};

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
    /// How long a trial measured, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial_ms: Option<f64>,
    /// How long its load ran before that at least, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_ms: Option<f64>,
    /// A stall that comes at random once in so many seconds or more often would have shown.
    pub every_s: f64,
    /// How surely, however the study was stopped.
    pub confidence: f64,
}
