//! The share of machines that are affected, with an interval that allows for kinds.

use super::kind::{KindCounts, alikeness};
use crate::proportion::limits;
use model::census::Share;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The share of machines that are affected; `None` where none has a settled answer.
///
/// The interval is Clopper and Pearson's with an effective number of machines, as in Korn and
/// Graubard 1998, "Confidence intervals for proportions with small expected number of positive
/// counts estimated from survey data", Survey Methodology 24, 193-201. A kind of `n` machines that
/// are alike by `r` counts as `n / (1 + (n - 1) r)` of them (Kish 1965, "Survey Sampling"), and the
/// number is made smaller again for how few kinds say how alike they are, by Student's t. That `r`
/// is estimated from all kinds: the variance that the survey literature takes hangs on the largest
/// kinds alone, and where a fleet has a few large ones its intervals hold the share too seldom (80%
/// instead of 95% where sizes fall as one over their rank).
///
/// Where no machine is affected, or all are, nothing is seen of how alike machines of a kind are.
/// Then they are taken for wholly alike, so that kinds count and not machines. Of one kind alone
/// there is no interval: nothing says what other kinds would do.
pub fn share(kinds: &[KindCounts], confidence: f64) -> Option<Share> {
    let affected: u64 = kinds.iter().map(|kind| u64::from(kind.affected.min(kind.of))).sum();
    let of: u64 = kinds.iter().map(|kind| u64::from(kind.of)).sum();
    let number = seen(kinds).count();
    if of == 0 {
        return None;
    }
    let rate = affected as f64 / of as f64;
    let alike = if affected == 0 || affected == of { 1.0 } else { alikeness(seen(kinds)) };
    let effective = effective(kinds, alike);
    let tail = (1.0 - confidence) / 2.0;
    let (low, high) = match number {
        0 | 1 => (None, None),
        _ => {
            let (low, high) = limits(rate * effective, effective, tail);
            (Some(low), Some(high))
        }
    };
    Some(Share { affected, of, kinds: number as u64, effective, low, high, confidence })
}

/// The kinds of which any machine has a settled answer.
fn seen(kinds: &[KindCounts]) -> impl Iterator<Item = &KindCounts> + Clone {
    kinds.iter().filter(|kind| kind.of > 0)
}

/// So many independent machines would say as much.
fn effective(kinds: &[KindCounts], alike: f64) -> f64 {
    let sizes = || seen(kinds).map(|kind| f64::from(kind.of));
    let machines: f64 = sizes().sum();
    let weight: f64 = sizes().map(|of| of * (1.0 + (of - 1.0) * alike)).sum();
    let squares: f64 = sizes().map(|of| of * of).sum();
    // As many kinds of one size would be as unlike (Kish).
    let kinds = machines * machines / squares;
    let adjusted = quantile(machines - 1.0).zip(quantile(kinds - 1.0));
    let adjusted = adjusted.map_or(1.0, |(machines, kinds)| (machines / kinds).powi(2));
    (machines * machines / weight * adjusted).clamp(f64::MIN_POSITIVE, machines)
}

/// The quantile of Student's t by which the interval is widened.
fn quantile(freedom: f64) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, freedom.max(1.0)).ok()?;
    Some(t.inverse_cdf(0.975)).filter(|quantile| quantile.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn kind(affected: u32, of: u32) -> KindCounts {
        KindCounts { affected, of, levels: Vec::new() }
    }

    #[test]
    fn machines_that_are_independent_count_as_many_as_they_are() {
        // 100 kinds of 20, each with 2 affected: between kinds the share varies less than by
        // chance.
        let found = share(&vec![kind(2, 20); 100], 0.95).unwrap();
        assert_eq!((found.affected, found.of, found.kinds), (200, 2000, 100));
        assert!(found.effective > 1900.0, "{found:?}");
        assert!(found.low.unwrap() > 0.085 && found.high.unwrap() < 0.115, "{found:?}");
    }

    #[test]
    fn kinds_that_are_all_or_nothing_count_as_one_each() {
        let mut kinds = vec![kind(0, 100); 18];
        kinds.extend(vec![kind(100, 100); 2]);
        let found = share(&kinds, 0.95).unwrap();
        assert!((15.0..20.0).contains(&found.effective), "{found:?}");
        assert!(found.low.unwrap() < 0.02 && found.high.unwrap() > 0.3, "{found:?}");
    }

    #[test]
    fn without_an_affected_machine_kinds_are_counted() {
        let found = share(&vec![kind(0, 100); 20], 0.95).unwrap();
        assert!((15.0..20.0).contains(&found.effective) && found.low == Some(0.0), "{found:?}");
        assert!((0.15..0.25).contains(&found.high.unwrap()), "{found:?}");
        let one = share(&[kind(3, 1000)], 0.95).unwrap();
        assert_eq!((one.low, one.high), (None, None));
        assert_eq!(share(&[], 0.95), None);
    }

    /// Kinds draw their share of affected machines from here.
    fn rate(world: usize, rng: &mut ChaCha8Rng) -> f64 {
        match (world, rng.random_range(0..100)) {
            // A few kinds have a cause of their own.
            (0, 0..8) => rng.random_range(0.2..1.0),
            (0, _) => 0.01,
            // All or nothing.
            (1, 0..15) => 1.0,
            (1, _) => 0.0,
            // A bit of everything.
            (_, 0..10) => 0.97,
            (_, 10..20) => 0.5,
            (_, _) => 0.01,
        }
    }

    /// In 400 fleets a world, of kinds whose sizes fall as one over their rank, the interval holds
    /// the share that kinds are drawn from; docs/statistics.md quotes the figures.
    #[test]
    fn the_interval_holds_the_share_that_kinds_are_drawn_from() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let truth = [0.08 * 0.6 + 0.92 * 0.01, 0.15, 0.1 * 0.97 + 0.1 * 0.5 + 0.8 * 0.01];
        for (number, first) in [(33, 75), (100, 580), (200, 1700)] {
            for (world, truth) in truth.iter().enumerate() {
                let holds = (0..400).filter(|_| {
                    let fleet: Vec<KindCounts> = (1..=number)
                        .map(|rank| {
                            let (of, rate) = ((first / rank).max(1), rate(world, &mut rng));
                            kind((0..of).filter(|_| rng.random_bool(rate)).count() as u32, of)
                        })
                        .collect();
                    let found = share(&fleet, 0.95).unwrap();
                    found.low.unwrap() <= *truth && *truth <= found.high.unwrap()
                });
                let holds = holds.count() as f64 / 4.0;
                println!("{number} kinds, world {world}: {holds}%");
                assert!(holds >= 90.0, "{number} kinds, world {world}: {holds}%");
            }
        }
    }
}
