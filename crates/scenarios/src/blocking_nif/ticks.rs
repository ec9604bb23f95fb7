//! Lateness of a timer process, from the times at which its ticks arrive outside the VM.

use std::time::Duration;

/// A tick is overdue only after this time. The VM's timers have a resolution of 1 ms, and a slice
/// of work that yields correctly takes 1 ms too.
pub(super) const GRACE: Duration = Duration::from_millis(5);

/// Ticks of one trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Ticks {
    /// Number of each tick, and its arrival time after any fixed moment.
    seen: Vec<(u64, Duration)>,
}

/// The lateness of the ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Lateness {
    /// Total time for which the next tick was overdue by more than [`GRACE`].
    pub overdue: Duration,
    /// Largest lateness of a tick.
    pub worst: Duration,
    /// Time from the first tick to the last.
    pub window: Duration,
}

impl Ticks {
    /// Adds a tick.
    pub fn push(&mut self, number: u64, at: Duration) {
        self.seen.push((number, at));
    }

    /// The lateness of the ticks, if one tick is due in each interval.
    ///
    /// The clocks of the VM and of the observer are not compared. The tick that came soonest after
    /// its turn counts as on time. If several ticks arrive together, they were waited for once, so
    /// only the first of them counts.
    pub fn lateness(&self, interval: Duration) -> Option<Lateness> {
        let turn = |number: u64| interval.as_secs_f64() * number as f64;
        let offset = |(number, at): &(u64, Duration)| at.as_secs_f64() - turn(*number);
        let base = self.seen.iter().map(offset).reduce(f64::min)?;
        let (first, last) = (self.seen.first()?, self.seen.last()?);
        let mut lateness =
            Lateness { window: last.1.saturating_sub(first.1), ..Lateness::default() };
        let mut before = f64::NEG_INFINITY;
        for tick in &self.seen {
            let due = base + turn(tick.0);
            let at = tick.1.as_secs_f64();
            let late = seconds(at - due);
            lateness.worst = lateness.worst.max(late);
            if due >= before {
                lateness.overdue += late.saturating_sub(GRACE);
            }
            before = at;
        }
        Some(lateness)
    }
}

/// Seconds as a duration. Zero if they are negative.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    fn lateness(ticks: &[(u64, u64)]) -> Lateness {
        let seen = ticks.iter().map(|(number, ms)| (*number, MS * u32::try_from(*ms).unwrap()));
        Ticks { seen: seen.collect() }.lateness(MS).unwrap()
    }

    fn ms(duration: Duration) -> f64 {
        (duration.as_secs_f64() * 1e6).round() / 1e3
    }

    #[test]
    fn a_burst_after_a_stall_is_waited_for_once() {
        // Ticks 2 to 21 are due from 102 ms on and all arrive at 121 ms.
        let mut ticks = vec![(0, 100), (1, 101)];
        ticks.extend((2..=21).map(|number| (number, 121)));
        ticks.push((22, 122));
        let late = lateness(&ticks);
        assert_eq!((ms(late.overdue), ms(late.worst)), (14.0, 19.0));
        assert_eq!(ms(late.window), 22.0);
    }

    #[test]
    fn ticks_that_keep_time_are_not_late() {
        let late = lateness(&[(0, 50), (1, 51), (2, 53), (3, 53)]);
        assert_eq!((ms(late.overdue), ms(late.worst)), (0.0, 1.0));
        assert_eq!(Ticks::default().lateness(MS), None);
    }

    proptest! {
        #[test]
        fn nothing_is_overdue_for_longer_than_was_watched(
            steps in prop::collection::vec((0u64..5, 0u64..50), 1..60),
        ) {
            let mut ticks = Ticks::default();
            let (mut number, mut at) = (0, Duration::ZERO);
            for (n, step) in steps {
                number += n;
                at += MS * u32::try_from(step).unwrap();
                ticks.push(number, at);
            }
            let late = ticks.lateness(MS).unwrap();
            // The first tick may itself be late, by how much the soonest tick was earlier than it.
            prop_assert!(late.overdue <= late.window + late.worst + MS);
        }
    }
}
