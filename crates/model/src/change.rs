//! What changed between records of one scenario that were made before and after something.

use crate::arm::Role;
use crate::estimate::{Comparison, Estimate};
use crate::machine::Machine;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema of a comparison.
pub const SCHEMA: &str = "tailback/change/2";

/// The records after held against the records before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// [`SCHEMA`].
    pub schema: String,
    /// The scenario.
    pub scenario: String,
    /// The records of what was, in the order in which they were named.
    pub before: Vec<Side>,
    /// The records of what is.
    pub after: Vec<Side>,
    /// What is counted: it decides how much can be said.
    pub basis: Basis,
    /// The verdict in one word.
    pub state: ChangeState,
    /// The verdict in one sentence.
    pub headline: String,
    /// The grounds, a sentence each; where the records cannot be compared, why.
    pub because: Vec<String>,
    /// What to do next.
    pub next: Vec<String>,
    /// What is not the same on both sides: kernel, settings, flags.
    pub differs: Vec<Setting>,
    /// The arms that all records have, control first.
    pub arms: Vec<ArmChange>,
}

/// One of the records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// What the user calls it: its file.
    pub name: String,
    /// When its study began (RFC 3339, UTC).
    pub started: String,
    /// Its verdict in one word.
    pub verdict: crate::verdict::State,
    /// Its machine.
    pub host: Machine,
}

/// What a comparison counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Blocks of trials. They say whether these runs differ, and not why: a run differs from the
    /// next one even where nothing was changed.
    Blocks,
    /// Whole records that were made in turns, one figure each. They show how much runs differ by
    /// themselves, so they can say that it is worse or better.
    Records,
}

/// Something that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// What: `kernel`, `--procfile`.
    pub what: String,
    /// Before.
    pub before: String,
    /// After.
    pub after: String,
}

/// What is said of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeState {
    /// Over records made in turns it is worse by more than matters.
    Worse,
    /// Over records made in turns it is better by more than matters.
    Better,
    /// These runs differ by more than matters; whether what is compared did that, or something else
    /// that changed between the runs, cannot be told.
    Differs,
    /// Nothing was shown; that is not the same as no difference.
    NoDifferenceShown,
    /// The records say nothing about each other.
    NotComparable,
}

impl ChangeState {
    /// The word, as it stands in the JSON.
    pub fn word(self) -> &'static str {
        match self {
            ChangeState::Worse => "worse",
            ChangeState::Better => "better",
            ChangeState::Differs => "differs",
            ChangeState::NoDifferenceShown => "no-difference-shown",
            ChangeState::NotComparable => "not-comparable",
        }
    }

    /// The exit code that scripts see; only what is shown to be worse fails.
    pub fn exit_code(self) -> u8 {
        match self {
            ChangeState::Better | ChangeState::Differs | ChangeState::NoDifferenceShown => 0,
            ChangeState::Worse => 1,
            ChangeState::NotComparable => 4,
        }
    }
}

/// One arm on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmChange {
    /// The arm.
    pub id: String,
    /// Its role.
    pub role: Role,
    /// What is said of it, by the figures that are judged; only arms with the cause have it.
    pub state: Option<ChangeState>,
    /// Each figure that both sides have, by name.
    pub measures: BTreeMap<String, Difference>,
}

/// One figure of an arm on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The control that was subtracted in each block, by its id; absent where the figure stands as
    /// it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// Before. Its `trials` are what [`Change::basis`] counts: blocks, or records.
    pub before: Estimate,
    /// After.
    pub after: Estimate,
    /// After held against before: above zero it is higher.
    pub comparison: Comparison,
    /// What is said of it, where it is judged and lower is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ChangeState>,
}
