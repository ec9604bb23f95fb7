//! Machines of one kind.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The level of each factor, as an index; `None` if it is not known.
pub type Levels = Arc<[Option<u32>]>;

/// Machines of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KindCounts {
    /// How many machines are affected.
    pub affected: u32,
    /// How many machines have a settled answer.
    pub of: u32,
    /// How many machines have an answer that is not settled.
    pub undecided: u32,
    /// The level of each factor, which is the same for all machines of the kind.
    pub levels: Levels,
}

impl KindCounts {
    /// The share of affected machines among those with a settled answer.
    pub(super) fn rate(&self) -> f64 {
        f64::from(self.affected) / f64::from(self.of.max(1))
    }
}

/// Machines of one kind and one owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedKind {
    /// The number of the owner: a team or a rack, which may have its own cause.
    pub owner: u32,
    /// The machines.
    pub counts: KindCounts,
}

/// The machines of each owner together. They have no level for any factor.
pub fn by_owner(owned: &[OwnedKind]) -> Vec<KindCounts> {
    let mut owners: BTreeMap<u32, KindCounts> = BTreeMap::new();
    for one in owned {
        let sum = owners.entry(one.owner).or_default();
        sum.affected += one.counts.affected;
        sum.of += one.counts.of;
        sum.undecided += one.counts.undecided;
    }
    owners.into_values().collect()
}

/// The weight of each kind. It counts as `n / (1 + (n - 1) r)` independent machines, where `n` is
/// its number of machines and `r` is how alike machines of a kind are ([`alikeness`]).
pub(super) fn weights(kinds: &[&KindCounts]) -> Vec<f64> {
    let alike = alikeness(kinds.iter().copied());
    let weight = |kind: &&KindCounts| {
        let of = f64::from(kind.of);
        of / (1.0 + (of - 1.0) * alike)
    };
    kinds.iter().map(weight).collect()
}

/// How alike machines of a kind are: 0 if they are independent, 1 if all machines of a kind have
/// the same answer.
///
/// It is their intraclass correlation by analysis of variance (Donner 1986, "A review of
/// inference procedures for the intraclass correlation coefficient", International Statistical
/// Review 54, 67-82).
pub(super) fn alikeness<'a>(kinds: impl Iterator<Item = &'a KindCounts> + Clone) -> f64 {
    let number = kinds.clone().count() as f64;
    let sizes = || kinds.clone().map(|kind| f64::from(kind.of));
    let machines: f64 = sizes().sum();
    if number < 2.0 || machines <= number {
        return 1.0;
    }
    let mean = kinds.clone().map(|kind| f64::from(kind.affected)).sum::<f64>() / machines;
    let (mut between, mut within) = (0.0, 0.0);
    for kind in kinds.clone() {
        let (of, rate) = (f64::from(kind.of), kind.rate());
        between += of * (rate - mean).powi(2);
        within += of * rate * (1.0 - rate);
    }
    let (between, within) = (between / (number - 1.0), within / (machines - number));
    let size = (machines - sizes().map(|of| of * of).sum::<f64>() / machines) / (number - 1.0);
    let alike = (between - within) / (between + (size - 1.0) * within);
    if alike.is_finite() { alike.clamp(0.0, 1.0) } else { 1.0 }
}

/// An upper limit of how alike machines of a kind are. It is [`alikeness`] with one more kind
/// added, in which all machines are affected, or none is, whichever gives the larger value.
///
/// The estimate itself depends on the few kinds with affected machines. It is too small exactly
/// when such kinds are missing from a fleet by chance. One more kind is the step from nothing
/// seen to the rule of succession. It has as many machines as the kind of a random machine. So
/// the limit has no confidence of its own: it exceeds the estimate by much if affected kinds are
/// few, and by little if they are many. The simulations test the interval of a share, which also
/// allows for the small number of kinds.
///
/// If each kind has only one machine, the correlation cannot be seen. Then it is 1 and does not
/// matter.
pub(super) fn alikeness_limit(kinds: &[&KindCounts]) -> f64 {
    let sizes = kinds.iter().map(|kind| f64::from(kind.of));
    let (machines, squares) =
        sizes.fold((0.0, 0.0), |(all, squares), of| (all + of, squares + of * of));
    let of = (squares / f64::max(machines, 1.0)).round().max(1.0) as u32;
    let with = |affected: u32| {
        let one_more = [KindCounts { affected, of, ..KindCounts::default() }];
        alikeness(kinds.iter().copied().chain(&one_more))
    };
    with(0).max(with(of))
}
