//! JUnit XML: a suite for each record, a test case for each arm that is held against the control.

use crate::ReportError;
use model::{ArmResult, Record, State};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

/// Seconds that a study is said to have taken at most; a record may say anything.
const MOST_SECONDS: f64 = 1e7;

/// Writes the verdicts of some records. A stall is a failure; what could not be settled is an
/// error, since it is no pass.
///
/// # Errors
/// If the XML cannot be written.
pub fn junit(records: &[&Record]) -> Result<String, ReportError> {
    let mut report = Report::new("tailback");
    for record in records {
        report.add_test_suite(suite(record));
    }
    report
        .to_string()
        .map_err(|error| ReportError::Export { format: "junit", why: error.to_string() })
}

fn suite(record: &Record) -> TestSuite {
    let mut suite = TestSuite::new(record.scenario.as_str());
    suite.set_time(time(record.elapsed_s));
    let judged: Vec<&ArmResult> = record.arms.iter().filter(|arm| arm.state.is_some()).collect();
    for arm in &judged {
        let state = state(record, arm);
        let mut case = TestCase::new(arm.id.as_str(), status(state, &sentence(record, arm)));
        case.set_classname(format!("tailback.{}", record.scenario));
        suite.add_test_case(case);
    }
    if judged.is_empty() {
        let status = status(record.verdict.state, &record.verdict.headline);
        let mut case = TestCase::new("verdict", status);
        case.set_classname(format!("tailback.{}", record.scenario));
        suite.add_test_case(case);
    }
    suite
}

/// What is said of an arm; a disturbed machine and a study that was not run speak for all arms.
fn state(record: &Record, arm: &ArmResult) -> State {
    match record.verdict.state {
        whole @ (State::Untrustworthy | State::Skipped) => whole,
        _ => arm.state.unwrap_or(State::Inconclusive),
    }
}

fn sentence(record: &Record, arm: &ArmResult) -> String {
    let name = record.verdict.measure.as_deref().unwrap_or(&record.plan.judging.measure);
    let figure = arm.measures.get(name).map_or_else(String::new, |e| format!(" {name}: {e}."));
    format!("{}{figure}", record.verdict.headline)
}

fn status(state: State, sentence: &str) -> TestCaseStatus {
    let mut status = match state {
        State::NotAffected => return TestCaseStatus::success(),
        State::Skipped => TestCaseStatus::skipped(),
        State::Affected => TestCaseStatus::non_success(NonSuccessKind::Failure),
        State::Inconclusive | State::Untrustworthy => {
            TestCaseStatus::non_success(NonSuccessKind::Error)
        }
    };
    status.set_message(sentence);
    status.set_type(state.word());
    status
}

fn time(seconds: f64) -> Duration {
    let seconds = if seconds.is_finite() { seconds.clamp(0.0, MOST_SECONDS) } else { 0.0 };
    Duration::from_secs_f64(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_stall_fails_and_hostile_words_do_no_harm() {
        let mut record = testing::record();
        record.scenario = "<script>\u{0}&\"".to_owned();
        record.elapsed_s = f64::MAX;
        let text = junit(&[&record]).unwrap();
        assert!(text.contains("<failure") && text.contains("type=\"affected\""), "{text}");
        assert!(!text.contains("<script") && !text.contains('\u{0}'), "{text}");
        record.verdict.state = State::Untrustworthy;
        let text = junit(&[&record]).unwrap();
        assert!(text.contains("<error") && !text.contains("<failure"), "{text}");
    }
}
