//! Estimates with their intervals, which the analysis makes from the trials of each arm.

use crate::measure::Unit;
use crate::role::Role;
use crate::state::State;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A median over trials, with its interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Unit of all figures.
    pub unit: Unit,
    /// Number of trials behind the estimate.
    pub trials: u32,
    /// Median over the trials.
    pub median: f64,
    /// The median is this or more: a censored trial is in the middle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub median_at_least: bool,
    /// Lower end of the interval; absent if there are too few trials for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the interval; absent if there are too few trials for one, or if it is
    /// unbounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The upper end is unbounded, because trials were cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub high_unbounded: bool,
    /// Confidence of the interval, from the exact distribution of order statistics.
    pub confidence: f64,
    /// Smallest figure of any trial.
    pub min: f64,
    /// Largest figure of any trial.
    pub max: f64,
    /// The largest figure is this or more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub max_at_least: bool,
}

/// How often something happened, with a Clopper-Pearson interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proportion {
    /// Trials in which it happened.
    pub count: u32,
    /// All trials.
    pub of: u32,
    /// Lower end of the interval of the rate.
    pub low: f64,
    /// Upper end of the interval of the rate.
    pub high: f64,
    /// Confidence of the interval.
    pub confidence: f64,
}

/// One arm compared with the control, for one figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Unit of the shift.
    pub unit: Unit,
    /// Hodges-Lehmann shift from the control to the arm; above zero the arm is worse.
    pub shift: f64,
    /// The shift is this or more, because trials of the arm were cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shift_at_least: bool,
    /// Lower end of the shift's interval; absent if there are too few trials for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the shift's interval; absent if there are too few trials for one, or if it is
    /// unbounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Probability that a trial of the arm is worse than a trial of the control. Ties count half.
    pub superiority: f64,
    /// Lower end of the interval of that probability; absent if it cannot be estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superiority_low: Option<f64>,
    /// Upper end of the interval of that probability; absent if it cannot be estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superiority_high: Option<f64>,
    /// Two-sided p-value of the Brunner-Munzel test; absent if it cannot be computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
}

/// All estimates for one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmResult {
    /// The arm.
    pub id: String,
    /// Its role.
    pub role: Role,
    /// The verdict on this arm alone; absent for the control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Number of its trials.
    pub trials: u32,
    /// How often a trial hung.
    pub hangs: Proportion,
    /// How often a trial lost more than the margin, compared with the control of its block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worse: Option<Proportion>,
    /// Each figure, by name.
    pub measures: BTreeMap<String, Estimate>,
    /// Each figure compared with the control, by name; empty for the control.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub against_control: BTreeMap<String, Comparison>,
    /// The e-value for "affected" of this arm alone; 20 corresponds to an error rate of 1 in 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub e_value: Option<f64>,
}

/// A figure for readers: about three significant digits without trailing zeros, and no exponent
/// below a billion.
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 1e9 => return format!("{value:.2e}"),
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    if digits == 0 {
        return text;
    }
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn trials(count: u32) -> String {
    format!("{count} trial{}", if count == 1 { "" } else { "s" })
}

impl Estimate {
    /// The interval alone: `[970, 992]`. Without an interval it says why there is none.
    pub fn interval(&self) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("[{}, {}]", number(low), number(high)),
            (Some(low), None) if self.high_unbounded => format!("[{}, ..)", number(low)),
            _ => format!("[no interval from {}]", trials(self.trials)),
        }
    }

    /// The median without its unit: `985`, or `>= 985` if trials were cut off.
    pub fn figure(&self) -> String {
        let bound = if self.median_at_least { ">= " } else { "" };
        format!("{bound}{}", number(self.median))
    }
}

/// `3 of 6`.
impl fmt::Display for Proportion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.count, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate() -> Estimate {
        Estimate {
            unit: Unit::MillisecondsPerSecond,
            trials: 6,
            median: 985.4,
            median_at_least: false,
            low: Some(970.0),
            high: Some(992.2),
            high_unbounded: false,
            confidence: 0.97,
            min: 970.0,
            max: 992.2,
            max_at_least: false,
        }
    }

    #[test]
    fn an_estimate_never_stands_without_its_interval() {
        assert_eq!(estimate().to_string(), "985 ms/s [970, 992]");
        let cut_off =
            Estimate { median_at_least: true, high: None, high_unbounded: true, ..estimate() };
        assert_eq!(cut_off.to_string(), ">= 985 ms/s [970, ..)");
        let few = Estimate { trials: 3, low: None, high: None, ..estimate() };
        assert_eq!(few.to_string(), "985 ms/s [no interval from 3 trials]");
    }

    #[test]
    fn figures_carry_three_digits() {
        let words = [0.0, -0.0001, 0.0344, 1.234, 12.34, 123.4, 44_504.3, 2e12].map(number);
        assert_eq!(words, ["0", "0", "0.034", "1.23", "12.3", "123", "44504", "2.00e12"]);
    }
}
