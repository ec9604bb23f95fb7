//! The summary that `quota-blind` gives for an outcome.

use super::meta::{META, measure};
use super::params::{QuotaBlindParams, Runtime};
use super::sentences::{Compared, QuotaBlindFact};
use crate::params::{Auto, Params};
use crate::suggest;
use crate::summary::{Summary, control_of};
use analysis::Outcome;
use model::{ArmResult, Estimate, Name, Plan, Role, State};

pub(super) fn summary(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
    let case = QuotaBlindParams::of_case(plan);
    let runtime = runtime(case.as_ref());
    let told = case.as_ref().and_then(|case| case.told.get());
    let both = compared(plan, arms);
    let headline = match outcome.state {
        State::Affected => QuotaBlindFact::Costs { runtime, told, both },
        State::NotAffected => QuotaBlindFact::CostsNothing { runtime, told, both },
        _ => QuotaBlindFact::Unsettled,
    };
    let suggestions = match (outcome.state, case) {
        (State::Affected, Some(case)) => {
            suggest::untried(&META, plan, arms, &asked(&case).settings())
        }
        _ => Vec::new(),
    };
    Summary { headline: headline.into(), suggestions, kind: None }
}

/// The settings of the case, without those that were measured on this machine.
fn asked(case: &QuotaBlindParams) -> QuotaBlindParams {
    let QuotaBlindParams { duration, .. } = QuotaBlindParams::default();
    let (request_rounds, job_rounds) = (Auto::Auto, Auto::Auto);
    QuotaBlindParams { duration, request_rounds, job_rounds, ..case.clone() }
}

/// The runtime of the case.
fn runtime(case: Option<&QuotaBlindParams>) -> Name {
    let runtime = case.and_then(|params| params.runtime.get());
    runtime.map_or("the runtime", Runtime::name).into()
}

/// The figures of case and control.
fn compared(plan: &Plan, arms: &[ArmResult]) -> Option<Box<Compared>> {
    let case = arms.iter().find(|arm| arm.role == Role::Case)?;
    let control = control_of(plan, case, arms);
    let of_control = |name: &str| control?.measures.get(name).cloned();
    let count = |estimate: Option<Estimate>| Some(estimate?.median.round() as u64);
    let of_case = |name: &str| case.measures.get(name).cloned();
    Some(Box::new(Compared {
        p99: of_case(measure::P99)?,
        control: of_control(measure::P99),
        cpus: count(of_case(measure::CPUS)),
        control_cpus: count(of_control(measure::CPUS)),
        throttled: of_case(measure::THROTTLED),
        control_throttled: of_control(measure::THROTTLED),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{settings, told};
    use model::testing::{arm, estimate, plan, result};
    use model::{Arm, Test, Unit};

    fn plan_of(told: &str) -> Plan {
        let arm = |id, role, told| {
            let settings = settings(&META, &[("runtime", "go"), ("told", told)]);
            Arm { settings, ..arm(id, role) }
        };
        let arms = vec![arm("told", Role::Control, told), arm("default", Role::Case, "none")];
        Plan { arms, ..plan(&[]) }
    }

    fn results(state: State) -> Vec<ArmResult> {
        let of = |id, role, state, figures: [f64; 3]| {
            let mut arm = result(id, role, state);
            let names = [measure::P99, measure::CPUS, measure::THROTTLED];
            let units = [Unit::Milliseconds, Unit::Count, Unit::Percent];
            for ((name, value), unit) in names.into_iter().zip(figures).zip(units) {
                arm.measures.insert(name.to_owned(), estimate(value, unit));
            }
            arm
        };
        vec![
            of("told", Role::Control, None, [40.0, 1.0, 20.0]),
            of("default", Role::Case, Some(state), [70.0, 2.0, 30.0]),
        ]
    }

    #[test]
    fn case_and_control_are_told_side_by_side() {
        let outcome = |state| Outcome::new(state, measure::P99, Test::default());
        for (state, start) in [
            (State::Affected, "Go runs more threads than its quota allows"),
            (
                State::NotAffected,
                "The number of CPUs that Go chooses by itself does not slow its requests here",
            ),
            (State::Inconclusive, "It is not settled"),
        ] {
            let summary = summary(&plan_of("1"), &outcome(state), &results(state));
            let sentence = told(&META, &summary.headline);
            assert!(sentence.starts_with(start), "{sentence}");
            assert_eq!(summary.suggestions, [], "the control has shown it");
        }
        let other = summary(&plan_of("2"), &outcome(State::Affected), &[]);
        assert_eq!(other.suggestions.len(), 1);
        told(&META, &other.headline);
    }

    #[test]
    fn a_setting_of_the_case_is_not_taken_for_the_runtimes_own_choice() {
        let with = |state, changed: &[(&str, &str)]| {
            let mut plan = plan_of("1");
            plan.arms[1].settings = settings(&META, changed);
            let outcome = Outcome::new(state, measure::P99, Test::default());
            told(&META, &summary(&plan, &outcome, &results(state)).headline)
        };
        let four = [("runtime", "go"), ("told", "4")];
        let nothing = with(State::NotAffected, &four);
        let start = "Configuring Go for 4 CPUs does not slow its requests here: with a setting of \
                     4 CPUs, 1 in 100 requests took 70 ms";
        assert!(nothing.starts_with(start), "{nothing}");
        let costs = with(State::Affected, &four);
        assert!(costs.contains(": with a setting of 4 CPUs, 1 in 100"), "{costs}");
        let default = with(State::Affected, &[("runtime", "go")]);
        assert!(default.contains(": with its own default of 2 CPUs, 1 in 100"), "{default}");
    }

    #[test]
    fn a_setting_of_fewer_cpus_is_not_said_to_run_too_many_threads() {
        let mut plan = plan_of("2");
        plan.arms[1].settings = settings(&META, &[("runtime", "go"), ("told", "1")]);
        let mut arms = results(State::Affected);
        for (arm, cpus) in arms.iter_mut().zip([2.0, 1.0]) {
            arm.measures.insert(measure::CPUS.to_owned(), estimate(cpus, Unit::Count));
        }
        let outcome = Outcome::new(State::Affected, measure::P99, Test::default());
        let sentence = told(&META, &summary(&plan, &outcome, &arms).headline);
        let start = "Configuring Go for 1 CPU slows its requests here: with a setting of 1 CPU,";
        assert!(sentence.starts_with(start), "{sentence}");
    }

    #[test]
    fn the_threads_of_the_pool_of_node_are_not_called_cpus() {
        let mut plan = plan_of("1");
        plan.arms[1].settings = settings(&META, &[("runtime", "node")]);
        for state in [State::Affected, State::NotAffected] {
            let outcome = Outcome::new(state, measure::P99, Test::default());
            let sentence = told(&META, &summary(&plan, &outcome, &results(state)).headline);
            assert!(sentence.contains("its own default of 2 pool threads,"), "{sentence}");
            assert!(!sentence.contains("CPU"), "{sentence}");
        }
    }
}
