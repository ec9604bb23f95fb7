//! The lower tail of a statistic with whole-number values, for intervals by counting.

use statrs::distribution::{ContinuousCDF, Normal};

/// The largest value whose lower tail has at most this probability, and that probability. `None`
/// if even the first value alone has a higher probability, which is then returned.
pub(crate) fn of(chances: &[f64], tail: f64) -> (Option<usize>, f64) {
    let mut below = chances.first().copied().unwrap_or(1.0);
    if below > tail {
        return (None, below);
    }
    for (value, chance) in chances.iter().enumerate().skip(1) {
        if below + chance > tail {
            return (Some(value), below);
        }
        below += chance;
    }
    (Some(chances.len()), below)
}

/// The same by the normal approximation, with a correction for continuity.
pub(crate) fn of_normal(mean: f64, deviation: f64, tail: f64) -> (Option<usize>, f64) {
    let normal = Normal::standard();
    let value = (mean + 0.5 + deviation * normal.inverse_cdf(tail)).floor();
    let below = normal.cdf((value - 0.5 - mean) / deviation);
    ((value >= 1.0).then_some(value as usize), below)
}
