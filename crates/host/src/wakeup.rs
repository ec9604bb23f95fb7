//! The cost of waking a thread on this machine until it sleeps again.

use model::median::{ascending, median};
use os::time::thread_cpu_ns;
use rustix::thread::{Timespec, nanosleep};
use std::time::Duration;

/// Number of wake-ups that are timed.
const WAKEUPS: usize = 400;

/// Sleep before each wake-up, in nanoseconds: long enough for the CPU to become idle.
const SLEEP_NS: i64 = 1_000_000;

/// The median CPU time from waking to the next sleep of a thread that does nothing in between:
/// the context switch, the timer and the system call. The measurement takes about half a second.
///
/// None if the kernel's clock of a thread is not fine enough.
pub fn cost() -> Option<Duration> {
    let mut costs = Vec::with_capacity(WAKEUPS);
    let mut before = thread_cpu_ns();
    for _ in 0..WAKEUPS {
        // A signal may end a sleep early; that is a wake-up too.
        let _ = nanosleep(&Timespec { tv_sec: 0, tv_nsec: SLEEP_NS });
        let now = thread_cpu_ns();
        costs.push(now.saturating_sub(before));
        before = now;
    }
    let costs = ascending(costs.into_iter().map(|ns| ns as f64));
    median(&costs).map(|ns| ns as u64).filter(|ns| *ns > 0).map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_costs_less_than_what_lies_between_two() {
        // On any machine, the thread ran, and it did not run all the time.
        let cost = cost().unwrap();
        assert!(cost > Duration::ZERO && cost < Duration::from_millis(1), "{cost:?}");
    }
}
