//! Arms. Each arm is one setting of all parameters.

use crate::fact::Fact;
use crate::parameter::Value;
use crate::problem::{Problem, RefusedFlags};
use crate::role::Role;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One setting of all parameters of a scenario.
// In a record these are `Settings`; in a scenario they are its own struct.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Arm"))]
pub struct Arm<S = Settings> {
    /// Short name, unique in its study: `control`, `busy-10`.
    pub id: String,
    /// Its role.
    pub role: Role,
    /// The id of the control with which this arm is compared. Absent for controls and baselines,
    /// and if the plan has only one control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The value of every parameter.
    pub settings: S,
    /// What the arm changes as a fix for the stall.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Changed>,
}

impl<S> Arm<S> {
    /// The same arm with another type of settings.
    pub fn map<T>(self, form: impl FnOnce(S) -> T) -> Arm<T> {
        let Arm { id, role, against, settings, change } = self;
        Arm { id, role, against, settings: form(settings), change }
    }
}

/// What an arm changes as a fix for the stall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Changed {
    /// Emulator flags as they are passed to a node.
    Flags(String),
    /// A change that its scenario describes.
    Scenario(Fact),
    /// The words of an older record, or the name of an arm without a description.
    Said(String),
}

impl Changed {
    /// The emulator flags, if flags are changed. In an older record they are the words.
    pub fn flags(&self) -> Option<&str> {
        match self {
            Changed::Flags(flags) => Some(flags),
            Changed::Said(said) => Some(said.as_str()).filter(|said| said.starts_with(['+', '-'])),
            Changed::Scenario(_) => None,
        }
    }
}

/// An arm that cannot be run here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The id that it would have had.
    pub id: String,
    /// Why it was left out.
    pub why: WhyLeftOut,
}

/// Why an arm cannot be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WhyLeftOut {
    /// An Erlang VM does not accept its emulator flags.
    Flags(RefusedFlags),
    /// Its settings cannot be used here.
    Refused {
        /// Why not.
        why: Problem,
    },
    /// A reason that its scenario describes.
    Scenario(Fact),
    /// In the words of an older record.
    Said(String),
}

/// Values of parameters, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Settings(pub BTreeMap<String, Value>);

impl Settings {
    /// The settings whose values differ from `others`.
    #[must_use]
    pub fn differing(&self, others: &Settings) -> Settings {
        let differs = self.0.iter().filter(|(name, value)| others.0.get(*name) != Some(*value));
        differs.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Sets one parameter.
    pub fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }
}

impl FromIterator<(String, Value)> for Settings {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(values: I) -> Self {
        Settings(values.into_iter().collect())
    }
}
