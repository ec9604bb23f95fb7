//! A study in brief: its verdict and the counts behind it, without its trials.
//!
//! A brief is made for a fleet: it fits into one line of a log, and it can be judged again. It
//! holds the counts of the test ([`Tested`]), so the judge decides from it as from the record.

use crate::estimate::{Comparison, Estimate};
use crate::fix::FixOutcome;
use crate::identity::{HostName, Identity};
use crate::judgement::Test;
use crate::reason::{Headline, Reason};
use crate::record::Progress;
use crate::role::Role;
use crate::state::State;
use crate::tested::Tested;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema that this version writes. Its number grows when older readers would misread it.
pub const SCHEMA: &str = "tailback/brief/1";

/// The largest size of a brief as JSON, in bytes.
pub const MOST_BYTES: usize = 16 << 10;

/// A study in brief.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Brief {
    /// [`SCHEMA`].
    pub schema: String,
    /// The machine that was studied; absent if no name was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostName>,
    /// Version of the tailback that wrote it.
    pub version: String,
    /// The scenario.
    pub scenario: String,
    /// When the study began (RFC 3339, UTC).
    pub started: String,
    /// Wall time of the study, in seconds.
    pub elapsed_s: f64,
    /// How far the study got.
    pub progress: Progress,
    /// What the machine has in common with other machines of its kind.
    pub identity: Identity,
    /// Version of the OTP that the study ran, if it ran one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otp: Option<String>,
    /// What the study was set to do.
    pub plan: PlanBrief,
    /// What the judge has to know about the machine.
    #[serde(default, skip_serializing_if = "Ground::is_plain")]
    pub ground: Ground,
    /// The verdict.
    pub verdict: VerdictBrief,
    /// The counts behind the verdict: an entry for each judged figure, with the deciding figure
    /// first. Empty if nothing was judged, or if the counts of all arms take too much room
    /// (`left_out`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Tested>,
    /// The verdict after the scenario's review of the trials, if the review changed the test's
    /// answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<State>,
    /// The arms with their judged figures, control first. If there are many, only those that show
    /// most.
    pub arms: Vec<ArmBrief>,
    /// The outcome of each fix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<FixBrief>,
    /// What did not fit into the brief.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOutOfBrief>,
}

/// What identifies a study and its size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanBrief {
    /// Seed of every random choice.
    pub seed: u64,
    /// SHA-256 of the plan without its seed, in hexadecimal. Equal plans have equal hashes.
    pub sha256: String,
    /// Blocks that were run.
    pub blocks: u32,
    /// Trials that were run.
    pub trials: u32,
    /// Arms of the plan.
    pub arms: u32,
    /// Confidence of the intervals.
    pub confidence: f64,
}

/// What the judge has to know about the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ground {
    /// Taint flags that the kernel set during the study.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tainted: u64,
    /// Whether it was a guest whose time is emulated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub emulated: bool,
    /// Whether another run could load the machine at the same time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

impl Ground {
    /// Whether there is nothing to report about the machine.
    pub fn is_plain(&self) -> bool {
        *self == Ground::default()
    }
}

fn is_zero(flags: &u64) -> bool {
    *flags == 0
}

/// A verdict in brief.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerdictBrief {
    /// The verdict in one word.
    pub state: State,
    /// Which of the stalls of the scenario it is, if the scenario has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The verdict in one sentence; absent if it takes too much room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<Headline>,
    /// The first reason, if nothing is settled: what was missing, or what disturbed the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The figure that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// Other figures that also show a stall.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Other judged figures that are not settled yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// The test of the figure that decided, without its name; absent if nothing was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Test>,
}

/// An arm in brief, with its judged figures only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmBrief {
    /// The arm.
    pub id: String,
    /// Its role.
    pub role: Role,
    /// The verdict on this arm alone; absent for the control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The number of its trials.
    pub trials: u32,
    /// How many of its trials hung.
    #[serde(default, skip_serializing_if = "none_hung")]
    pub hung: u32,
    /// E-value against "no effect" for this arm alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e_value: Option<f64>,
    /// Each judged figure, by name.
    pub measures: BTreeMap<String, Estimate>,
    /// Each judged figure compared with the control, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub against_control: BTreeMap<String, Comparison>,
}

fn none_hung(hung: &u32) -> bool {
    *hung == 0
}

/// A fix in brief.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FixBrief {
    /// The arm.
    pub arm: String,
    /// The outcome for the stall.
    pub outcome: FixOutcome,
    /// E-value against "the stall is not less".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e_value_less: Option<f64>,
    /// E-value against "the stall is left in 15% of the trials".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e_value_gone: Option<f64>,
    /// The e-value that both claims need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The judged figure with the change, compared with the figure without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}

/// What did not fit into [`MOST_BYTES`]; the record has all of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOutOfBrief {
    /// Arms whose estimates are left out.
    pub arms: u32,
    /// Fixes that are left out.
    pub fixes: u32,
    /// Whether the counts of the test are left out, so that the brief cannot be judged again.
    pub tests: bool,
}

impl Brief {
    /// Writes the brief as one line of JSON with a line feed at its end.
    pub fn to_line(&self) -> String {
        // All keys are text and all numbers are finite, so this never fails.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Shortens the brief until its line is no longer than [`MOST_BYTES`]. The arms that show least
    /// are removed first, until at most four are left; then the fixes, the counts of the test, the
    /// other arms, and last the texts of the verdict and the identity.
    #[must_use]
    pub fn fitted(mut self) -> Self {
        let too_long = |brief: &Brief| brief.to_line().len() > MOST_BYTES;
        let mut left_out = self.left_out.unwrap_or_default();
        while too_long(&self) {
            let half = |len: usize| len.div_ceil(2);
            let gone = |len: usize| u32::try_from(half(len)).unwrap_or(u32::MAX);
            if self.arms.len() > 4 {
                left_out.arms += gone(self.arms.len());
                self.arms.truncate(self.arms.len() - half(self.arms.len()));
            } else if !self.fixes.is_empty() {
                left_out.fixes += gone(self.fixes.len());
                self.fixes.truncate(self.fixes.len() - half(self.fixes.len()));
            } else if !self.tests.is_empty() {
                left_out.tests = true;
                self.tests.clear();
            } else if !self.arms.is_empty() {
                left_out.arms += gone(self.arms.len());
                self.arms.clear();
            } else {
                // Only names that no real arm, kernel or host has are this long.
                self.verdict = VerdictBrief {
                    headline: None,
                    reason: None,
                    kind: None,
                    measure: None,
                    also: Vec::new(),
                    open: Vec::new(),
                    ..self.verdict
                };
                self.identity = Identity::default();
                self.left_out = Some(left_out);
                return self;
            }
            self.left_out = Some(left_out);
        }
        self
    }
}
