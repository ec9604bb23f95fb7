//! The margin: which difference between case and control does not count.

use super::meta::META;
use super::params::MmapLockParams;
use crate::params::Quota;
use model::Judging;
use os::time;

/// A smaller difference than this does not count, in milliseconds per trial. A call is late by 3
/// to 5 ms if the host or another task interrupts it for a slice of CPU time. On a virtual machine
/// with all CPUs busy, this happens in one of five trials, in case and control alike.
const SLICE_MS: f64 = 5.0;

/// How trials of these parameters are judged. A possible slice is a larger share of a shorter
/// trial, so it needs a larger margin.
pub(super) fn judging(params: &MmapLockParams) -> Judging {
    let seconds = params.duration.get().as_secs_f64().max(1e-3);
    let slice = SLICE_MS / seconds;
    let readers_run = params.reader_quota.get().map_or(0.0, |q| running_ms(q, params) / seconds);
    Judging { margin: META.judging.margin.max(slice).max(readers_run), ..META.judging }
}

/// How much more than their quota readers may run in a trial. From Linux 6.18 on, each reader runs
/// on to the end of its system call, which takes some milliseconds. This is paid back in periods
/// that may come after the trial. Measured on 6.18 with four readers: 0.8 to 1.2 times the quota.
const OVERRUN: f64 = 2.0;

/// Longest time that readers with a quota can run in a trial, in milliseconds: the rest of one
/// period, the refills during the trial, and their overrun. If a mapper stalls for longer, it
/// stalls while no reader runs, and that is the effect of the quota. What readers do while they
/// run is what any reader does.
fn running_ms(quota: Quota, params: &MmapLockParams) -> f64 {
    let period = quota.period().get().as_secs_f64();
    let fillings = (params.duration.get().as_secs_f64() / period).ceil() + 1.0;
    let running = OVERRUN * fillings * time::ms(quota.quota().get());
    // A quota of a whole CPU or more limits nothing that readers on one CPU could do.
    running.min(time::ms(params.duration.get()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{OrNone, Time, literal};

    #[test]
    fn a_slice_of_cpu_time_counts_as_none_however_long_a_trial_is() {
        let mut params = MmapLockParams::default();
        assert!((judging(&params).margin - 20.0).abs() < 1e-9);
        params.duration = Time::s(10);
        assert!((judging(&params).margin - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_readers_do_while_they_may_run_is_not_charged_to_their_quota() {
        let reader_quota = OrNone::Is(literal("10ms/100ms"));
        let mut throttled = MmapLockParams { reader_quota, ..MmapLockParams::default() };
        // At most three refills occur in 250 ms, plus the rest of an earlier one: 40 ms of 250 ms.
        // The overrun doubles this.
        assert!((judging(&throttled).margin - 320.0).abs() < 1e-9);
        throttled.duration = Time::s(10);
        assert!((judging(&throttled).margin - 202.0).abs() < 1e-9);
    }
}
