//! Simulated fleets with a known truth, for the statistics of a census. They test whether the
//! ranges of a share contain the true share, and whether a factor is named that is not a cause.
//!
//! A fleet is determined by its seed. It has counts of hosts and no records; the tests in
//! `crates/census/tests` read records.

use crate::Answer;
use analysis::fleet::{Apart, Factor, KindCounts, OwnedKind, Sample, apart, by_owner, share};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Confidence of the interval, the same as in a census.
const CONFIDENCE: f64 = 0.95;

/// The error rate at which a census of one scenario names a first factor.
const LEVEL: f64 = 0.025;

/// The number of levels of each simulated factor, and whether they are ordered: kernel, HZ,
/// machine, CPUs.
const FACTORS: [(u32, bool); 4] = [(6, true), (3, true), (6, false), (6, true)];

/// The probability that a kind has the preferred level of its owner.
const PREFERRED: f64 = 0.9;

/// The level of the first factor that has the planted cause.
const PLANTED: u32 = 3;

/// A fleet, and the question for its census.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fleet {
    /// The question.
    pub asks: Asks,
    /// The number of kinds of hosts. With owners, the number per owner.
    pub kinds: u32,
    /// The number of hosts per kind.
    pub sizes: Sizes,
    /// The share of affected hosts in a kind.
    pub rates: Vec<Rate>,
    /// The same for kinds larger than the mean. If empty, `rates` is used.
    #[serde(default)]
    pub rates_of_large: Vec<Rate>,
    /// The probability that an affected host has no settled answer.
    #[serde(default)]
    pub affected_missing: f64,
    /// The probability that a clear host has no settled answer.
    #[serde(default)]
    pub clear_missing: f64,
    /// The owners of the hosts.
    pub owners: Option<Owners>,
    /// The share of affected hosts at one level of the first factor. This is the cause that the
    /// census must find.
    pub planted: Option<f64>,
}

/// The question for a census.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asks {
    /// Whether the interval contains the share that the kinds are drawn from.
    FleetsLikeIt,
    /// Whether the bounds contain the share of this fleet.
    ThisFleet,
    /// Which factor tells affected hosts from clear ones.
    Factor,
}

/// The number of hosts per kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// This number of hosts in each kind.
    Equal(u32),
    /// This number of hosts in the largest kind. For each other kind it is divided by the rank of
    /// the kind.
    ByRank(u32),
    /// The first number of hosts in the first kind, and the second number in each other kind.
    OneLarge(u32, u32),
}

impl Sizes {
    fn of(self, place: u32) -> u32 {
        match self {
            Sizes::Equal(each) => each,
            Sizes::ByRank(first) => (first / (place + 1)).max(1),
            Sizes::OneLarge(first, each) => {
                if place == 0 {
                    first
                } else {
                    each
                }
            }
        }
    }
}

/// A group of kinds with similar shares of affected hosts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// The share of the kinds that belong to the group.
    pub of: f64,
    /// The smallest share of affected hosts in such a kind.
    pub least: f64,
    /// The largest share.
    pub most: f64,
}

/// The owners of a fleet. Each owner prefers a level of each factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owners {
    /// The number of owners.
    pub number: u32,
    /// The probability that an owner has its own cause.
    pub chance: f64,
    /// The share of affected hosts of such an owner.
    pub rate: f64,
    /// Whether the census knows the owners.
    pub known: bool,
}

/// The hosts of a simulated fleet.
#[derive(Debug, Clone, Default)]
pub struct Drawn {
    kinds: Vec<KindCounts>,
    owned: Vec<OwnedKind>,
    /// The share that the kinds and owners are drawn from.
    expected: f64,
    /// Affected hosts, with or without a settled answer.
    affected: u32,
    /// All hosts.
    hosts: u32,
}

impl Drawn {
    /// The counts as JSON: for each kind its affected hosts, hosts with a settled answer, other
    /// hosts, and owner.
    pub fn to_json(&self) -> String {
        let row = |one: &OwnedKind| {
            let KindCounts { affected, of, undecided, levels } = &one.counts;
            serde_json::json!({ "owner": one.owner, "affected": affected, "settled": of,
                "undecided": undecided, "levels": levels.to_vec() })
        };
        let kinds: Vec<serde_json::Value> = self.owned.iter().map(row).collect();
        let (affected, hosts, expected) = (self.affected, self.hosts, self.expected);
        serde_json::json!({ "hosts": hosts, "affected": affected, "expected_share": expected,
            "kinds": kinds })
        .to_string()
    }
}

/// The answer of the census for the fleet with this seed.
pub fn simulate(fleet: &Fleet, seed: u64) -> (Answer, Drawn) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let drawn = draw(fleet, &mut rng);
    let known = fleet.owners.as_ref().is_some_and(|owners| owners.known);
    let owned: &[OwnedKind] = if known { &drawn.owned } else { &[] };
    let answer = match fleet.asks {
        Asks::Factor => factor(fleet, &drawn.kinds, owned, seed),
        Asks::ThisFleet | Asks::FleetsLikeIt => holds(fleet.asks, &drawn, owned),
    };
    (answer, drawn)
}

/// Whether the range of the share contains the truth. A census without a range also counts as
/// covering it, since it claims nothing.
fn holds(asks: Asks, drawn: &Drawn, owned: &[OwnedKind]) -> Answer {
    let sample = Sample { kinds: &drawn.kinds, owners: &by_owner(owned), unmeasured: 0 };
    let Some(found) = share(sample, CONFIDENCE) else { return Answer::Covered };
    let (low, truth, high) = match asks {
        Asks::ThisFleet => {
            (found.least, f64::from(drawn.affected) / f64::from(drawn.hosts), found.most)
        }
        _ => (found.low.unwrap_or(0.0), drawn.expected, found.high.unwrap_or(1.0)),
    };
    // Rounding errors must not put a count outside its bounds.
    let inside = low - 1e-12 <= truth && truth <= high + 1e-12;
    if inside { Answer::Covered } else { Answer::NotCovered }
}

/// Which factor the census names.
fn factor(fleet: &Fleet, kinds: &[KindCounts], owned: &[OwnedKind], seed: u64) -> Answer {
    let factors = FACTORS.map(|(levels, ordered)| Factor { levels, ordered });
    match apart(kinds, owned, &factors, seed) {
        Apart::Cut(split) if split.p_value <= LEVEL => {
            let is_planted = fleet.planted.is_some()
                && (split.factor == 0 || split.same.iter().any(|(factor, _)| *factor == 0));
            if is_planted { Answer::FactorNamed } else { Answer::WrongFactorNamed }
        }
        _ => Answer::NoFactorNamed,
    }
}

fn draw(fleet: &Fleet, rng: &mut ChaCha8Rng) -> Drawn {
    let mut drawn = Drawn::default();
    let number = fleet.owners.as_ref().map_or(1, |owners| owners.number);
    let all: u32 = (0..fleet.kinds).map(|place| fleet.sizes.of(place)).sum();
    let mean = f64::from(all) / f64::from(fleet.kinds.max(1));
    let mut expected = 0.0;
    for owner in 0..number {
        let preferred = levels(rng);
        let cause = fleet.owners.as_ref().filter(|one| rng.random_bool(one.chance));
        for place in 0..fleet.kinds {
            let of = fleet.sizes.of(place);
            let large = f64::from(of) > mean && !fleet.rates_of_large.is_empty();
            let rates = if large { &fleet.rates_of_large } else { &fleet.rates };
            let own = levels(rng);
            let levels: Arc<[Option<u32>]> = preferred
                .iter()
                .zip(own)
                .map(|(of_owner, own)| {
                    Some(if rng.random_bool(PREFERRED) { *of_owner } else { own })
                })
                .collect();
            let planted = fleet.planted.filter(|_| levels.first() == Some(&Some(PLANTED)));
            let rate = planted.unwrap_or_else(|| pick(rates, rng));
            let rate = cause.map_or(rate, |cause| cause.rate.max(rate));
            expected += f64::from(of) * mean_rate(rates, fleet.owners.as_ref());
            let counts = KindCounts { levels, ..answers(fleet, of, rate, &mut drawn, rng) };
            drawn.kinds.push(counts.clone());
            drawn.owned.push(OwnedKind { owner, counts });
        }
    }
    drawn.hosts = all * number;
    drawn.expected = expected / f64::from(drawn.hosts.max(1));
    drawn
}

/// Draws the answers of the hosts of a kind.
fn answers(
    fleet: &Fleet,
    of: u32,
    rate: f64,
    drawn: &mut Drawn,
    rng: &mut ChaCha8Rng,
) -> KindCounts {
    let mut counts = KindCounts::default();
    for _ in 0..of {
        let affected = rng.random_bool(rate.clamp(0.0, 1.0));
        drawn.affected += u32::from(affected);
        let missing = if affected { fleet.affected_missing } else { fleet.clear_missing };
        if rng.random_bool(missing.clamp(0.0, 1.0)) {
            counts.undecided += 1;
        } else {
            counts.of += 1;
            counts.affected += u32::from(affected);
        }
    }
    counts
}

/// A random level for each factor.
fn levels(rng: &mut ChaCha8Rng) -> [u32; 4] {
    FACTORS.map(|(levels, _)| rng.random_range(0..levels))
}

/// Draws the share of affected hosts of a kind. The rates cover all kinds, so the last rate takes
/// the rest.
fn pick(rates: &[Rate], rng: &mut ChaCha8Rng) -> f64 {
    let mut at = rng.random_range(0.0..1.0);
    let found = rates.iter().find(|rate| {
        let here = at < rate.of;
        at -= rate.of;
        here
    });
    let within = rng.random_range(0.0..1.0);
    found.or(rates.last()).map_or(0.0, |rate| rate.least + (rate.most - rate.least) * within)
}

/// The mean share of affected hosts of a drawn kind, without a planted cause.
fn mean_rate(rates: &[Rate], owners: Option<&Owners>) -> f64 {
    let with = |least: f64| -> f64 {
        // An owner's cause never affects fewer hosts than the kind's own cause.
        let mean = |rate: &Rate| {
            let (low, high) = (rate.least.max(least), rate.most.max(least));
            if rate.least >= least || rate.most <= least {
                return rate.of * (low + high) / 2.0;
            }
            let below = (least - rate.least) / (rate.most - rate.least);
            rate.of * (below * least + (1.0 - below) * (least + rate.most) / 2.0)
        };
        rates.iter().map(mean).sum()
    };
    match owners {
        Some(owners) => owners.chance * with(owners.rate) + (1.0 - owners.chance) * with(0.0),
        None => with(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet() -> Fleet {
        let rate = |of, least, most| Rate { of, least, most };
        Fleet {
            asks: Asks::ThisFleet,
            kinds: 40,
            sizes: Sizes::ByRank(100),
            rates: vec![rate(0.2, 0.2, 1.0), rate(0.8, 0.0, 0.1)],
            rates_of_large: Vec::new(),
            affected_missing: 0.1,
            clear_missing: 0.4,
            owners: None,
            planted: None,
        }
    }

    #[test]
    fn a_seed_repeats_its_fleet() {
        let json = |seed| simulate(&fleet(), seed).1.to_json();
        assert_eq!(json(7), json(7));
        assert_ne!(json(7), json(8));
    }

    #[test]
    fn the_expected_share_is_the_mean_of_many_fleets() {
        let owners = Owners { number: 10, chance: 0.3, rate: 0.5, known: true };
        for owners in [None, Some(owners)] {
            let fleet = Fleet { owners, ..fleet() };
            let each = (0..400).map(|seed| simulate(&fleet, seed).1);
            let (affected, hosts) = each.fold((0.0, 0.0), |(affected, hosts), drawn| {
                (affected + f64::from(drawn.affected), hosts + f64::from(drawn.hosts))
            });
            let expected = simulate(&fleet, 1).1.expected;
            assert!((affected / hosts - expected).abs() < 0.02, "{} {expected}", affected / hosts);
        }
    }

    #[test]
    fn a_planted_cause_is_named_and_nothing_is_named_where_none_is() {
        let fleet = Fleet { asks: Asks::Factor, kinds: 100, sizes: Sizes::Equal(20), ..fleet() };
        let rates = vec![Rate { of: 1.0, least: 0.02, most: 0.02 }];
        let owners = Some(Owners { number: 40, chance: 0.0, rate: 0.0, known: true });
        let planted =
            Fleet { planted: Some(0.9), rates: rates.clone(), kinds: 10, owners, ..fleet };
        assert_eq!(simulate(&planted, 3).0, Answer::FactorNamed);
        let none = Fleet { planted: None, ..planted };
        assert_eq!(simulate(&none, 3).0, Answer::NoFactorNamed);
    }
}
