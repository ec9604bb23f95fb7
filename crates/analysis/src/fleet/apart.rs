//! Which factor distinguishes affected machines from clear ones.
//!
//! Each factor divides the kinds into two sides in several ways. One level is compared with all
//! others. For ordered levels, the levels from one on are also compared with the levels below it.
//! The cut that stands out most is compared with chance: the answers of kinds are shuffled among
//! kinds of similar size, many times, and each time the cut that stands out most is taken. So the
//! p-value allows for all cuts of all factors that were tried, even if factors are correlated
//! (Westfall and Young 1993, "Resampling-based multiple testing").
//!
//! Whole kinds are exchanged, never machines: whatever makes the machines of a kind alike is not
//! evidence for a factor. And only kinds of similar size are exchanged, because the share of a
//! small kind is noisier. Otherwise a level with many small kinds would stand out by its noise.
//! The test is exact if kinds of similar size are exchangeable when no factor matters (Good 2005,
//! "Permutation, Parametric and Bootstrap Tests of Hypotheses", on restricted permutations).
//! Kinds of one owner may not be exchangeable. So if owners are known, the cut has to stand out
//! among owners too (`owners`).

use super::cut::{Cut, Factor, level};
use super::kind::{KindCounts, OwnedKind, weights};
use super::owners;
use super::shuffle::{Strata, shuffles};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The least number of kinds on either side of a cut. A single kind may differ in something that
/// no record holds.
const LEAST_KINDS: u32 = 2;

/// The most conditions of a [`Split`] that are searched, one within another.
pub const MOST_CONDITIONS: usize = 3;

/// The share of affected machines above which there is nothing left to distinguish.
const NEARLY_ALL: f64 = 0.98;

/// The cut that stands out most.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// The index of the factor.
    pub factor: usize,
    /// The side whose kinds are affected more than chance makes them.
    pub cut: Cut,
    /// How often chance does as much, with all cuts taken into account. It is 1 if the share of
    /// affected machines is smaller on this side than on the other: then a few large kinds say the
    /// opposite of all others, and neither side is named.
    pub p_value: f64,
    /// Cuts by other factors that give exactly the same sides, so it is not known which one
    /// matters.
    pub same: Vec<(usize, Cut)>,
}

/// The result of the test.
#[derive(Debug, Clone, PartialEq)]
pub enum Apart {
    /// Nothing could be tested: there are too few kinds, or all answers are equal.
    Untestable,
    /// The cut that stands out most.
    Cut(Split),
}

/// The cut that stands out most among these kinds, and how often chance does as much.
///
/// `owned` has the same machines by owner and kind; it is empty if owners are not known. If it is
/// not empty, the p-value is the larger of two: one from exchanging kinds, and one from
/// exchanging whole owners, among whom the same side has to stand out. The same kinds and the same
/// seed give the same answer.
pub fn apart(kinds: &[KindCounts], owned: &[OwnedKind], factors: &[Factor], seed: u64) -> Apart {
    let kinds: Vec<&KindCounts> = kinds.iter().filter(|kind| kind.of > 0).collect();
    let scores = scores(&kinds);
    let strata = Strata::of(kinds.iter().map(|kind| kind.of.ilog2()));
    let cuts = cuts(&kinds, factors, &strata, &strata.moments(&scores));
    let Some((best, distance)) = strongest(&kinds, factors, &cuts, &scores) else {
        return Apart::Untestable;
    };
    let most = distance.abs();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let shuffles = shuffles(kinds.len());
    let mut shuffled = scores.clone();
    let as_much = (0..shuffles).filter(|_| {
        strata.shuffle(&mut shuffled, &mut rng);
        strongest(&kinds, factors, &cuts, &shuffled)
            .is_some_and(|(_, by_chance)| by_chance.abs() >= most - 1e-9)
    });
    let by_kinds = (1 + as_much.count()) as f64 / (1 + shuffles) as f64;
    let p_value = match owned {
        [] => by_kinds,
        owned => {
            let cuts: Vec<(usize, Cut)> = cuts.iter().map(|one| (one.factor, one.cut)).collect();
            by_kinds.max(owners::p_value(owned, factors, &cuts, best, distance, seed))
        }
    };
    let factor = cuts[best].factor;
    let cut = if distance >= 0.0 { cuts[best].cut } else { cuts[best].cut.opposite() };
    let agrees = share(&kinds, factor, cut) >= share(&kinds, factor, cut.opposite());
    let p_value = if agrees { p_value } else { 1.0 };
    let own: Vec<bool> = kinds.iter().map(|kind| cut.holds(level(kind, factor))).collect();
    // It ends at the first kind that is on another side: there may be very many cuts and kinds.
    let has_same_sides = |factor: usize, cut: Cut| {
        kinds.iter().zip(&own).all(|(kind, inside)| cut.holds(level(kind, factor)) == *inside)
    };
    let mut same: Vec<(usize, Cut)> = Vec::new();
    for other in cuts.iter().filter(|other| other.factor != factor) {
        let is_known = same.iter().any(|(factor, _)| *factor == other.factor);
        let both = [other.cut, other.cut.opposite()];
        let alike = both.into_iter().find(|cut| !is_known && has_same_sides(other.factor, *cut));
        same.extend(alike.map(|cut| (other.factor, cut)));
    }
    Apart::Cut(Split { factor, cut, p_value, same })
}

/// The conditions that distinguish affected machines from clear ones: `first`, which the caller has
/// tested, and then each that was found among the kinds that meet the earlier ones. Never empty.
///
/// `first` is the cut of all kinds. Each further cut is tested among the kinds inside the earlier
/// cuts, at `error_rate`. A wrong cut is possible only if all earlier cuts were found, so the
/// joint error rate is not higher.
pub fn conditions(
    kinds: &[KindCounts],
    owned: &[OwnedKind],
    factors: &[Factor],
    first: Split,
    error_rate: f64,
    seed: u64,
) -> Vec<Split> {
    let (mut inside, mut owned) = (kinds.to_vec(), owned.to_vec());
    let mut found = vec![first];
    while let Some(last) = found.last() {
        inside.retain(|kind| last.cut.holds(level(kind, last.factor)));
        owned.retain(|one| last.cut.holds(level(&one.counts, last.factor)));
        let affected: u64 = inside.iter().map(|kind| u64::from(kind.affected)).sum();
        let of: u64 = inside.iter().map(|kind| u64::from(kind.of)).sum();
        if found.len() == MOST_CONDITIONS || affected as f64 >= NEARLY_ALL * of as f64 {
            break;
        }
        match apart(&inside, &owned, factors, seed) {
            Apart::Cut(split) if split.p_value <= error_rate => found.push(split),
            _ => break,
        }
    }
    found
}

/// The share of affected machines on a side, whatever their kinds.
fn share(kinds: &[&KindCounts], factor: usize, cut: Cut) -> f64 {
    let side = kinds.iter().filter(|kind| cut.holds(level(kind, factor)));
    let (affected, of) = side.fold((0u64, 0u64), |(affected, of), kind| {
        (affected + u64::from(kind.affected), of + u64::from(kind.of))
    });
    affected as f64 / of.max(1) as f64
}

/// The contribution of each kind to the score of a side: the difference between its share and the
/// overall share, times its weight.
fn scores(kinds: &[&KindCounts]) -> Vec<f64> {
    let weights = weights(kinds);
    let sum: f64 = weights.iter().sum();
    let rates = kinds.iter().zip(&weights).map(|(kind, weight)| weight * kind.rate());
    let mean = rates.sum::<f64>() / sum.max(1e-300);
    kinds.iter().zip(&weights).map(|(kind, weight)| weight * (kind.rate() - mean)).collect()
}

/// A possible cut, with the score that chance gives it.
struct Candidate {
    factor: usize,
    cut: Cut,
    mean: f64,
    deviation: f64,
}

/// All cuts with enough kinds on either side that shuffling can change.
fn cuts(
    kinds: &[&KindCounts],
    factors: &[Factor],
    strata: &Strata,
    moments: &[(f64, f64)],
) -> Vec<Candidate> {
    let mut all = Vec::new();
    for (factor, known) in factors.iter().enumerate() {
        let levels = known.levels as usize;
        let mut counts = vec![vec![0u32; strata.number()]; levels];
        for (place, kind) in kinds.iter().enumerate() {
            if let Some(row) = level(kind, factor).and_then(|level| counts.get_mut(level as usize))
            {
                row[strata.stratum(place)] += 1;
            }
        }
        let mut add = |cut: Cut, counts: &[u32]| {
            let inside: u32 = counts.iter().sum();
            let outside = u32::try_from(kinds.len()).unwrap_or(u32::MAX) - inside;
            // Each weight is 1.
            let weights: Vec<(f64, f64)> =
                counts.iter().map(|count| (f64::from(*count), f64::from(*count))).collect();
            let (mean, variance) = strata.expected(&weights, moments);
            let deviation = variance.sqrt();
            if inside >= LEAST_KINDS && outside >= LEAST_KINDS && deviation > 1e-9 {
                all.push(Candidate { factor, cut, mean, deviation });
            }
        };
        let numbered = || (0u32..).zip(&counts);
        numbered().for_each(|(level, row)| add(Cut::Is(level), row));
        if known.ordered {
            let mut above = vec![0; strata.number()];
            for (level, row) in numbered().skip(1).collect::<Vec<_>>().into_iter().rev() {
                above.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
                add(Cut::AtLeast(level), &above);
            }
        }
    }
    all
}

/// The cut whose score is furthest from chance, and by how many standard deviations it is above
/// (positive) or below. Among equal ones it is the first.
fn strongest(
    kinds: &[&KindCounts],
    factors: &[Factor],
    cuts: &[Candidate],
    scores: &[f64],
) -> Option<(usize, f64)> {
    let mut sums: Vec<f64> = Vec::new();
    let mut summed = usize::MAX;
    let mut best: Option<(usize, f64)> = None;
    for (place, candidate) in cuts.iter().enumerate() {
        if candidate.factor != summed {
            summed = candidate.factor;
            sums.clear();
            sums.resize(factors[summed].levels as usize, 0.0);
            for (kind, score) in kinds.iter().zip(scores) {
                if let Some(sum) =
                    level(kind, summed).and_then(|level| sums.get_mut(level as usize))
                {
                    *sum += score;
                }
            }
        }
        let score: f64 = match candidate.cut {
            Cut::AtLeast(level) => sums[level as usize..].iter().sum(),
            Cut::Is(level) | Cut::IsNot(level) | Cut::Below(level) => sums[level as usize],
        };
        let distance = (score - candidate.mean) / candidate.deviation;
        if best.is_none_or(|(_, most)| distance.abs() > most.abs() + 1e-9) {
            best = Some((place, distance));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use std::sync::Arc;

    /// Kernels in three versions, HZ in two, and one CPU for each kernel, so CPU and kernel are
    /// the same division.
    const FACTORS: [Factor; 3] = [
        Factor { levels: 3, ordered: true },
        Factor { levels: 2, ordered: false },
        Factor { levels: 3, ordered: false },
    ];

    /// This number of kinds for each kernel and HZ, each with this many machines.
    fn kinds(each: u32, of: u32, affected: impl Fn(u32, u32) -> u32) -> Vec<KindCounts> {
        let levels = (0..3).flat_map(|kernel| (0..2).map(move |hz| (kernel, hz)));
        levels
            .flat_map(|(kernel, hz)| {
                let affected = affected(kernel, hz);
                let levels: Arc<[_]> = [Some(kernel), Some(hz), Some(kernel)].into();
                (0..each).map(move |_| KindCounts {
                    affected,
                    of,
                    undecided: 0,
                    levels: levels.clone(),
                })
            })
            .collect()
    }

    fn cut(kinds: &[KindCounts]) -> Split {
        match apart(kinds, &[], &FACTORS, 1) {
            Apart::Cut(split) => split,
            Apart::Untestable => panic!("{kinds:?}"),
        }
    }

    #[test]
    fn a_level_that_is_affected_is_found_with_what_goes_along() {
        let found = cut(&kinds(3, 10, |kernel, _| if kernel == 1 { 9 } else { 0 }));
        assert_eq!((found.factor, found.cut), (0, Cut::Is(1)));
        assert!(found.p_value <= 0.005, "{found:?}");
        assert_eq!(found.same, [(2, Cut::Is(1))]);
    }

    #[test]
    fn versions_from_one_on_are_found_as_such() {
        // The last factor would need two levels for this cut.
        let found = cut(&kinds(3, 10, |kernel, _| if kernel >= 1 { 10 } else { 1 }));
        assert_eq!(found.factor, 0);
        assert!(matches!(found.cut, Cut::AtLeast(1) | Cut::IsNot(0)), "{found:?}");
        let found = cut(&kinds(3, 10, |kernel, _| if kernel == 2 { 0 } else { 10 }));
        assert!(matches!(found.cut, Cut::Below(2) | Cut::IsNot(2)), "{found:?}");
    }

    #[test]
    fn conditions_are_found_within_each_other() {
        let kinds = kinds(6, 50, |kernel, hz| if (kernel, hz) == (2, 1) { 49 } else { 1 });
        let found = conditions(&kinds, &[], &FACTORS, cut(&kinds), 0.025, 1);
        let mut cuts: Vec<usize> = found.iter().map(|split| split.factor).collect();
        cuts.sort_unstable();
        assert_eq!(cuts, [0, 1], "{found:?}");
    }

    #[test]
    fn too_few_kinds_or_one_answer_are_no_test() {
        let same = kinds(3, 10, |_, _| 4);
        assert!(
            !matches!(apart(&same, &[], &FACTORS, 1), Apart::Cut(split) if split.p_value < 0.9)
        );
        let two = &kinds(1, 4, |kernel, _| kernel)[1..3];
        assert_eq!(apart(two, &[], &FACTORS, 1), Apart::Untestable);
        assert_eq!(apart(&[], &[], &FACTORS, 1), Apart::Untestable);
    }

    /// Twenty kinds of ten machines with one HZ have nine affected each, and twenty with another HZ
    /// have none. A kind of ten thousand machines has the other HZ too. If all of these are
    /// affected, that side has the larger share of affected machines, but the fewer such kinds.
    #[test]
    fn the_side_is_that_of_the_effect_and_a_large_kind_does_not_turn_it() {
        let kind = |hz, affected, of| {
            let levels = [None, Some(hz), None].into();
            KindCounts { affected, of, undecided: 0, levels }
        };
        let fleet = |of_large| {
            let mut all = vec![kind(0, of_large, 10_000)];
            all.extend((0..20).flat_map(|_| [kind(0, 0, 10), kind(1, 9, 10)]));
            all
        };
        let found = cut(&fleet(0));
        assert_eq!((found.factor, found.cut), (1, Cut::IsNot(0)));
        assert!(found.p_value <= 0.005, "{found:?}");
        let found = cut(&fleet(10_000));
        assert_eq!((found.cut, found.p_value), (Cut::IsNot(0), 1.0));
    }

    /// One kind of a thousand machines differs. So would any factor that has a level only for
    /// that kind.
    #[test]
    fn a_large_kind_alone_is_no_evidence() {
        let mut all = kinds(3, 10, |_, _| 0);
        all[0] = KindCounts { affected: 900, of: 1000, ..all[0].clone() };
        let Apart::Cut(found) = apart(&all, &[], &FACTORS, 1) else { return };
        assert!(found.p_value > 0.05, "{found:?}");
    }

    /// Without any effect of a factor, the p-value is below a twentieth in at most a twentieth of
    /// fleets, whether machines of a kind are alike or not. Three standard errors more are
    /// allowed.
    #[test]
    fn p_values_are_no_smaller_than_chance_makes_them() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for alike in [false, true] {
            let small = (0..400).filter(|_| {
                let fleet: Vec<KindCounts> = (0..40)
                    .map(|place| {
                        let of = (200 / (place + 1)).max(1);
                        let rate =
                            if alike { f64::from(u8::from(rng.random_bool(0.2))) } else { 0.2 };
                        let affected = (0..of).filter(|_| rng.random_bool(rate)).count() as u32;
                        let level =
                            |most: u32, rng: &mut ChaCha8Rng| Some(rng.random_range(0..most));
                        // Large kinds have their own levels more often than small ones.
                        let size = if place < 10 { Some(0) } else { level(2, &mut rng) };
                        KindCounts {
                            affected,
                            of,
                            undecided: 0,
                            levels: [level(3, &mut rng), size, level(3, &mut rng)].into(),
                        }
                    })
                    .collect();
                matches!(apart(&fleet, &[], &FACTORS, 1), Apart::Cut(split) if split.p_value <= 0.05)
            });
            let small = small.count();
            println!("alike {alike}: {small} of 400");
            assert!(small <= 33, "alike {alike}: {small} of 400");
        }
    }
}
