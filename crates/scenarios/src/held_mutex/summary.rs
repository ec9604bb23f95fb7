//! The summary that `held-mutex` gives for an outcome.

use super::meta::{META, measure};
use super::params::{Cause, HeldMutexParams};
use super::plan::shortest_trial;
use super::sentences::{Compared, HeldMutexFact, Holder};
use crate::params::Params;
use crate::suggest;
use crate::summary::{Summary, control_of};
use analysis::Outcome;
use model::{ArmResult, Plan, Role, State};

pub(super) fn summary(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
    let case = HeldMutexParams::of_case(plan);
    let both = case.as_ref().and_then(|case| compared(case, plan, arms));
    let headline = match outcome.state {
        State::Affected => HeldMutexFact::Stalls(both),
        State::NotAffected => HeldMutexFact::Passes(both),
        _ => HeldMutexFact::Unsettled,
    };
    let suggestions = match (outcome.state, case) {
        (State::Affected, Some(case)) => {
            suggest::untried(&META, plan, arms, &asked(&case).settings())
        }
        _ => Vec::new(),
    };
    Summary { headline: headline.into(), suggestions, kind: None }
}

/// The settings of the case, with the default fixes and duration, or with the shortest duration
/// that its other settings allow.
fn asked(case: &HeldMutexParams) -> HeldMutexParams {
    let HeldMutexParams { fixes, duration, .. } = HeldMutexParams::default();
    let duration = duration.max(shortest_trial(case));
    HeldMutexParams { fixes, duration, ..case.clone() }
}

/// The figures of case and control.
fn compared(params: &HeldMutexParams, plan: &Plan, arms: &[ArmResult]) -> Option<Box<Compared>> {
    let case = arms.iter().find(|arm| arm.role == Role::Case)?;
    let control = control_of(plan, case, arms);
    let holder = match params.by {
        _ if !params.held_up.is_yes() => Holder::Usual,
        Cause::Nice => Holder::Nice(params.nice),
        Cause::Idle => Holder::Idle,
        Cause::Quota => Holder::Quota((&params.quota).into()),
    };
    Some(Box::new(Compared {
        holder,
        lost: case.measures.get(measure::LOST)?.clone(),
        control: control.and_then(|control| control.measures.get(measure::LOST).cloned()),
        worst: case.measures.get(measure::WORST).cloned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Time;
    use crate::testing::{settings, told};
    use model::testing::{arm, estimate, plan, result};
    use model::{Arm, Test, Unit};

    fn plan_of(by: &str) -> Plan {
        let arm = |id, role, held_up| {
            let settings = settings(&META, &[("by", by), ("held-up", held_up)]);
            Arm { settings, ..arm(id, role) }
        };
        let arms = vec![arm("usual", Role::Control, "no"), arm("case", Role::Case, "yes")];
        Plan { arms, ..plan(&[]) }
    }

    fn results(state: State) -> Vec<ArmResult> {
        let of = |id, role, state| {
            let mut arm = result(id, role, state);
            for (name, value, unit) in [
                (measure::LOST, 900.0, Unit::MillisecondsPerSecond),
                (measure::WORST, 400.0, Unit::Milliseconds),
            ] {
                arm.measures.insert(name.to_owned(), estimate(value, unit));
            }
            arm
        };
        vec![of("usual", Role::Control, None), of("case", Role::Case, Some(state))]
    }

    #[test]
    fn case_and_control_stand_side_by_side() {
        let outcome = |state| Outcome::new(state, measure::LOST, Test::default());
        for (by, holder) in
            [("nice", "at nice 19"), ("idle", "SCHED_IDLE"), ("quota", "a CPU quota of 8ms/100ms")]
        {
            let summary =
                summary(&plan_of(by), &outcome(State::Affected), &results(State::Affected));
            let sentence = told(&META, &summary.headline);
            assert!(sentence.contains(holder) && sentence.contains("keeps others"), "{sentence}");
            // The control already shows the usual weight, and a quota leaves no other fix to
            // suggest.
            assert_eq!(summary.suggestions.len(), usize::from(by != "quota"), "{summary:?}");
        }
        for (state, start) in [
            (State::NotAffected, "The holder of a mutex does not keep others asleep much longer"),
            (State::Inconclusive, "It is not settled"),
        ] {
            let summary = summary(&plan_of("nice"), &outcome(state), &results(state));
            let sentence = told(&META, &summary.headline);
            assert!(sentence.starts_with(start) && summary.suggestions.is_empty(), "{sentence}");
        }
        told(&META, &summary(&plan_of("nice"), &outcome(State::Affected), &[]).headline);
    }

    #[test]
    fn what_is_suggested_is_not_refused() {
        let of = |every| {
            let case = HeldMutexParams { every: Time::ms(every), ..HeldMutexParams::default() };
            asked(&case).duration
        };
        assert_eq!((of(70), of(71)), (Time::ms(700), Time::ms(710)));
        let rare = HeldMutexParams { rest: Time::s(1), ..HeldMutexParams::default() };
        assert_eq!(asked(&rare).duration, Time::ms(3015));
    }
}
