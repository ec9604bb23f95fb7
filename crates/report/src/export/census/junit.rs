//! A census as JUnit XML: a suite for each scenario, a test case for each group of hosts with the
//! same answers. So even a million hosts give only as many cases as there are groups.

use crate::export::suites::{Case, NotPassed, Suite, write};
use crate::prose::{census as prose, plain};
use model::census::{Group, Hosts, ScenarioCensus};
use model::{Census, State};

/// Most characters of the host names of a group.
const NAMES: usize = 200;

/// The JUnit XML of a census.
pub(super) fn junit(census: &Census) -> String {
    let mut suites: Vec<Suite> =
        census.scenarios.iter().map(|scenario| suite(census, scenario)).collect();
    let missing = census.unreachable.as_ref().filter(|missing| missing.count > 0);
    suites.extend(missing.map(unreachable));
    write("tailback census", &suites)
}

fn suite(census: &Census, scenario: &ScenarioCensus) -> Suite {
    let name = plain(&scenario.scenario);
    let cases = census.groups.iter().filter_map(|group| {
        let state = group.answers.get(&scenario.scenario)?;
        Some(case(&name, scenario, group, *state))
    });
    Suite { cases: cases.collect(), name, seconds: None }
}

fn case(name: &str, scenario: &ScenarioCensus, group: &Group, state: State) -> Case {
    let records: Vec<String> = group.records.iter().map(prose::place).collect();
    Case {
        name: title(&group.hosts),
        class: format!("tailback.{name}"),
        result: NotPassed::of(state, &message(scenario, group, state)),
        out: Some(format!("records: {}", records.join(", "))),
    }
}

/// The message about the hosts of a group.
fn message(scenario: &ScenarioCensus, group: &Group, state: State) -> String {
    let mut text = format!("{}: {}", state.word(), title(&group.hosts));
    let alike = prose::alike(group);
    if !alike.is_empty() {
        text += &format!(" ({alike})");
    }
    let told = prose::telling(scenario).filter(|_| state == State::Affected);
    text + &told.map(|told| format!(". Told by: {told}")).unwrap_or_default()
}

fn title(hosts: &Hosts) -> String {
    let hosts_word = if hosts.count == 1 { "host" } else { "hosts" };
    format!("{} {hosts_word}: {}", hosts.count, prose::names(hosts, NAMES))
}

fn unreachable(missing: &Hosts) -> Suite {
    let message = format!("unreachable: {}", title(missing));
    let case = Case {
        name: title(missing),
        class: "tailback.unreachable".to_owned(),
        result: Some(NotPassed::error("unreachable", message)),
        out: None,
    };
    Suite { name: "unreachable".to_owned(), seconds: None, cases: vec![case] }
}
