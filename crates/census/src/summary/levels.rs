//! The factors that may distinguish hosts: their levels, and the level of each kind.

use crate::kinds::HostKind;
use analysis::fleet;
use model::census::{Cut, Factor, Side};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Factors in order of preference. If several factors separate the same hosts, the first one is
/// named.
const FACTORS: [Factor; 12] = [
    Factor::KernelSeries,
    Factor::Hz,
    Factor::Preemption,
    Factor::Otp,
    Factor::Virtualised,
    Factor::Cgroup,
    Factor::Product,
    Factor::CpuModel,
    Factor::Cpus,
    Factor::Distribution,
    Factor::Kernel,
    Factor::Arch,
];

/// Most levels of a factor that are considered. Further levels count as unknown.
const MOST_LEVELS: usize = 1024;

/// All factors with their levels.
pub(super) struct Levels {
    /// The names of the levels of each factor, in order.
    names: Vec<Vec<String>>,
    /// The levels of each kind.
    of: Vec<Arc<[Option<u32>]>>,
    /// The levels of the kind for all further hosts.
    unknown: Arc<[Option<u32>]>,
    /// The rank of each kind in their sorted order. Its number depends on the order in which
    /// threads found it.
    ranks: Vec<u32>,
}

impl Levels {
    /// The levels of these kinds. Only kinds that `counts` for their number have levels: a record
    /// that does not count has a kind too, and any host may send millions of them.
    pub(super) fn of(kinds: &[HostKind], counts: impl Fn(u32) -> bool) -> Self {
        let mut order: Vec<usize> = (0..kinds.len()).collect();
        order.sort_unstable_by(|a, b| kinds[*a].cmp(&kinds[*b]));
        let mut names = Vec::new();
        let mut of = vec![Vec::with_capacity(FACTORS.len()); kinds.len()];
        for factor in FACTORS {
            let own = |(kind, number): (&HostKind, u32)| {
                if counts(number) { level(kind, factor) } else { None }
            };
            let found: Vec<Option<String>> = kinds.iter().zip(0..).map(own).collect();
            let mut places: BTreeMap<(Vec<u64>, &str), u32> = BTreeMap::new();
            for name in order.iter().filter_map(|kind| found[*kind].as_ref()) {
                if places.len() < MOST_LEVELS {
                    places.insert((numbers(name), name), 0);
                }
            }
            places.values_mut().zip(0..).for_each(|(place, number)| *place = number);
            for (levels, name) in of.iter_mut().zip(&found) {
                let place = name.as_ref().and_then(|name| places.get(&(numbers(name), name)));
                levels.push(place.copied());
            }
            names.push(places.into_keys().map(|(_, name)| name.to_owned()).collect());
        }
        let mut ranks = vec![0; kinds.len()];
        order.into_iter().zip(0..).for_each(|(kind, rank)| ranks[kind] = rank);
        let of = of.into_iter().map(Arc::from).collect();
        Levels { names, of, unknown: [None; FACTORS.len()].into(), ranks }
    }

    /// The levels of a kind. All levels of the kind for further hosts are unknown.
    pub(super) fn of_kind(&self, kind: u32) -> Arc<[Option<u32>]> {
        Arc::clone(self.of.get(kind as usize).unwrap_or(&self.unknown))
    }

    /// The rank of a kind, independent of the order of reading.
    pub(super) fn rank(&self, kind: u32) -> u32 {
        self.ranks.get(kind as usize).copied().unwrap_or(u32::MAX)
    }

    /// The factors in the form for the statistical test.
    pub(super) fn factors(&self) -> Vec<fleet::Factor> {
        let factors = FACTORS.iter().zip(&self.names).map(|(factor, names)| fleet::Factor {
            levels: names.len() as u32,
            ordered: is_ordered(*factor),
        });
        factors.collect()
    }

    /// A side of the test, with the names of its factor and level.
    pub(super) fn cut(&self, factor: usize, cut: fleet::Cut) -> Cut {
        let (side, level) = match cut {
            fleet::Cut::Is(level) => (Side::Is, level),
            fleet::Cut::IsNot(level) => (Side::IsNot, level),
            fleet::Cut::AtLeast(level) => (Side::AtLeast, level),
            fleet::Cut::Below(level) => (Side::Below, level),
        };
        let names = self.names.get(factor);
        let level = names.and_then(|names| names.get(level as usize));
        let factor = FACTORS.get(factor).copied().unwrap_or(Factor::Kernel);
        Cut { factor, side, level: level.cloned().unwrap_or_default() }
    }

    /// The levels that these kinds have in common. Only factors with at least two levels in the
    /// fleet are listed.
    pub(super) fn alike(&self, kinds: impl Iterator<Item = u32>) -> BTreeMap<Factor, String> {
        let mut common: Option<Vec<Option<u32>>> = None;
        for kind in kinds {
            let levels = self.of_kind(kind);
            match &mut common {
                None => common = Some(levels.to_vec()),
                Some(common) => common.iter_mut().zip(&*levels).for_each(|(one, other)| {
                    *one = one.filter(|level| Some(*level) == *other);
                }),
            }
        }
        let common = common.unwrap_or_default();
        let told = FACTORS.iter().zip(&self.names).zip(common);
        told.filter(|((_, names), _)| names.len() > 1)
            .filter_map(|((factor, names), level)| {
                Some((*factor, names.get(level? as usize)?.clone()))
            })
            .collect()
    }
}

fn is_ordered(factor: Factor) -> bool {
    use Factor::{Cpus, Hz, Kernel, KernelSeries, Otp};
    matches!(factor, KernelSeries | Kernel | Hz | Otp | Cpus)
}

/// The level of a factor for a kind.
fn level(kind: &HostKind, factor: Factor) -> Option<String> {
    let identity = &kind.identity;
    let number = |number: u32| Some(number.to_string());
    match factor {
        Factor::KernelSeries => identity.series.clone(),
        Factor::Kernel => Some(identity.kernel.clone()),
        Factor::Hz => identity.hz.and_then(number),
        Factor::Preemption => identity.preemption.clone(),
        Factor::Otp => kind.otp.clone(),
        Factor::Virtualised => {
            identity.virtualised.map(|under| if under { "yes" } else { "no" }.to_owned())
        }
        Factor::Cgroup => identity.cgroup.clone(),
        Factor::Product => identity.product.clone(),
        Factor::CpuModel => identity.cpu_model.clone(),
        Factor::Cpus => number(identity.cpus),
        Factor::Distribution => identity.distribution.clone(),
        Factor::Arch => Some(identity.arch.clone()),
    }
    .filter(|name| !name.is_empty())
}

/// The numbers in a name; they sort versions: 6.9 comes before 6.12.
fn numbers(name: &str) -> Vec<u64> {
    let numbers = name.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    numbers.map(|part| part.parse().unwrap_or(u64::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Identity;

    fn kind(kernel: &str, hz: u32) -> HostKind {
        let series = model::identity::series(kernel);
        let kernel = kernel.to_owned();
        HostKind {
            identity: Identity { kernel, series, hz: Some(hz), ..Identity::default() },
            otp: None,
        }
    }

    #[test]
    fn versions_are_in_their_order() {
        let kinds = [kind("6.12.1", 250), kind("6.9.4", 1000), kind("6.9.30", 100)];
        let levels = Levels::of(&kinds, |_| true);
        assert_eq!(levels.names[0], ["6.9", "6.12"]);
        assert_eq!(levels.names[1], ["100", "250", "1000"]);
        assert_eq!(levels.names[10], ["6.9.4", "6.9.30", "6.12.1"]);
        assert_eq!(levels.of_kind(0)[..2], [Some(1), Some(1)]);
        assert_eq!(levels.of_kind(u32::MAX)[..2], [None, None]);
    }

    /// Records that do not count name any number of kernels, and take no level from the others.
    #[test]
    fn only_kinds_that_count_have_levels() {
        let mut kinds: Vec<HostKind> =
            (0..2 * MOST_LEVELS).map(|number| kind(&format!("1.{number}.0"), 250)).collect();
        kinds.push(kind("6.12.1", 1000));
        let last = kinds.len() as u32 - 1;
        let levels = Levels::of(&kinds, |number| number == last);
        assert_eq!(levels.names[0], ["6.12"]);
        assert_eq!(levels.names[1], ["1000"]);
        assert_eq!(levels.of_kind(last)[..2], [Some(0), Some(0)]);
        assert_eq!(levels.of_kind(0)[..2], [None, None]);
    }

    #[test]
    fn only_what_differs_in_the_fleet_is_said_to_be_alike() {
        let kinds = [kind("6.9.4", 250), kind("6.9.5", 250), kind("6.12.1", 250)];
        let levels = Levels::of(&kinds, |_| true);
        let alike = levels.alike([0, 1].into_iter());
        assert_eq!(
            alike.into_iter().collect::<Vec<_>>(),
            [(Factor::KernelSeries, "6.9".to_owned())]
        );
    }
}
