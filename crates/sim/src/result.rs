//! What a run shows.

use hdrhistogram::Histogram;
use serde::Serialize;

/// What a run showed. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// CPU time that the group used.
    pub usage_ns: u64,
    /// The quota of the group, in proportion to the length of the run.
    pub entitled_ns: u64,
    /// Periods that ended while the timer ran (`nr_periods`).
    pub nr_periods: u64,
    /// Those at whose end some CPU was throttled (`nr_throttled`).
    pub nr_throttled: u64,
    /// Longest run of such periods.
    pub longest_throttled: u64,
    /// Time in which CPUs were throttled, all CPUs added up (`throttled_time`).
    pub throttled_ns: u64,
    /// Periods that drew on a burst (`nr_bursts`).
    pub nr_bursts: u64,
    /// CPU time used from bursts (`burst_time`).
    pub burst_used_ns: u64,
    /// Where the quota went.
    pub quota: QuotaSpent,
    /// Each thread.
    pub threads: Vec<ThreadUse>,
    /// Latencies of the requests or jobs that were done, where the load has any.
    #[serde(skip)]
    pub latency: Option<Histogram<u64>>,
    /// Requests that were not done at the end of the run; the latencies do not hold them.
    pub unfinished: u64,
    /// Events that were simulated.
    pub events: u64,
}

/// Where the quota went, in nanoseconds of CPU time.
///
/// `granted + overdrawn + owed_at_end = used + expired + unused + pool_at_end + held_at_end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct QuotaSpent {
    /// Put into the pool: its first filling and each refill.
    pub granted_ns: u64,
    /// Handed out beyond what the pool held, by the distribution race.
    pub overdrawn_ns: u64,
    /// Used.
    pub used_ns: u64,
    /// Lost on CPUs, since its period had passed.
    pub expired_ns: u64,
    /// Left in the pool at a refill and dropped there.
    pub unused_ns: u64,
    /// Given back by CPUs whose last task left; it was handed out again, or is in `unused_ns`.
    pub returned_ns: u64,
    /// Left in the pool at the end of the run.
    pub pool_at_end_ns: u64,
    /// Held by CPUs at the end of the run.
    pub held_at_end_ns: u64,
    /// Owed by CPUs at the end of the run: used before it was granted.
    pub owed_at_end_ns: u64,
    /// Runtime that was held by CPUs with nothing to run.
    pub stranded: Stranded,
}

/// Runtime on CPUs that have nothing to run, in nanoseconds of CPU time: not lost, but of no use
/// to those that would run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stranded {
    /// Mean over time.
    pub mean_ns: u64,
    /// Most at any time.
    pub most_ns: u64,
    /// Mean over the ends of all periods.
    pub mean_at_period_end_ns: u64,
    /// Most at the end of a period.
    pub most_at_period_end_ns: u64,
}

/// What a thread did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ThreadUse {
    /// CPU time that it used, in nanoseconds.
    pub used_ns: u64,
    /// Bursts of work, jobs or requests that it finished.
    pub bursts: u64,
    /// Iterations of Fibonacci numbers, with the load of fibtest.
    pub iterations: u64,
}

impl Outcome {
    /// Latency that a share of the finished requests stays within, in nanoseconds; `percentile` is
    /// out of 100. Absent where none was finished.
    pub fn latency_ns(&self, percentile: f64) -> Option<u64> {
        let latency = self.latency.as_ref().filter(|latency| !latency.is_empty())?;
        Some(latency.value_at_percentile(percentile))
    }

    /// Iterations of all threads, as fibtest prints them.
    pub fn iterations(&self) -> u64 {
        self.threads.iter().map(|thread| thread.iterations).sum()
    }
}
