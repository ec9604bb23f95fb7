//! The conditions that tell affected hosts from clear ones, for all scenarios together.

use super::levels::Levels;
use analysis::fleet::{Apart, KindCounts, OwnedKind, Sample, Split, apart, by_owner, share};
use model::census::{Condition, Conditions, Share, Telling};
use model::record::ERROR_RATE;

/// The seed of the random permutations: the same fleet has the same census.
const SEED: u64 = 19;

/// Confidence of every interval.
pub(super) const CONFIDENCE: f64 = 0.95;

/// Half of the error rate is for the first condition, half for the further conditions within it.
const HALF: f64 = ERROR_RATE / 2.0;

/// The answers of the hosts to one scenario.
pub(super) struct Answers {
    /// The counts by kind of host.
    pub(super) kinds: Vec<KindCounts>,
    /// The counts by owner and kind. Empty if owners are not known.
    pub(super) owned: Vec<OwnedKind>,
}

/// What tells affected hosts from clear ones, for each scenario.
///
/// A census may name a factor for each scenario, so the error rate is split over them (Holm 1979,
/// "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6,
/// 65-70).
pub(super) fn telling(scenarios: &[Answers], levels: &Levels) -> Vec<Telling> {
    let factors = levels.factors();
    let found: Vec<Apart> = scenarios
        .iter()
        .map(|answers| apart(&answers.kinds, &answers.owned, &factors, SEED))
        .collect();
    let mut order: Vec<(f64, usize)> = found
        .iter()
        .enumerate()
        .filter_map(|(place, apart)| match apart {
            Apart::Cut(split) => Some((split.p_value, place)),
            Apart::Untestable => None,
        })
        .collect();
    order.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    // The smallest p-value is compared with the smallest error rate, the next with the next,
    // until one fails.
    let tested = order.len();
    let named =
        order.iter().enumerate().take_while(|(rank, (p, _))| *p <= HALF / (tested - rank) as f64);
    let named: Vec<usize> = named.map(|(_, (_, place))| *place).collect();
    let tell = |(place, (answers, apart)): (usize, (&Answers, Apart))| match apart {
        Apart::Cut(split) if named.contains(&place) => {
            let rate = HALF / tested.max(1) as f64;
            let Answers { kinds, owned } = answers;
            let splits =
                analysis::fleet::apart::conditions(kinds, owned, &factors, split, rate, SEED);
            Telling::Conditions(Box::new(conditions(answers, &splits, levels)))
        }
        Apart::Cut(split) => Telling::None { p_value: split.p_value },
        Apart::Untestable => untestable(&answers.kinds),
    };
    scenarios.iter().zip(found).enumerate().map(tell).collect()
}

fn untestable(kinds: &[KindCounts]) -> Telling {
    let affected: u64 = kinds.iter().map(|kind| u64::from(kind.affected)).sum();
    let of: u64 = kinds.iter().map(|kind| u64::from(kind.of)).sum();
    match affected {
        0 => Telling::AllAlike,
        all if all == of => Telling::AllAlike,
        _ => Telling::TooFewKinds { kinds: kinds.iter().filter(|kind| kind.of > 0).count() as u64 },
    }
}

fn conditions(answers: &Answers, splits: &[Split], levels: &Levels) -> Conditions {
    let fulfils = |kind: &KindCounts| {
        let level = |factor: usize| kind.levels.get(factor).copied().flatten();
        splits.iter().all(|split| split.cut.holds(level(split.factor)))
    };
    let side = |inside: bool| {
        let kinds = answers.kinds.iter().filter(|kind| fulfils(kind) == inside);
        let owned = answers.owned.iter().filter(|one| fulfils(&one.counts) == inside);
        of(&kinds.cloned().collect::<Vec<_>>(), &owned.cloned().collect::<Vec<_>>())
    };
    let all = splits.iter().map(|split| Condition {
        cut: levels.cut(split.factor, split.cut),
        p_value: split.p_value,
        same: split.same.iter().map(|(factor, cut)| levels.cut(*factor, *cut)).collect(),
    });
    let settled = by_owner(&answers.owned).iter().filter(|one| one.of > 0).count() as u64;
    // With only one owner nothing could be permuted.
    let owners = Some(settled).filter(|owners| *owners > 1);
    Conditions { all: all.collect(), inside: side(true), outside: side(false), owners }
}

/// The share of one side. Hosts that were not measured are on neither side, since their kind is
/// not known.
fn of(kinds: &[KindCounts], owned: &[OwnedKind]) -> Share {
    let sample = Sample { kinds, owners: &by_owner(owned), unmeasured: 0 };
    share(sample, CONFIDENCE).unwrap_or(Share {
        affected: 0,
        of: 0,
        undecided: 0,
        least: 0.0,
        most: 1.0,
        kinds: 0,
        owners: None,
        alike: 1.0,
        effective: 0.0,
        low: None,
        high: None,
        confidence: CONFIDENCE,
    })
}
