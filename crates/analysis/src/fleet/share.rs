//! The share of machines that are affected: bounds for this fleet, and an interval for fleets like
//! it.

use super::kind::{KindCounts, alikeness_limit};
use crate::proportion::limits;
use model::census::Share;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The machines of a fleet.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// The machines by kind.
    pub kinds: &'a [KindCounts],
    /// The same machines by owner; empty if owners are not known.
    pub owners: &'a [KindCounts],
    /// Number of other machines of the fleet that were not measured: nothing is known about them.
    pub unmeasured: u64,
}

/// The share of machines that are affected; `None` if no machine has a settled answer.
///
/// `least` and `most` are bounds for this fleet: machines without a settled answer count as
/// clear, then as affected (Manski 1995, "Identification Problems in the Social Sciences",
/// worst-case bounds). Nothing narrower is certain, because whether a machine has a settled
/// answer may depend on that answer.
///
/// `low` and `high` are an interval for fleets like this one, with kinds drawn in the same way.
/// The lower limit counts undecided machines as clear, the upper limit counts them as affected.
/// Each limit has half of the error probability that `confidence` leaves. So the interval does
/// not assume which machines lack an answer (Horowitz and Manski 2000, "Nonparametric analysis of
/// randomized experiments with missing covariate and outcome data", Journal of the American
/// Statistical Association 95, 77-84).
///
/// Each limit is Clopper and Pearson's with an effective number of machines, as in Korn and
/// Graubard 1998, "Confidence intervals for proportions with small expected number of positive
/// counts estimated from survey data", Survey Methodology 24, 193-201. A kind of `n` machines
/// with a correlation of `r` counts as `n / (1 + (n - 1) r)` machines (Kish 1965, "Survey
/// Sampling"). Student's t reduces this number further if only few kinds show how alike they are.
/// `r` is an upper limit (`alikeness_limit`) and not an estimate. An estimate would be near 0 if
/// the few kinds with affected machines are missing by chance. So one affected machine more or
/// less does not change the interval completely. The survey literature uses the variance between
/// kinds, which depends only on the largest kinds. If sizes fall as one over their rank, its
/// intervals contain the share in 80% instead of 95%.
///
/// Machines of one owner may be alike too. If owners are known, the wider limits of the two
/// groupings are used. With a single kind or a single owner there is no interval, because nothing
/// shows what others would do.
pub fn share(sample: Sample, confidence: f64) -> Option<Share> {
    let kinds = sample.kinds;
    let sum = |count: fn(&KindCounts) -> u32| -> u64 {
        kinds.iter().map(|kind| u64::from(count(kind))).sum()
    };
    let (affected, of) = (sum(|kind| kind.affected.min(kind.of)), sum(|kind| kind.of));
    let undecided = sum(|kind| kind.undecided) + sample.unmeasured;
    if of == 0 {
        return None;
    }
    let all = (of + undecided) as f64;
    let alike = alikeness_limit(&seen(kinds).collect::<Vec<_>>());
    let tail = (1.0 - confidence) / 2.0;
    let by_owner = limits_of(sample.owners, sample.unmeasured, tail);
    let limits = limits_of(kinds, sample.unmeasured, tail);
    let limits = match sample.owners {
        [] => limits,
        // One owner shows nothing about other owners.
        _ => limits
            .zip(by_owner)
            .map(|((low, high), (least, most))| (low.min(least), high.max(most))),
    };
    Some(Share {
        affected,
        of,
        undecided,
        least: affected as f64 / all,
        most: (affected + undecided) as f64 / all,
        kinds: seen(kinds).count() as u64,
        owners: by_owner.map(|_| seen(sample.owners).count() as u64),
        alike,
        effective: effective(kinds, alike),
        low: limits.map(|(low, _)| low),
        high: limits.map(|(_, high)| high),
        confidence,
    })
}

/// The kinds in which at least one machine has a settled answer.
fn seen(kinds: &[KindCounts]) -> impl Iterator<Item = &KindCounts> + Clone {
    kinds.iter().filter(|kind| kind.of > 0)
}

/// The limits of the share with undecided machines as clear, and as affected; `None` for a single
/// kind.
fn limits_of(kinds: &[KindCounts], unmeasured: u64, tail: f64) -> Option<(f64, f64)> {
    if seen(kinds).count() < 2 {
        return None;
    }
    let settled = alikeness_limit(&seen(kinds).collect::<Vec<_>>());
    let filled = |affected: bool| -> (f64, f64) {
        let count = |kind: &KindCounts| KindCounts {
            affected: kind.affected.min(kind.of) + if affected { kind.undecided } else { 0 },
            of: kind.of + kind.undecided,
            ..KindCounts::default()
        };
        let kinds: Vec<KindCounts> = kinds.iter().map(count).collect();
        // The answers of undecided machines could make kinds less alike, but they need not.
        let alike = settled.max(alikeness_limit(&kinds.iter().collect::<Vec<_>>()));
        let (hit, of) = kinds.iter().fold((0.0, 0.0), |(hit, of), kind| {
            (hit + f64::from(kind.affected), of + f64::from(kind.of))
        });
        let effective = effective(&kinds, alike);
        limits(hit / of * effective, effective, tail)
    };
    let measured: f64 =
        kinds.iter().map(|kind| f64::from(kind.of) + f64::from(kind.undecided)).sum();
    let unmeasured = unmeasured as f64;
    let all = measured + unmeasured;
    let (low, high) = (filled(false).0, filled(true).1);
    Some((low * measured / all, (high * measured + unmeasured) / all))
}

/// The number of independent machines that would carry as much information.
fn effective(kinds: &[KindCounts], alike: f64) -> f64 {
    let sizes = || seen(kinds).map(|kind| f64::from(kind.of));
    let machines: f64 = sizes().sum();
    let weight: f64 = sizes().map(|of| of * (1.0 + (of - 1.0) * alike)).sum();
    let squares: f64 = sizes().map(|of| of * of).sum();
    // This many kinds of equal size would vary as much (Kish).
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
        KindCounts { affected, of, ..KindCounts::default() }
    }

    fn of(kinds: &[KindCounts], unmeasured: u64) -> Option<Share> {
        share(Sample { kinds, owners: &[], unmeasured }, 0.95)
    }

    #[test]
    fn kinds_that_are_all_or_nothing_count_as_one_each() {
        let mut kinds = vec![kind(0, 100); 18];
        kinds.extend(vec![kind(100, 100); 2]);
        let found = of(&kinds, 0).unwrap();
        assert!((15.0..20.0).contains(&found.effective), "{found:?}");
        assert!(found.low.unwrap() < 0.02 && found.high.unwrap() > 0.3, "{found:?}");
        assert_eq!((found.least, found.most, found.alike), (0.1, 0.1, 1.0));
    }

    /// 100 kinds of 20 machines, each with 2 affected: the share varies less between kinds than
    /// by chance.
    #[test]
    fn many_kinds_that_answer_alike_count_as_more_than_kinds() {
        let found = of(&vec![kind(2, 20); 100], 0).unwrap();
        assert_eq!((found.affected, found.of, found.kinds), (200, 2000, 100));
        assert!((500.0..1900.0).contains(&found.effective), "{found:?}");
        assert!(found.low.unwrap() > 0.08 && found.high.unwrap() < 0.12, "{found:?}");
    }

    #[test]
    fn without_an_affected_machine_kinds_are_counted() {
        let found = of(&vec![kind(0, 100); 20], 0).unwrap();
        assert!((15.0..20.0).contains(&found.effective) && found.low == Some(0.0), "{found:?}");
        assert!((0.15..0.25).contains(&found.high.unwrap()), "{found:?}");
        let one = of(&[kind(3, 1000)], 0).unwrap();
        assert_eq!((one.low, one.high, one.least), (None, None, 0.003));
        assert_eq!(of(&[], 10), None);
    }

    /// With 1,000 machines in 50 kinds, an estimate of the correlation changed the interval from
    /// [0, 7.4%] without an affected machine to [0, 0.57%] with one.
    #[test]
    fn one_affected_machine_does_not_turn_the_interval_over() {
        let mut kinds = vec![kind(0, 20); 50];
        let none = of(&kinds, 0).unwrap().high.unwrap();
        kinds[0].affected = 1;
        let one = of(&kinds, 0).unwrap();
        println!("none {none:.4}, one {one:?}");
        assert!((0.06..0.08).contains(&none), "{none}");
        assert!((0.05..0.08).contains(&one.high.unwrap()), "{one:?}");
    }

    #[test]
    fn undecided_machines_count_either_way() {
        let some = KindCounts { undecided: 5, ..kind(2, 20) };
        let found = of(&vec![some; 40], 0).unwrap();
        assert_eq!((found.undecided, found.least, found.most), (200, 0.08, 0.28));
        assert!(found.low.unwrap() < 0.08 && found.high.unwrap() > 0.28, "{found:?}");
        // For machines that were not measured, not even the kind is known.
        let found = of(&vec![kind(2, 20); 40], 200).unwrap();
        assert_eq!((found.undecided, found.least, found.most), (200, 0.08, 0.28));
        assert!(found.low.unwrap() < 0.08 && found.high.unwrap() > 0.28, "{found:?}");
    }

    /// By kind, two of ten machines are affected. By owner, all machines of four of 20 owners are
    /// affected.
    #[test]
    fn owners_that_are_alike_widen_the_interval() {
        let kinds = vec![kind(2, 10); 100];
        let owners: Vec<KindCounts> =
            (0..20).map(|owner| kind(if owner < 4 { 50 } else { 0 }, 50)).collect();
        let alone = of(&kinds, 0).unwrap();
        let found = share(Sample { kinds: &kinds, owners: &owners, unmeasured: 0 }, 0.95).unwrap();
        assert_eq!((alone.owners, found.owners), (None, Some(20)));
        assert!(found.high.unwrap() > alone.high.unwrap() + 0.1, "{found:?} {alone:?}");
        assert!(found.low.unwrap() < alone.low.unwrap() - 0.05, "{found:?} {alone:?}");
    }

    /// Draws the share of affected machines of a kind.
    fn rate(world: usize, rng: &mut ChaCha8Rng) -> f64 {
        match (world, rng.random_range(0..100)) {
            // A few kinds have their own cause.
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

    /// In 400 fleets of each world, with kinds whose sizes fall as one over their rank, the
    /// interval contains the share from which kinds are drawn. docs/statistics.md quotes the
    /// figures.
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
                    let found = of(&fleet, 0).unwrap();
                    found.low.unwrap() <= *truth && *truth <= found.high.unwrap()
                });
                let holds = holds.count() as f64 / 4.0;
                println!("{number} kinds, world {world}: {holds}%");
                assert!(holds >= 93.0, "{number} kinds, world {world}: {holds}%");
            }
        }
    }
}
