//! The summary that `memory-high` gives for an outcome.

use super::meta::{META, measure};
use super::params::{By, MemoryHighParams};
use super::sentences::{Compared, MemoryHighFact};
use crate::params::Params;
use crate::suggest;
use crate::summary::{Summary, control_of};
use analysis::Outcome;
use model::{ArmResult, Plan, Role, State};

pub(super) fn summary(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
    let case = MemoryHighParams::of_case(plan);
    let headline = match outcome.state {
        State::Affected => MemoryHighFact::Stands(compared(case.as_ref(), plan, arms)),
        State::NotAffected => MemoryHighFact::Runs(compared(case.as_ref(), plan, arms)),
        _ => MemoryHighFact::Unsettled,
    };
    let suggestions = match (outcome.state, case) {
        (State::Affected, Some(case)) => {
            suggest::untried(&META, plan, arms, &asked(&case).settings())
        }
        _ => Vec::new(),
    };
    Summary { headline: headline.into(), suggestions, kind: None }
}

/// The settings of the case, with the default fixes and the default duration. A longer duration is
/// kept: the worker may need it to fill more memory than its limit.
fn asked(case: &MemoryHighParams) -> MemoryHighParams {
    let MemoryHighParams { fixes, duration, .. } = MemoryHighParams::default();
    MemoryHighParams { fixes, duration: duration.max(case.duration), ..case.clone() }
}

/// The figures of case and control.
fn compared(
    params: Option<&MemoryHighParams>,
    plan: &Plan,
    arms: &[ArmResult],
) -> Option<Box<Compared>> {
    let (case, params) = (arms.iter().find(|arm| arm.role == Role::Case)?, params?);
    let control = control_of(plan, case, arms);
    let of_control = |name: &str| control?.measures.get(name).cloned();
    let file = match params.by {
        By::High => "memory.high",
        By::Max => "memory.max",
    };
    let kills = case.measures.get(measure::KILLS).map(|kills| kills.median.round() as u64);
    Some(Box::new(Compared {
        file: file.into(),
        limit: (&params.limit).into(),
        need: (&params.kept()).into(),
        lost: case.measures.get(measure::LOST)?.clone(),
        control: of_control(measure::LOST),
        units: case.measures.get(measure::UNITS).cloned(),
        control_units: of_control(measure::UNITS),
        kills: kills.filter(|kills| *kills > 0),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Time;
    use crate::testing::{settings, told};
    use model::testing::{arm, estimate, plan, result};
    use model::{Arm, Test, Unit};

    fn plan_of() -> Plan {
        let arm = |id, role, limit| Arm {
            settings: settings(&META, &[("limit", limit)]),
            ..arm(id, role)
        };
        let arms = vec![arm("raised", Role::Control, "96MiB"), arm("case", Role::Case, "32MiB")];
        Plan { arms, ..plan(&[]) }
    }

    fn results(state: State, kills: f64) -> Vec<ArmResult> {
        let of = |id, role, state| {
            let mut arm = result(id, role, state);
            for (name, value, unit) in [
                (measure::LOST, 90.0, Unit::Percent),
                (measure::UNITS, 20.0, Unit::PerSecond),
                (measure::KILLS, kills, Unit::Count),
            ] {
                arm.measures.insert(name.to_owned(), estimate(value, unit));
            }
            arm
        };
        vec![of("raised", Role::Control, None), of("case", Role::Case, Some(state))]
    }

    #[test]
    fn case_and_control_are_told_side_by_side() {
        let outcome = |state| Outcome::new(state, measure::LOST, Test::default());
        for (state, start) in [
            (State::Affected, "Work above its memory limit stands still here: under memory.high"),
            (State::NotAffected, "The memory limit does not make the work stand still: under"),
            (State::Inconclusive, "It is not settled"),
        ] {
            let summary = summary(&plan_of(), &outcome(state), &results(state, 0.0));
            let sentence = told(&META, &summary.headline);
            assert!(sentence.starts_with(start), "{sentence}");
            // The control already shows the fix that raises the limit, so it is not suggested.
            let left: Vec<_> = summary.suggestions.iter().map(|one| &one.what).collect();
            let all = usize::from(state == State::Affected) * 2;
            assert_eq!(left.len(), all, "{left:?}");
        }
        let killed = summary(&plan_of(), &outcome(State::Affected), &results(State::Affected, 3.0));
        let sentence = told(&META, &killed.headline);
        assert!(sentence.ends_with("started again 3 times a trial."), "{sentence}");
        told(&META, &summary(&plan_of(), &outcome(State::Affected), &[]).headline);
    }

    #[test]
    fn a_suggested_run_is_as_long_as_the_study_or_longer() {
        let of = |duration| {
            let usual = MemoryHighParams::default();
            asked(&MemoryHighParams { duration, ..usual }).duration
        };
        assert_eq!((of(Time::ms(500)), of(Time::s(20))), (Time::ms(800), Time::s(20)));
    }
}
