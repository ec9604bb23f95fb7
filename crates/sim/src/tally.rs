//! The counters of the controller, and the runtime that idle CPUs hold.

/// Flows of runtime between pool and CPUs, in nanoseconds, and the kernel's counters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    /// Added to the pool: its first filling and each refill.
    pub(crate) granted: u64,
    /// Left in the pool at a refill and discarded.
    pub(crate) unused: u64,
    /// Given out beyond the content of the pool, because of the race.
    pub(crate) overdrawn: u64,
    /// Charged to CPUs.
    pub(crate) used: u64,
    /// Expired on CPUs, or on the way back to the pool.
    pub(crate) expired: u64,
    /// Returned to the pool.
    pub(crate) returned: u64,
    pub(crate) periods: u64,
    pub(crate) throttled_periods: u64,
    pub(crate) longest_streak: u64,
    pub(crate) streak: u64,
    pub(crate) throttled_ns: u64,
    pub(crate) bursts: u64,
    pub(crate) burst_ns: u64,
}

/// Runtime that is held by CPUs without a task, over time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Idle {
    /// The current amount, in nanoseconds of CPU time.
    level: u64,
    since: u64,
    /// Integral over time, in ns of CPU time x ns.
    area: u128,
    /// Maximum over time.
    pub(crate) most: u64,
    /// Maximum at the end of a period.
    pub(crate) most_at_end: u64,
    sum_at_ends: u128,
    ends: u64,
}

impl Idle {
    /// Changes the amount that a CPU holds from `old` to `new` nanoseconds.
    pub(crate) fn change(&mut self, now: u64, old: u64, new: u64) {
        self.area += u128::from(self.level) * u128::from(now - self.since);
        self.since = now;
        self.level = self.level + new - old;
        self.most = self.most.max(self.level);
    }

    /// Records the amount at the end of a period.
    pub(crate) fn note_period_end(&mut self) {
        self.ends += 1;
        self.sum_at_ends += u128::from(self.level);
        self.most_at_end = self.most_at_end.max(self.level);
    }

    /// Mean over the ends of all periods.
    pub(crate) fn mean_at_end(&self) -> u64 {
        (self.sum_at_ends / u128::from(self.ends.max(1))) as u64
    }

    /// Mean over all time up to `now`.
    pub(crate) fn mean(&self, now: u64) -> u64 {
        let area = self.area + u128::from(self.level) * u128::from(now - self.since);
        (area / u128::from(now.max(1))) as u64
    }
}
