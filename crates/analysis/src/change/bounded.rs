//! Figures with bounds, and by how much one set of them is above another.

use crate::paired::{self, Change};
use crate::quantile::{self, median_rank};
use crate::rank_sum::differences_to_leave_out;
use crate::reading::{Reading, ascending, middle};
use crate::superiority::brunner_munzel;
use model::{Comparison, Estimate, Unit};

/// A figure, or the difference of two figures. Each of them may have been cut off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounded {
    /// The smallest possible value; minus infinity if the subtracted figure was cut off.
    lowest: f64,
    /// The value as read; always finite.
    plain: f64,
    /// The largest possible value; infinity if the figure was cut off.
    highest: f64,
}

impl From<Reading> for Bounded {
    fn from(reading: Reading) -> Self {
        Bounded { lowest: reading.value, plain: reading.value, highest: reading.highest() }
    }
}

impl Bounded {
    /// One reading minus another; `None` if they are too large for a number.
    pub(super) fn less(arm: Reading, control: Reading) -> Option<Bounded> {
        let found = Bounded {
            lowest: arm.value - control.highest(),
            plain: arm.value - control.value,
            highest: arm.highest() - control.value,
        };
        found.plain.is_finite().then_some(found)
    }

    /// The figure of a run: the Hodges-Lehmann estimate of its blocks, which is the median of all
    /// averages of two of them.
    pub(super) fn of_run(blocks: &[Bounded]) -> Option<Bounded> {
        let estimate = |end: fn(&Bounded) -> f64| {
            let pairs = blocks.iter().enumerate().flat_map(|(place, one)| {
                blocks[place..].iter().map(move |other| end(one) / 2.0 + end(other) / 2.0)
            });
            middle(&ascending(pairs))
        };
        Some(Bounded {
            lowest: estimate(|b| b.lowest)?,
            plain: estimate(|b| b.plain)?,
            highest: estimate(|b| b.highest)?,
        })
    }

    /// The figure as a reading, for methods without lower bounds.
    fn reading(&self) -> Reading {
        let at_least = self.highest.is_infinite() && self.lowest.is_finite();
        Reading { value: self.plain, at_least }
    }
}

/// The median of figures with its interval; the lower end is absent if it is unbounded.
pub(super) fn median(figures: &[Bounded], unit: Unit, confidence: f64) -> Option<Estimate> {
    let readings: Vec<Reading> = figures.iter().map(Bounded::reading).collect();
    let mut estimate = quantile::median(&readings, unit, confidence)?;
    let lowest = ascending(figures.iter().map(|figure| figure.lowest));
    let end = median_rank(lowest.len(), confidence).0.and_then(|rank| lowest.get(rank - 1));
    estimate.low = estimate.low.and(end.copied()).filter(|low| low.is_finite());
    Some(estimate)
}

/// By how much `after` is above `before`: the shift of Hodges and Lehmann with Moses' exact
/// interval, as in [`crate::compare::compare`]. Either side of a difference may have been cut
/// off. The probability of being higher uses the figures as read.
pub(super) fn compare(
    before: &[Bounded],
    after: &[Bounded],
    unit: Unit,
    confidence: f64,
) -> Option<Comparison> {
    let differences = |end: fn(&Bounded, &Bounded) -> f64| {
        ascending(after.iter().flat_map(|a| before.iter().map(move |b| end(a, b))))
    };
    let plain = differences(|a, b| a.plain - b.plain);
    let lowest = differences(|a, b| a.lowest - b.highest);
    let highest = differences(|a, b| a.highest - b.lowest);
    let shift = middle(&plain).filter(|shift| shift.is_finite())?;
    let tail = (1.0 - confidence) / 2.0;
    let (rank, left_out) = differences_to_leave_out(before.len(), after.len(), tail);
    let end = |sorted: &[f64], place: Option<usize>| {
        place.and_then(|place| sorted.get(place).copied()).filter(|end| end.is_finite())
    };
    let readings = |side: &[Bounded]| side.iter().map(Bounded::reading).collect::<Vec<_>>();
    let superiority = brunner_munzel(&readings(before), &readings(after), confidence)?;
    Some(Comparison {
        unit,
        shift,
        shift_at_least: middle(&lowest) == Some(shift) && middle(&highest) != Some(shift),
        low: end(&lowest, rank.map(|rank| rank - 1)),
        high: end(&highest, rank.and_then(|rank| highest.len().checked_sub(rank))),
        confidence: (1.0 - 2.0 * left_out).max(0.0),
        superiority: superiority.chance,
        superiority_low: superiority.interval.map(|(low, _)| low),
        superiority_high: superiority.interval.map(|(_, high)| high),
        p_value: superiority.p_value,
    })
}

/// By how much `after` is above `before`, if figures with the same index are the two runs of a
/// pair: the shift of Hodges and Lehmann with Tukey's exact interval ([`paired::shift`]). The
/// probability of being higher is the share of the pairs; a tie counts half.
///
/// If chance decided which run of each pair came first, and nothing changed, each difference is
/// equally likely above and below zero. This holds for any size and any other differences. So the
/// interval excludes zero at its stated rate, however much runs resemble their neighbours in time
/// (Fisher 1935, "The Design of Experiments", section 21).
pub(super) fn compare_pairs(
    before: &[Bounded],
    after: &[Bounded],
    unit: Unit,
    confidence: f64,
) -> Option<Comparison> {
    let pairs = || before.iter().zip(after);
    let differences: Vec<Change> = pairs()
        .map(|(b, a)| {
            Change::between(a.lowest - b.highest, a.plain - b.plain, a.highest - b.lowest)
        })
        .collect();
    let plain = ascending(pairs().map(|(b, a)| a.plain - b.plain));
    let found = paired::shift(&differences, unit, confidence);
    let shift = found.as_ref().map(|found| found.shift).or_else(|| middle(&plain));
    let count = |is: fn(f64) -> bool| plain.iter().filter(|by| is(**by)).count() as f64;
    let higher = count(|by| by > 0.0) + count(|by| by == 0.0) / 2.0;
    Some(Comparison {
        unit,
        shift: shift.filter(|shift| shift.is_finite())?,
        shift_at_least: found.as_ref().is_some_and(|found| found.at_least),
        low: found.as_ref().and_then(|found| found.low),
        high: found.as_ref().and_then(|found| found.high),
        confidence: found.map_or(0.0, |found| found.confidence),
        superiority: higher / plain.len() as f64,
        superiority_low: None,
        superiority_high: None,
        p_value: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn less(arm: Reading, control: f64) -> Bounded {
        Bounded::less(arm, Reading::exact(control)).unwrap()
    }

    #[test]
    fn a_cut_off_case_opens_the_upper_end_and_a_cut_off_control_the_lower_one() {
        let plain = vec![less(Reading::exact(3.0), 1.0); 6];
        let cut = vec![less(Reading::at_least(500.0), 1.0); 6];
        let found = compare(&plain, &cut, Unit::Milliseconds, 0.95).unwrap();
        assert_eq!((found.shift, found.low, found.high), (497.0, Some(497.0), None));
        assert!(found.shift_at_least);
        let found = compare(&cut, &plain, Unit::Milliseconds, 0.95).unwrap();
        assert_eq!((found.shift, found.low, found.high), (-497.0, None, Some(-497.0)));
        let both = Bounded::less(Reading::at_least(9.0), Reading::at_least(9.0)).unwrap();
        let found = compare(&[both; 6], &plain, Unit::Milliseconds, 0.95).unwrap();
        assert_eq!((found.low, found.high), (None, None));
        assert_eq!(median(&[both; 6], Unit::Milliseconds, 0.95).unwrap().low, None);
    }

    #[test]
    fn a_run_is_one_figure() {
        let blocks = [1.0, 2.0, 3.0, 4.0, 40.0].map(|v| less(Reading::exact(v), 0.0));
        assert_eq!(Bounded::of_run(&blocks).unwrap().plain, 3.0);
        assert_eq!(Bounded::of_run(&[]), None);
        let cut = [less(Reading::exact(1.0), 0.0), less(Reading::at_least(9.0), 0.0)];
        let found = Bounded::of_run(&cut).unwrap();
        assert_eq!((found.lowest, found.highest), (5.0, f64::INFINITY));
    }

    #[test]
    fn figures_too_large_for_a_number_are_left_out() {
        assert_eq!(Bounded::less(Reading::exact(f64::MAX), Reading::exact(-f64::MAX)), None);
        let (low, high) =
            (less(Reading::exact(-f64::MAX), 0.0), less(Reading::exact(f64::MAX), 0.0));
        assert!(compare(&[low], &[high], Unit::Ratio, 0.95).is_none());
    }

    #[test]
    fn pairs_are_held_against_each_other_one_by_one() {
        let run = |value: f64| Bounded::from(Reading::exact(value));
        let before: Vec<Bounded> = [5.0, 100.0, 30.0, 7.0, 250.0, 64.0].map(run).into();
        let after: Vec<Bounded> = [8.0, 102.0, 34.0, 10.0, 255.0, 67.0].map(run).into();
        let found = compare_pairs(&before, &after, Unit::Milliseconds, 0.95).unwrap();
        assert_eq!((found.shift, found.low, found.high), (3.0, Some(2.0), Some(5.0)));
        assert_eq!((found.superiority, found.confidence), (1.0, 0.96875));
        let five = compare_pairs(&before[..5], &after[..5], Unit::Milliseconds, 0.95).unwrap();
        assert_eq!((five.low, five.high), (None, None));
        let same = compare_pairs(&before, &before, Unit::Milliseconds, 0.95).unwrap();
        assert_eq!((same.shift, same.superiority), (0.0, 0.5));
        assert_eq!(compare_pairs(&[], &[], Unit::Milliseconds, 0.95), None);
    }

    #[test]
    fn a_run_that_was_cut_off_opens_the_end_that_it_reaches() {
        let (exact, cut) = (Reading::exact(3.0).into(), Reading::at_least(500.0).into());
        let found = |before: [Bounded; 6], after: [Bounded; 6]| {
            compare_pairs(&before, &after, Unit::Milliseconds, 0.95).unwrap()
        };
        let worse = found([exact; 6], [cut; 6]);
        assert_eq!((worse.low, worse.high, worse.shift_at_least), (Some(497.0), None, true));
        let better = found([cut; 6], [exact; 6]);
        assert_eq!((better.low, better.high), (None, Some(-497.0)));
        // If both were cut off, nothing is known of their difference.
        let both = found([cut; 6], [cut; 6]);
        assert_eq!((both.shift, both.low, both.high), (0.0, None, None));
    }
}
