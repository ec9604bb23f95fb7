//! What an arm is for.

use serde::{Deserialize, Serialize};

/// What an arm is for in its study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The same load without the cause: it differs from its case by the cause alone.
    Control,
    /// The load with the cause.
    Case,
    /// The load with the cause and with something that should fix the stall.
    Fix,
    /// Something to compare with by eye, as the work alone; shown, and never judged against.
    Baseline,
}
