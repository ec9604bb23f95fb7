//! The result of a run.

use hdrhistogram::Histogram;
use serde::Serialize;

/// The result of a run. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// CPU time that the group used.
    pub usage_ns: u64,
    /// The quota of the group for the length of the run.
    pub entitled_ns: u64,
    /// Periods that ended while the timer was running (`nr_periods`).
    pub nr_periods: u64,
    /// Periods at whose end some CPU was throttled (`nr_throttled`).
    pub nr_throttled: u64,
    /// Longest series of consecutive throttled periods.
    pub longest_throttled: u64,
    /// Throttled time, added up over all CPUs (`throttled_time`).
    pub throttled_ns: u64,
    /// Periods that used a burst (`nr_bursts`).
    pub nr_bursts: u64,
    /// CPU time used from bursts (`burst_time`).
    pub burst_used_ns: u64,
    /// Where the quota went.
    pub quota: QuotaSpent,
    /// CPU time and finished work of each thread.
    pub threads: Vec<ThreadUse>,
    /// Latencies of the finished requests or jobs, if the load has any.
    #[serde(skip)]
    pub latency: Option<Histogram<u64>>,
    /// Requests that were not finished at the end of the run. The latencies do not include them.
    pub unfinished: u64,
    /// Number of simulated events.
    pub events: u64,
}

/// Where the quota went, in nanoseconds of CPU time.
///
/// `granted + overdrawn + owed_at_end = used + expired + unused + pool_at_end + held_at_end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct QuotaSpent {
    /// Added to the pool: its first filling and each refill.
    pub granted_ns: u64,
    /// Given out beyond the content of the pool, because of the distribution race.
    pub overdrawn_ns: u64,
    /// Used.
    pub used_ns: u64,
    /// Expired on CPUs, since its period had passed.
    pub expired_ns: u64,
    /// Left in the pool at a refill and discarded.
    pub unused_ns: u64,
    /// Returned by CPUs whose last task left. It was given out again, or is part of `unused_ns`.
    pub returned_ns: u64,
    /// Left in the pool at the end of the run.
    pub pool_at_end_ns: u64,
    /// Held by CPUs at the end of the run.
    pub held_at_end_ns: u64,
    /// Owed by CPUs at the end of the run: used before it was granted.
    pub owed_at_end_ns: u64,
    /// Runtime that was held by CPUs without a task.
    pub stranded: Stranded,
}

/// Runtime on CPUs without a task, in nanoseconds of CPU time. It is not lost, but other CPUs
/// cannot use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stranded {
    /// Mean over time.
    pub mean_ns: u64,
    /// Maximum over time.
    pub most_ns: u64,
    /// Mean over the ends of all periods.
    pub mean_at_period_end_ns: u64,
    /// Maximum at the end of a period.
    pub most_at_period_end_ns: u64,
}

/// The CPU time and the finished work of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ThreadUse {
    /// CPU time that it used, in nanoseconds.
    pub used_ns: u64,
    /// Bursts of work, jobs or requests that it finished.
    pub bursts: u64,
    /// Iterations of Fibonacci numbers, if the load is fibtest.
    pub iterations: u64,
}

impl Outcome {
    /// The percentile of the latency of finished requests, in nanoseconds; `percentile` is out of
    /// 100. None if no request was finished.
    pub fn latency_ns(&self, percentile: f64) -> Option<u64> {
        let latency = self.latency.as_ref().filter(|latency| !latency.is_empty())?;
        Some(latency.value_at_percentile(percentile))
    }

    /// Iterations of all threads, in the form that fibtest prints them.
    pub fn iterations(&self) -> u64 {
        self.threads.iter().map(|thread| thread.iterations).sum()
    }
}
