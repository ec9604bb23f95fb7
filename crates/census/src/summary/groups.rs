//! Groups of hosts with the same answers.

use super::hosts::{Answers, Hosts};
use super::levels::Levels;
use crate::fleet::Fleet;
use crate::names;
use crate::row::Where;
use model::census::Group;
use std::collections::{BTreeSet, HashMap};

/// Most groups that are listed.
const MOST_GROUPS: usize = 200;

/// Most runs of names that are listed for all groups together.
const MOST_RUNS: usize = 200_000;

/// Runs of names that each group may always list, whatever the others use.
const LEAST_RUNS: usize = 1000;

/// Most records that are named for a group.
const MOST_RECORDS: usize = 5;

/// The groups, the largest first, and the number of hosts in groups that are not listed.
pub(super) fn groups(fleet: &Fleet, hosts: &Hosts, levels: &Levels) -> (Vec<Group>, u64) {
    let mut by_answers: HashMap<Answers, Vec<u32>> = HashMap::new();
    for (host, answers) in (0u32..).zip(&hosts.answers) {
        by_answers.entry(*answers).or_default().push(host);
    }
    let mut all: Vec<(Answers, Vec<u32>)> = by_answers.into_iter().collect();
    all.sort_by(|(a, of_a), (b, of_b)| of_b.len().cmp(&of_a.len()).then(a.cmp(b)));
    let others = all.iter().skip(MOST_GROUPS).map(|(_, members)| members.len() as u64).sum();
    let mut left = MOST_RUNS;
    let listed = all.into_iter().take(MOST_GROUPS).map(|(answers, members)| {
        let kinds: BTreeSet<u32> =
            members.iter().filter_map(|host| hosts.kind.get(*host as usize).copied()).collect();
        let names = names::fold(members.iter().map(|host| fleet.host(*host)), left.max(LEAST_RUNS));
        left = left.saturating_sub(names.names.len());
        Group {
            answers: answers.named(&fleet.scenarios),
            records: records(fleet, &members),
            alike: levels.alike(kinds.into_iter()),
            hosts: names,
        }
    });
    (listed.collect(), others)
}

/// The records of the first hosts of a group, one per host.
fn records(fleet: &Fleet, members: &[u32]) -> Vec<model::census::RecordPlace> {
    let places = members.iter().take(MOST_RECORDS).filter_map(|host| {
        let scenarios = 0..u8::try_from(fleet.scenarios.len()).unwrap_or(u8::MAX);
        let rows = scenarios.filter_map(|scenario| fleet.rows.get(&(*host, scenario)));
        rows.map(|row| row.place).min_by_key(|Where { source, line }| (*source, *line))
    });
    places.map(|place| fleet.place(place)).collect()
}
