//! The answers to each scenario.

use super::apart::{Answers, CONFIDENCE, telling};
use super::hosts::Hosts;
use super::levels::Levels;
use super::odd::odd;
use super::owners::Owners;
use super::worst::worst;
use crate::fleet::Fleet;
use crate::row::Row;
use analysis::fleet::{KindCounts, OwnedKind, Sample, by_owner, share};
use model::State;
use model::census::{Counts, ScenarioCensus};
use std::collections::{BTreeMap, HashMap};

/// Each scenario for which any host has a record, in the order of the list of scenarios.
pub(super) fn all(
    fleet: &Fleet,
    hosts: &Hosts,
    levels: &Levels,
    owners: Option<&Owners>,
    unreachable: u64,
) -> Vec<ScenarioCensus> {
    let mut rows: BTreeMap<u8, Vec<(u32, &Row)>> = BTreeMap::new();
    for ((host, scenario), row) in &fleet.rows {
        rows.entry(*scenario).or_default().push((*host, row));
    }
    let counted: Vec<Answers> = rows.values().map(|rows| counted(rows, levels, owners)).collect();
    let factors = telling(&counted, levels);
    let each = rows.into_iter().zip(counted).zip(factors);
    each.map(|(((scenario, rows), counted), apart)| {
        let name = fleet.scenarios.get(usize::from(scenario)).cloned().unwrap_or_default();
        let counts = counts(&rows);
        let not_measured = hosts.answers.len() as u64 - rows.len() as u64;
        let sample = Sample {
            kinds: &counted.kinds,
            owners: &by_owner(&counted.owned),
            unmeasured: not_measured + unreachable,
        };
        ScenarioCensus {
            scenario: name,
            hosts: Counts { not_measured, unreachable, ..counts },
            share: share(sample, CONFIDENCE),
            apart,
            worst: worst(fleet, &rows),
            odd: odd(fleet, &rows, &kinds_of(&rows)),
        }
    })
    .collect()
}

fn counts(rows: &[(u32, &Row)]) -> Counts {
    let mut counts = Counts::default();
    for (_, row) in rows {
        let count = match row.state() {
            State::Affected => &mut counts.affected,
            State::NotAffected => &mut counts.clear,
            State::Inconclusive => &mut counts.inconclusive,
            State::Untrustworthy => &mut counts.untrustworthy,
            State::Skipped => &mut counts.skipped,
        };
        *count += 1;
    }
    counts
}

/// The number of affected hosts and of all hosts with a settled answer, by kind.
fn kinds_of(rows: &[(u32, &Row)]) -> HashMap<u32, (u32, u32)> {
    let mut by_kind: HashMap<u32, (u32, u32)> = HashMap::new();
    for (_, row) in rows {
        let affected = match row.state() {
            State::Affected => 1,
            State::NotAffected => 0,
            _ => continue,
        };
        let count = by_kind.entry(row.kind).or_default();
        *count = (count.0 + affected, count.1 + 1);
    }
    by_kind
}

/// The answers by kind, and also by owner and kind if owners are known.
fn counted(rows: &[(u32, &Row)], levels: &Levels, owners: Option<&Owners>) -> Answers {
    let mut kinds: BTreeMap<(u32, u32), KindCounts> = BTreeMap::new();
    let mut owned: BTreeMap<(u32, u32, u32), KindCounts> = BTreeMap::new();
    for (host, row) in rows {
        let kind = (levels.rank(row.kind), row.kind);
        add(kinds.entry(kind).or_default(), row.state());
        if let Some(owner) = owners.map(|owners| owners.of(*host)) {
            add(owned.entry((owner, kind.0, kind.1)).or_default(), row.state());
        }
    }
    let with_levels =
        |kind: u32, counts: KindCounts| KindCounts { levels: levels.of_kind(kind), ..counts };
    let kinds = kinds.into_iter().map(|((_, kind), counts)| with_levels(kind, counts)).collect();
    let owned = owned
        .into_iter()
        .map(|((owner, _, kind), counts)| OwnedKind { owner, counts: with_levels(kind, counts) });
    Answers { kinds, owned: owned.collect() }
}

/// Adds one host of a kind with its answer.
fn add(counts: &mut KindCounts, state: State) {
    match state {
        State::Affected => (counts.affected, counts.of) = (counts.affected + 1, counts.of + 1),
        State::NotAffected => counts.of += 1,
        _ => counts.undecided += 1,
    }
}
