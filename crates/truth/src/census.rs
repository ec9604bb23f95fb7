//! Fleets of which the truth is known, for the statistics of a census: whether the ranges of a
//! share hold it, and whether a factor is named that is none.
//!
//! A fleet follows from its seed. It has counts of hosts and no records: `crates/census/tests` read
//! records.

use crate::Answer;
use analysis::fleet::{Apart, Factor, KindCounts, OwnedKind, Sample, apart, by_owner, share};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Confidence of the interval, as in a census.
const CONFIDENCE: f64 = 0.95;

/// The level at which a census of one scenario names a first factor.
const LEVEL: f64 = 0.025;

/// Levels of each simulated factor, and whether they have an order: kernel, HZ, machine, CPUs.
const FACTORS: [(u32, bool); 4] = [(6, true), (3, true), (6, false), (6, true)];

/// The chance that a kind has the level that its owner prefers.
const PREFERRED: f64 = 0.9;

/// The planted cause is at this level of the first factor.
const PLANTED: u32 = 3;

/// A fleet, and what is asked of its census.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fleet {
    /// What is asked.
    pub asks: Asks,
    /// Kinds of hosts; of each owner, where there are owners.
    pub kinds: u32,
    /// How many hosts they have.
    pub sizes: Sizes,
    /// Which share of a kind is affected.
    pub rates: Vec<Rate>,
    /// The same of kinds that are larger than the mean; as `rates` where empty.
    #[serde(default)]
    pub rates_of_large: Vec<Rate>,
    /// Chance that an affected host has no settled answer.
    #[serde(default)]
    pub affected_missing: f64,
    /// Chance that a clear host has no settled answer.
    #[serde(default)]
    pub clear_missing: f64,
    /// Whose hosts they are.
    pub owners: Option<Owners>,
    /// The share of hosts that is affected at one level of the first factor, for a cause that the
    /// census has to find.
    pub planted: Option<f64>,
}

/// What is asked of a census.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asks {
    /// Whether the interval holds the share that kinds are drawn from.
    FleetsLikeIt,
    /// Whether the bounds hold the share of this very fleet.
    ThisFleet,
    /// Which factor tells affected hosts from clear ones.
    Factor,
}

/// Hosts of the kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// So many of each.
    Equal(u32),
    /// So many of the largest, and of each other one that by its rank.
    ByRank(u32),
    /// So many of the first, and of each other one the second number.
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

/// Kinds that are affected alike.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Which share of the kinds they are.
    pub of: f64,
    /// The least share of their hosts that is affected.
    pub least: f64,
    /// The most.
    pub most: f64,
}

/// The owners of a fleet, who prefer levels of each factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owners {
    /// How many.
    pub number: u32,
    /// Chance that an owner has a cause of its own.
    pub chance: f64,
    /// The share of the hosts of such an owner that is affected.
    pub rate: f64,
    /// Whether the census is told whose hosts they are.
    pub known: bool,
}

/// The hosts of a simulated fleet.
#[derive(Debug, Clone, Default)]
pub struct Drawn {
    kinds: Vec<KindCounts>,
    owned: Vec<OwnedKind>,
    /// The share that kinds and owners are drawn from.
    expected: f64,
    /// Hosts that are affected, whether they have a settled answer or not.
    affected: u32,
    /// All hosts.
    hosts: u32,
}

impl Drawn {
    /// As JSON: for each kind affected hosts, hosts with a settled answer and others, and whose.
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

/// The answer of the census of one fleet of that seed.
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

/// Whether the range of the share holds the truth. A census without an answer holds it: it says
/// nothing.
fn holds(asks: Asks, drawn: &Drawn, owned: &[OwnedKind]) -> Answer {
    let sample = Sample { kinds: &drawn.kinds, owners: &by_owner(owned), unmeasured: 0 };
    let Some(found) = share(sample, CONFIDENCE) else { return Answer::Covered };
    let (low, truth, high) = match asks {
        Asks::ThisFleet => {
            (found.least, f64::from(drawn.affected) / f64::from(drawn.hosts), found.most)
        }
        _ => (found.low.unwrap_or(0.0), drawn.expected, found.high.unwrap_or(1.0)),
    };
    // Rounding must not move a count out of its bounds.
    let inside = low - 1e-12 <= truth && truth <= high + 1e-12;
    if inside { Answer::Covered } else { Answer::NotCovered }
}

/// Which factor is named.
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

/// The answers of the hosts of a kind.
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

/// A level of each factor.
fn levels(rng: &mut ChaCha8Rng) -> [u32; 4] {
    FACTORS.map(|(levels, _)| rng.random_range(0..levels))
}

/// The share of a kind that is affected. The rates are taken for all kinds that there are, so the
/// last one has what the others leave.
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

/// The mean share of affected hosts that a kind is drawn with, without a planted cause.
fn mean_rate(rates: &[Rate], owners: Option<&Owners>) -> f64 {
    let with = |least: f64| -> f64 {
        // An owner's cause hits no fewer hosts than the kind's own.
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
