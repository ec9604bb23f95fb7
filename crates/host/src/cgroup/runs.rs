//! The longest run of consecutive throttled periods.

/// Reads the counters of a group and bounds the longest run of throttled periods.
///
/// With one reading per period, the run is exact. If more than one period passed between two
/// readings and only some of them were throttled, their order is not known. The run then lies
/// between two bounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThrottledRuns {
    last: Option<(u64, u64)>,
    /// The run up to the last reading: lower and upper bound.
    current: (u64, u64),
    /// The longest run: lower and upper bound.
    longest: (u64, u64),
}

impl ThrottledRuns {
    /// A state without readings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a reading of `nr_periods` and `nr_throttled`.
    pub fn read(&mut self, nr_periods: u64, nr_throttled: u64) {
        let last = self.last.replace((nr_periods, nr_throttled));
        let Some((periods, throttled)) = last else { return };
        let passed = nr_periods.checked_sub(periods).zip(nr_throttled.checked_sub(throttled));
        match passed {
            Some((periods, throttled)) => self.advance(periods, throttled.min(periods)),
            // Counters that decrease belong to another group.
            None => self.current = (0, 0),
        }
    }

    /// Lower bound of the longest run, in periods.
    pub fn at_least(&self) -> u64 {
        self.longest.0
    }

    /// Upper bound of the longest run, in periods.
    pub fn at_most(&self) -> u64 {
        self.longest.1
    }

    fn advance(&mut self, periods: u64, throttled: u64) {
        let (low, high) = self.current;
        if throttled == periods {
            self.current = (low.saturating_add(periods), high.saturating_add(periods));
            self.note(self.current);
        } else {
            // The number of runs is at most one more than the number of unthrottled periods. So
            // the longest run has at least its share of the throttled periods. All of them may
            // also have come first, or last.
            let gaps = periods - throttled;
            self.note((throttled.div_ceil(gaps + 1), high.saturating_add(throttled)));
            self.current = (0, throttled);
        }
    }

    fn note(&mut self, run: (u64, u64)) {
        self.longest = (self.longest.0.max(run.0), self.longest.1.max(run.1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn runs(readings: &[(u64, u64)]) -> (u64, u64) {
        let mut runs = ThrottledRuns::new();
        readings.iter().for_each(|&(periods, throttled)| runs.read(periods, throttled));
        (runs.at_least(), runs.at_most())
    }

    #[test]
    fn a_reading_a_period_is_exact() {
        assert_eq!(runs(&[]), (0, 0));
        assert_eq!(runs(&[(9, 9)]), (0, 0));
        assert_eq!(runs(&[(0, 0), (1, 1), (2, 2), (3, 2), (4, 3)]), (2, 2));
        assert_eq!(runs(&[(5, 5), (9, 9), (9, 9), (12, 12)]), (7, 7));
    }

    #[test]
    fn what_lies_between_two_readings_is_bounded() {
        assert_eq!(runs(&[(0, 0), (2, 2), (12, 11)]), (5, 11));
        assert_eq!(runs(&[(0, 0), (3, 1), (4, 2)]), (1, 2));
    }

    #[test]
    fn counters_of_another_group_begin_anew() {
        assert_eq!(runs(&[(0, 0), (3, 3), (1, 1), (2, 2)]), (3, 3));
        assert_eq!(runs(&[(0, 0), (1, 5)]), (1, 1));
    }

    fn truth(periods: &[bool]) -> u64 {
        periods.split(|throttled| !throttled).map(|run| run.len() as u64).max().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn the_truth_lies_between_the_bounds(
            periods in proptest::collection::vec(any::<bool>(), 0..60),
            steps in proptest::collection::vec(1usize..6, 60),
        ) {
            let mut runs = ThrottledRuns::new();
            runs.read(0, 0);
            let mut seen = 0;
            for step in steps {
                seen = (seen + step).min(periods.len());
                let throttled = periods[..seen].iter().filter(|&&throttled| throttled).count();
                runs.read(seen as u64, throttled as u64);
            }
            prop_assert!(runs.at_least() <= truth(&periods) && truth(&periods) <= runs.at_most());
        }

        #[test]
        fn each_period_read_gives_the_truth(periods in proptest::collection::vec(any::<bool>(), 0..60)) {
            let mut runs = ThrottledRuns::new();
            for seen in 0..=periods.len() {
                let throttled = periods[..seen].iter().filter(|&&throttled| throttled).count();
                runs.read(seen as u64, throttled as u64);
            }
            prop_assert_eq!((runs.at_least(), runs.at_most()), (truth(&periods), truth(&periods)));
        }

        #[test]
        fn no_readings_make_it_panic(readings in proptest::collection::vec(any::<(u64, u64)>(), 0..9)) {
            prop_assert!(runs(&readings).0 <= runs(&readings).1);
        }
    }
}
