//! Why a stall was there: evidence put into sentences, with times that add up.

use crate::evidence::Wait;
use crate::verdict::State;
use serde::{Deserialize, Serialize};

/// The explanation of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The scenario.
    pub scenario: String,
    /// Its verdict.
    pub state: State,
    /// The arm whose trial with probes is told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The cause, in a sentence.
    pub cause: String,
    /// Where the time of all waits went; the shares add up to it.
    pub shares: Vec<Share>,
    /// Sentences of evidence beside.
    pub evidence: Vec<String>,
    /// What mends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
    /// What the probes cost, and what they lost.
    pub cost: Vec<String>,
    /// Where the evidence comes from.
    pub sources: Vec<String>,
    /// What could not be had, and what would give it.
    pub missing: Vec<String>,
    /// The longest waits, with the timeline of the worst.
    pub waits: Vec<Wait>,
}

/// A share of the time of all waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Share {
    /// What happened then.
    pub what: String,
    /// How long, in nanoseconds.
    pub ns: u64,
    /// Of all waits, in percent.
    pub percent: f64,
}
