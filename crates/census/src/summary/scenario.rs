//! The answers to each scenario.

use super::apart::{CONFIDENCE, telling};
use super::hosts::Hosts;
use super::levels::Levels;
use super::odd::odd;
use super::worst::worst;
use crate::fleet::Fleet;
use crate::row::Row;
use analysis::fleet::{KindCounts, share};
use model::State;
use model::census::{Counts, ScenarioCensus};
use std::collections::{BTreeMap, HashMap};

/// Each scenario that any host has a record of, in the order of the list of scenarios.
pub(super) fn all(
    fleet: &Fleet,
    hosts: &Hosts,
    levels: &Levels,
    unreachable: u64,
) -> Vec<ScenarioCensus> {
    let mut rows: BTreeMap<u8, Vec<(u32, &Row)>> = BTreeMap::new();
    for ((host, scenario), row) in &fleet.rows {
        rows.entry(*scenario).or_default().push((*host, row));
    }
    let by_kind: Vec<HashMap<u32, (u32, u32)>> = rows.values().map(|rows| kinds_of(rows)).collect();
    let kinds: Vec<Vec<KindCounts>> = by_kind.iter().map(|kinds| settled(kinds, levels)).collect();
    let told = telling(&kinds, levels);
    let each = rows.into_iter().zip(by_kind).zip(kinds).zip(told);
    each.map(|((((scenario, rows), by_kind), kinds), apart)| {
        let name = fleet.scenarios.get(usize::from(scenario)).cloned().unwrap_or_default();
        let counts = counts(&rows);
        let not_measured = hosts.answers.len() as u64 - rows.len() as u64;
        ScenarioCensus {
            scenario: name,
            hosts: Counts { not_measured, unreachable, ..counts },
            share: share(&kinds, CONFIDENCE),
            apart,
            worst: worst(fleet, &rows),
            odd: odd(fleet, &rows, &by_kind),
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

/// Hosts with a settled answer by their kind: how many are affected, and how many there are.
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

fn settled(by_kind: &HashMap<u32, (u32, u32)>, levels: &Levels) -> Vec<KindCounts> {
    let mut kinds: Vec<(&u32, &(u32, u32))> = by_kind.iter().collect();
    kinds.sort_unstable_by_key(|(kind, _)| levels.rank(**kind));
    let kind = |(kind, (affected, of)): (&u32, &(u32, u32))| KindCounts {
        affected: *affected,
        of: *of,
        levels: levels.of_kind(*kind),
    };
    kinds.into_iter().map(kind).collect()
}
