//! The body of a test with two arms: the model runs one, the kernel at hand the other.

/// What an arm saw of one run: 10 ms in 100 ms, for 5 s.
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
    /// The group gets less than its quota as soon as it has threads on many CPUs.
    Under,
    /// It gets more.
    Over,
    /// Neither.
    Fair,
}

/// CPU time that 10 ms in 100 ms make in 5 s, in milliseconds.
const ENTITLED_MS: f64 = 500.0;

/// A thread alone may be off by a period's quota and a few ticks, in milliseconds.
const SLOP_MS: f64 = 30.0;

/// The body: `usage_and_throttled` runs one fast thread and slow ones up to the given number. None
/// where one thread alone did not use the quota of each period: other work kept it off the CPU.
pub fn verdict(cpus: u32, mut usage_and_throttled: impl FnMut(u32) -> Seen) -> Option<Verdict> {
    let control = usage_and_throttled(1);
    let off = (control.usage_ms - ENTITLED_MS).abs();
    if off > SLOP_MS || !(48..=52).contains(&control.throttled) {
        return None;
    }
    let case = usage_and_throttled(cpus);
    // A millisecond on each CPU may lie there at the end of so short a run.
    let stranded = f64::from(cpus);
    Some(if case.throttled > 40 && case.usage_ms < 0.7 * control.usage_ms - stranded {
        Verdict::Under
    } else if case.usage_ms > control.usage_ms + SLOP_MS + 4.0 * f64::from(cpus.min(2)) {
        Verdict::Over
    } else {
        Verdict::Fair
    })
}
