//! Figures with their units.

use serde::{Deserialize, Serialize};

/// Unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Unit {
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Milliseconds in each second of wall time.
    #[serde(rename = "ms/s")]
    MillisecondsPerSecond,
    /// A count of things.
    #[serde(rename = "1")]
    Count,
    /// Things in each second of wall time.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// Hundredths of something.
    #[serde(rename = "%")]
    Percent,
    /// A ratio of like quantities.
    #[serde(rename = "ratio")]
    Ratio,
}

impl Unit {
    /// The text of the unit after a figure; empty for plain counts and ratios.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Milliseconds => "ms",
            Unit::Nanoseconds => "ns",
            Unit::MillisecondsPerSecond => "ms/s",
            Unit::Count | Unit::Ratio => "",
            Unit::PerSecond => "/s",
            Unit::Bytes => "B",
            Unit::Percent => "%",
        }
    }
}

/// One figure that a trial yielded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measure {
    /// The figure; always finite.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// The true figure is this or more, because the trial ended before it was known:
    /// right-censored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
}

impl Measure {
    /// A figure known in full.
    pub fn exact(value: f64, unit: Unit) -> Self {
        Measure { value, unit, at_least: false }
    }

    /// A figure of which only a lower bound is known.
    pub fn at_least(value: f64, unit: Unit) -> Self {
        Measure { value, unit, at_least: true }
    }
}
