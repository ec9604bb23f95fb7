//! What follows from the facts of a study, and why.

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

/// What follows from [`Facts`]. One function makes it from them, and judging never reads it back.
/// The file of a record holds it for other programs, and for a census, which counts the verdict
/// of each host.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), derive(Deserialize))]
pub struct Judgement {
    /// The verdict in one word.
    pub state: State,
    /// Which of the stalls of the scenario it is, if the scenario has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The verdict in one sentence.
    pub headline: Headline,
    /// The reasons for the verdict, the most important first.
    pub reasons: Vec<Reason>,
    /// What the study cannot tell, and what would settle it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<Caveat>,
    /// What to do next: what may fix the stall, or what would settle the verdict.
    pub suggestions: Vec<Suggestion>,
    /// The figure that decided; absent if nothing was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// Other figures that also show a stall.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Other judged figures that are not settled yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// The effect of each fix that this study tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<Fix>,
    /// The test that decided; absent if nothing was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<Test>,
    /// The estimates of each arm, control first.
    pub arms: Vec<ArmResult>,
    /// The effect of each level, if the study has several factors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects: Option<Effects>,
}

impl Judgement {
    /// A judgement that has no reasons yet.
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

/// Facts with the judgement that follows from them. This is what is shown, exported and written
/// to a file. It dereferences to its facts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    /// What the study observed.
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

/// Only tests change facts in place. Nothing else changes them after they are judged.
#[cfg(any(test, feature = "testing"))]
impl std::ops::DerefMut for Judged {
    fn deref_mut(&mut self) -> &mut Facts {
        &mut self.facts
    }
}

impl Judged {
    /// The text of the record's file: indented JSON with a line feed at its end.
    pub fn to_json(&self) -> String {
        // All keys are text and all numbers are finite, so this never fails.
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
    /// Whole blocks that the test used.
    pub blocks: u32,
    /// The e-value for "some arm is worse than its control".
    pub e_value_affected: f64,
    /// The e-value for "no arm is worse than its control in a third more of the blocks than it is
    /// better". It is the smallest e-value of any arm.
    pub e_value_not_affected: f64,
    /// The e-value that decides on `affected`: one divided by the error rate.
    pub threshold: f64,
    /// The e-value that decides on `not-affected`. If it is absent, `threshold` decides on both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_not_affected: Option<f64>,
    /// Highest rate of wrong `affected` verdicts, whenever the study stops.
    pub error_rate: f64,
    /// What could have been missed, if no stall was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<Missed>,
}
