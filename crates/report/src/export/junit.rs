//! JUnit XML: a suite for each record, a test case for each arm that is held against the control.

use crate::prose::{Prose, plain};
use crate::{ReportError, Shown};
use model::prose::figures::{self, heading};
use model::{ArmResult, Judged, State};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

/// Seconds that a study is said to have taken at most; a record may say anything.
const MOST_SECONDS: f64 = 1e7;

/// Writes the verdicts of some records. A stall is a failure; what could not be settled is an
/// error, since it is no pass.
///
/// # Errors
/// If the XML cannot be written.
pub fn junit(all: &[Shown]) -> Result<String, ReportError> {
    let mut report = Report::new("tailback");
    for shown in all {
        report.add_test_suite(suite(shown.record, &shown.prose()));
    }
    report
        .to_string()
        .map_err(|error| ReportError::Export { format: "junit", why: error.to_string() })
}

fn suite(record: &Judged, prose: &Prose) -> TestSuite {
    let scenario = plain(&record.scenario);
    let mut suite = TestSuite::new(scenario.as_str());
    suite.set_time(time(record.elapsed_s));
    let judged: Vec<&ArmResult> =
        record.judgement.arms.iter().filter(|arm| arm.state.is_some()).collect();
    for arm in &judged {
        let state = state(record, arm);
        let status = status(state, &sentence(record, prose, arm));
        let mut case = TestCase::new(plain(&arm.id), status);
        case.set_classname(format!("tailback.{scenario}"));
        suite.add_test_case(case);
    }
    if judged.is_empty() {
        let status = status(record.judgement.state, &prose.brief());
        let mut case = TestCase::new("verdict", status);
        case.set_classname(format!("tailback.{scenario}"));
        suite.add_test_case(case);
    }
    suite
}

/// What is said of an arm; a disturbed machine and a study that was not run speak for all arms.
fn state(record: &Judged, arm: &ArmResult) -> State {
    match record.judgement.state {
        whole @ (State::Untrustworthy | State::Skipped) => whole,
        _ => arm.state.unwrap_or(State::Inconclusive),
    }
}

/// The verdict, and the judged figure of an arm.
fn sentence(record: &Judged, prose: &Prose, arm: &ArmResult) -> String {
    let name = record.judgement.measure.as_deref().unwrap_or(&record.plan.judging.measure);
    let figure = arm.measures.get(name).map(|estimate| {
        let (arm, heading) = (plain(&arm.id), heading(name, prose.meta()));
        format!(" {arm}: {heading} {}.", figures::estimate(estimate))
    });
    format!("{}{}", prose.brief(), figure.unwrap_or_default())
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
        let written = |record: &Judged| junit(&[Shown::new(record, None, "x")]).unwrap();
        let text = written(&record);
        assert!(text.contains("<failure") && text.contains("type=\"affected\""), "{text}");
        assert!(!text.contains("<script") && !text.contains('\u{0}'), "{text}");
        record.judgement.state = State::Untrustworthy;
        let text = written(&record);
        assert!(text.contains("<error") && !text.contains("<failure"), "{text}");
    }
}
