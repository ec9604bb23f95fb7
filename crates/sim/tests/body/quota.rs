//! The body of a test with two arms: one arm is the model, the other is the running kernel.

/// The result of one run with 10 ms per 100 ms, for 5 s.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// CPU time of the group, in milliseconds.
    pub usage_ms: f64,
    /// Throttled periods.
    pub throttled: u64,
}

/// The verdict on the quota.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The group gets less than its quota when it has threads on many CPUs.
    Under,
    /// The group gets more than its quota.
    Over,
    /// The group gets its quota.
    Fair,
}

/// The quota of 10 ms per 100 ms over 5 s, in milliseconds.
const ENTITLED_MS: f64 = 500.0;

/// Tolerance for a single thread, in milliseconds: the quota of one period and a few ticks.
const SLOP_MS: f64 = 30.0;

/// The test body. `usage_and_throttled` runs one fast thread, plus slow threads up to the given
/// total. None if a single thread did not use its quota in each period, because other work kept
/// it off the CPU.
pub fn verdict(cpus: u32, mut usage_and_throttled: impl FnMut(u32) -> Seen) -> Option<Verdict> {
    let control = usage_and_throttled(1);
    let off = (control.usage_ms - ENTITLED_MS).abs();
    if off > SLOP_MS || !(48..=52).contains(&control.throttled) {
        return None;
    }
    let case = usage_and_throttled(cpus);
    // At the end of such a short run, each CPU may still hold one millisecond.
    let stranded = f64::from(cpus);
    Some(if case.throttled > 40 && case.usage_ms < 0.7 * control.usage_ms - stranded {
        Verdict::Under
    } else if case.usage_ms > control.usage_ms + SLOP_MS + 4.0 * f64::from(cpus.min(2)) {
        Verdict::Over
    } else {
        Verdict::Fair
    })
}
