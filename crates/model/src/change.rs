//! What changed between two records of one scenario.

use crate::arm::Role;
use crate::estimate::{Comparison, Estimate};
use crate::machine::Machine;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema of a comparison.
pub const SCHEMA: &str = "tailback/change/1";

/// The second record held against the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// [`SCHEMA`].
    pub schema: String,
    /// The scenario.
    pub scenario: String,
    /// The first record: what was.
    pub before: Side,
    /// The second record: what is.
    pub after: Side,
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
    /// The arms that both records have, control first.
    pub arms: Vec<ArmChange>,
}

/// One of the two records.
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

/// Something that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// What: `kernel`, `--procfile`.
    pub what: String,
    /// In the first record.
    pub before: String,
    /// In the second record.
    pub after: String,
}

/// What is said of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeState {
    /// It is worse beyond doubt, by more than matters.
    Worse,
    /// It is better beyond doubt, by more than matters.
    Better,
    /// Neither was shown; that is not the same as none.
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
            ChangeState::NoDifferenceShown => "no-difference-shown",
            ChangeState::NotComparable => "not-comparable",
        }
    }

    /// The exit code that scripts see.
    pub fn exit_code(self) -> u8 {
        match self {
            ChangeState::Better | ChangeState::NoDifferenceShown => 0,
            ChangeState::Worse => 1,
            ChangeState::NotComparable => 4,
        }
    }
}

/// One arm in both records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmChange {
    /// The arm.
    pub id: String,
    /// Its role.
    pub role: Role,
    /// What is said of it, by the figures that are judged; the control has none.
    pub state: Option<ChangeState>,
    /// Each figure that both records have, by name.
    pub measures: BTreeMap<String, Difference>,
}

/// One figure of an arm in both records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// In the first record.
    pub before: Estimate,
    /// In the second record.
    pub after: Estimate,
    /// The second held against the first: above zero it is higher.
    pub comparison: Comparison,
    /// What is said of it, where it is judged and lower is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ChangeState>,
}
