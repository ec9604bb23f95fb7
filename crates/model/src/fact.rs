//! What a scenario says of its own outcome, as data: which sentence, and the values in it.
//!
//! The sentence itself stands in the scenario's declaration ([`crate::scenario::Meta::sentences`])
//! as a template, and is put together where a record is shown. So a record holds figures and no
//! English, and a record of unknown origin can bring no sentence of its own.

use crate::estimate::{Comparison, Estimate};
use crate::measure::Unit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One fact: the id of a sentence that the scenario declares, and its values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact {
    /// Id of the sentence, unique in its scenario.
    pub id: String,
    /// The values in it, by the names that its template has for them; an optional one may be
    /// absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, FactValue>,
}

/// A value in a sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FactValue {
    /// A median over trials with its interval.
    Estimate(Box<Estimate>),
    /// A shift between two arms with its interval.
    Shift(Box<Comparison>),
    /// A figure worked out of others, with its interval where there is one.
    Amount(Amount),
    /// How many.
    Count(u64),
    /// A part of a whole: 0.05 is 5%.
    Share(f64),
    /// The name of something: an arm, a file, a function, an emulator flag.
    Name(String),
    /// Several names.
    Names(Vec<String>),
    /// Whether something holds.
    Holds(bool),
}

/// A figure with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Amount {
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// It is at least this, since trials were cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// The ends of its interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

impl Fact {
    /// A fact without values yet.
    pub fn new(id: &str) -> Self {
        Fact { id: id.to_owned(), values: BTreeMap::new() }
    }

    /// The same with one more value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<FactValue>) -> Self {
        self.values.insert(name.to_owned(), value.into());
        self
    }

    /// The same with one more value, where there is one.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl Into<FactValue>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

impl Amount {
    /// A figure without an interval.
    pub fn exact(value: f64, unit: Unit) -> Self {
        Amount { value, unit, at_least: false, interval: None }
    }
}

impl From<&Estimate> for FactValue {
    fn from(estimate: &Estimate) -> Self {
        FactValue::Estimate(Box::new(estimate.clone()))
    }
}

impl From<&Comparison> for FactValue {
    fn from(shift: &Comparison) -> Self {
        FactValue::Shift(Box::new(shift.clone()))
    }
}

impl From<Amount> for FactValue {
    fn from(amount: Amount) -> Self {
        FactValue::Amount(amount)
    }
}

impl From<u64> for FactValue {
    fn from(count: u64) -> Self {
        FactValue::Count(count)
    }
}

impl From<u32> for FactValue {
    fn from(count: u32) -> Self {
        FactValue::Count(count.into())
    }
}

impl From<bool> for FactValue {
    fn from(holds: bool) -> Self {
        FactValue::Holds(holds)
    }
}

impl From<&str> for FactValue {
    fn from(name: &str) -> Self {
        FactValue::Name(name.to_owned())
    }
}

impl From<String> for FactValue {
    fn from(name: String) -> Self {
        FactValue::Name(name)
    }
}

impl From<Vec<String>> for FactValue {
    fn from(names: Vec<String>) -> Self {
        FactValue::Names(names)
    }
}

/// What else should be known of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// What its scenario says of it.
    Fact(Fact),
    /// In the words of an older record.
    Said(String),
}

impl From<Fact> for Note {
    fn from(fact: Fact) -> Self {
        Note::Fact(fact)
    }
}
