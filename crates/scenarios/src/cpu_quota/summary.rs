//! The summary that `cpu-quota` gives for an outcome.

use super::meta::{META, OTHER_KERNEL, measure};
use super::params::CpuQuotaParams;
use super::sentences::{CpuQuotaFact, Got};
use crate::Summary;
use crate::params::Params;
use analysis::Outcome;
use model::suggestion::Command;
use model::{Amount, ArmResult, Plan, Role, Run, Settings, State, Suggestion, Unit, Value, What};

/// Number of CPUs in the suggested simulation. If slices expire, a group loses more with more
/// CPUs.
const SIMULATED_CPUS: u32 = 64;

pub(super) fn summary(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
    let over = outcome.measure == measure::BEYOND;
    let headline = match outcome.state {
        State::Affected if over => CpuQuotaFact::Over(got(arms)),
        State::Affected => CpuQuotaFact::Under(got(arms)),
        State::NotAffected => CpuQuotaFact::GetsIt(got(arms)),
        _ => CpuQuotaFact::Unsettled,
    };
    let kind = if over { "over" } else { "under" };
    Summary {
        headline: headline.into(),
        suggestions: suggestions(outcome.state, plan),
        kind: (outcome.state == State::Affected).then(|| kind.to_owned()),
    }
}

/// What case and control got of their quotas, and their numbers of CPUs.
fn got(arms: &[ArmResult]) -> Option<Box<Got>> {
    let figure = |role, name: &str| {
        let arm = arms.iter().find(|arm: &&ArmResult| arm.role == role)?;
        arm.measures.get(name)
    };
    let cpus = |role| figure(role, measure::CPUS).map(|cpus| cpus.median.round() as u64);
    Some(Box::new(Got {
        got: figure(Role::Case, measure::GOT)?.clone(),
        cpus: cpus(Role::Case),
        control: figure(Role::Control, measure::GOT).cloned(),
        control_cpus: cpus(Role::Control),
    }))
}

/// The next steps. That fewer CPUs help is no suggestion: the control shows it.
fn suggestions(state: State, plan: &Plan) -> Vec<Suggestion> {
    let Some(case) = plan.case() else {
        return Vec::new();
    };
    let Some(params) = CpuQuotaParams::of(&case.settings) else { return Vec::new() };
    match state {
        State::Affected => {
            let run = Some(simulated(&params, Some("5.7")));
            vec![Suggestion { run, ..What::Fix(OTHER_KERNEL.to_owned()).into() }]
        }
        State::NotAffected => {
            let run = Some(simulated(&params, None));
            vec![Suggestion { run, ..What::Scenario(CpuQuotaFact::LargerMachine.into()).into() }]
        }
        _ => Vec::new(),
    }
}

/// A simulation of the same quota on a machine with many CPUs, by the rules of one kernel: with the
/// same load, or, for this kernel, with a thread on each CPU.
fn simulated(params: &CpuQuotaParams, kernel: Option<&str>) -> Run {
    let mut parameters = Settings::default();
    let number = |count: u32| Value::Number(count.into());
    parameters.set("cpus", number(SIMULATED_CPUS));
    parameters.set("threads", number(simulated_threads(params, kernel.is_none())));
    parameters.set("fast", number(params.fast));
    parameters.set("sleep", Value::Text(params.wake.to_string()));
    parameters.set("quota", Value::Text(params.quota.to_string()));
    parameters.set("period", Value::Text(params.period.to_string()));
    if let Some(kernel) = kernel {
        parameters.set("kernel", Value::Text(kernel.to_owned()));
    }
    Run { command: Command::Sim, scenario: META.id.to_owned(), parameters }
}

/// The threads of the simulation: as many as were asked for. If their number was left open, or the
/// question is what more CPUs do, the busy ones and one more per CPU.
fn simulated_threads(params: &CpuQuotaParams, more_cpus: bool) -> u32 {
    let left_open = params.threads == params.on_cpus.saturating_add(params.fast);
    let one_per_cpu = SIMULATED_CPUS.saturating_add(params.fast);
    match (left_open, more_cpus) {
        (true, _) => one_per_cpu,
        (false, true) => params.threads.max(one_per_cpu),
        (false, false) => params.threads,
    }
}

/// A figure in percent of the quota.
pub(super) fn of_quota(percent: f64) -> Amount {
    Amount::exact(percent, Unit::Percent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{settings, told, value_of};
    use model::testing::{arm, estimate, plan, result};
    use model::{Arm, Test};

    fn plan_of(on_cpus: u32) -> Plan {
        let on_cpus = on_cpus.to_string();
        let changed = [("quota", "4ms"), ("threads", "5"), ("on-cpus", &*on_cpus)];
        let settings = settings(&META, &changed);
        let arms = vec![Arm { settings, ..arm("spread", Role::Case) }];
        Plan { arms, ..plan(&[]) }
    }

    fn results() -> [ArmResult; 2] {
        [("control", Role::Control, 1.0), ("spread", Role::Case, 4.0)].map(|(id, role, cpus)| {
            let mut arm = result(id, role, None);
            arm.measures.insert(measure::GOT.to_owned(), estimate(90.0, Unit::Percent));
            arm.measures.insert(measure::CPUS.to_owned(), estimate(cpus, Unit::Count));
            arm
        })
    }

    fn summary_of(state: State, name: &str, arms: &[ArmResult]) -> Summary {
        summary(&plan_of(4), &Outcome::new(state, name, Test::default()), arms)
    }

    #[test]
    fn both_ways_off_the_quota_have_their_names() {
        let under = summary_of(State::Affected, measure::LOST, &results());
        assert_eq!(under.kind.as_deref(), Some("under"));
        assert_eq!(
            told(&META, &under.headline),
            "A group is throttled below its CPU quota here: with threads on 4 CPUs it got 90% [90, 90] \
             of its quota; with the same threads on 1 CPU it got 90% [90, 90]."
        );
        let over = summary_of(State::Affected, measure::BEYOND, &[]);
        assert_eq!(over.kind.as_deref(), Some("over"));
        assert_eq!(told(&META, &over.headline), "A group gets more than its CPU quota here.");
        for state in [State::NotAffected, State::Inconclusive] {
            let other = summary_of(state, measure::LOST, &results());
            told(&META, &other.headline);
            assert_eq!(other.kind, None);
        }
    }

    #[test]
    fn a_kernel_is_simulated_and_fewer_cpus_are_left_to_the_control() {
        let affected = suggestions(State::Affected, &plan_of(4));
        let [kernel] = affected.as_slice() else { panic!("{affected:?}") };
        let run = kernel.run.as_ref().unwrap();
        let of = |run: &Run, name: &str| value_of(&run.parameters, name).unwrap_or_default();
        assert_eq!((run.command, of(run, "kernel").as_str()), (Command::Sim, "5.7"));
        assert_eq!(of(run, "quota"), "4ms");
        let quiet = suggestions(State::NotAffected, &plan_of(4));
        let [Suggestion { what: What::Scenario(fact), .. }] = quiet.as_slice() else {
            panic!("{quiet:?}")
        };
        told(&META, fact);
    }

    #[test]
    fn a_simulation_has_the_load_of_the_study() {
        let of = |changed: &[(&str, &str)], kernel| {
            let case = CpuQuotaParams::of(&settings(&META, changed)).unwrap();
            let run = simulated(&case, kernel);
            ["threads", "fast", "sleep"].map(|name| value_of(&run.parameters, name).unwrap())
        };
        assert_eq!(of(&[("threads", "5"), ("on-cpus", "4")], Some("5.7")), ["65", "1", "3ms"]);
        let own = [("threads", "9"), ("on-cpus", "4"), ("fast", "2"), ("wake", "2ms")];
        assert_eq!(of(&own, Some("5.7")), ["9", "2", "2ms"]);
        assert_eq!(of(&own, None), ["66", "2", "2ms"], "a larger machine has more to do");
        let many = [("threads", "200"), ("on-cpus", "4")];
        assert_eq!(of(&many, None)[0], "200");
    }
}
