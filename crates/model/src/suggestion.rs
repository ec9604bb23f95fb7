//! What to change or to run next, as data. The command line is made when the suggestion is shown.

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
    /// The run that measures whether it helps, or the run that would settle the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// The outcome, if this study measured the change.
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
    /// A suggestion that only the scenario knows.
    Scenario(Fact),
    /// How to meet a need that is missing.
    Grant(Box<Need>),
    /// Run it again when nothing interferes.
    RunAgain,
}

/// A command of tailback, as data instead of words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Which command.
    pub command: Command,
    /// Its scenario.
    pub scenario: String,
    /// Its parameters, by name. For `run` these are the parameters that differ from the
    /// scenario's defaults. Parameters that the command does not have are not shown.
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
