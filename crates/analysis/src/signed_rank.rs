//! The distribution of Wilcoxon's signed-rank statistic under no effect.

use crate::lower_tail;

/// Number of differences above which the normal approximation is used.
///
/// At 100 differences it is off by less than 0.0002 in the tails that intervals need.
const MOST_EXACT: usize = 100;

/// The largest `t` with `P(T < t) <= tail`, and that probability. An interval may end at the
/// `t`-th smallest and the `t`-th largest of the Walsh averages of `n` differences.
///
/// The differences are ranked by size without the sign, and each is equally likely above and
/// below zero. `T` is the sum of the ranks of the differences above zero; Wilcoxon 1945,
/// "Individual comparisons by ranking methods", Biometrics Bulletin 1, 80-83. `None` if even the
/// widest interval, from the smallest to the largest average, has more than `tail` beyond either
/// end. The probability is then that of its tail.
pub fn averages_to_leave_out(n: usize, tail: f64) -> (Option<usize>, f64) {
    if n == 0 {
        return (None, 0.5);
    }
    if n > MOST_EXACT {
        return approximate(n as f64, tail);
    }
    let chances = chances(n);
    lower_tail::of(&chances, tail)
}

/// Probability of each value of the statistic. Each rank is in the sum with a probability of one
/// half.
fn chances(n: usize) -> Vec<f64> {
    let mut chances = vec![0.0; n * (n + 1) / 2 + 1];
    chances[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..chances.len()).rev() {
            let with = if sum >= rank { chances[sum - rank] } else { 0.0 };
            chances[sum] = (chances[sum] + with) / 2.0;
        }
    }
    chances
}

fn approximate(n: f64, tail: f64) -> (Option<usize>, f64) {
    let mean = n * (n + 1.0) / 4.0;
    let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    lower_tail::of_normal(mean, deviation, tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 8 signs of 3 ranks give the sums 0, 1, 2, 3 (twice), 4, 5, 6.
    #[test]
    fn small_chances_are_those_of_all_signs() {
        let want = [1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0].map(|count| count / 8.0);
        assert_eq!(chances(3), want);
    }

    /// The two-sided 5% points of published tables of the signed-rank test. A table has the
    /// largest sum that is significant, which is one less than `t`.
    #[test]
    fn critical_values_are_those_of_the_tables() {
        for (n, critical) in
            [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (12, 13), (15, 25), (20, 52), (25, 89)]
        {
            let (found, below) = averages_to_leave_out(n, 0.025);
            assert_eq!(found, Some(critical + 1), "{n}");
            assert!(below <= 0.025);
        }
        assert_eq!(averages_to_leave_out(5, 0.025), (None, 1.0 / 32.0));
        assert_eq!(averages_to_leave_out(0, 0.025).0, None);
    }

    #[test]
    fn the_approximation_takes_over_smoothly() {
        let (exact, exact_tail) = averages_to_leave_out(100, 0.025);
        let (near, near_tail) = approximate(100.0, 0.025);
        assert!(exact.unwrap().abs_diff(near.unwrap()) <= 3, "{exact:?} {near:?}");
        assert!((exact_tail - near_tail).abs() < 2e-4, "{exact_tail} {near_tail}");
        assert!(averages_to_leave_out(1000, 0.025).0.is_some());
    }
}
