//! What a change did to a stall.

use super::arm;
use model::prose::figures;
use model::{Estimate, Fix, FixOutcome, Meta};
use std::collections::BTreeMap;

/// The outcome of a change in a few words, for the page and the text.
pub fn outcome(outcome: FixOutcome) -> &'static str {
    match outcome {
        FixOutcome::Fixed => "fixed here",
        FixOutcome::Helped => "helped here",
        FixOutcome::NotShown => "not shown to help",
    }
}

/// The largest bound on the remaining share that is shown. A larger one is not informative.
const MOST_SAID: f64 = 0.5;

/// The effect of a change: `+sbwt none: late p99 0.4 ms [0.3, 0.5] instead of 71 ms [60, 80];
/// left in at most 14% of trials.`
pub fn effect(fix: &Fix, meta: Option<&Meta>) -> String {
    let figure = |all: &BTreeMap<String, Estimate>| {
        all.get(&fix.measure).map_or_else(|| "-".to_owned(), figures::estimate)
    };
    format!(
        "{}: {} {} instead of {}{}.",
        arm::change(&fix.change, meta),
        figures::heading(&fix.measure, meta),
        figure(&fix.with),
        figure(&fix.without),
        left(fix).unwrap_or_default()
    )
}

/// The share of trials that may still have the stall, if there is a bound on it.
fn left(fix: &Fix) -> Option<String> {
    let bound = fix.left_at_most.filter(|bound| *bound < MOST_SAID)?;
    let percent = (bound * 100.0).ceil();
    match fix.outcome {
        FixOutcome::Fixed => Some(format!("; left in at most {percent}% of trials")),
        FixOutcome::Helped => Some(format!("; may be left in up to {percent}% of trials")),
        FixOutcome::NotShown => None,
    }
}

/// A change and its outcome: `+sbwt none: fixed here`.
pub fn short(fix: &Fix, meta: Option<&Meta>) -> String {
    format!("{}: {}", arm::change(&fix.change, meta), outcome(fix.outcome))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_change_is_said_with_both_figures() {
        let fixed = testing::fix("+sbwt none", FixOutcome::Fixed);
        assert_eq!(
            effect(&fixed, None),
            "+sbwt none: lost 1.5 ms/s [0.5, 2.5] instead of 900 ms/s [899, 901]."
        );
        assert_eq!(short(&fixed, None), "+sbwt none: fixed here");
    }

    #[test]
    fn what_may_be_left_is_said_where_it_is_bounded() {
        let with = |outcome, bound| {
            let fix = Fix { left_at_most: Some(bound), ..testing::fix("+sbwt none", outcome) };
            effect(&fix, None).split_once("; ").map(|(_, left)| left.to_owned())
        };
        let left = |outcome, bound| with(outcome, bound).unwrap_or_default();
        assert_eq!(left(FixOutcome::Fixed, 0.142), "left in at most 15% of trials.");
        assert_eq!(left(FixOutcome::Helped, 0.42), "may be left in up to 42% of trials.");
        assert_eq!(with(FixOutcome::Helped, 0.6), None);
        assert_eq!(with(FixOutcome::NotShown, 0.142), None);
    }
}
