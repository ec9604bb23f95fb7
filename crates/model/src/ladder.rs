//! One scenario in several versions of a kernel or an OTP, and between which of them it changed.

use crate::change::{ChangeReason, ChangeState, Setting};
use crate::estimate::Comparison;
use crate::state::State;
use serde::{Deserialize, Serialize};

/// The schema of a ladder.
pub const SCHEMA: &str = "tailback/ladder/1";

/// Versions from the first to the last, and what changed from each to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ladder {
    /// [`SCHEMA`].
    pub schema: String,
    /// The scenario.
    pub scenario: String,
    /// The arm with the cause that is followed: of those that all versions have, the one with the
    /// largest effect anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The figure that is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// A difference of no more does not matter, in the figure's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// The confidence of all steps together; each has its part of what is left to error.
    pub confidence: f64,
    /// The versions, in the order asked.
    pub rungs: Vec<Rung>,
    /// From each version with a record to the next one with a record.
    pub steps: Vec<Step>,
    /// From the first version with a record to the last, where others lie between: a slope has no
    /// step that is large enough to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Step>,
    /// About the smallest step that would have shown in all of these pairs with 95%, in the
    /// figure's unit; how much two runs of a version differ is not in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_show: Option<f64>,
    /// How much runs of one version differed, where one was run several times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// About the smallest step that would have been named a boundary with 95%, in the figure's
    /// unit, with what runs of one version differ by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_be_named: Option<f64>,
}

/// How much the effect differs between runs of one version.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Standard deviation of the runs of a version around their mean, over all versions, in the
    /// figure's unit.
    pub deviation: f64,
    /// The largest difference between two runs of one version, in the figure's unit.
    pub most: f64,
    /// Versions that were run at least twice.
    pub versions: usize,
    /// The runs of these versions.
    pub runs: usize,
}

/// One version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    /// What the user calls it.
    pub name: String,
    /// Its release.
    pub release: String,
    /// The preemption mode of its kernel; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<String>,
    /// Its verdict; absent where there is no record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<State>,
    /// What the arm has over its control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Comparison>,
}

/// From one version to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The version before.
    pub from: String,
    /// The version after.
    pub to: String,
    /// What the first runs say of the arm: one run of a version is one guest, so they differ at
    /// most.
    pub state: ChangeState,
    /// By how much the effect is higher after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<Comparison>,
    /// Both verdicts, where both are settled and they are not the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<(State, State)>,
    /// Why they were not compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ChangeReason>,
    /// Parameters that each run set by itself, where they differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<Setting>,
    /// What is known to have changed between the two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownChange>,
    /// What fresh runs of the two say, where the first ones differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeated: Option<Repeated>,
}

/// Fresh runs of two versions, side by side, in pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repeated {
    /// By how much the effect was higher after in each pair, in the figure's unit.
    pub pairs: Vec<f64>,
    /// How many of them, from the first on, went where the first runs did, by more than the margin.
    pub alike: usize,
    /// How many have to: so that they all do by chance is rarer than what is left to error.
    pub needed: usize,
    /// Steps that may be repeated: what is left to error is split over them.
    pub among: usize,
}

impl Repeated {
    /// Whether all pairs went where the first runs did.
    pub fn holds(&self) -> bool {
        self.alike >= self.needed
    }
}

/// A change between two versions that bears on a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownChange {
    /// The first version that has it.
    pub since: String,
    /// The commit, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What it changes.
    pub what: String,
    /// Where that is read; of a change that was only measured, where.
    pub source: String,
    /// Whether it was only measured here.
    #[serde(default)]
    pub measured: bool,
    /// What it does to the effect, where that is expected to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Direction>,
}

/// Where an effect goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// It is less in the newer version.
    Falls,
    /// It is more there.
    Rises,
}

impl Step {
    /// Whether the first runs differ. So may two runs of one version.
    pub fn differs(&self) -> bool {
        matches!(self.state, ChangeState::Differs | ChangeState::Worse | ChangeState::Better)
    }

    /// Whether fresh runs differ as the first did.
    pub fn is_boundary(&self) -> bool {
        self.repeated.as_ref().is_some_and(Repeated::holds)
    }

    /// Where the effect goes, where that is a boundary.
    pub fn direction(&self) -> Option<Direction> {
        let shift = self.shift.as_ref().filter(|_| self.is_boundary())?;
        Some(if shift.shift < 0.0 { Direction::Falls } else { Direction::Rises })
    }
}

/// The numbers of a version, as far as it has some: 6.17.13+deb13 begins with 6, 17, 13.
pub fn version(release: &str) -> Vec<u64> {
    let plain = release.split(|c: char| !(c.is_ascii_digit() || c == '.')).next().unwrap_or("");
    plain.split('.').map_while(|number| number.parse().ok()).collect()
}

/// Whether a change that a version was the first to have lies between two releases.
pub fn lies_between(since: &str, before: &str, after: &str) -> bool {
    let (since, before, after) = (version(since), version(before), version(after));
    !since.is_empty() && before < since && since <= after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        assert_eq!(version("6.17.13+deb13-cloud-amd64"), [6, 17, 13]);
        assert_eq!(version("27"), [27]);
        assert!(version("sid").is_empty());
        assert!(lies_between("6.17", "6.16.12+deb13", "6.17.13+deb13"));
        assert!(!lies_between("6.17", "6.17.13", "7.0.13"), "it is there already");
        assert!(!lies_between("7.2", "6.17.13", "7.0.13"), "it is not there yet");
        assert!(lies_between("26", "25", "27") && !lies_between("", "1", "2"));
    }
}
