//! Whether a cut also stands out when whole owners change places.
//!
//! Machines of one owner, or in one rack, may share a cause that no record holds, and an owner
//! often has one distribution or one instance type. A test that exchanges kinds then mistakes the
//! owner's cause for that factor's effect. So here the mean answers of whole owners are exchanged
//! among owners of similar size. What a kind of an owner adds to that mean is exchanged among
//! kinds of similar size whose owners have a similar number of kinds. Both together are a
//! multi-level block permutation (Winkler et al. 2015, "Multi-level block permutation",
//! `NeuroImage` 123, 253-268).
//!
//! The p-value allows for all cuts (Westfall and Young's maximum), so it is valid for a cut that
//! was chosen because it stands out. It is exact if owners of similar size are exchangeable when
//! no factor matters. It is approximate if their sizes differ within a factor of two, because the
//! mean answer of a smaller owner is noisier.

use super::cut::{Cut, Factor, level};
use super::kind::{KindCounts, Levels, OwnedKind, weights};
use super::shuffle::{Strata, shuffles};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// How often chance makes any of `cuts` stand out as much as the cut at index `chosen`; 1 if the
/// exchange of owners cannot change that cut. Each cut is the index of a factor and a side.
///
/// `among_kinds` is how far the chosen cut is from chance among kinds. If it is on the other side
/// of chance among owners, the two contradict each other, and the result is 1.
pub(super) fn p_value(
    owned: &[OwnedKind],
    factors: &[Factor],
    cuts: &[(usize, Cut)],
    chosen: usize,
    among_kinds: f64,
    seed: u64,
) -> f64 {
    let owned: Vec<&OwnedKind> = owned.iter().filter(|one| one.counts.of > 0).collect();
    let parts = Parts::of(&owned);
    let candidates = candidates(&owned, factors, cuts, &parts);
    let Some(own) = candidates.iter().find(|candidate| candidate.place == chosen) else {
        return 1.0;
    };
    let observed = own.distance(&sums(factors, &parts, &parts.means, &parts.rest));
    if observed * among_kinds < 0.0 {
        return 1.0;
    }
    let observed = observed.abs();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut means, mut rest) = (parts.means.clone(), parts.rest.clone());
    let number = shuffles(owned.len());
    let as_much = (0..number).filter(|_| {
        parts.owners.shuffle(&mut means, &mut rng);
        parts.kinds.shuffle(&mut rest, &mut rng);
        let sums = sums(factors, &parts, &means, &rest);
        candidates.iter().any(|candidate| candidate.distance(&sums).abs() >= observed - 1e-9)
    });
    (1 + as_much.count()) as f64 / (1 + number) as f64
}

/// The answers in two parts: what the machines of an owner share, and what a kind adds to that.
struct Parts {
    /// The index of the owner of each kind.
    owner: Vec<usize>,
    /// The index in `groups` of the levels of each kind.
    group: Vec<usize>,
    /// All combinations of levels. A combination appears once, even if several owners have it.
    groups: Vec<Levels>,
    /// The weight of each kind.
    weights: Vec<f64>,
    /// The difference between each owner's share and the overall share.
    means: Vec<f64>,
    /// The difference between each kind's share and its owner's share.
    rest: Vec<f64>,
    /// Strata of owners of similar size.
    owners: Strata,
    /// Strata of kinds of similar size whose owners have a similar number of kinds.
    kinds: Strata,
}

impl Parts {
    fn of(owned: &[&OwnedKind]) -> Self {
        let mut places: BTreeMap<u32, usize> = BTreeMap::new();
        let owner: Vec<usize> = owned
            .iter()
            .map(|one| {
                let next = places.len();
                *places.entry(one.owner).or_insert(next)
            })
            .collect();
        let counts: Vec<&KindCounts> = owned.iter().map(|one| &one.counts).collect();
        let weights = weights(&counts);
        let sum: f64 = weights.iter().sum();
        let rated = |place: usize| weights[place] * counts[place].rate();
        let mean = (0..owned.len()).map(rated).sum::<f64>() / sum.max(1e-300);
        let (mut says, mut means) = (vec![0.0; places.len()], vec![0.0; places.len()]);
        let (mut machines, mut kinds) = (vec![0u64; places.len()], vec![0u32; places.len()]);
        for (place, owner) in owner.iter().enumerate() {
            says[*owner] += weights[place];
            means[*owner] += rated(place);
            machines[*owner] += u64::from(counts[place].of);
            kinds[*owner] += 1;
        }
        means.iter_mut().zip(&says).for_each(|(one, says)| *one = *one / says.max(1e-300) - mean);
        let rest =
            owner.iter().zip(&counts).map(|(owner, kind)| kind.rate() - mean - means[*owner]);
        let rest = rest.collect();
        let sizes = machines.iter().map(|machines| (machines.ilog2(), 0));
        let of_kinds = owner.iter().zip(&counts);
        let of_kinds = of_kinds.map(|(owner, kind)| (kind.of.ilog2(), kinds[*owner].ilog2()));
        let (owners, kinds) = (Strata::of(sizes), Strata::of(of_kinds));
        let (group, groups) = groups(&counts);
        Parts { owner, group, groups, weights, means, rest, owners, kinds }
    }
}

/// The index of the levels of each kind, and all combinations of levels.
fn groups(kinds: &[&KindCounts]) -> (Vec<usize>, Vec<Levels>) {
    let mut places: HashMap<&[Option<u32>], usize> = HashMap::new();
    let mut groups = Vec::new();
    let group = kinds.iter().map(|kind| {
        *places.entry(&kind.levels).or_insert_with(|| {
            groups.push(Arc::clone(&kind.levels));
            groups.len() - 1
        })
    });
    (group.collect(), groups)
}

/// A cut, with the score that chance gives it.
struct Candidate {
    place: usize,
    factor: usize,
    cut: Cut,
    mean: f64,
    deviation: f64,
}

impl Candidate {
    /// How far its score is above chance (positive) or below it, in standard deviations. `sums`
    /// has the score of each level of each factor.
    fn distance(&self, sums: &[Vec<f64>]) -> f64 {
        let sums = &sums[self.factor];
        let score: f64 = match self.cut {
            Cut::AtLeast(level) | Cut::Below(level) => sums[level as usize..].iter().sum(),
            Cut::Is(level) | Cut::IsNot(level) => sums[level as usize],
        };
        (score - self.mean) / self.deviation
    }
}

/// The cuts that an exchange can change.
fn candidates(
    owned: &[&OwnedKind],
    factors: &[Factor],
    cuts: &[(usize, Cut)],
    parts: &Parts,
) -> Vec<Candidate> {
    let mut members: Vec<Vec<Vec<usize>>> =
        factors.iter().map(|factor| vec![Vec::new(); factor.levels as usize]).collect();
    for (place, one) in owned.iter().enumerate() {
        for (factor, members) in members.iter_mut().enumerate() {
            let members = level(&one.counts, factor).and_then(|at| members.get_mut(at as usize));
            members.into_iter().for_each(|members| members.push(place));
        }
    }
    let mut inside = Inside::new(parts);
    let candidate = |(place, (factor, cut)): (usize, &(usize, Cut))| {
        let levels = members.get(*factor)?;
        // The other side of a cut is equally far from chance.
        let levels = match *cut {
            Cut::Is(level) | Cut::IsNot(level) => levels.get(level as usize..=level as usize)?,
            Cut::AtLeast(level) | Cut::Below(level) => levels.get(level as usize..)?,
        };
        let (mean, deviation) = inside.expected(levels, parts);
        let (factor, cut) = (*factor, *cut);
        (deviation > 1e-9).then_some(Candidate { place, factor, cut, mean, deviation })
    };
    cuts.iter().enumerate().filter_map(candidate).collect()
}

/// Values that are the same for all cuts.
struct Inside {
    /// The weight of each owner on one side of a cut.
    owners: Vec<f64>,
    of_owners: Vec<(f64, f64)>,
    of_kinds: Vec<(f64, f64)>,
}

impl Inside {
    fn new(parts: &Parts) -> Self {
        Inside {
            owners: vec![0.0; parts.means.len()],
            of_owners: parts.owners.moments(&parts.means),
            of_kinds: parts.kinds.moments(&parts.rest),
        }
    }

    /// Mean and standard deviation of the score of the kinds with these levels, by chance.
    fn expected(&mut self, levels: &[Vec<usize>], parts: &Parts) -> (f64, f64) {
        self.owners.fill(0.0);
        let mut kinds = vec![(0.0, 0.0); parts.kinds.number()];
        for kind in levels.iter().flatten() {
            let weight = parts.weights[*kind];
            self.owners[parts.owner[*kind]] += weight;
            add(&mut kinds[parts.kinds.stratum(*kind)], weight);
        }
        let mut owners = vec![(0.0, 0.0); parts.owners.number()];
        for (owner, weight) in self.owners.iter().enumerate() {
            add(&mut owners[parts.owners.stratum(owner)], *weight);
        }
        let (mean, variance) = parts.owners.expected(&owners, &self.of_owners);
        let (more_mean, more_variance) = parts.kinds.expected(&kinds, &self.of_kinds);
        (mean + more_mean, (variance + more_variance).sqrt())
    }
}

/// Adds a weight to a sum of weights and to a sum of their squares.
fn add((sum, squares): &mut (f64, f64), weight: f64) {
    *sum += weight;
    *squares += weight * weight;
}

/// The score of each level of each factor.
fn sums(factors: &[Factor], parts: &Parts, means: &[f64], rest: &[f64]) -> Vec<Vec<f64>> {
    let mut scores = vec![0.0; parts.groups.len()];
    for (place, group) in parts.group.iter().enumerate() {
        scores[*group] += parts.weights[place] * (means[parts.owner[place]] + rest[place]);
    }
    let mut sums: Vec<Vec<f64>> =
        factors.iter().map(|factor| vec![0.0; factor.levels as usize]).collect();
    for (levels, score) in parts.groups.iter().zip(scores) {
        for (sums, level) in sums.iter_mut().zip(levels.iter()) {
            let sum = level.and_then(|level| sums.get_mut(level as usize));
            sum.into_iter().for_each(|sum| *sum += score);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::{Apart, apart};
    use super::*;
    use rand::RngExt;

    /// Kernels in three versions, and HZ in two.
    const FACTORS: [Factor; 2] =
        [Factor { levels: 3, ordered: true }, Factor { levels: 2, ordered: false }];

    /// Kinds of ten machines, this many for each owner. `each` gives kernel, HZ and affected
    /// machines by owner and kind.
    fn fleet(
        owners: u32,
        kinds: u32,
        mut each: impl FnMut(u32, u32) -> (u32, u32, u32),
    ) -> Vec<OwnedKind> {
        let all = (0..owners).flat_map(|owner| (0..kinds).map(move |kind| (owner, kind)));
        all.map(|(owner, kind)| {
            let (kernel, hz, affected) = each(owner, kind);
            let levels = [Some(kernel), Some(hz)].into();
            OwnedKind { owner, counts: KindCounts { affected, of: 10, undecided: 0, levels } }
        })
        .collect()
    }

    /// The p-value from kinds alone, and the p-value with owners.
    fn p_values(owned: &[OwnedKind]) -> [f64; 2] {
        let kinds: Vec<KindCounts> = owned.iter().map(|one| one.counts.clone()).collect();
        [&[], owned].map(|owned| match apart(&kinds, owned, &FACTORS, 1) {
            Apart::Cut(split) => split.p_value,
            Apart::Untestable => 1.0,
        })
    }

    /// Two of twelve owners are affected, and both have the same kernel. Each owner has one
    /// kernel.
    #[test]
    fn the_cause_of_two_owners_is_not_their_kernel_s() {
        let owned = fleet(12, 4, |owner, kind| {
            (owner % 3, kind % 2, if owner == 0 || owner == 3 { 9 } else { 0 })
        });
        let [by_kinds, with_owners] = p_values(&owned);
        assert!(by_kinds < 0.01 && with_owners > 0.05, "{by_kinds} {with_owners}");
    }

    #[test]
    fn a_cause_within_owners_stands_out_and_so_does_one_among_them() {
        let within =
            fleet(12, 6, |_, kind| (kind % 3, kind % 2, if kind % 3 == 1 { 8 } else { 0 }));
        let among =
            fleet(24, 4, |owner, kind| (owner % 3, kind % 2, if owner % 3 == 2 { 9 } else { 0 }));
        for owned in [within, among] {
            let [by_kinds, with_owners] = p_values(&owned);
            assert!(by_kinds < 0.01 && with_owners < 0.01, "{by_kinds} {with_owners}");
        }
    }

    #[test]
    fn one_owner_s_kinds_change_places_among_themselves() {
        let owned = fleet(1, 24, |_, kind| (kind % 3, kind % 2, if kind % 3 == 1 { 8 } else { 0 }));
        let [by_kinds, with_owners] = p_values(&owned);
        assert!(by_kinds < 0.01 && with_owners < 0.01, "{by_kinds} {with_owners}");
        // If each owner has one kind, nothing can be exchanged within an owner.
        let owned = fleet(2, 1, |owner, _| (owner, 0, 9 * owner));
        assert_eq!(p_values(&owned)[1], 1.0);
    }

    /// Owners prefer a kernel, and a third of them has its own cause. No factor matters: the
    /// p-value is below a twentieth in at most a twentieth of fleets, with three standard errors
    /// allowed. With kinds alone it is below that in most fleets.
    #[test]
    fn p_values_are_no_smaller_than_owners_make_them() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let mut small = [0, 0];
        for _ in 0..200 {
            let owners: Vec<(u32, f64)> = (0..20)
                .map(|_| (rng.random_range(0..3), if rng.random_bool(0.3) { 0.7 } else { 0.02 }))
                .collect();
            let owned = fleet(20, 5, |owner, _| {
                let (preferred, rate) = owners[owner as usize];
                let own = rng.random_range(0..3);
                let kernel = if rng.random_bool(0.9) { preferred } else { own };
                let affected = (0..10).filter(|_| rng.random_bool(rate)).count() as u32;
                (kernel, rng.random_range(0..2), affected)
            });
            let found = p_values(&owned);
            small.iter_mut().zip(found).for_each(|(small, p)| *small += u32::from(p <= 0.05));
        }
        println!("by kinds {} of 200, with owners {} of 200", small[0], small[1]);
        assert!(small[0] > 60 && small[1] <= 19, "{small:?}");
    }
}
