//! JUnit XML: a suite for each record, a test case for each arm that is compared with the
//! control.

use super::figure;
use super::suites::{Case, NotPassed, Suite, write};
use crate::Shown;
use crate::prose::{Prose, plain};
use model::{ArmResult, Judged, Role, State};

/// The longest duration of a study that is written, in seconds. A record may claim any duration.
const MOST_SECONDS: f64 = 1e7;

/// Writes the verdicts of some records.
pub fn junit(all: &[Shown]) -> String {
    let suites: Vec<Suite> = all.iter().map(|one| suite(one.record, &one.prose())).collect();
    write("tailback", &suites)
}

fn suite(record: &Judged, prose: &Prose) -> Suite {
    let scenario = plain(&record.scenario);
    let case = |name: String, state, sentence: &str| Case {
        name,
        class: format!("tailback.{scenario}"),
        result: NotPassed::of(state, sentence),
        out: None,
    };
    let judged = record.judgement.arms.iter().filter(|arm| arm.state.is_some());
    let mut cases: Vec<Case> = judged
        .map(|arm| case(plain(&arm.id), state(record, arm), &sentence(record, prose, arm)))
        .collect();
    if cases.is_empty() {
        cases.push(case("verdict".to_owned(), record.judgement.state, &prose.brief()));
    }
    Suite { seconds: Some(seconds(record.elapsed_s)), name: scenario, cases }
}

/// The verdict on an arm. If the machine was disturbed or the study was skipped, that verdict
/// holds for every arm. A fix is tried only as long as there may be a stall, so an unsettled one is
/// no error: it counts as skipped.
fn state(record: &Judged, arm: &ArmResult) -> State {
    let whole = record.judgement.state;
    let own = arm.state.unwrap_or(State::Inconclusive);
    match (whole, arm.role, own) {
        (State::Untrustworthy | State::Skipped, ..) => whole,
        (_, Role::Fix, State::NotAffected) | (State::Affected, Role::Fix, State::Affected) => own,
        (_, Role::Fix, _) => State::Skipped,
        _ => own,
    }
}

/// The verdict, with the judged figure of an arm.
fn sentence(record: &Judged, prose: &Prose, arm: &ArmResult) -> String {
    let figure = figure::judged(record, prose, arm);
    let figure = figure.map(|figure| format!(" {}: {figure}.", plain(&arm.id)));
    format!("{}{}", prose.brief(), figure.unwrap_or_default())
}

fn seconds(seconds: f64) -> f64 {
    if seconds.is_finite() { seconds.clamp(0.0, MOST_SECONDS) } else { 0.0 }
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
        let written = |record: &Judged| junit(&[Shown::new(record, None, "x")]);
        let text = written(&record);
        assert!(text.contains("<failure") && text.contains("type=\"affected\""), "{text}");
        assert!(!text.contains("<script") && !text.contains('\u{0}'), "{text}");
        record.judgement.state = State::Untrustworthy;
        let text = written(&record);
        assert!(text.contains("<error") && !text.contains("<failure"), "{text}");
    }

    #[test]
    fn an_unsettled_fix_is_no_error() {
        let mut record = testing::record();
        record.judgement.state = State::NotAffected;
        let mut case = record.judgement.arms[1].clone();
        case.state = Some(State::NotAffected);
        let mut fix = ArmResult { id: "fewer".to_owned(), role: Role::Fix, ..case.clone() };
        fix.state = Some(State::Inconclusive);
        record.judgement.arms = vec![record.judgement.arms[0].clone(), case, fix];
        let text = junit(&[Shown::new(&record, None, "x")]);
        assert!(text.contains("<skipped") && !text.contains("<error"), "{text}");
        assert!(!text.contains("<failure"), "{text}");
        record.judgement.state = State::Affected;
        record.judgement.arms[2].state = Some(State::Affected);
        let text = junit(&[Shown::new(&record, None, "x")]);
        assert!(text.contains("<failure"), "{text}");
    }
}
