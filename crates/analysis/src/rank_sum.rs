//! The distribution of the Mann-Whitney statistic under no effect.

use crate::cache::Cache;
use crate::lower_tail;

/// Number of pairs of trials above which the normal approximation is used.
///
/// With 200 trials on each side it is off by less than 0.0001 in the tails that intervals need.
/// The exact distribution takes time cubic in the number of trials.
const MOST_PAIRS: usize = 40_000;

/// The largest `u` with `P(U < u) <= tail`, and that probability. An interval may end at the
/// `u`-th smallest and the `u`-th largest of the pairwise differences.
///
/// `U` is the number of pairs in which one of `n` exchangeable readings exceeds one of `m`; Mann
/// and Whitney 1947, "On a test of whether one of two random variables is stochastically larger
/// than the other", Annals of Mathematical Statistics 18, 50-60. `None` if even the widest
/// interval, from the smallest to the largest difference, has more than `tail` beyond either end.
/// The probability is then that of its tail.
pub fn differences_to_leave_out(n: usize, m: usize, tail: f64) -> (Option<usize>, f64) {
    if n == 0 || m == 0 {
        return (None, 0.5);
    }
    if n.saturating_mul(m) > MOST_PAIRS {
        return approximate(n as f64, m as f64, tail);
    }
    // A record may have thousands of arms with equal numbers of trials. A static, since the result
    // follows from the key alone, so no caller can notice the cache.
    static KNOWN: Cache<(usize, usize, u64), Found> = Cache::new();
    KNOWN.get((n.min(m), n.max(m), tail.to_bits()), || lower_tail::of(&chances(n, m), tail))
}

/// The result of [`differences_to_leave_out`].
type Found = (Option<usize>, f64);

/// Probability of each value of the statistic, up to the middle of its range.
///
/// The counts are the coefficients of the Gaussian binomial coefficient. Each factor
/// `(1 - q^(m+i)) / (1 - q^i)` is multiplied in and scaled, so that the sum stays one.
fn chances(n: usize, m: usize) -> Vec<f64> {
    let (n, m) = (n.min(m), n.max(m));
    let mut chances = vec![0.0; n * m / 2 + 1];
    chances[0] = 1.0;
    for i in 1..=n {
        for u in (m + i..chances.len()).rev() {
            chances[u] -= chances[u - m - i];
        }
        for u in i..chances.len() {
            chances[u] += chances[u - i];
        }
        let scale = i as f64 / (m + i) as f64;
        chances.iter_mut().for_each(|chance| *chance *= scale);
    }
    chances
}

fn approximate(n: f64, m: f64, tail: f64) -> (Option<usize>, f64) {
    let (mean, deviation) = (n * m / 2.0, (n * m * (n + m + 1.0) / 12.0).sqrt());
    lower_tail::of_normal(mean, deviation, tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three against two: the 10 splits give U = 0..6 in 1, 1, 2, 2, 2, 1, 1 cases.
    #[test]
    fn small_counts_are_those_of_all_splits() {
        let found = chances(3, 2);
        for (found, want) in found.iter().zip([0.1, 0.1, 0.2, 0.2]) {
            assert!((found - want).abs() < 1e-15);
        }
        assert_eq!(chances(2, 3), found);
    }

    /// The two-sided 5% points of published Mann-Whitney tables. A table has the largest U that is
    /// significant, which is one less than `u`.
    #[test]
    fn critical_values_are_those_of_the_tables() {
        for (n, m, critical) in
            [(4, 4, 0), (5, 5, 2), (6, 6, 5), (8, 8, 13), (10, 10, 23), (20, 20, 127), (5, 10, 8)]
        {
            let (found, below) = differences_to_leave_out(n, m, 0.025);
            assert_eq!(found, Some(critical + 1), "{n} and {m}");
            assert!(below <= 0.025);
        }
        assert_eq!(differences_to_leave_out(3, 3, 0.025), (None, 0.05));
        assert_eq!(differences_to_leave_out(0, 3, 0.025).0, None);
    }

    #[test]
    fn the_approximation_takes_over_smoothly() {
        let (exact, exact_tail) = differences_to_leave_out(200, 200, 0.025);
        let (near, near_tail) = approximate(200.0, 200.0, 0.025);
        assert!(exact.unwrap().abs_diff(near.unwrap()) <= 2, "{exact:?} {near:?}");
        assert!((exact_tail - near_tail).abs() < 1e-4, "{exact_tail} {near_tail}");
        assert!(differences_to_leave_out(1000, 1000, 0.025).0.is_some());
    }
}
