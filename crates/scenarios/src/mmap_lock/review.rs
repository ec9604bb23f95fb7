//! What only this scenario knows of an outcome: whether the readers read at all, since a load that
//! never ran cannot have shown that it does no harm, and what a hang's figures mean.

use super::meta::measure;
use super::params::MmapLockParams;
use crate::params::{Params, Time};
use analysis::Outcome;
use model::{ArmResult, Plan, Role, State, Trial};

pub(super) fn review(plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
    explain_hangs(plan, arms, outcome);
    take_back(plan, trials, arms, outcome);
}

/// Says that the length of a hang is the patience of the study, and how to see more of it.
fn explain_hangs(plan: &Plan, arms: &[ArmResult], outcome: &mut Outcome) {
    let params = plan.arms.first().and_then(|arm| MmapLockParams::of(&arm.settings));
    let Some(params) = params else { return };
    if arms.iter().any(|arm| arm.hangs.count > 0) {
        let cut = Time::from(params.duration.get() + params.hang_after.get());
        outcome.limits.push(format!(
            "a hung trial was cut off after {cut} by ending its load; a longer --hang-after shows \
             how long its calls last"
        ));
    }
}

/// Takes `not-affected` back where the scanners of a case, or those of its control, read nothing in
/// half of the trials: a control without its load would let the case's load show as the cause.
fn take_back(plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
    let reads = |arm: &&model::Arm| {
        let params = MmapLockParams::of(&arm.settings);
        arm.role == Role::Case && params.is_some_and(|params| params.busy.most() > 0)
    };
    let mut idlers = Vec::new();
    for arm in plan.arms.iter().filter(reads) {
        let result = arms.iter_mut().find(|result| result.id == arm.id);
        // Readers of the case that read nothing cannot clear it; readers of its control that read
        // nothing leave it without the case's load, and so cannot say that it is affected either.
        let idle: Vec<String> = match result.as_ref().and_then(|result| result.state) {
            Some(State::NotAffected) => {
                let pair = std::iter::once(&arm.id).chain(&arm.against);
                pair.filter_map(|id| idle(trials, id)).collect()
            }
            Some(State::Affected) => arm.against.iter().filter_map(|id| idle(trials, id)).collect(),
            _ => continue,
        };
        let Some(result) = result else { continue };
        if !idle.is_empty() {
            result.state = Some(State::Inconclusive);
            idlers.extend(idle);
        }
    }
    let supported =
        arms.iter().any(|arm| arm.role == Role::Case && arm.state == Some(State::Affected));
    let taken_back = match outcome.state {
        State::NotAffected => !idlers.is_empty(),
        State::Affected => !idlers.is_empty() && !supported,
        _ => false,
    };
    if taken_back {
        outcome.state = State::Inconclusive;
        outcome.because.splice(0..0, idlers);
        outcome.limits = vec!["give the scanners more time: --duration 5s".to_owned()];
    }
}

fn idle(trials: &[Trial], arm: &str) -> Option<String> {
    let of_arm = || trials.iter().filter(|trial| trial.arm == arm);
    let read_nothing = |trial: &&Trial| {
        let bytes = trial.observation.measures.get(measure::SCAN_BYTES);
        bytes.is_none_or(|bytes| bytes.value <= 0.0)
    };
    let (idle, all) = (of_arm().filter(read_nothing).count(), of_arm().count());
    (all > 0 && 2 * idle >= all).then(|| {
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
    use crate::params::Counts;
    use model::{Arm, Measure, Observation, Proportion, Surroundings, Test, Unit};
    use std::collections::BTreeMap;

    fn plan(busy: u32) -> Plan {
        let settings = MmapLockParams { busy: Counts::one(busy), ..Default::default() }.settings();
        let arm = |id: &str, role, against: Option<&str>| Arm {
            id: id.to_owned(),
            role,
            settings: settings.clone(),
            against: against.map(str::to_owned),
            change: None,
        };
        Plan {
            arms: vec![
                arm("twin", Role::Control, None),
                arm("busy", Role::Case, (busy > 0).then_some("twin")),
            ],
            seed: 0,
            min_blocks: 1,
            max_blocks: 1,
            stop_when_settled: true,
            error_rate: None,
            settle_fixes: false,
            judging: META.judging,
            also: Vec::new(),
            left_out: Vec::new(),
        }
    }

    fn trial(arm: &str, bytes: f64) -> Trial {
        let mut observation = Observation::default();
        let bytes = Measure::exact(bytes, Unit::Bytes);
        observation.measures.insert(measure::SCAN_BYTES.to_owned(), bytes);
        Trial {
            block: 0,
            arm: arm.to_owned(),
            started_ms: 0.0,
            took_ms: 0.0,
            observation,
            surroundings: Surroundings::default(),
        }
    }

    fn result(state: State) -> ArmResult {
        ArmResult {
            id: "busy".to_owned(),
            role: Role::Case,
            state: Some(state),
            trials: 1,
            hangs: Proportion { count: 0, of: 1, low: 0.0, high: 1.0, confidence: 0.95 },
            worse: None,
            measures: BTreeMap::new(),
            against_control: BTreeMap::new(),
            evidence: None,
        }
    }

    /// The state of study and arm after the review.
    fn reviewed(busy: u32, bytes: &[f64], twin: &[f64], state: State) -> (State, Option<State>) {
        let test = Test {
            method: String::new(),
            blocks: 1,
            evidence_affected: 1.0,
            evidence_not_affected: 1.0,
            threshold: 20.0,
            error_rate: 0.05,
            ..Test::default()
        };
        let mut outcome = Outcome {
            state,
            test,
            measure: String::new(),
            also: Vec::new(),
            open: Vec::new(),
            because: Vec::new(),
            limits: Vec::new(),
        };
        let of = |arm: &'static str, bytes: &[f64]| -> Vec<Trial> {
            bytes.iter().map(|bytes| trial(arm, *bytes)).collect()
        };
        let trials = [of("busy", bytes), of("twin", twin)].concat();
        let mut arms = [result(state)];
        review(&plan(busy), &trials, &mut arms, &mut outcome);
        (outcome.state, arms[0].state)
    }

    #[test]
    fn scanners_that_never_ran_cannot_clear_a_machine() {
        use State::{Affected, Inconclusive, NotAffected};
        let read = [9.0; 3];
        let of = |bytes: &[f64], state| reviewed(10, bytes, &read, state);
        assert_eq!(of(&[0.0, 9.0], NotAffected), (Inconclusive, Some(Inconclusive)));
        assert_eq!(of(&[0.0, 9.0, 9.0], NotAffected), (NotAffected, Some(NotAffected)));
        assert_eq!(of(&[0.0, 0.0], Affected), (Affected, Some(Affected)));
        let control = reviewed(10, &read, &[0.0, 9.0], NotAffected);
        assert_eq!(control, (Inconclusive, Some(Inconclusive)));
        let alone = reviewed(0, &[0.0, 0.0], &[], NotAffected);
        assert_eq!(alone, (NotAffected, Some(NotAffected)));
    }

    #[test]
    fn a_control_without_its_load_convicts_nobody() {
        use State::{Affected, Inconclusive};
        let read = [9.0; 2];
        let idle = reviewed(10, &read, &[0.0, 9.0], Affected);
        assert_eq!(idle, (Inconclusive, Some(Inconclusive)));
        assert_eq!(reviewed(10, &read, &[0.0, 9.0, 9.0], Affected), (Affected, Some(Affected)));
    }

    #[test]
    fn a_hang_is_said_to_be_cut_off() {
        let mut outcome = Outcome {
            measure: String::new(),
            also: Vec::new(),
            open: Vec::new(),
            state: State::Affected,
            test: Test {
                method: String::new(),
                blocks: 1,
                evidence_affected: 1.0,
                evidence_not_affected: 1.0,
                threshold: 20.0,
                error_rate: 0.05,
                ..Test::default()
            },
            because: Vec::new(),
            limits: Vec::new(),
        };
        let mut arm = result(State::Affected);
        arm.hangs.count = 1;
        review(&plan(10), &[], &mut [arm], &mut outcome);
        assert!(outcome.limits[0].contains("cut off after 500ms"), "{outcome:?}");
    }
}
