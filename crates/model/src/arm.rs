//! Arms: one setting of all knobs each.

use crate::knob::{Knob, Value};
use crate::units;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

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

/// One setting of all knobs of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arm {
    /// Short name, unique in its study: `control`, `busy-10`.
    pub id: String,
    /// What it is for.
    pub role: Role,
    /// The id of the control that this arm is held against; absent where it is the only control
    /// of its plan, and of controls and baselines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The value of every knob.
    pub settings: Settings,
    /// What sets an arm apart that should fix the stall, ready to be used: a flag, a setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}

/// An arm that could not be had here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The name it would have had.
    pub id: String,
    /// Why: in the words of whoever refused it.
    pub why: String,
}

/// Values of knobs, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Settings(pub BTreeMap<String, Value>);

impl Settings {
    /// The defaults of some knobs.
    pub fn defaults(knobs: &[Knob], quick: bool) -> Self {
        Settings(
            knobs.iter().map(|knob| (knob.name.to_owned(), knob.default_value(quick))).collect(),
        )
    }

    /// Sets one knob.
    pub fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// A whole number, where the knob has one.
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.0.get(name)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// A number with decimals, where the knob has one.
    pub fn decimal(&self, name: &str) -> Option<f64> {
        self.text(name)?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Several whole numbers, where the knob has them.
    pub fn numbers(&self, name: &str) -> Option<&[i64]> {
        match self.0.get(name)? {
            Value::Numbers(numbers) => Some(numbers),
            _ => None,
        }
    }

    /// A word, where the knob has one.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A duration, where the knob has one.
    pub fn duration(&self, name: &str) -> Option<Duration> {
        units::parse_duration(self.text(name)?).ok()
    }

    /// A size in bytes, where the knob has one.
    pub fn size(&self, name: &str) -> Option<u64> {
        units::parse_size(self.text(name)?).ok()
    }
}
