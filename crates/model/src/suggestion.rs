//! What to change or to run next, as data: its command line is made where it is shown.

use crate::arm::Settings;
use crate::fact::Fact;
use crate::fix::FixOutcome;
use crate::problem::Need;
use serde::{Deserialize, Serialize};

/// One thing to do next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Suggestion {
    /// What to do.
    pub what: What,
    /// The run that measures whether it helps, or what would settle the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// What it did where it was measured in this study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<FixOutcome>,
}

impl From<What> for Suggestion {
    fn from(what: What) -> Self {
        Suggestion { what, run: None, measured: None }
    }
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A fix that the scenario declares, by its id ([`crate::scenario::Meta::fixes`]).
    Fix(String),
    /// What only the scenario knows.
    Scenario(Fact),
    /// What would grant a need that is missing.
    Grant(Box<Need>),
    /// Run it again once nothing interferes.
    RunAgain,
}

/// A command of tailback, without its words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Which command.
    pub command: Command,
    /// Its scenario.
    pub scenario: String,
    /// Its parameters, by name; for `run` those that differ from the scenario's defaults. Those
    /// that the command does not have are not shown.
    pub parameters: Settings,
}

/// A command that runs a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// `tailback run`.
    Run,
    /// `tailback sim`.
    Sim,
}
