//! Whether the readers read at all: a load that never ran cannot have shown that it does no harm.

use super::meta::measure;
use analysis::Outcome;
use model::{Plan, Role, State, Trial};

/// Takes `not-affected` back where the scanners of an arm read nothing in half of its trials.
pub(super) fn review(plan: &Plan, trials: &[Trial], mut outcome: Outcome) -> Outcome {
    if outcome.state != State::NotAffected {
        return outcome;
    }
    let idle: Vec<String> = plan
        .arms
        .iter()
        .filter(|arm| arm.role == Role::Case && arm.settings.number("busy") != Some(0))
        .filter_map(|arm| idle(trials, &arm.id))
        .collect();
    if !idle.is_empty() {
        outcome.state = State::Inconclusive;
        outcome.because.splice(0..0, idle);
        outcome.limits = vec!["give the scanners more time: --lead 1s --duration 5s".to_owned()];
    }
    outcome
}

fn idle(trials: &[Trial], arm: &str) -> Option<String> {
    let of_arm = || trials.iter().filter(|trial| trial.arm == arm);
    let read_nothing = |trial: &&Trial| {
        let bytes = trial.observation.measures.get(measure::SCAN_BYTES);
        bytes.is_none_or(|bytes| bytes.value <= 0.0)
    };
    let (idle, all) = (of_arm().filter(read_nothing).count(), of_arm().count());
    (2 * idle >= all).then(|| {
        format!(
            "the scanners of {arm} read nothing in {idle} of {all} trials, which could not have \
             shown a stall"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mmap_lock::META;
    use model::{Arm, Measure, Observation, Settings, Surroundings, Test, Unit, Value};

    fn plan(busy: i64) -> Plan {
        let mut settings = Settings::defaults(META.knobs, false);
        settings.set("busy", Value::Number(busy));
        Plan {
            arms: vec![Arm { id: "busy".to_owned(), role: Role::Case, settings }],
            seed: 0,
            min_blocks: 1,
            max_blocks: 1,
            stop_when_settled: true,
            judging: META.judging,
        }
    }

    fn trial(bytes: f64) -> Trial {
        let mut observation = Observation::default();
        let bytes = Measure::exact(bytes, Unit::Bytes);
        observation.measures.insert(measure::SCAN_BYTES.to_owned(), bytes);
        Trial {
            block: 0,
            arm: "busy".to_owned(),
            started_ms: 0.0,
            took_ms: 0.0,
            observation,
            surroundings: Surroundings::default(),
        }
    }

    fn reviewed(busy: i64, bytes: &[f64], state: State) -> State {
        let test = Test {
            method: String::new(),
            blocks: 1,
            evidence_affected: 1.0,
            evidence_not_affected: 1.0,
            threshold: 20.0,
            error_rate: 0.05,
        };
        let outcome = Outcome { state, test, because: Vec::new(), limits: Vec::new() };
        let trials: Vec<Trial> = bytes.iter().map(|bytes| trial(*bytes)).collect();
        review(&plan(busy), &trials, outcome).state
    }

    #[test]
    fn scanners_that_never_ran_cannot_clear_a_machine() {
        assert_eq!(reviewed(10, &[0.0, 9.0], State::NotAffected), State::Inconclusive);
        assert_eq!(reviewed(10, &[0.0, 9.0, 9.0], State::NotAffected), State::NotAffected);
        assert_eq!(reviewed(0, &[0.0, 0.0], State::NotAffected), State::NotAffected);
        assert_eq!(reviewed(10, &[0.0, 0.0], State::Affected), State::Affected);
    }
}
