//! What it costs a thread of this machine to wake up and sleep again.

use model::median::{ascending, median};
use rustix::thread::{Timespec, nanosleep};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Wake-ups that are timed.
const WAKEUPS: usize = 400;

/// How long the thread sleeps before each: long enough for its CPU to become idle.
const SLEEP_NS: i64 = 1_000_000;

/// The median CPU time from waking to the next sleep of a thread that does nothing in between: the
/// switch to it, the timer and the system call. It takes about half a second.
///
/// `None` where the kernel's clock of a thread does not advance so finely.
pub fn cost() -> Option<Duration> {
    let mut costs = Vec::with_capacity(WAKEUPS);
    let mut before = thread_time_ns();
    for _ in 0..WAKEUPS {
        // A signal may end a sleep early; then it is a wake-up all the same.
        let _ = nanosleep(&Timespec { tv_sec: 0, tv_nsec: SLEEP_NS });
        let now = thread_time_ns();
        costs.push(now.saturating_sub(before));
        before = now;
    }
    let costs = ascending(costs.into_iter().map(|ns| ns as f64));
    median(&costs).map(|ns| ns as u64).filter(|ns| *ns > 0).map(Duration::from_nanos)
}

/// CPU time of this thread, in nanoseconds.
fn thread_time_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(now.tv_sec)
        .unwrap_or(0)
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_costs_less_than_what_lies_between_two() {
        // Whatever the machine: the thread ran, and it did not run all the time.
        let cost = cost().unwrap();
        assert!(cost > Duration::ZERO && cost < Duration::from_millis(1), "{cost:?}");
    }
}
