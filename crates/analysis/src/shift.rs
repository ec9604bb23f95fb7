//! By how much an arm is above its control.

use crate::rank_sum::differences_to_leave_out;
use crate::reading::{Reading, ascending, middle};

/// The Hodges-Lehmann shift with its interval.
pub(crate) struct Shift {
    /// Median of all differences, arm minus control.
    pub(crate) shift: f64,
    /// The shift may be larger, because cut-off trials of the arm are in the middle.
    pub(crate) at_least: bool,
    /// Lower end; absent if there are too few trials for one, or if cut-off controls leave it
    /// open.
    pub(crate) low: Option<f64>,
    /// Upper end; absent if there are too few trials for one, or if cut-off trials of the arm
    /// leave it open.
    pub(crate) high: Option<f64>,
    /// Confidence of the interval, or of the widest interval that this number of trials can give.
    pub(crate) confidence: f64,
}

/// The Hodges-Lehmann shift from control to arm, with Moses' interval.
///
/// The shift is that of Hodges and Lehmann 1963, "Estimates of location based on rank tests",
/// Annals of Mathematical Statistics 34, 598-611. The interval is that of L. E. Moses as in
/// Hollander and Wolfe, "Nonparametric Statistical Methods", by the exact distribution of Mann
/// and Whitney. With ties the closed interval covers at least as often as stated (Noether 1967,
/// "Wilcoxon confidence intervals for location parameters in the discrete case", Journal of the
/// American Statistical Association 62, 184-188).
///
/// A difference with a cut-off arm may be any larger value; with a cut-off control it may be any
/// smaller value. So the smallest and the largest possible differences are sorted separately. The
/// lower end comes from the smallest ones and the upper end from the largest ones. `None` if
/// either side is empty.
pub(crate) fn hodges_lehmann(
    control: &[Reading],
    arm: &[Reading],
    confidence: f64,
) -> Option<Shift> {
    let value = |reading: &Reading| reading.value;
    let plain = Differences::of(arm.iter().map(value), control.iter().map(value));
    let lowest = Differences::of(arm.iter().map(value), control.iter().map(Reading::highest));
    let highest = Differences::of(arm.iter().map(Reading::highest), control.iter().map(value));
    let shift = plain.middle()?;
    // A record has no "at most". If cut-off controls reach the middle, the plain figure is
    // reported, and the missing lower end shows that it may be less.
    let at_least = arm.iter().any(|reading| reading.at_least)
        && lowest.middle() == Some(shift)
        && highest.middle() != Some(shift);
    let tail = (1.0 - confidence) / 2.0;
    let (rank, left_out) = differences_to_leave_out(control.len(), arm.len(), tail);
    let end = |sorted: &Differences, place: Option<usize>| {
        place.and_then(|place| sorted.at(place)).filter(|end| end.is_finite())
    };
    Some(Shift {
        shift,
        at_least,
        low: end(&lowest, rank.map(|rank| rank - 1)),
        high: end(&highest, rank.and_then(|rank| highest.len().checked_sub(rank))),
        confidence: (1.0 - 2.0 * left_out).max(0.0),
    })
}

/// The differences of all pairs, in ascending order. They are never stored: with ten thousand
/// trials on each side there are a hundred million.
struct Differences {
    arm: Vec<f64>,
    control: Vec<f64>,
}

impl Differences {
    fn of(arm: impl Iterator<Item = f64>, control: impl Iterator<Item = f64>) -> Self {
        Differences { arm: ascending(arm), control: ascending(control) }
    }

    fn len(&self) -> usize {
        self.arm.len().saturating_mul(self.control.len())
    }

    fn at(&self, place: usize) -> Option<f64> {
        (place < self.len()).then(|| nth(place, |most| self.up_to(most)))
    }

    fn middle(&self) -> Option<f64> {
        let (lower, upper) = (self.len().checked_sub(1)? / 2, self.len() / 2);
        middle(&[self.at(lower)?, self.at(upper)?])
    }

    /// How many differences are at most this. A larger reading of the arm leaves fewer controls
    /// to skip, so one walk along both sides counts them.
    fn up_to(&self, most: f64) -> usize {
        let (mut above, mut count) = (0, 0_usize);
        for arm in &self.arm {
            while self.control.get(above).is_some_and(|c| difference(*arm, *c) > most) {
                above += 1;
            }
            count = count.saturating_add(self.control.len() - above);
        }
        count
    }
}

/// Two readings that are both beyond all figures do not differ.
fn difference(arm: f64, control: f64) -> f64 {
    if arm == control { 0.0 } else { arm - control }
}

/// The figure at an index of an ascending order of which only counts are known: how many figures
/// are at most a value. It halves the range of floating-point numbers, of which there are 2^64,
/// until one is left.
pub(crate) fn nth(place: usize, up_to: impl Fn(f64) -> usize) -> f64 {
    let (mut low, mut high) = (key(f64::NEG_INFINITY), key(f64::INFINITY));
    while low < high {
        // The mean, rounded down, without overflow of the sum.
        let mid = (low & high) + ((low ^ high) >> 1);
        match up_to(figure(mid)) > place {
            true => high = mid,
            false => low = mid + 1,
        }
    }
    figure(low)
}

/// A whole number with the same order as the figure.
fn key(figure: f64) -> i64 {
    flipped(figure.to_bits().cast_signed())
}

fn figure(key: i64) -> f64 {
    f64::from_bits(flipped(key).cast_unsigned())
}

/// The bits of negative figures are in reverse order, except for the sign.
fn flipped(bits: i64) -> i64 {
    bits ^ ((bits >> 63) & i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exact(values: &[f64]) -> Vec<Reading> {
        values.iter().copied().map(Reading::exact).collect()
    }

    /// Permeability of placental membranes, Hollander and Wolfe, table 4.1, the example of R's
    /// help page for `wilcox.test`. With conf.int R gives 0.305 and -0.15 to 0.76. These were
    /// checked by listing all 50 differences with numpy.
    #[test]
    fn agrees_with_the_textbook_example() {
        let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let early = [1.15, 0.88, 0.90, 0.74, 1.21];
        let found = hodges_lehmann(&exact(&early), &exact(&term), 0.95).unwrap();
        assert!((found.shift - 0.305).abs() < 1e-12, "{}", found.shift);
        assert!((found.low.unwrap() - -0.15).abs() < 1e-12, "{:?}", found.low);
        assert!((found.high.unwrap() - 0.76).abs() < 1e-12, "{:?}", found.high);
        // This is 1 - 2 P(U <= 8) for 5 and 10, by the same distribution as R's pwilcox.
        assert!((found.confidence - 0.9600399600399601).abs() < 1e-12, "{}", found.confidence);
    }

    #[test]
    fn cut_off_trials_open_the_upper_end() {
        let control = exact(&[0.0; 6]);
        let mut arm = exact(&[10.0; 5]);
        arm.push(Reading::at_least(10.0));
        let found = hodges_lehmann(&control, &arm, 0.95).unwrap();
        assert_eq!((found.shift, found.at_least), (10.0, false));
        assert_eq!((found.low, found.high), (Some(10.0), None));
        let arm = vec![Reading::at_least(10.0); 6];
        let found = hodges_lehmann(&control, &arm, 0.95).unwrap();
        assert_eq!((found.shift, found.at_least, found.high), (10.0, true, None));
    }

    #[test]
    fn cut_off_controls_open_the_lower_end() {
        let control = vec![Reading::at_least(3.0); 6];
        let found = hodges_lehmann(&control, &exact(&[10.0; 6]), 0.95).unwrap();
        assert_eq!((found.shift, found.at_least), (7.0, false));
        assert_eq!((found.low, found.high), (None, Some(7.0)));
    }

    /// The differences would take ten gigabytes if they were stored.
    #[test]
    fn many_trials_take_no_more_memory_than_they_are() {
        let control: Vec<f64> = (0..20_000).map(f64::from).collect();
        let arm: Vec<f64> = control.iter().map(|value| value + 7.0).collect();
        let found = hodges_lehmann(&exact(&control), &exact(&arm), 0.95).unwrap();
        assert_eq!(found.shift, 7.0);
        assert!(found.low.unwrap() < 7.0 && found.high.unwrap() > 7.0);
    }

    #[test]
    fn three_trials_each_are_too_few() {
        let found = hodges_lehmann(&exact(&[0.0; 3]), &exact(&[1.0; 3]), 0.95).unwrap();
        assert_eq!((found.low, found.high), (None, None));
        assert!((found.confidence - 0.9).abs() < 1e-12);
        assert!(hodges_lehmann(&[], &exact(&[1.0]), 0.95).is_none());
    }

    proptest! {
        #[test]
        fn each_place_is_that_of_the_sorted_differences(
            arm in prop::collection::vec((-9i32..9).prop_map(|n| if n == 8 { f64::INFINITY } else { f64::from(n) / 3.0 }), 1..9),
            control in prop::collection::vec((-9i32..9).prop_map(|n| if n == 8 { f64::INFINITY } else { f64::from(n) / 7.0 }), 1..9),
        ) {
            let all = arm.iter().flat_map(|a| control.iter().map(|c| difference(*a, *c)));
            let sorted = ascending(all);
            let found = Differences::of(arm.iter().copied(), control.iter().copied());
            for (place, expected) in sorted.iter().enumerate() {
                prop_assert_eq!(found.at(place), Some(*expected));
            }
            prop_assert_eq!(found.at(sorted.len()), None);
        }

        #[test]
        fn the_interval_holds_the_shift_and_widens_with_confidence(
            control in prop::collection::vec((0i32..30).prop_map(f64::from), 1..12),
            arm in prop::collection::vec((0i32..30).prop_map(f64::from), 1..12),
            narrow in 0.5f64..0.99,
        ) {
            let (control, arm) = (exact(&control), exact(&arm));
            let inner = hodges_lehmann(&control, &arm, narrow).unwrap();
            let outer = hodges_lehmann(&control, &arm, (1.0 + narrow) / 2.0).unwrap();
            let low = |s: &Shift| s.low.unwrap_or(f64::NEG_INFINITY);
            let high = |s: &Shift| s.high.unwrap_or(f64::INFINITY);
            prop_assert!(low(&inner) <= inner.shift && inner.shift <= high(&inner));
            prop_assert!(low(&outer) <= low(&inner) && high(&inner) <= high(&outer));
            prop_assert!(inner.low.is_none() || inner.confidence >= narrow - 1e-12);
        }

        #[test]
        fn swapping_the_arms_turns_the_sign(
            control in prop::collection::vec((0i32..30).prop_map(f64::from), 1..12),
            arm in prop::collection::vec((0i32..30).prop_map(f64::from), 1..12),
        ) {
            let (control, arm) = (exact(&control), exact(&arm));
            let there = hodges_lehmann(&control, &arm, 0.9).unwrap();
            let back = hodges_lehmann(&arm, &control, 0.9).unwrap();
            prop_assert_eq!(there.shift, -back.shift);
            prop_assert_eq!(there.low, back.high.map(|high| -high));
        }
    }
}
