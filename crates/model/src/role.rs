//! The role of an arm.

use serde::{Deserialize, Serialize};

/// The role of an arm in its study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The same load without the cause. It differs from its case only by the cause.
    Control,
    /// The load with the cause.
    Case,
    /// The load with the cause and with a fix for the stall.
    Fix,
    /// An arm to compare with by eye, such as the work alone. It is shown and never judged.
    Baseline,
}
