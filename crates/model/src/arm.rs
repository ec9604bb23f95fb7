//! Arms: one setting of all parameters each.

use crate::fact::Fact;
use crate::parameter::Value;
use crate::problem::{Problem, RefusedFlags};
use crate::role::Role;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One setting of all parameters of a scenario.
// In a record these are `Settings`; a scenario has a struct of its own in their place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Arm"))]
pub struct Arm<S = Settings> {
    /// Short name, unique in its study: `control`, `busy-10`.
    pub id: String,
    /// What it is for.
    pub role: Role,
    /// The id of the control that this arm is held against; absent where it is the only control
    /// of its plan, and of controls and baselines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The value of every parameter.
    pub settings: S,
    /// What sets an arm apart that should fix the stall.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Changed>,
}

impl<S> Arm<S> {
    /// The same arm with its settings in another form.
    pub fn map<T>(self, form: impl FnOnce(S) -> T) -> Arm<T> {
        let Arm { id, role, against, settings, change } = self;
        Arm { id, role, against, settings: form(settings), change }
    }
}

/// What sets an arm apart that should fix the stall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Changed {
    /// Emulator flags, as a node takes them.
    Flags(String),
    /// What its scenario says of it.
    Scenario(Fact),
    /// In the words of an older record, or the name of an arm that does not say.
    Said(String),
}

impl Changed {
    /// The emulator flags, where that is what changes; in an older record they are its words.
    pub fn flags(&self) -> Option<&str> {
        match self {
            Changed::Flags(flags) => Some(flags),
            Changed::Said(said) => Some(said.as_str()).filter(|said| said.starts_with(['+', '-'])),
            Changed::Scenario(_) => None,
        }
    }
}

/// An arm that could not be had here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The name it would have had.
    pub id: String,
    /// Why.
    pub why: WhyLeftOut,
}

/// Why an arm could not be had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WhyLeftOut {
    /// An Erlang VM does not take its emulator flags.
    Flags(RefusedFlags),
    /// Its settings cannot be used here.
    Refused {
        /// Why not.
        why: Problem,
    },
    /// What its scenario says of it.
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
    /// Those that are not the same in `others`.
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
