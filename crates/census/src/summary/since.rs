//! The changes since an earlier census.

use super::hosts::Hosts;
use crate::fleet::Fleet;
use crate::names;
use model::census::{Run, SCHEMA, ScenarioSince, Since};
use model::{Census, State};
use std::collections::BTreeMap;

/// Most hosts that an earlier census may name.
const MOST_HOSTS: u64 = 20_000_000;

/// Most runs of names in each list of changed hosts.
const MOST_RUNS: usize = 10_000;

/// Why an earlier census cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SinceError {
    /// It is not a census.
    #[error("not the output of tailback census --json: {0}")]
    Foreign(String),
    /// It names too many hosts.
    #[error("it names more than {MOST_HOSTS} hosts")]
    TooLarge,
}

/// Reads an earlier census.
///
/// # Errors
/// If the text is not a census, or names too many hosts.
pub fn previous(text: &str) -> Result<Census, SinceError> {
    let census: Census =
        serde_json::from_str(text).map_err(|error| SinceError::Foreign(error.to_string()))?;
    if census.schema != SCHEMA {
        return Err(SinceError::Foreign(format!("its schema is not {SCHEMA}")));
    }
    let runs = census.groups.iter().flat_map(|group| &group.hosts.names);
    let hosts = runs.fold(0, |sum: u64, run| sum.saturating_add(run.len()));
    if hosts > MOST_HOSTS { Err(SinceError::TooLarge) } else { Ok(census) }
}

/// The changes, by host.
#[derive(Default)]
struct Changed {
    became_affected: Vec<u32>,
    became_clear: Vec<u32>,
    other: Vec<u32>,
}

pub(super) fn since(fleet: &Fleet, hosts: &Hosts, before: &Census) -> Since {
    let mut seen = vec![false; hosts.answers.len()];
    let mut gone: Vec<String> = Vec::new();
    let mut changed: BTreeMap<usize, Changed> = BTreeMap::new();
    let mut unknown = before.hosts_in_other_groups;
    for group in &before.groups {
        unknown = unknown.saturating_add(group.hosts.left_out);
        let places = fleet.scenarios.iter().map(|name| group.answers.get(name).copied());
        let answers: Vec<Option<State>> = places.collect();
        for name in group.hosts.names.iter().flat_map(Run::names) {
            let Some(host) = fleet.number_of(&name) else {
                gone.push(name);
                continue;
            };
            seen[host as usize] = true;
            let now = hosts.answers[host as usize];
            for (scenario, old) in answers.iter().enumerate() {
                let (Some(old), Some(new)) = (*old, now.to(scenario)) else { continue };
                if old != new {
                    let changed = changed.entry(scenario).or_default();
                    match (old, new) {
                        (State::NotAffected, State::Affected) => &mut changed.became_affected,
                        (State::Affected, State::NotAffected) => &mut changed.became_clear,
                        _ => &mut changed.other,
                    }
                    .push(host);
                }
            }
        }
    }
    let fold = |hosts: &[u32]| names::fold(hosts.iter().map(|host| fleet.host(*host)), MOST_RUNS);
    let new: Vec<u32> =
        (0u32..).zip(&seen).filter(|(_, seen)| !**seen).map(|(host, _)| host).collect();
    Since {
        taken: before.taken.clone(),
        // A host that the old census did not name cannot be distinguished from a new one.
        new: fold(if unknown == 0 { &new } else { &[] }),
        gone: names::fold(gone.iter().map(String::as_str), MOST_RUNS),
        scenarios: changed
            .into_iter()
            .map(|(scenario, changed)| ScenarioSince {
                scenario: fleet.scenarios.get(scenario).cloned().unwrap_or_default(),
                became_affected: fold(&changed.became_affected),
                became_clear: fold(&changed.became_clear),
                other: fold(&changed.other),
            })
            .collect(),
        unknown,
    }
}
