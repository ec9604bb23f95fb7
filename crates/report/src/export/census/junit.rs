//! A census as JUnit XML: a suite for each scenario, a test case for each group of hosts with the
//! same answers, so that a million hosts are no more cases than they have groups.

use crate::ReportError;
use crate::prose::{census as prose, plain};
use model::census::{Group, Hosts, ScenarioCensus};
use model::{Census, State};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

/// Characters of the names of a group's hosts, at most.
const NAMES: usize = 200;

/// Writes a census. A stall is a failure; what could not be settled is an error, since it is no
/// pass.
///
/// # Errors
/// If the XML cannot be written.
pub(super) fn junit(census: &Census) -> Result<String, ReportError> {
    let mut report = Report::new("tailback census");
    for scenario in &census.scenarios {
        report.add_test_suite(suite(census, scenario));
    }
    if let Some(missing) = census.unreachable.as_ref().filter(|missing| missing.count > 0) {
        report.add_test_suite(unreachable(missing));
    }
    report
        .to_string()
        .map_err(|error| ReportError::Export { format: "junit", why: error.to_string() })
}

fn suite(census: &Census, scenario: &ScenarioCensus) -> TestSuite {
    let name = plain(&scenario.scenario);
    let mut suite = TestSuite::new(name.as_str());
    for group in &census.groups {
        if let Some(state) = group.answers.get(&scenario.scenario) {
            suite.add_test_case(case(&name, scenario, group, *state));
        }
    }
    suite
}

fn case(name: &str, scenario: &ScenarioCensus, group: &Group, state: State) -> TestCase {
    let mut status = match state {
        State::NotAffected => TestCaseStatus::success(),
        State::Skipped => TestCaseStatus::skipped(),
        State::Affected => TestCaseStatus::non_success(NonSuccessKind::Failure),
        State::Inconclusive | State::Untrustworthy => {
            TestCaseStatus::non_success(NonSuccessKind::Error)
        }
    };
    if state != State::NotAffected {
        status.set_message(message(scenario, group, state));
        status.set_type(state.word());
    }
    let mut case = TestCase::new(title(&group.hosts), status);
    case.set_classname(format!("tailback.{name}"));
    let records: Vec<String> = group.records.iter().map(prose::place).collect();
    case.set_system_out(format!("records: {}", records.join(", ")));
    case
}

/// What is said of the hosts of a group.
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

fn unreachable(missing: &Hosts) -> TestSuite {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(format!("unreachable: {}", title(missing)));
    status.set_type("unreachable");
    let mut case = TestCase::new(title(missing), status);
    case.set_classname("tailback.unreachable");
    let mut suite = TestSuite::new("unreachable");
    suite.add_test_case(case);
    suite
}
