//! Times of a record, which may be damaged.

/// A sum of times. In a damaged record the exact sum may be too large for a number.
pub(super) fn sum(times: impl Iterator<Item = u64>) -> u64 {
    times.fold(0, u64::saturating_add)
}

/// Milliseconds as whole nanoseconds. A negative time, which only a damaged record has, gives 0.
pub(super) fn ns(ms: f64) -> u64 {
    (ms * 1e6).max(0.0).round() as u64
}
