//! What is said in the end, and on what grounds.

use crate::fix::Fix;
use crate::measure::Unit;
use crate::reason::{Caveat, Headline, Reason};
use crate::said;
use crate::state::State;
use crate::suggestion::Suggestion;
use serde::{Deserialize, Serialize};

/// The verdict of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// In one word.
    pub state: State,
    /// Which of several stalls of the scenario, where it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// In one sentence.
    pub headline: Headline,
    /// Its grounds, the most important first.
    #[serde(alias = "because", deserialize_with = "said::list")]
    pub reasons: Vec<Reason>,
    /// What the study cannot tell, and what would settle it.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "said::list")]
    pub caveats: Vec<Caveat>,
    /// What to do next: what may fix it, or what would settle it.
    #[serde(alias = "next", deserialize_with = "said::list")]
    pub suggestions: Vec<Suggestion>,
    /// The figure that decided; absent where nothing was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// Other figures that show a stall as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Figures that are judged too and not settled yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// What the arms that should fix the stall did, in this very study.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<Fix>,
    /// The test that decided; absent where nothing was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Test>,
}

impl Verdict {
    /// A verdict without grounds yet.
    pub fn of(state: State, headline: Headline) -> Self {
        Verdict {
            state,
            kind: None,
            headline,
            reasons: Vec::new(),
            caveats: Vec::new(),
            suggestions: Vec::new(),
            measure: None,
            also: Vec::new(),
            open: Vec::new(),
            fixes: Vec::new(),
            test: None,
        }
    }
}

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
    /// A stall that comes at random once in so many seconds or more often would have shown.
    pub every_s: f64,
    /// How surely, however the study was stopped.
    pub confidence: f64,
}

/// The anytime-valid test behind a verdict.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Test {
    /// Its name and source; a brief record leaves them out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub method: String,
    /// Whole blocks it has seen.
    pub blocks: u32,
    /// Evidence against "no arm differs from the control", as a gambler's wealth.
    pub evidence_affected: f64,
    /// Evidence against "an arm is worse than its control in a third more of the blocks than it is
    /// better", of the arm with the least.
    pub evidence_not_affected: f64,
    /// The wealth that decides on `affected`: one over the error rate.
    pub threshold: f64,
    /// The wealth that decides on `not-affected`; where it is absent, `threshold` does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_not_affected: Option<f64>,
    /// Highest rate of wrong `affected` verdicts, over all ways of stopping.
    pub error_rate: f64,
    /// What could have been missed; where no stall was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<Missed>,
}
