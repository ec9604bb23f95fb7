//! The summary that `io-journal` gives for an outcome.

use super::meta::{META, measure};
use super::params::IoJournalParams;
use super::plan::shortest_trial;
use super::sentences::{Compared, IoJournalFact};
use crate::params::Params;
use crate::suggest;
use crate::summary::{Summary, control_of};
use analysis::Outcome;
use model::{ArmResult, Plan, Role, State, Suggestion, What};

pub(super) fn summary(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
    let case = IoJournalParams::of_case(plan);
    let both = case.as_ref().and_then(|case| compared(case, plan, arms));
    let headline = match outcome.state {
        State::Affected => IoJournalFact::Stalls(both),
        State::NotAffected => IoJournalFact::Passes(both),
        _ => IoJournalFact::Unsettled,
    };
    let suggestions = match (outcome.state, case) {
        (State::Affected, Some(case)) => suggestions(&case, plan, arms),
        _ => Vec::new(),
    };
    Summary { headline: headline.into(), suggestions, kind: None }
}

/// The fixes that the study did not try, and one that tailback does not try.
fn suggestions(case: &IoJournalParams, plan: &Plan, arms: &[ArmResult]) -> Vec<Suggestion> {
    let mut all = suggest::untried(&META, plan, arms, &asked(case).settings());
    all.push(What::Scenario(IoJournalFact::UseWeight.into()).into());
    all
}

/// The settings of the case, with the default fixes and duration, or with the shortest duration
/// that its pause allows.
fn asked(case: &IoJournalParams) -> IoJournalParams {
    let IoJournalParams { fixes, duration, .. } = IoJournalParams::default();
    let duration = duration.max(shortest_trial(case.pause));
    IoJournalParams { fixes, duration, ..case.clone() }
}

/// The figures of case and control.
fn compared(params: &IoJournalParams, plan: &Plan, arms: &[ArmResult]) -> Option<Box<Compared>> {
    let case = arms.iter().find(|arm| arm.role == Role::Case)?;
    let control = control_of(plan, case, arms);
    Some(Box::new(Compared {
        by: params.by,
        on: params.on,
        cap: (&params.cap).into(),
        lost: case.measures.get(measure::LOST)?.clone(),
        control: control.and_then(|control| control.measures.get(measure::LOST).cloned()),
        worst: case.measures.get(measure::WORST).cloned(),
        writer: case.measures.get(measure::WRITER).cloned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Time;
    use crate::testing::{settings, told};
    use model::testing::{arm, estimate, plan, result};
    use model::{Arm, Test, Unit};

    fn plan_of(by: &str, fixes: &[(&str, &str, &str)]) -> Plan {
        let arm = |id: &str, role, changed: &[(&str, &str)]| {
            let settings = settings(&META, &[&[("by", by)][..], changed].concat());
            Arm { settings, ..arm(id, role) }
        };
        let mut arms = vec![
            arm("other-file-system", Role::Control, &[("on", "other")]),
            arm("case", Role::Case, &[]),
        ];
        let fix = |&(id, name, value): &(&str, &str, &str)| arm(id, Role::Fix, &[(name, value)]);
        arms.extend(fixes.iter().map(fix));
        Plan { arms, ..plan(&[]) }
    }

    fn results(plan: &Plan, state: State) -> Vec<ArmResult> {
        let of = |arm: &Arm| {
            let mut arm = result(&arm.id, arm.role, Some(state));
            for (name, value, unit) in [
                (measure::LOST, 960.0, Unit::MillisecondsPerSecond),
                (measure::WORST, 1_010.0, Unit::Milliseconds),
                (measure::WRITER, 990.0, Unit::Milliseconds),
            ] {
                arm.measures.insert(name.to_owned(), estimate(value, unit));
            }
            arm
        };
        plan.arms.iter().map(of).collect()
    }

    #[test]
    fn case_and_control_stand_side_by_side() {
        let outcome = |state| Outcome::new(state, measure::LOST, Test::default());
        let both = [("larger-cap", "cap", "64MiB"), ("written-once", "by", "once")];
        for (by, fixes, words, suggested) in [
            ("rewritten", &both[..], "writes a block again", 1),
            ("rewritten", &both[..1], "writes a block again", 2),
            ("ordered", &both[..1], "a file without extents", 1),
            ("once", &both[..0], "writes no block again", 2),
        ] {
            let plan = plan_of(by, fixes);
            let arms = results(&plan, State::Affected);
            let summary = summary(&plan, &outcome(State::Affected), &arms);
            let sentence = told(&META, &summary.headline);
            assert!(sentence.contains(words) && sentence.contains("a cap of 1MiB/s"), "{sentence}");
            assert_eq!(summary.suggestions.len(), suggested, "{by}: {summary:?}");
        }
        for (state, words) in
            [(State::NotAffected, "did not hold up"), (State::Inconclusive, "It is not settled")]
        {
            let plan = plan_of("rewritten", &[]);
            let summary = summary(&plan, &outcome(state), &results(&plan, state));
            let sentence = told(&META, &summary.headline);
            assert!(sentence.contains(words) && summary.suggestions.is_empty(), "{sentence}");
        }
        let plan = plan_of("rewritten", &[]);
        told(&META, &summary(&plan, &outcome(State::Affected), &[]).headline);
    }

    #[test]
    fn another_file_system_is_no_contrast_if_the_user_asked_for_it() {
        let mut plan = plan_of("rewritten", &[]);
        plan.arms[1].settings = settings(&META, &[("on", "other")]);
        for state in [State::Affected, State::NotAffected] {
            let outcome = Outcome::new(state, measure::LOST, Test::default());
            let headline = summary(&plan, &outcome, &results(&plan, state)).headline;
            let sentence = told(&META, &headline);
            assert!(sentence.contains("on another file system"), "{sentence}");
            assert!(sentence.contains("in the control, which does the same"), "{sentence}");
            assert!(!sentence.contains("when the writer used"), "{sentence}");
        }
    }

    #[test]
    fn what_is_suggested_is_not_refused() {
        let of = |ms| {
            let case = IoJournalParams { pause: Time::ms(ms), ..IoJournalParams::default() };
            asked(&case).duration
        };
        assert_eq!((of(600), of(1000)), (Time::s(3), Time::s(5)));
    }
}
