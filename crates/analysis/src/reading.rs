//! Readings, some of which were cut off before they were complete.

use model::Measure;
pub(crate) use model::median::{ascending, median as middle};

/// A figure of one trial, which may be right-censored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// The figure, in the unit of its measure.
    pub value: f64,
    /// The true figure is `value` or more.
    pub at_least: bool,
}

impl Reading {
    /// A figure known in full.
    pub fn exact(value: f64) -> Self {
        Reading { value, at_least: false }
    }

    /// A figure of which only a lower bound is known.
    pub fn at_least(value: f64) -> Self {
        Reading { value, at_least: true }
    }

    /// The largest figure that it can stand for: its value, or infinity if it was cut off.
    pub fn highest(&self) -> f64 {
        if self.at_least { f64::INFINITY } else { self.value }
    }

    /// Whether it is certainly above another reading, as in the scores of Gehan (1965), "A
    /// generalized Wilcoxon test for comparing arbitrarily singly-censored samples", Biometrika
    /// 52, 203-223.
    ///
    /// If neither of two readings is certainly above the other, their order is not known: a tie.
    pub fn surely_above(&self, other: &Reading) -> bool {
        let above = self.value > other.value || self.at_least && self.value == other.value;
        above && !other.at_least
    }

    /// One if it is certainly above the other, zero if it is certainly below, one half for a tie.
    pub fn score(&self, other: &Reading) -> f64 {
        match (self.surely_above(other), other.surely_above(self)) {
            (true, _) => 1.0,
            (_, true) => 0.0,
            _ => 0.5,
        }
    }
}

impl From<&Measure> for Reading {
    fn from(measure: &Measure) -> Self {
        Reading { value: measure.value, at_least: measure.at_least }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_censored_reading_beats_exact_ones_up_to_its_value_and_ties_with_the_rest() {
        let cut = Reading::at_least(5.0);
        assert_eq!(cut.score(&Reading::exact(4.0)), 1.0);
        assert_eq!(cut.score(&Reading::exact(5.0)), 1.0);
        assert_eq!(cut.score(&Reading::exact(6.0)), 0.5);
        assert_eq!(cut.score(&Reading::at_least(1.0)), 0.5);
        assert_eq!(Reading::exact(5.0).score(&cut), 0.0);
    }
}
