//! What `quota-blind` says of an outcome.

use super::meta::{META, measure};
use super::params::QuotaBlindParams;
use super::runtime::Runtime;
use super::sentences::say;
use crate::params::{Auto, Params};
use crate::suggest;
use crate::summary::{Summary, control_of};
use analysis::Outcome;
use model::{ArmResult, Estimate, Fact, Plan, Role, State};

pub(super) fn summary(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
    let headline = match outcome.state {
        State::Affected => compared(say::COSTS, plan, arms),
        State::NotAffected => compared(say::COSTS_NOTHING, plan, arms),
        _ => Fact::new(say::UNSETTLED),
    };
    let suggestions = match (outcome.state, QuotaBlindParams::of_case(plan)) {
        (State::Affected, Some(case)) => suggest::untried(&META, plan, &asked(&case).settings()),
        _ => Vec::new(),
    };
    Summary { headline, suggestions, kind: None }
}

/// What was asked for, without what was measured of this machine.
fn asked(case: &QuotaBlindParams) -> QuotaBlindParams {
    let QuotaBlindParams { duration, .. } = QuotaBlindParams::default();
    let (request_rounds, job_rounds) = (Auto::Auto, Auto::Auto);
    QuotaBlindParams { duration, request_rounds, job_rounds, ..case.clone() }
}

/// What case and control did.
fn compared(id: &str, plan: &Plan, arms: &[ArmResult]) -> Fact {
    let runtime = QuotaBlindParams::of_case(plan).and_then(|params| params.runtime.get());
    let fact = Fact::new(id).with("runtime", runtime.map_or("the runtime", Runtime::name));
    let Some(case) = arms.iter().find(|arm| arm.role == Role::Case) else { return fact };
    let control = control_of(plan, case, arms);
    let of_control = |name: &str| -> Option<&Estimate> { control?.measures.get(name) };
    let count = |estimate: Option<&Estimate>| Some(estimate?.median.round() as u64);
    let of_case = |name: &str| case.measures.get(name);
    fact.with_some("p99", of_case(measure::P99))
        .with_some("control", of_control(measure::P99))
        .with_some("cpus", count(of_case(measure::CPUS)))
        .with_some("control_cpus", count(of_control(measure::CPUS)))
        .with_some("throttled", of_case(measure::THROTTLED))
        .with_some("control_throttled", of_control(measure::THROTTLED))
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
            (State::Affected, "More threads of Go are at work than its quota allows"),
            (State::NotAffected, "What Go chooses by itself costs its requests nothing here"),
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
}
