//! What follows from the facts of a study, and on what grounds.

use crate::estimate::ArmResult;
use crate::factorial::Effects;
use crate::fix::Fix;
use crate::missed::Missed;
use crate::reason::{Caveat, Headline, Reason};
use crate::record::Facts;
use crate::state::State;
use crate::suggestion::Suggestion;
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// What follows from [`Facts`]. It is made of them by one function, and no judging reads it back:
/// the file of a record holds it for other programs, and for a census, which counts what each host
/// concluded.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), derive(Deserialize), serde(default))]
pub struct Judgement {
    /// The verdict in one word.
    pub state: State,
    /// Which of several stalls of the scenario, where it has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The verdict in one sentence.
    pub headline: Headline,
    /// Its grounds, the most important first.
    pub reasons: Vec<Reason>,
    /// What the study cannot tell, and what would settle it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<Caveat>,
    /// What to do next: what may fix it, or what would settle it.
    pub suggestions: Vec<Suggestion>,
    /// The figure that decided; absent where nothing was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// Other figures that show a stall as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Figures that are judged too and not settled yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// What the arms that should fix the stall did, in this very study.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<Fix>,
    /// The test that decided; absent where nothing was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<Test>,
    /// The estimates of each arm, control first.
    pub arms: Vec<ArmResult>,
    /// What each level did, where a study has several factors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects: Option<Effects>,
}

impl Judgement {
    /// A judgement without grounds yet.
    pub fn new(state: State, headline: Headline) -> Self {
        Judgement {
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
            arms: Vec::new(),
            effects: None,
        }
    }
}

/// What tests read of a judgement, as other programs do.
#[cfg(any(test, feature = "testing"))]
impl Default for Judgement {
    fn default() -> Self {
        Judgement::new(State::Inconclusive, Headline::NotMeasured)
    }
}

/// Facts beside what follows from them: what is shown, exported and written to a file. It reads as
/// its facts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    /// What the study saw.
    #[serde(flatten)]
    pub facts: Facts,
    /// What follows from it.
    pub judgement: Judgement,
}

impl Deref for Judged {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        &self.facts
    }
}

/// Tests change facts in place; nothing else does once they are judged.
#[cfg(any(test, feature = "testing"))]
impl std::ops::DerefMut for Judged {
    fn deref_mut(&mut self) -> &mut Facts {
        &mut self.facts
    }
}

impl Judged {
    /// The record as its file holds it: indented JSON with a line feed at its end.
    pub fn to_json(&self) -> String {
        // Text keys and finite numbers only, which always serialise.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
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
    /// The e-value for "some arm is worse than its control".
    pub e_value_affected: f64,
    /// The e-value for "no arm is worse than its control in a third more of the blocks than it is
    /// better": that of the arm with the least.
    pub e_value_not_affected: f64,
    /// The e-value that decides on `affected`: one over the error rate.
    pub threshold: f64,
    /// The e-value that decides on `not-affected`; where it is absent, `threshold` does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_not_affected: Option<f64>,
    /// Highest rate of wrong `affected` verdicts, over all ways of stopping.
    pub error_rate: f64,
    /// What could have been missed; where no stall was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<Missed>,
}
