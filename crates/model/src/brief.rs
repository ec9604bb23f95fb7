//! A study in brief: its verdict and what the verdict rests on, without its trials.
//!
//! A brief is for a fleet: small enough for a line of a log, and whole enough to be judged again.
//! It holds the counts that the test is made of ([`Tested`]), so that the judge decides by it as by
//! the record.

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

/// The schema that this version writes; its number grows when old readers would go wrong.
pub const SCHEMA: &str = "tailback/brief/1";

/// The most that a brief takes as JSON, in bytes.
pub const MOST_BYTES: usize = 16 << 10;

/// A study in brief.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Brief {
    /// [`SCHEMA`].
    pub schema: String,
    /// Which machine it is of; absent where nobody said.
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
    /// How far the study went.
    pub progress: Progress,
    /// What its machine shares with others of its kind.
    pub identity: Identity,
    /// Version of the OTP that the study ran, where it ran one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otp: Option<String>,
    /// What was to be done.
    pub plan: PlanBrief,
    /// What is known of the machine that judging has to know.
    #[serde(default, skip_serializing_if = "Ground::is_plain")]
    pub ground: Ground,
    /// The verdict.
    pub verdict: VerdictBrief,
    /// What the verdict rests on: by each judged figure, the one that decides first in front. Empty
    /// where nothing was judged, and where the counts of all arms take too much room (`left_out`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Tested>,
    /// What the scenario's review of the trials made of the test's answer, where that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<State>,
    /// The arms with their judged figures, control first; of many those that say most.
    pub arms: Vec<ArmBrief>,
    /// What each fix did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<FixBrief>,
    /// What did not fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOutOfBrief>,
}

/// What tells the trials of a study from those of another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanBrief {
    /// Seed of every random choice.
    pub seed: u64,
    /// SHA-256 of the plan without its seed, in hexadecimal: alike where the same was done.
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

/// What is known of the machine that judging has to know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ground {
    /// Flags by which the kernel said that it became tainted during the study.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tainted: u64,
    /// It was a guest whose time is emulated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub emulated: bool,
    /// Another run could load the machine at the same time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

impl Ground {
    /// Whether nothing is to be said of it.
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
    /// In one word.
    pub state: State,
    /// Which of several stalls of the scenario, where it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// In one sentence; absent where it takes too much room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<Headline>,
    /// Its first ground where nothing is settled: what was missing, what disturbed the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The figure that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// Other figures that show a stall as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Figures that are judged too and not settled yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// The test of the figure that decided, without its name; absent where nothing was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Test>,
}

/// An arm in brief: its judged figures alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmBrief {
    /// The arm.
    pub id: String,
    /// Its role.
    pub role: Role,
    /// What is said of it by itself; the control has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Its trials.
    pub trials: u32,
    /// How many of them hung.
    #[serde(default, skip_serializing_if = "none_hung")]
    pub hung: u32,
    /// E-value of this arm alone against "no effect".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e_value: Option<f64>,
    /// Each judged figure, by name.
    pub measures: BTreeMap<String, Estimate>,
    /// Each judged figure held against the control, by name.
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
    /// What became of the stall.
    pub outcome: FixOutcome,
    /// E-value against "the stall is not less".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e_value_less: Option<f64>,
    /// E-value against "the stall is left in 15% of the trials".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e_value_gone: Option<f64>,
    /// The e-value that both take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The judged figure with the change held against the one without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}

/// What did not fit into [`MOST_BYTES`]; the record has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOutOfBrief {
    /// Arms of which no estimate stands here.
    pub arms: u32,
    /// Fixes of which nothing stands here.
    pub fixes: u32,
    /// Whether the counts of the test do not stand here, so that it cannot be judged again.
    pub tests: bool,
}

impl Brief {
    /// Writes it as one line of JSON with a line feed at its end.
    pub fn to_line(&self) -> String {
        // Text keys and finite numbers only, which always serialise.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Shortens it until it is no longer than [`MOST_BYTES`] as a line: first the arms behind those
    /// that say most, then the fixes, then the counts of the test.
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
                // Names that nobody gave an arm, a kernel or a host in earnest.
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
