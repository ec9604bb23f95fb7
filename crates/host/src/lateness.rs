//! The arithmetic of a periodic timer: from deadlines and wake-ups to a summary of lateness.

use hdrhistogram::Histogram;
use model::machine::TimerLateness;

/// A lateness above this counts as lost time, in nanoseconds.
const LOSS_FROM_NS: u64 = 1_000_000;

/// The histogram tells latenesses from here on apart, in nanoseconds.
const FINEST_NS: u64 = 100;

/// The histogram tells latenesses up to here apart, in nanoseconds: an hour.
const COARSEST_NS: u64 = 3_600_000_000_000;

/// What is known of a periodic timer so far. It has no clock: its owner tells it the time.
///
/// After a late wake-up the deadlines that went by are skipped, since the thread slept through
/// them: their time is in the one lateness already. So no time is counted twice, and what is lost
/// never exceeds what was watched.
#[derive(Debug, Clone)]
pub struct Lateness {
    period_ns: u64,
    started_ns: u64,
    deadline_ns: u64,
    worst_ns: u64,
    lost_ns: u64,
    histogram: Option<Histogram<u64>>,
}

impl Lateness {
    /// A timer that starts at `now_ns` of any clock and is due after each `period_ns`.
    pub fn starting_at(now_ns: u64, period_ns: u64) -> Self {
        let period_ns = period_ns.max(1);
        Lateness {
            period_ns,
            started_ns: now_ns,
            deadline_ns: now_ns.saturating_add(period_ns),
            worst_ns: 0,
            lost_ns: 0,
            // These bounds are valid, so it is always there.
            histogram: Histogram::new_with_bounds(FINEST_NS, COARSEST_NS, 3).ok(),
        }
    }

    /// When the next wake-up is due, in nanoseconds of the owner's clock.
    pub fn deadline_ns(&self) -> u64 {
        self.deadline_ns
    }

    /// Notes a wake-up; one before its deadline does not count.
    pub fn woke_at(&mut self, now_ns: u64) {
        let Some(late_ns) = now_ns.checked_sub(self.deadline_ns) else { return };
        self.worst_ns = self.worst_ns.max(late_ns);
        if late_ns > LOSS_FROM_NS {
            self.lost_ns = self.lost_ns.saturating_add(late_ns);
        }
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(late_ns);
        }
        let periods = late_ns / self.period_ns + 1;
        let step = periods.saturating_mul(self.period_ns);
        self.deadline_ns = self.deadline_ns.saturating_add(step);
    }

    /// The summary at `now_ns`, where a wake-up that is still due counts with its lateness so far.
    pub fn summary_at(mut self, now_ns: u64, cpu: u32) -> TimerLateness {
        self.woke_at(now_ns);
        let watched_ns = now_ns.saturating_sub(self.started_ns);
        let lost_share =
            if watched_ns == 0 { 0.0 } else { self.lost_ns as f64 / watched_ns as f64 };
        TimerLateness {
            cpu,
            wakeups: self.histogram.as_ref().map_or(0, |histogram| histogram.len()),
            p50_ms: self.quantile_ms(0.5),
            p99_ms: self.quantile_ms(0.99),
            max_ms: to_ms(self.worst_ns),
            lost_ms_per_s: 1000.0 * lost_share,
        }
    }

    /// A quantile, which the histogram rounds up, but never above the worst.
    fn quantile_ms(&self, quantile: f64) -> f64 {
        let value = |histogram: &Histogram<u64>| histogram.value_at_quantile(quantile);
        to_ms(self.histogram.as_ref().map_or(0, value).min(self.worst_ns))
    }
}

fn to_ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= expected * 2e-3, "{found} is not {expected}");
    }

    #[test]
    fn wake_ups_in_time_lose_nothing() {
        let mut timer = Lateness::starting_at(1000 * MS, 5 * MS);
        for _ in 0..200 {
            timer.woke_at(timer.deadline_ns() + 50_000);
        }
        let summary = timer.summary_at(2000 * MS + 60_000, 3);
        assert_eq!((summary.cpu, summary.wakeups), (3, 200));
        assert_close(summary.p50_ms, 0.05);
        assert_close(summary.p99_ms, 0.05);
        assert_eq!(summary.max_ms, 0.05);
        assert_eq!(summary.lost_ms_per_s, 0.0);
    }

    #[test]
    fn a_stall_counts_once_and_skips_the_deadlines_that_it_ate() {
        let mut timer = Lateness::starting_at(0, 5 * MS);
        timer.woke_at(5 * MS);
        assert_eq!(timer.deadline_ns(), 10 * MS);
        timer.woke_at(112 * MS);
        assert_eq!(timer.deadline_ns(), 115 * MS);
        timer.woke_at(120 * MS);
        assert_eq!(timer.deadline_ns(), 125 * MS);
        let summary = timer.summary_at(124 * MS, 0);
        assert_eq!(summary.wakeups, 3);
        assert_eq!(summary.max_ms, 102.0);
        assert_close(summary.p50_ms, 5.0);
        assert_close(summary.lost_ms_per_s, 107.0 / 0.124);
    }

    #[test]
    fn exactly_a_millisecond_is_not_lost() {
        let lost = |late_ns| {
            let mut timer = Lateness::starting_at(0, 5 * MS);
            timer.woke_at(5 * MS + late_ns);
            timer.summary_at(10 * MS, 0).lost_ms_per_s
        };
        assert_eq!(lost(MS), 0.0);
        assert_close(lost(MS + 1), 100.0);
    }

    #[test]
    fn a_wake_up_that_never_came_counts_until_now() {
        let timer = Lateness::starting_at(0, 5 * MS);
        let summary = timer.summary_at(1005 * MS, 0);
        assert_eq!((summary.wakeups, summary.max_ms), (1, 1000.0));
        assert_close(summary.lost_ms_per_s, 1000.0 / 1.005);
    }

    #[test]
    fn nothing_watched_is_nothing_lost() {
        for now in [0, 70, 100] {
            let summary = Lateness::starting_at(100, 5 * MS).summary_at(now, 0);
            let figures = [summary.p50_ms, summary.p99_ms, summary.max_ms, summary.lost_ms_per_s];
            assert_eq!((summary.wakeups, figures), (0, [0.0; 4]));
        }
    }

    proptest! {
        #[test]
        fn no_more_is_lost_than_was_watched(
            start in 0u64..1 << 40,
            period in 1u64..50 * MS,
            steps in proptest::collection::vec(0u64..400 * MS, 0..60),
        ) {
            let mut timer = Lateness::starting_at(start, period);
            let mut now = start;
            for step in steps {
                now += step;
                let before = timer.deadline_ns();
                timer.woke_at(now);
                prop_assert!(timer.deadline_ns() > now);
                prop_assert!(timer.deadline_ns() >= before);
                prop_assert_eq!((timer.deadline_ns() - start) % period, 0);
            }
            let summary = timer.summary_at(now, 0);
            prop_assert!((0.0..=1000.0).contains(&summary.lost_ms_per_s));
            prop_assert!(summary.p50_ms <= summary.p99_ms && summary.p99_ms <= summary.max_ms);
        }

        #[test]
        fn no_clock_makes_it_panic(start in any::<u64>(), period in any::<u64>(), now in any::<u64>()) {
            let mut timer = Lateness::starting_at(start, period);
            timer.woke_at(now);
            timer.woke_at(u64::MAX);
            prop_assert!(timer.summary_at(now, 0).lost_ms_per_s.is_finite());
        }
    }
}
