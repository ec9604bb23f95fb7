//! Durations as numbers, and the clocks that are read as numbers.
//!
//! Records use milliseconds, the kernel uses microseconds and nanoseconds, and code in between
//! uses [`Duration`]. A value that is too large for an integer becomes the largest integer.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Whole nanoseconds.
pub fn whole_ns(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// Whole microseconds.
pub fn whole_us(length: Duration) -> u64 {
    u64::try_from(length.as_micros()).unwrap_or(u64::MAX)
}

/// Whole milliseconds.
pub fn whole_ms(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// Milliseconds with their fraction.
pub fn ms(length: Duration) -> f64 {
    length.as_secs_f64() * 1e3
}

/// Nanoseconds as milliseconds.
pub fn ms_of_ns(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// `CLOCK_MONOTONIC` in nanoseconds: the same in every process of the machine.
#[inline]
pub fn now_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

/// CPU time of the calling thread in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(ClockId::ThreadCPUTime)
}

/// CPU time of this process in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    clock_ns(ClockId::ProcessCPUTime)
}

#[inline]
fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    // Neither part of these clocks is ever negative.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_cut_to_whole_units_and_end_at_the_largest_number() {
        let length = Duration::from_nanos(1_234_567_891);
        assert_eq!(whole_ns(length), 1_234_567_891);
        assert_eq!((whole_us(length), whole_ms(length)), (1_234_567, 1_234));
        assert!((ms(length) - 1_234.567_891).abs() < 1e-9);
        assert!((ms_of_ns(1_234_567_891) - 1_234.567_891).abs() < 1e-9);
        assert_eq!((whole_ns(Duration::MAX), whole_us(Duration::MAX)), (u64::MAX, u64::MAX));
    }

    #[test]
    fn clocks_go_on() {
        let before = (now_ns(), thread_cpu_ns(), process_cpu_ns());
        std::thread::sleep(Duration::from_millis(1));
        assert!(now_ns() >= before.0 + 1_000_000);
        assert!(thread_cpu_ns() > before.1 && process_cpu_ns() > before.2);
    }
}
