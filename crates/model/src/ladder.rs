//! One scenario in several versions of a kernel or an OTP, and between which versions its effect
//! changed.

use crate::change::{ChangeReason, ChangeState, Setting};
use crate::estimate::Comparison;
use crate::state::State;
use serde::{Deserialize, Serialize};

/// The schema of a ladder.
pub const SCHEMA: &str = "tailback/ladder/1";

/// Versions from the first to the last, and what changed between neighbours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ladder {
    /// [`SCHEMA`].
    pub schema: String,
    /// The scenario.
    pub scenario: String,
    /// The arm with the cause that is compared. Of the arms that all versions have, it is the one
    /// with the largest effect in any version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The figure that is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// A difference up to this, in the figure's unit, does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// The joint confidence of all steps. The error rate is split over them.
    pub confidence: f64,
    /// The versions, in the order in which they were requested.
    pub rungs: Vec<Rung>,
    /// From each version with a record to the next one with a record.
    pub steps: Vec<Step>,
    /// From the first version with a record to the last, if others lie between. A gradual change
    /// may have no single step that is large enough to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Step>,
    /// Approximate size of the smallest step that would have shown in all of these pairs with a
    /// probability of 95%, in the figure's unit. It does not include how much two runs of one
    /// version differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_show: Option<f64>,
    /// How much runs of one version differed, if a version was run several times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// Approximate size of the smallest step that would have been called a boundary with a
    /// probability of 95%, in the figure's unit. It includes how much runs of one version differ.
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
    /// The name that the user gave it.
    pub name: String,
    /// Its release.
    pub release: String,
    /// The preemption mode of its kernel; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<String>,
    /// Its verdict; absent if there is no record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<State>,
    /// By how much the arm is worse than its control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Comparison>,
}

/// The step from one version to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The earlier version.
    pub from: String,
    /// The later version.
    pub to: String,
    /// The comparison of the arm in the first runs. One run of a version is one guest, so the
    /// verdict is `differs` at most.
    pub state: ChangeState,
    /// By how much the effect is higher in the later version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<Comparison>,
    /// Both verdicts, if both are settled and they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<(State, State)>,
    /// Why the versions were not compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ChangeReason>,
    /// Parameters that each run set by itself, if they differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<Setting>,
    /// Known changes between the two versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownChange>,
    /// The result of fresh runs of the two versions, if the first runs differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeated: Option<Repeated>,
}

/// Fresh runs of two versions, side by side, in pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repeated {
    /// By how much the effect was higher in the later version, for each pair, in the figure's
    /// unit.
    pub pairs: Vec<f64>,
    /// How many pairs, counted from the first one, went in the same direction as the first runs
    /// by more than the margin.
    pub alike: usize,
    /// How many such pairs are needed. The chance that all of them go that way by accident is
    /// then below the error rate of one step.
    pub needed: usize,
    /// Number of steps that may be repeated. The error rate is split over them.
    pub among: usize,
}

impl Repeated {
    /// Whether as many pairs as needed went in the same direction as the first runs.
    pub fn holds(&self) -> bool {
        self.alike >= self.needed
    }
}

/// A change between two versions that matters for a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownChange {
    /// The first version that has it.
    pub since: String,
    /// The commit, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What it changes.
    pub what: String,
    /// The source of this knowledge. For a change that was only measured: where it was measured.
    pub source: String,
    /// Whether the change is known only from a measurement of this project.
    #[serde(default)]
    pub measured: bool,
    /// The direction in which the effect changes, if the change is expected to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Direction>,
}

/// The direction in which an effect changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The effect is smaller in the newer version.
    Falls,
    /// The effect is larger in the newer version.
    Rises,
}

impl Step {
    /// Whether the first runs differ. Two runs of one version may differ too.
    pub fn differs(&self) -> bool {
        matches!(self.state, ChangeState::Differs | ChangeState::Worse | ChangeState::Better)
    }

    /// Whether fresh runs differ in the same way as the first runs.
    pub fn is_boundary(&self) -> bool {
        self.repeated.as_ref().is_some_and(Repeated::holds)
    }

    /// The direction of the effect, if the step is a boundary.
    pub fn direction(&self) -> Option<Direction> {
        let shift = self.shift.as_ref().filter(|_| self.is_boundary())?;
        Some(if shift.shift < 0.0 { Direction::Falls } else { Direction::Rises })
    }
}

/// The leading numbers of a version: 6, 17, 13 for 6.17.13+deb13.
pub fn version(release: &str) -> Vec<u64> {
    let plain = release.split(|c: char| !(c.is_ascii_digit() || c == '.')).next().unwrap_or("");
    plain.split('.').map_while(|number| number.parse().ok()).collect()
}

/// Whether a change first appeared between two releases, by the first version that has it.
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
