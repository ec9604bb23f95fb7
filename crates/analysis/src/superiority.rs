//! The probability that a trial of an arm is worse than a trial of its control.

use crate::reading::{Reading, ascending};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The relative effect, with the result of the Brunner-Munzel test.
pub(crate) struct Superiority {
    /// Probability that a trial of the arm is above a trial of the control. Ties count half.
    pub(crate) chance: f64,
    /// Interval of that probability; absent if its variance cannot be estimated.
    pub(crate) interval: Option<(f64, f64)>,
    /// Two-sided p-value against a probability of one half.
    pub(crate) p_value: Option<f64>,
}

/// The Brunner-Munzel test with its interval, or its exact permutation test in the degenerate
/// case.
///
/// Brunner and Munzel 2000, "The nonparametric Behrens-Fisher problem: asymptotic theory and a
/// small-sample approximation", Biometrical Journal 42, 17-25, with the t approximation. If all
/// placements are equal there is no t statistic. The p-value is then that of the studentised
/// permutation test (Neubert and Brunner 2007, "A studentized permutation test for the
/// non-parametric Behrens-Fisher problem", Computational Statistics and Data Analysis 51,
/// 5192-5204), and there is no interval. `None` if either side is empty.
pub(crate) fn brunner_munzel(
    control: &[Reading],
    arm: &[Reading],
    confidence: f64,
) -> Option<Superiority> {
    if control.is_empty() || arm.is_empty() {
        return None;
    }
    let (n, m) = (control.len() as f64, arm.len() as f64);
    // How many trials of the other side each trial exceeds.
    let of_control = placements(control, arm);
    let of_arm = placements(arm, control);
    let chance = of_arm.iter().sum::<f64>() / (n * m);
    let all_equal = |values: &[f64]| values.iter().all(|value| *value == values[0]);
    if all_equal(&of_control) && all_equal(&of_arm) {
        let p_value = permutation_p(control, arm, chance);
        return Some(Superiority { chance, interval: None, p_value: Some(p_value) });
    }
    let fitted = student(chance, (&of_control, &of_arm), confidence);
    let (interval, p_value) = fitted.map_or((None, None), |(ends, p)| (Some(ends), Some(p)));
    Some(Superiority { chance, interval, p_value })
}

/// The sum of the scores of each reading against all readings of the other side. The values are
/// sorted, so that rounding in sums does not depend on the order of the trials.
fn placements(of: &[Reading], among: &[Reading]) -> Vec<f64> {
    let among = Sorted::of(among);
    ascending(of.iter().map(|one| among.score_of(one)))
}

/// Readings in ascending order, so that a search replaces the look at each pair.
struct Sorted {
    full: Vec<f64>,
    cut_off: Vec<f64>,
}

impl Sorted {
    fn of(readings: &[Reading]) -> Self {
        let (cut_off, full): (Vec<Reading>, Vec<Reading>) =
            readings.iter().partition(|reading| reading.at_least);
        let values = |readings: Vec<Reading>| ascending(readings.iter().map(|one| one.value));
        Sorted { full: values(full), cut_off: values(cut_off) }
    }

    /// The sum of [`Reading::score`] of this reading against all of them.
    fn score_of(&self, one: &Reading) -> f64 {
        let below = self.full.partition_point(|value| *value < one.value);
        let up_to = self.full.partition_point(|value| *value <= one.value);
        let (above, ties) = match one.at_least {
            true => (up_to, self.full.len() - up_to + self.cut_off.len()),
            false => (below, up_to - below + self.cut_off.partition_point(|cut| *cut < one.value)),
        };
        above as f64 + ties as f64 / 2.0
    }
}

/// Interval and p-value by Student's t with Satterthwaite's degrees of freedom.
fn student(
    chance: f64,
    (of_control, of_arm): (&[f64], &[f64]),
    confidence: f64,
) -> Option<((f64, f64), f64)> {
    let (n, m) = (of_control.len() as f64, of_arm.len() as f64);
    // The share of each side in the squared standard error.
    let from_control = variance(of_control)? / (n * m * m);
    let from_arm = variance(of_arm)? / (m * n * n);
    let error = (from_control + from_arm).sqrt();
    let freedom = (from_control + from_arm).powi(2)
        / (from_control.powi(2) / (n - 1.0) + from_arm.powi(2) / (m - 1.0));
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let reach = t.inverse_cdf((1.0 + confidence) / 2.0) * error;
    let p_value = 2.0 * t.cdf(-((chance - 0.5) / error).abs());
    Some((((chance - reach).max(0.0), (chance + reach).min(1.0)), p_value.min(1.0)))
}

fn variance(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| squares / (n - 1.0))
}

/// The permutation p-value if all placements are equal. It is exact for any number of trials.
///
/// Scores fall as the readings of one side rise, so equal placements mean that all pairs have the
/// same score: all ties, or complete separation. With ties every split is equally extreme. With
/// separation the statistic is infinite, so only splits that separate completely are as extreme.
/// These are this split and, if it separates too, the one with the sides exchanged. Nothing has
/// to be enumerated.
fn permutation_p(control: &[Reading], arm: &[Reading], chance: f64) -> f64 {
    let (lower, upper) = match chance {
        1.0 => (control, arm),
        0.0 => (arm, control),
        _ => return 1.0,
    };
    let extreme = if separates_when_exchanged(lower, upper) { 2.0 } else { 1.0 };
    (extreme / splits(lower.len(), upper.len())).min(1.0)
}

/// Whether the smallest readings, as many as `upper` has, are all certainly below all others.
fn separates_when_exchanged(lower: &[Reading], upper: &[Reading]) -> bool {
    let mut pooled = [lower, upper].concat();
    pooled.sort_by(|a, b| a.value.total_cmp(&b.value).then(a.at_least.cmp(&b.at_least)));
    let (below, above) = pooled.split_at(upper.len());
    above.iter().all(|one| below.iter().all(|other| one.surely_above(other)))
}

/// The permutation p-value of sides of these sizes that do not overlap, without ties. No sides that
/// overlap have a smaller one.
pub(crate) fn separated_p(n: usize, m: usize) -> f64 {
    (2.0 / splits(n, m)).min(1.0)
}

/// The number of ways to split the trials into two sides of these sizes; infinite if it exceeds
/// `f64`.
fn splits(n: usize, m: usize) -> f64 {
    (1..=n.min(m)).map(|i| (n.max(m) + i) as f64 / i as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exact(values: &[f64]) -> Vec<Reading> {
        values.iter().copied().map(Reading::exact).collect()
    }

    /// Shoulder-tip pain (Lumley 1996), the example of Brunner and Munzel. Figures as printed by
    /// `brunner.munzel.test` of R's lawstat; the p-value also from scipy.stats.brunnermunzel.
    #[test]
    fn agrees_with_the_published_example() {
        let first = [1., 2., 1., 1., 1., 1., 1., 1., 1., 1., 2., 4., 1., 1.];
        let second = [3., 3., 4., 3., 1., 2., 3., 1., 1., 5., 4.];
        let found = brunner_munzel(&exact(&first), &exact(&second), 0.95).unwrap();
        let (low, high) = found.interval.unwrap();
        assert!((found.chance - 0.788961).abs() < 1e-6, "{}", found.chance);
        assert!((low - 0.5952169).abs() < 1e-6, "{low}");
        assert!((high - 0.9827052).abs() < 1e-6, "{high}");
        assert!((found.p_value.unwrap() - 0.005786208666151463).abs() < 1e-9);
    }

    #[test]
    fn complete_separation_has_the_permutation_p_value() {
        let found = brunner_munzel(&exact(&[0.0; 5]), &exact(&[9.0, 8.0, 8.0, 7.0, 9.0]), 0.95);
        let found = found.unwrap();
        assert_eq!((found.chance, found.interval), (1.0, None));
        assert!((found.p_value.unwrap() - 2.0 / 252.0).abs() < 1e-15);
        // Two against three, two of which are equal: the exchanged split is not separated.
        let found = brunner_munzel(&exact(&[0.0, 1.0]), &exact(&[2.0, 2.0, 2.0]), 0.95).unwrap();
        assert!((found.p_value.unwrap() - 1.0 / 10.0).abs() < 1e-15);
        let found = brunner_munzel(&exact(&[0.0]), &exact(&[1.0]), 0.95).unwrap();
        assert_eq!(found.p_value, Some(1.0));
    }

    #[test]
    fn all_alike_is_no_effect() {
        let found = brunner_munzel(&exact(&[0.0; 4]), &exact(&[0.0; 6]), 0.95).unwrap();
        assert_eq!((found.chance, found.p_value, found.interval), (0.5, Some(1.0), None));
        let unknown = vec![Reading::at_least(0.0); 3];
        let found = brunner_munzel(&exact(&[1.0, 2.0]), &unknown, 0.95).unwrap();
        assert_eq!((found.chance, found.p_value), (0.5, Some(1.0)));
    }

    #[test]
    fn one_trial_has_no_variance() {
        let found = brunner_munzel(&exact(&[1.0]), &exact(&[0.0, 2.0]), 0.95).unwrap();
        assert_eq!((found.chance, found.p_value), (0.5, None));
        assert!(brunner_munzel(&[], &exact(&[1.0]), 0.95).is_none());
    }

    fn side() -> impl Strategy<Value = Vec<Reading>> {
        let reading = (0u32..6, prop::bool::weighted(0.2))
            .prop_map(|(value, at_least)| Reading { value: f64::from(value), at_least });
        prop::collection::vec(reading, 1..7)
    }

    /// All splits of the readings, counted one by one.
    fn enumerated_p(pooled: &[Reading], n: usize) -> f64 {
        let (mut extreme, mut all) = (0.0, 0.0);
        for mask in 0u32..1 << pooled.len() {
            if mask.count_ones() as usize != n {
                continue;
            }
            let (mut left, mut right) = (Vec::new(), Vec::new());
            for (i, reading) in pooled.iter().enumerate() {
                if mask >> i & 1 == 1 { left.push(*reading) } else { right.push(*reading) }
            }
            let separated = |low: &[Reading], high: &[Reading]| {
                high.iter().all(|h| low.iter().all(|l| h.surely_above(l)))
            };
            all += 1.0;
            extreme += f64::from(separated(&left, &right) || separated(&right, &left));
        }
        extreme / all
    }

    proptest! {
        #[test]
        fn figures_stay_within_their_limits(control in side(), arm in side()) {
            let found = brunner_munzel(&control, &arm, 0.95).unwrap();
            prop_assert!((0.0..=1.0).contains(&found.chance));
            if let Some(p) = found.p_value {
                prop_assert!(p > 0.0 && p <= 1.0, "{}", p);
            }
            if let Some((low, high)) = found.interval {
                prop_assert!(0.0 <= low && low <= found.chance && found.chance <= high && high <= 1.0);
                let wide = brunner_munzel(&control, &arm, 0.99).unwrap().interval.unwrap();
                prop_assert!(wide.0 <= low && high <= wide.1);
            } else if found.p_value.is_some() {
                prop_assert!([0.0, 0.5, 1.0].contains(&found.chance), "{}", found.chance);
            }
            let back = brunner_munzel(&arm, &control, 0.95).unwrap();
            prop_assert!((found.chance + back.chance - 1.0).abs() < 1e-12);
        }

        #[test]
        fn a_placement_is_the_sum_of_the_scores_of_all_pairs(
            one in (-3i32..3, any::<bool>()),
            all in prop::collection::vec((-3i32..3, any::<bool>()), 0..12),
        ) {
            let reading = |(v, at_least): (i32, bool)| Reading { value: f64::from(v), at_least };
            let (one, all) = (reading(one), all.into_iter().map(reading).collect::<Vec<_>>());
            let want: f64 = all.iter().map(|other| one.score(other)).sum();
            prop_assert_eq!(Sorted::of(&all).score_of(&one), want);
        }

        #[test]
        fn the_closed_form_is_the_count_of_all_splits(
            lower in prop::collection::vec(0u32..3, 1..6),
            upper in prop::collection::vec((3u32..6, any::<bool>()), 1..6),
        ) {
            let lower: Vec<Reading> = lower.into_iter().map(|v| Reading::exact(f64::from(v))).collect();
            let upper: Vec<Reading> = upper.into_iter()
                .map(|(v, at_least)| Reading { value: f64::from(v), at_least }).collect();
            let found = brunner_munzel(&lower, &upper, 0.95).unwrap().p_value.unwrap();
            let want = enumerated_p(&[lower.clone(), upper].concat(), lower.len());
            prop_assert!((found - want).abs() < 1e-12, "{} {}", found, want);
        }
    }
}
