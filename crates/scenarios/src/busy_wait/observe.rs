//! Turns the counts of node, kernel and group into an observation.

use super::meta::measure;
use crate::erlang::strace::Counted;
use hdrhistogram::Histogram;
use host::cgroup::{Bandwidth, ThrottledRuns, Usage};
use model::{Latency, Measure, Observation, Unit};
use os::time;
use std::time::Duration;

/// The longest latency that is recorded exactly, in nanoseconds: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// The name of the latencies of requests.
pub(super) const REQUEST: &str = "request";

/// What the node measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Served {
    /// Wall time of the load.
    pub wall: Duration,
    /// Latency of each completed request, in microseconds.
    pub done_us: Vec<u32>,
    /// Waiting time at the end for each request that was due and not made, in microseconds.
    pub waiting_us: Vec<u32>,
    /// Requests that failed.
    pub failed: u64,
    /// Completed pieces of background work.
    pub background: u64,
    /// Active time of all schedulers together.
    pub active: Duration,
}

impl Served {
    /// Waiting times of the requests that were due before the end and not made, in microseconds. A
    /// request that was due at the end itself has not waited, so it was not late.
    fn waited_us(&self) -> impl Iterator<Item = &u32> {
        self.waiting_us.iter().filter(|us| **us > 0)
    }
}

/// What was measured from outside the node.
#[derive(Debug, Clone, Default)]
pub(super) struct Outside {
    /// CPU time of the scheduler threads.
    pub schedulers: Duration,
    /// CPU time of the node in user mode and in the kernel.
    pub cpu: Option<(Duration, Duration)>,
    /// Voluntary and involuntary switches of the scheduler threads.
    pub switches: Option<(u64, u64)>,
    /// The futex calls that strace counted, if it was requested.
    pub futex: Option<Counted>,
    /// Time in which the figures above were counted.
    pub window: Duration,
    /// The CPU time charged to the group, and its longest run of throttled periods.
    pub group: Option<(Usage, ThrottledRuns)>,
}

/// The observation of a trial. `quota` is its quota, if there is one.
pub(super) fn observe(
    served: &Served,
    outside: &Outside,
    quota: Option<&Bandwidth>,
) -> Observation {
    let window_ms = time::ms(served.wall);
    let mut seen = Observation { window_ms, ..Observation::default() };
    latencies(&mut seen, served);
    throughput(&mut seen, served);
    let window = outside.window.as_secs_f64().max(1e-3);
    let per_second = |lost: Duration| time::ms(lost) / window;
    put(&mut seen, measure::ACTIVE, per_second(served.active), Unit::MillisecondsPerSecond);
    // A scheduler that is throttled or preempted in the middle of work is active, but gets no CPU
    // time. So the difference of the two is a lower bound for the time spent spinning.
    let spun = per_second(outside.schedulers.saturating_sub(served.active));
    let spun = Measure::at_least(spun, Unit::MillisecondsPerSecond);
    seen.measures.insert(measure::SPUN.to_owned(), spun);
    from_outside(&mut seen, outside, quota);
    seen
}

/// The observation of a trial whose node did not answer within `waited` after the end of its load.
/// A request to this node waits longer than that.
pub(super) fn hung(outside: &Outside, quota: Option<&Bandwidth>, waited: Duration) -> Observation {
    let window_ms = time::ms(outside.window);
    let mut seen = Observation { window_ms, hang: true, ..Observation::default() };
    for name in [measure::P99, measure::P999, measure::WORST] {
        let bound = Measure::at_least(time::ms(waited), Unit::Milliseconds);
        seen.measures.insert(name.to_owned(), bound);
    }
    from_outside(&mut seen, outside, quota);
    seen
}

/// Adds the figures that the kernel and the group counted.
fn from_outside(seen: &mut Observation, outside: &Outside, quota: Option<&Bandwidth>) {
    let window = outside.window.as_secs_f64().max(1e-3);
    let per_second = |lost: Duration| time::ms(lost) / window;
    let mut put = |name: &str, value: f64, unit: Unit| put(seen, name, value, unit);
    if let Some((user, system)) = outside.cpu {
        put(measure::USER, per_second(user), Unit::MillisecondsPerSecond);
        put(measure::SYSTEM, per_second(system), Unit::MillisecondsPerSecond);
    }
    if let Some((voluntary, involuntary)) = outside.switches {
        put(measure::VOLUNTARY, voluntary as f64 / window, Unit::PerSecond);
        put(measure::INVOLUNTARY, involuntary as f64 / window, Unit::PerSecond);
    }
    if let Some(futex) = outside.futex {
        put(measure::FUTEX_CALLS, futex.calls / window, Unit::PerSecond);
        put(measure::FUTEX_TIME, per_second(futex.time), Unit::MillisecondsPerSecond);
    }
    let Some((usage, runs)) = &outside.group else { return };
    if let (Some(used), Some(quota)) = (usage.usage_ns, quota) {
        let cpus = quota.cpus();
        put(measure::QUOTA_USED, 100.0 * used as f64 / 1e9 / (window * cpus), Unit::Percent);
    }
    group(seen, usage, runs);
}

fn put(seen: &mut Observation, name: &str, value: f64, unit: Unit) {
    if value.is_finite() {
        seen.measures.insert(name.to_owned(), Measure::exact(value, unit));
    }
}

/// Percentiles over all requests that were due, including those that were not completed. A failed
/// request never got its answer, and one that still waits may wait for ever. So both count as
/// slower than all that were done.
fn latencies(seen: &mut Observation, served: &Served) {
    let Some(done) = histogram(served.done_us.iter()) else { return };
    let Some(all) = histogram(served.done_us.iter().chain(served.waited_us())) else { return };
    let due = all.len() as f64 + served.failed as f64;
    if due == 0.0 {
        return;
    }
    let not_done = (due - done.len() as f64) / due;
    let mut percentile = |name: &str, quantile: f64| {
        // A percentile among the requests that were not done is a lower bound: then those that
        // still wait count with the time that they have waited.
        let measure = match not_done > 1.0 - quantile {
            true => Measure::at_least(percentile_ms(&all, quantile, due), Unit::Milliseconds),
            false => Measure::exact(percentile_ms(&done, quantile, due), Unit::Milliseconds),
        };
        seen.measures.insert(name.to_owned(), measure);
    };
    percentile(measure::P50, 0.5);
    percentile(measure::P99, 0.99);
    percentile(measure::P999, 0.999);
    percentile(measure::WORST, 1.0);
    if all.is_empty() {
        return;
    }
    put(seen, measure::DEVIATION, all.stdev() / 1e6, Unit::Milliseconds);
    seen.latencies.insert(REQUEST.to_owned(), Latency::from_histogram(&all));
}

/// These latencies in nanoseconds, from microseconds.
fn histogram<'a>(latencies_us: impl Iterator<Item = &'a u32>) -> Option<Histogram<u64>> {
    let mut all = Histogram::<u64>::new_with_bounds(1000, LONGEST_NS, 3).ok()?;
    for us in latencies_us {
        all.saturating_record((u64::from(*us) * 1000).clamp(1000, LONGEST_NS));
    }
    Some(all)
}

/// A quantile of all requests that were due. `measured` lacks some of them, which stand above all
/// that it has. So the quantile of all is a larger quantile of the measured ones. If there are
/// none, it is 0.
fn percentile_ms(measured: &Histogram<u64>, quantile: f64, due: f64) -> f64 {
    let due_by_measured = due / measured.len().max(1) as f64;
    time::ms_of_ns(measured.value_at_quantile((quantile * due_by_measured).min(1.0)))
}

fn throughput(seen: &mut Observation, served: &Served) {
    let seconds = served.wall.as_secs_f64().max(1e-3);
    let done = served.done_us.len() as f64;
    let due = done + served.waited_us().count() as f64 + served.failed as f64;
    put(seen, measure::REQUESTS, done / seconds, Unit::PerSecond);
    put(seen, measure::BACKLOG, 100.0 * (due - done) / due.max(1.0), Unit::Percent);
    put(seen, measure::FAILED, served.failed as f64, Unit::Count);
    put(seen, measure::BACKGROUND, served.background as f64 / seconds, Unit::PerSecond);
}

fn group(seen: &mut Observation, usage: &Usage, runs: &ThrottledRuns) {
    if let (Some(periods), Some(throttled)) = (usage.nr_periods, usage.nr_throttled) {
        put(seen, measure::PERIODS, periods as f64, Unit::Count);
        let share = 100.0 * throttled as f64 / (periods as f64).max(1.0);
        put(seen, measure::THROTTLED, share, Unit::Percent);
        put(seen, measure::LONGEST, runs.at_least() as f64, Unit::Count);
    }
    if let Some(throttled_ns) = usage.throttled_ns {
        put(seen, measure::THROTTLED_TIME, time::ms_of_ns(throttled_ns), Unit::Milliseconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served() -> Served {
        Served {
            wall: Duration::from_secs(2),
            done_us: vec![300; 990],
            waiting_us: Vec::new(),
            failed: 0,
            background: 500,
            active: Duration::from_millis(400),
        }
    }

    fn outside() -> Outside {
        Outside {
            schedulers: Duration::from_millis(1000),
            window: Duration::from_secs(2),
            ..Outside::default()
        }
    }

    #[test]
    fn what_was_spun_is_cpu_time_without_work() {
        let seen = observe(&served(), &outside(), None);
        assert_eq!(seen.measures["spun"].value, 300.0);
        assert_eq!(seen.measures["background"].value, 250.0);
        assert!(!seen.measures.contains_key("throttled"));
        let busy = Served { active: Duration::from_secs(3), ..served() };
        assert_eq!(observe(&busy, &outside(), None).measures["spun"].value, 0.0);
    }

    #[test]
    fn requests_that_were_not_done_count_and_make_percentiles_bounds() {
        let backlog = Served { waiting_us: vec![400_000; 20], ..served() };
        let seen = observe(&backlog, &outside(), None);
        let p99 = seen.measures["p99"];
        assert!(p99.at_least && p99.value > 399.0, "{p99:?}");
        assert!(!seen.measures["p50"].at_least);
        assert!((seen.measures["backlog"].value - 1.98).abs() < 0.01);
        assert_eq!(seen.latencies[REQUEST].count, 1010);
    }

    #[test]
    fn a_request_that_still_waits_makes_no_percentile_smaller() {
        let seen = |waiting_us: Vec<u32>| {
            let done_us = [vec![300_u32; 985], vec![50_000; 7]].concat();
            observe(&Served { done_us, waiting_us, ..served() }, &outside(), None)
        };
        let p99 = |waiting_us| seen(waiting_us).measures["p99"];
        assert!(!p99(Vec::new()).at_least && p99(Vec::new()).value < 1.0);
        // The five have waited for 2 ms so far, and nobody knows how long they would wait.
        let waiting = p99(vec![2_000; 5]);
        assert!(!waiting.at_least && waiting.value > 49.0, "{waiting:?}");
    }

    #[test]
    fn a_request_that_was_due_at_the_end_was_not_late() {
        let at_the_end = observe(&Served { waiting_us: vec![0; 20], ..served() }, &outside(), None);
        assert_eq!(at_the_end, observe(&served(), &outside(), None));
        assert!(!at_the_end.measures["worst"].at_least);
    }

    #[test]
    fn failed_requests_make_percentiles_bounds_and_are_not_done() {
        let failing = Served { failed: 110, ..served() };
        let seen = observe(&failing, &outside(), None);
        assert!(seen.measures["p99"].at_least && !seen.measures["p50"].at_least);
        assert!((seen.measures["backlog"].value - 10.0).abs() < 0.01);
        let one = Served { failed: 1, ..served() };
        let seen = observe(&one, &outside(), None);
        assert!(!seen.measures["p99"].at_least && seen.measures["worst"].at_least);
    }

    #[test]
    fn failed_requests_count_as_the_slowest() {
        // With none failed, 8 of 1000 requests are slow, and the 99th percentile is 0.3 ms.
        let slow = |failed| {
            let done_us = [vec![300_u32; 992], vec![50_000; 8]].concat();
            observe(&Served { done_us, failed, ..served() }, &outside(), None).measures["p99"]
        };
        assert!(!slow(0).at_least && slow(0).value < 1.0, "{:?}", slow(0));
        assert!(!slow(5).at_least && slow(5).value > 49.0, "{:?}", slow(5));
        assert!(slow(20).at_least && slow(20).value > 49.0, "{:?}", slow(20));
    }

    #[test]
    fn a_trial_in_which_every_request_failed_has_bounds() {
        let failing = Served { done_us: Vec::new(), failed: 5, ..served() };
        let seen = observe(&failing, &outside(), None);
        assert_eq!(seen.measures["p99"], Measure::at_least(0.0, Unit::Milliseconds));
        assert!(!seen.measures.contains_key("deviation") && seen.latencies.is_empty());
        assert_eq!(seen.measures["backlog"].value, 100.0);
    }

    #[test]
    fn a_trial_without_requests_has_no_percentiles() {
        let idle = Served { done_us: Vec::new(), ..served() };
        assert!(!observe(&idle, &outside(), None).measures.contains_key("p99"));
    }

    #[test]
    fn what_the_group_was_charged_is_held_against_its_quota() {
        let used = Usage { usage_ns: Some(600_000_000), ..Usage::default() };
        let group = Some((used, ThrottledRuns::new()));
        let quota = Bandwidth { quota_us: 50_000, period_us: 100_000, burst_us: 0 };
        let seen = observe(&served(), &Outside { group, ..outside() }, Some(&quota));
        assert!((seen.measures["quota_used"].value - 60.0).abs() < 1e-9);
    }

    #[test]
    fn a_node_that_does_not_come_back_has_a_bound_for_what_is_judged() {
        let seen = hung(&outside(), None, Duration::from_secs(20));
        let p99 = seen.measures["p99"];
        assert!(seen.hang && p99.at_least, "{seen:?}");
        assert_eq!(p99.value, 20_000.0);
    }
}
