//! The summary that `preempted-holder` gives for an outcome.

use super::meta::{META, measure};
use super::params::PreemptedHolderParams;
use super::plan::shortest_trial;
use super::sentences::{Compared, PreemptedHolderFact};
use crate::params::Params;
use crate::suggest;
use crate::summary::{Summary, control_of};
use analysis::Outcome;
use model::{ArmResult, Plan, Role, State};

pub(super) fn summary(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
    let headline = match outcome.state {
        State::Affected => PreemptedHolderFact::Burns(compared(plan, arms)),
        State::NotAffected => PreemptedHolderFact::BurnsNone(compared(plan, arms)),
        _ => PreemptedHolderFact::Unsettled,
    };
    let case = PreemptedHolderParams::of_case(plan);
    let suggestions = match (outcome.state, case) {
        (State::Affected, Some(case)) => {
            suggest::untried(&META, plan, arms, &asked(&case).settings())
        }
        _ => Vec::new(),
    };
    Summary { headline: headline.into(), suggestions, kind: None }
}

/// The settings of the case, with the default fixes and duration, or with the shortest duration
/// that its rounds allow. Threads and CPUs were resolved for this machine.
fn asked(case: &PreemptedHolderParams) -> PreemptedHolderParams {
    let usual = PreemptedHolderParams::default();
    let PreemptedHolderParams { fixes, duration, .. } = usual;
    let duration = duration.max(shortest_trial(case));
    PreemptedHolderParams { fixes, duration, ..case.clone() }
}

/// The figures of case and control.
fn compared(plan: &Plan, arms: &[ArmResult]) -> Option<Box<Compared>> {
    let case = arms.iter().find(|arm| arm.role == Role::Case)?;
    let control = control_of(plan, case, arms);
    let count = |name: &str| Some(case.measures.get(name)?.median.round() as u64);
    let of_control = |name: &str| control?.measures.get(name).cloned();
    Some(Box::new(Compared {
        lost: case.measures.get(measure::LOST)?.clone(),
        threads: count(measure::THREADS)?,
        cpus: count(measure::CPUS)?,
        control: of_control(measure::LOST),
        rounds: case.measures.get(measure::ROUNDS).cloned(),
        control_rounds: of_control(measure::ROUNDS),
        preempted: case.measures.get(measure::PREEMPTED).cloned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Time;
    use crate::testing::{settings, told};
    use model::testing::{arm, estimate, plan, result};
    use model::{Arm, Test, Unit};

    fn plan_of(threads: &str) -> Plan {
        let arm = |id, role, lock| {
            let settings =
                settings(&META, &[("threads", threads), ("on-cpus", "2"), ("lock", lock)]);
            Arm { settings, ..arm(id, role) }
        };
        let arms = vec![arm("sleep", Role::Control, "sleep"), arm("case", Role::Case, "spin")];
        Plan { arms, ..plan(&[]) }
    }

    fn results(state: State) -> Vec<ArmResult> {
        let of = |id, role, state| {
            let mut arm = result(id, role, state);
            for (name, value, unit) in [
                (measure::LOST, 40.0, Unit::Percent),
                (measure::ROUNDS, 9000.0, Unit::PerSecond),
                (measure::PREEMPTED, 500.0, Unit::MillisecondsPerSecond),
                (measure::THREADS, 8.0, Unit::Count),
                (measure::CPUS, 2.0, Unit::Count),
            ] {
                arm.measures.insert(name.to_owned(), estimate(value, unit));
            }
            arm
        };
        vec![of("sleep", Role::Control, None), of("case", Role::Case, Some(state))]
    }

    #[test]
    fn case_and_control_are_told_side_by_side() {
        let outcome = |state| Outcome::new(state, measure::LOST, Test::default());
        for (state, start) in [
            (State::Affected, "Threads that spin for a lock burn CPU time here"),
            (State::NotAffected, "Threads that wait for a lock burn no CPU time here"),
            (State::Inconclusive, "It is not settled"),
        ] {
            let summary = summary(&plan_of("8"), &outcome(state), &results(state));
            let sentence = told(&META, &summary.headline);
            assert!(sentence.starts_with(start), "{sentence}");
            // The control already shows a lock that sleeps, so it is not suggested.
            assert_eq!(summary.suggestions.len(), usize::from(state == State::Affected));
        }
        told(&META, &summary(&plan_of("8"), &outcome(State::Affected), &[]).headline);
    }

    #[test]
    fn what_is_suggested_is_not_refused() {
        let of = |ms| {
            let usual = PreemptedHolderParams::default();
            let inside = Time::ms(ms);
            asked(&PreemptedHolderParams { inside, threads: 8, on_cpus: 2, ..usual }).duration
        };
        assert_eq!((of(1), of(100)), (Time::ms(400), Time::ms(800)));
    }
}
