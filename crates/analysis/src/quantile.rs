//! The median of trials, with its exact interval.

use crate::reading::{Reading, ascending, middle};
use model::{Estimate, Unit};

/// The median of readings with the exact, distribution-free interval between two order statistics.
///
/// The interval is the narrowest symmetric pair whose binomial coverage is at least `confidence`
/// (Thompson 1936, "On confidence ranges for the median and other expectation distributions for
/// populations of unknown distribution form", Annals of Mathematical Statistics 7, 122-128). If
/// there are too few readings for that (95% needs six), the ends are absent, and the confidence
/// is that of the range from the smallest to the largest reading.
///
/// A censored reading can be anything from its value to infinity. So each order statistic has a
/// smallest possible value, found by sorting the values as they are. Its largest possible value
/// is found by sorting with the censored readings at infinity. If the two differ, the order
/// statistic is only known as "at least". `None` without readings.
pub fn median(readings: &[Reading], unit: Unit, confidence: f64) -> Option<Estimate> {
    let values = ascending(readings.iter().map(|reading| reading.value));
    let highest = ascending(readings.iter().map(Reading::highest));
    let median = middle(&values)?;
    let (rank, achieved) = median_rank(values.len(), confidence);
    // No true figure is below its recorded value, so an order statistic is not below the recorded
    // one of the same rank. So the lower end holds whatever was cut off. The upper end has to
    // allow for the largest possible values.
    let low = rank.and_then(|rank| values.get(rank - 1).copied());
    let high = rank.and_then(|rank| highest.get(highest.len() - rank).copied());
    Some(Estimate {
        unit,
        trials: count(values.len()),
        median,
        median_at_least: middle(&highest) != Some(median),
        low,
        high: high.filter(|high| high.is_finite()),
        high_unbounded: high.is_some_and(f64::is_infinite),
        confidence: achieved,
        min: values.first().copied().unwrap_or(median),
        max: values.last().copied().unwrap_or(median),
        max_at_least: readings.iter().any(|reading| reading.at_least),
    })
}

/// A count, as the record holds it.
pub(crate) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Rank of the lower order statistic, counted from 1 at either end, and the coverage of the pair.
/// If even the widest pair covers too little, there is no rank, and the coverage is that of the
/// widest pair.
pub fn median_rank(trials: usize, confidence: f64) -> (Option<usize>, f64) {
    let n = trials as f64;
    // Probability of k figures below the median, starting with k = 0.
    let mut ln_chance = -n * std::f64::consts::LN_2;
    let mut below = ln_chance.exp();
    let widest = (1.0 - 2.0 * below).max(0.0);
    let mut best = (None, widest);
    for rank in 1..=trials / 2 {
        let coverage = 1.0 - 2.0 * below;
        if coverage < confidence {
            break;
        }
        best = (Some(rank), coverage);
        ln_chance += ((n - rank as f64 + 1.0) / rank as f64).ln();
        below += ln_chance.exp();
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exact(values: &[f64]) -> Vec<Reading> {
        values.iter().copied().map(Reading::exact).collect()
    }

    /// Ranks and coverages in per cent, as in tables of the sign test, e.g. Conover, "Practical
    /// Nonparametric Statistics". The coverages were checked with scipy.stats.binom.
    #[test]
    fn ranks_are_those_of_the_tables() {
        for (trials, rank, coverage) in [
            (5, None, 93.75),
            (6, Some(1), 96.875),
            (9, Some(2), 96.09375),
            (10, Some(2), 97.8515625),
            (20, Some(6), 95.8610534668),
            (50, Some(18), 96.7160862436),
            (100, Some(40), 96.4799799779),
        ] {
            let (found, achieved) = median_rank(trials, 0.95);
            assert_eq!(found, rank, "{trials} trials");
            assert!((achieved * 100.0 - coverage).abs() < 1e-8, "{trials}: {achieved}");
        }
        assert_eq!(median_rank(0, 0.95), (None, 0.0));
        assert_eq!(median_rank(1, 0.95), (None, 0.0));
    }

    #[test]
    fn many_trials_do_not_underflow() {
        let (rank, coverage) = median_rank(5000, 0.95);
        // The normal approximation gives the rank 2500 - 0.98 * sqrt(5000).
        assert!(rank.is_some_and(|rank| rank.abs_diff(2431) <= 2), "{rank:?}");
        assert!((0.95..0.953).contains(&coverage));
    }

    #[test]
    fn a_censored_reading_lifts_what_may_be_above_it() {
        let mut readings = exact(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        readings.push(Reading::at_least(7.0));
        let estimate = median(&readings, Unit::Milliseconds, 0.95).unwrap();
        assert_eq!((estimate.median, estimate.median_at_least), (4.0, false));
        assert_eq!((estimate.low, estimate.high), (Some(1.0), None));
        assert!(estimate.high_unbounded && estimate.max_at_least);

        // It was cut off below the median. Its true value may be above, which moves the median
        // up.
        readings[0] = Reading::at_least(1.0);
        let estimate = median(&readings, Unit::Milliseconds, 0.95).unwrap();
        assert_eq!((estimate.median, estimate.median_at_least), (4.0, true));
    }

    #[test]
    fn too_few_readings_have_no_interval() {
        let estimate = median(&exact(&[1.0, 2.0, 9.0]), Unit::Milliseconds, 0.95).unwrap();
        assert_eq!((estimate.low, estimate.high, estimate.confidence), (None, None, 0.75));
        assert!(!estimate.high_unbounded);
        assert_eq!(median(&[], Unit::Milliseconds, 0.95), None);
    }

    fn readings() -> impl Strategy<Value = Vec<Reading>> {
        let reading = (0u32..50, any::<bool>())
            .prop_map(|(value, at_least)| Reading { value: f64::from(value), at_least });
        prop::collection::vec(reading, 1..40)
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_median_and_widens_with_confidence(
            readings in readings(), narrow in 0.5f64..0.99,
        ) {
            let inner = median(&readings, Unit::Milliseconds, narrow).unwrap();
            let outer = median(&readings, Unit::Milliseconds, (1.0 + narrow) / 2.0).unwrap();
            let top = |e: &Estimate| e.high.unwrap_or(f64::INFINITY);
            let bottom = |e: &Estimate| e.low.unwrap_or(f64::NEG_INFINITY);
            prop_assert!(bottom(&inner) <= inner.median && inner.median <= top(&inner));
            prop_assert!(bottom(&outer) <= bottom(&inner) && top(&inner) <= top(&outer));
        }

        #[test]
        fn order_does_not_matter(readings in readings()) {
            let mut turned = readings.clone();
            turned.reverse();
            turned.rotate_left(readings.len() / 3);
            prop_assert_eq!(
                median(&readings, Unit::Ratio, 0.95), median(&turned, Unit::Ratio, 0.95)
            );
        }

        /// The estimate allows for any true value of the censored readings.
        #[test]
        fn bounds_hold_for_every_completion(
            readings in readings(), extra in prop::collection::vec(0u32..100, 40),
        ) {
            let bound = median(&readings, Unit::Ratio, 0.9).unwrap();
            let complete: Vec<Reading> = readings.iter().zip(extra).map(|(reading, extra)| {
                let more = if reading.at_least { f64::from(extra) } else { 0.0 };
                Reading::exact(reading.value + more)
            }).collect();
            let truth = median(&complete, Unit::Ratio, 0.9).unwrap();
            prop_assert!(bound.median <= truth.median);
            prop_assert!(bound.median_at_least || bound.median == truth.median);
            if let (Some(low), Some(true_low)) = (bound.low, truth.low) {
                prop_assert!(low <= true_low);
            }
            if let (Some(high), Some(true_high)) = (bound.high, truth.high) {
                prop_assert!(true_high <= high);
            }
        }
    }
}
