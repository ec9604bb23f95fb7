//! By how much a figure changed within blocks.

use crate::quantile::count;
use crate::reading::{Reading, ascending, middle};
use crate::shift::nth;
use crate::signed_rank::averages_to_leave_out;
use model::Unit;
use model::factorial::Shift;

/// A change within one block, of which only bounds may be known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Change {
    /// The smallest possible change; minus infinity if a subtracted reading was cut off.
    lowest: f64,
    /// The change of the figures as read.
    plain: f64,
    /// The largest possible change; infinity if an added reading was cut off.
    highest: f64,
}

impl Change {
    /// A change of zero.
    pub(crate) const NONE: Change = Change { lowest: 0.0, plain: 0.0, highest: 0.0 };

    /// A change that lies between these bounds.
    pub(crate) fn between(lowest: f64, plain: f64, highest: f64) -> Change {
        Change { lowest, plain, highest }
    }

    /// The change with a reading added.
    pub(crate) fn plus(self, reading: &Reading) -> Change {
        Change {
            lowest: self.lowest + reading.value,
            plain: self.plain + reading.value,
            highest: self.highest + reading.highest(),
        }
    }

    /// The change with a reading subtracted.
    pub(crate) fn minus(self, reading: &Reading) -> Change {
        Change {
            lowest: self.lowest - reading.highest(),
            plain: self.plain - reading.value,
            highest: self.highest - reading.value,
        }
    }

    /// The change divided by the number of combinations.
    pub(crate) fn over(self, combinations: f64) -> Change {
        Change {
            lowest: self.lowest / combinations,
            plain: self.plain / combinations,
            highest: self.highest / combinations,
        }
    }
}

/// The Hodges-Lehmann estimate from one change in each block, with Tukey's interval.
///
/// The estimate is the median of all averages of two changes, where each change is also paired
/// with itself (Walsh averages; Walsh 1949, "Some significance tests for the median which are
/// valid under very general conditions", Annals of Mathematical Statistics 20, 64-81; Hodges and
/// Lehmann 1963, "Estimates of location based on rank tests", Annals of Mathematical Statistics
/// 34, 598-611). The ends of the interval are two of the sorted averages, by the exact
/// distribution of the signed-rank statistic (Tukey's, as in Hollander and Wolfe, "Nonparametric
/// Statistical Methods", section 3.3). Six changes are the least that give 95%. The method
/// assumes that changes are distributed symmetrically about their centre. They are, if an arm
/// shifts a figure and noise hits all arms of a block equally. With ties the closed interval
/// covers at least as often as stated.
///
/// A change that was cut off counts with its smallest and its largest possible value. An end that
/// becomes infinite is absent. `None` without changes, and if so many were cut off at both ends
/// that the estimate is not even a bound.
pub(crate) fn shift(changes: &[Change], unit: Unit, confidence: f64) -> Option<Shift> {
    let lowest = Averages::of(changes.iter().map(|change| change.lowest));
    let highest = Averages::of(changes.iter().map(|change| change.highest));
    let shift = Averages::of(changes.iter().map(|change| change.plain)).middle()?;
    let (from_below, from_above) =
        (lowest.middle() == Some(shift), highest.middle() == Some(shift));
    if !from_below && !from_above || !shift.is_finite() {
        return None;
    }
    let (rank, left_out) = averages_to_leave_out(changes.len(), (1.0 - confidence) / 2.0);
    let low = rank.and_then(|rank| lowest.at(rank - 1));
    let high = rank.and_then(|rank| highest.at(highest.len().checked_sub(rank)?));
    Some(Shift {
        unit,
        blocks: count(changes.len()),
        shift,
        at_least: from_below && !from_above,
        at_most: from_above && !from_below,
        low: low.filter(|low| low.is_finite()),
        high: high.filter(|high| high.is_finite()),
        confidence: (1.0 - 2.0 * left_out).max(0.0),
    })
}

/// The averages of all pairs, each figure also paired with itself, in ascending order. They are
/// counted and never stored. The struct holds the figures in ascending order.
struct Averages(Vec<f64>);

impl Averages {
    fn of(figures: impl Iterator<Item = f64>) -> Self {
        // If two readings are both beyond all figures, nothing is known of the change.
        Averages(ascending(figures.map(|figure| if figure.is_nan() { 0.0 } else { figure })))
    }

    fn len(&self) -> usize {
        self.0.len().saturating_mul(self.0.len() + 1) / 2
    }

    /// The average at this index of the ascending order.
    fn at(&self, place: usize) -> Option<f64> {
        (place < self.len()).then(|| nth(place, |most| self.up_to(most)))
    }

    /// How many averages are at most this. A larger first figure needs a smaller second figure,
    /// so one walk from both ends counts them.
    fn up_to(&self, most: f64) -> usize {
        let (mut end, mut count) = (self.0.len(), 0);
        for (index, one) in self.0.iter().enumerate() {
            while end > index && average(*one, self.0[end - 1]) > most {
                end -= 1;
            }
            if end <= index {
                break;
            }
            count += end - index;
        }
        count
    }

    fn middle(&self) -> Option<f64> {
        let lower = self.at(self.len().checked_sub(1)? / 2)?;
        let upper = self.at(self.len() / 2)?;
        middle(&[lower, upper])
    }
}

/// Two figures that are infinite in opposite directions give no information.
fn average(one: f64, other: f64) -> f64 {
    let average = one / 2.0 + other / 2.0;
    if average.is_nan() { 0.0 } else { average }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exact(values: &[f64]) -> Vec<Change> {
        values.iter().map(|value| Change::NONE.plus(&Reading::exact(*value))).collect()
    }

    fn of(changes: &[Change]) -> Shift {
        shift(changes, Unit::Milliseconds, 0.95).unwrap()
    }

    /// Hamilton depression scale before and after a tranquilliser, Hollander and Wolfe, table 3.1,
    /// the example of R's help page for the paired `wilcox.test`. The estimate of the book is
    /// -0.46, its interval -0.786 to -0.010 with 96.1%.
    #[test]
    fn agrees_with_the_textbook_example() {
        let before = [1830, 500, 1620, 2480, 1680, 1880, 1550, 3060, 1300];
        let after = [878, 647, 598, 2050, 1060, 1290, 1060, 3140, 1290];
        let score = |thousandths: i32| Reading::exact(f64::from(thousandths) / 1000.0);
        let changes: Vec<Change> = before
            .iter()
            .zip(after)
            .map(|(b, a)| Change::NONE.plus(&score(a)).minus(&score(*b)))
            .collect();
        let found = of(&changes);
        assert!((found.shift - -0.46).abs() < 1e-9, "{found:?}");
        assert!((found.low.unwrap() - -0.786).abs() < 1e-9, "{found:?}");
        assert!((found.high.unwrap() - -0.010).abs() < 1e-9, "{found:?}");
        assert!((found.confidence - 0.9609375).abs() < 1e-12, "{found:?}");
    }

    /// The averages would take five gigabytes if they were stored.
    #[test]
    fn many_blocks_take_no_more_memory_than_they_are() {
        let changes: Vec<f64> = (0..25_001).map(f64::from).collect();
        assert_eq!(of(&exact(&changes)).shift, 12_500.0);
    }

    #[test]
    fn five_blocks_have_no_interval() {
        let found = of(&exact(&[1.0, 2.0, 3.0, 4.0, 9.0]));
        assert_eq!((found.shift, found.low, found.high), (3.0, None, None));
        assert_eq!(found.confidence, 0.9375);
        assert_eq!(shift(&[], Unit::Ratio, 0.95), None);
    }

    #[test]
    fn cut_off_trials_open_the_end_that_they_reach() {
        let cut = Reading::at_least(10.0);
        let mut changes = exact(&[10.0; 5]);
        changes.push(Change::NONE.plus(&cut));
        let found = of(&changes);
        assert_eq!((found.shift, found.at_least, found.at_most), (10.0, false, false));
        assert_eq!((found.low, found.high), (Some(10.0), None));
        let found = of(&[Change::NONE.plus(&cut); 6]);
        assert_eq!((found.shift, found.at_least, found.high), (10.0, true, None));
        assert_eq!(found.low, Some(10.0));
        let found = of(&[Change::NONE.minus(&cut); 6]);
        assert_eq!((found.shift, found.at_most, found.low), (-10.0, true, None));
        assert_eq!(found.high, Some(-10.0));
        let both = Change::NONE.plus(&cut).minus(&cut);
        assert_eq!(shift(&[both; 6], Unit::Ratio, 0.95), None);
    }

    fn changes() -> impl Strategy<Value = Vec<Change>> {
        let reading = || {
            (0i32..30, prop::bool::weighted(0.1))
                .prop_map(|(value, at_least)| Reading { value: f64::from(value), at_least })
        };
        let change = (reading(), reading()).prop_map(|(a, b)| Change::NONE.plus(&a).minus(&b));
        prop::collection::vec(change, 1..14)
    }

    proptest! {
        #[test]
        fn each_place_is_that_of_the_sorted_averages(
            figures in prop::collection::vec((-20i32..20).prop_map(|n| f64::from(n) / 3.0), 1..12),
        ) {
            let averages = Averages::of(figures.iter().copied());
            let pairs = figures.iter().enumerate().flat_map(|(index, one)| {
                figures[index..].iter().map(move |other| average(*one, *other))
            });
            for (place, expected) in ascending(pairs).iter().enumerate() {
                prop_assert_eq!(averages.at(place), Some(*expected));
            }
        }

        #[test]
        fn the_interval_holds_the_shift_and_widens_with_confidence(
            changes in changes(), narrow in 0.5f64..0.99,
        ) {
            let Some(inner) = shift(&changes, Unit::Ratio, narrow) else { return Ok(()) };
            let outer = shift(&changes, Unit::Ratio, (1.0 + narrow) / 2.0).unwrap();
            let low = |s: &Shift| s.low.unwrap_or(f64::NEG_INFINITY);
            let high = |s: &Shift| s.high.unwrap_or(f64::INFINITY);
            prop_assert!(low(&inner) <= inner.shift && inner.shift <= high(&inner));
            prop_assert!(low(&outer) <= low(&inner) && high(&inner) <= high(&outer));
        }

        /// The interval allows for any true value of the readings that were cut off.
        #[test]
        fn bounds_hold_for_every_completion(
            readings in prop::collection::vec((0i32..30, any::<bool>(), 0i32..30, any::<bool>()), 6..12),
            extra in prop::collection::vec(0i32..50, 24),
        ) {
            let change = |a: Reading, b: Reading| Change::NONE.plus(&a).minus(&b);
            let cut = |value: i32, at_least| Reading { value: f64::from(value), at_least };
            let changes: Vec<Change> =
                readings.iter().map(|(a, x, b, y)| change(cut(*a, *x), cut(*b, *y))).collect();
            let whole = |value: i32, cut: bool, extra: i32| {
                Reading::exact(f64::from(value + if cut { extra } else { 0 }))
            };
            let completed: Vec<Change> = readings
                .iter()
                .zip(extra.chunks(2))
                .map(|((a, x, b, y), e)| change(whole(*a, *x, e[0]), whole(*b, *y, e[1])))
                .collect();
            let Some(bound) = shift(&changes, Unit::Ratio, 0.9) else { return Ok(()) };
            let truth = shift(&completed, Unit::Ratio, 0.9).unwrap();
            prop_assert!(bound.low.unwrap_or(f64::NEG_INFINITY) <= truth.low.unwrap());
            prop_assert!(truth.high.unwrap() <= bound.high.unwrap_or(f64::INFINITY));
            prop_assert!(!bound.at_least || truth.shift >= bound.shift);
            prop_assert!(!bound.at_most || truth.shift <= bound.shift);
        }
    }
}
