//! Arms: one setting of all parameters each.

use crate::parameter::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What an arm is for in its study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The same load without the cause: it differs from its case by the cause alone.
    Control,
    /// The load with the cause.
    Case,
    /// The load with the cause and with something that should fix the stall.
    Fix,
    /// Something to compare with by eye, as the work alone; shown, and never judged against.
    Baseline,
}

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
    /// What sets an arm apart that should fix the stall, ready to be used: a flag, a setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}

impl<S> Arm<S> {
    /// The same arm with its settings in another form.
    pub fn map<T>(self, form: impl FnOnce(S) -> T) -> Arm<T> {
        let Arm { id, role, against, settings, change } = self;
        Arm { id, role, against, settings: form(settings), change }
    }
}

/// An arm that could not be had here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The name it would have had.
    pub id: String,
    /// Why: as what refused it says.
    pub why: String,
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
