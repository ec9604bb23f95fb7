//! The summary that `group-move` gives for an outcome.

use super::meta::{META, measure};
use super::params::{By, GroupMoveParams};
use super::plan::{is_of_v1, shortest_trial};
use super::sentences::{Compared, GroupMoveFact};
use crate::params::Params;
use crate::suggest;
use crate::summary::{Summary, control_of};
use analysis::Outcome;
use model::{ArmResult, Plan, Role, State, Suggestion, What};

pub(super) fn summary(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
    let case = GroupMoveParams::of_case(plan);
    let both = case.as_ref().and_then(|case| compared(case, plan, arms));
    let headline = match outcome.state {
        State::Affected => GroupMoveFact::Waits(both),
        State::NotAffected => GroupMoveFact::Passes(both),
        _ => GroupMoveFact::Unsettled,
    };
    let suggestions = match (outcome.state, case) {
        (State::Affected, Some(case)) => suggestions(&case, plan, arms),
        _ => Vec::new(),
    };
    Summary { headline: headline.into(), suggestions, kind: None }
}

/// The fixes that the study did not try, and the mount option that no study may try: on new
/// kernels it stays until the next boot. Only moves need a fix.
fn suggestions(case: &GroupMoveParams, plan: &Plan, arms: &[ArmResult]) -> Vec<Suggestion> {
    if case.by != By::Move {
        return Vec::new();
    }
    let mut all = suggest::untried(&META, plan, arms, &asked(case).settings());
    // A mounted hierarchy of v1 does not take the option in a remount.
    let switch_on =
        if is_of_v1(plan) { GroupMoveFact::SwitchOnAtBoot } else { GroupMoveFact::SwitchOn };
    all.push(What::Scenario(switch_on.into()).into());
    all
}

/// The settings of the case, with the default fixes and duration, or with the shortest duration
/// that its pause allows.
fn asked(case: &GroupMoveParams) -> GroupMoveParams {
    let GroupMoveParams { fixes, duration, .. } = GroupMoveParams::default();
    let duration = duration.max(shortest_trial(case.gap));
    GroupMoveParams { fixes, duration, ..case.clone() }
}

/// The figures of case and control.
fn compared(params: &GroupMoveParams, plan: &Plan, arms: &[ArmResult]) -> Option<Box<Compared>> {
    let case = arms.iter().find(|arm| arm.role == Role::Case)?;
    let control = control_of(plan, case, arms);
    Some(Box::new(Compared {
        by: params.by,
        gap: (!params.gap.is_zero()).then(|| (&params.gap).into()),
        lost: case.measures.get(measure::LOST)?.clone(),
        control: control.and_then(|control| control.measures.get(measure::LOST).cloned()),
        call: case.measures.get(measure::CALL).cloned(),
        worst: case.measures.get(measure::WORST).cloned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Time;
    use crate::testing::{settings, told};
    use model::testing::{arm, estimate, plan, result};
    use model::{Arm, LeftOut, Test, Unit, WhyLeftOut};

    fn plan_of(by: &str, gap: &str) -> Plan {
        let arm = |id, role, by| {
            let settings = settings(&META, &[("by", by), ("gap", gap)]);
            Arm { settings, ..arm(id, role) }
        };
        let arms =
            vec![arm("other-file", Role::Control, "other-file"), arm("case", Role::Case, by)];
        Plan { arms, ..plan(&[]) }
    }

    fn results(state: State) -> Vec<ArmResult> {
        let of = |id, role, state| {
            let mut arm = result(id, role, state);
            for (name, value, unit) in [
                (measure::LOST, 110.0, Unit::MillisecondsPerSecond),
                (measure::CALL, 12.0, Unit::Milliseconds),
                (measure::WORST, 20.0, Unit::Milliseconds),
            ] {
                arm.measures.insert(name.to_owned(), estimate(value, unit));
            }
            arm
        };
        vec![of("other-file", Role::Control, None), of("case", Role::Case, Some(state))]
    }

    #[test]
    fn case_and_control_stand_side_by_side() {
        let outcome = |state| Outcome::new(state, measure::LOST, Test::default());
        for (by, gap, start, pause, suggested) in [
            ("move", "100ms", "Moving a process between control groups", "a pause of 100ms", 2),
            ("move", "0s", "Moving a process between control groups", "no pause", 2),
            ("clone-into", "100ms", "Making a process in a control group", "a pause of 100ms", 0),
            ("other-file", "100ms", "Writing to another file", "a pause of 100ms", 0),
        ] {
            let outcome = outcome(State::Affected);
            let summary = summary(&plan_of(by, gap), &outcome, &results(State::Affected));
            let sentence = told(&META, &summary.headline);
            assert!(sentence.starts_with(start) && sentence.contains(pause), "{sentence}");
            assert_eq!(summary.suggestions.len(), suggested, "{summary:?}");
        }
        for (state, words) in [
            (State::NotAffected, "[20, 20]. A wait of up to 5 ms in a call does not count."),
            (State::Inconclusive, "It is not settled"),
        ] {
            let summary = summary(&plan_of("move", "100ms"), &outcome(state), &results(state));
            let sentence = told(&META, &summary.headline);
            assert!(sentence.contains(words) && summary.suggestions.is_empty(), "{sentence}");
        }
        told(&META, &summary(&plan_of("move", "1s"), &outcome(State::Affected), &[]).headline);
    }

    #[test]
    fn in_v1_neither_a_remount_nor_a_fix_of_v2_is_suggested() {
        let suggested = |left_out: Vec<LeftOut>| {
            let plan = Plan { left_out, ..plan_of("move", "100ms") };
            let outcome = Outcome::new(State::Affected, measure::LOST, Test::default());
            let summary = summary(&plan, &outcome, &results(State::Affected));
            summary.suggestions.into_iter().map(|one| one.what).collect::<Vec<What>>()
        };
        let own = |fact: GroupMoveFact| What::Scenario(fact.into());
        let clone_into = What::Fix("clone-into".to_owned());
        assert_eq!(suggested(Vec::new()), [clone_into, own(GroupMoveFact::SwitchOn)]);
        let why = WhyLeftOut::Scenario(GroupMoveFact::NoCloneInV1.into());
        let left_out = vec![LeftOut { id: "clone-into".to_owned(), why }];
        assert_eq!(suggested(left_out), [own(GroupMoveFact::SwitchOnAtBoot)]);
    }

    #[test]
    fn what_is_suggested_is_not_refused() {
        let of = |ms| {
            let case = GroupMoveParams { gap: Time::ms(ms), ..GroupMoveParams::default() };
            asked(&case).duration
        };
        assert_eq!((of(200), of(300)), (Time::s(1), Time::ms(1500)));
    }
}
