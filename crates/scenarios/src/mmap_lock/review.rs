//! What only this scenario knows of an outcome: whether the readers read at all, since a load that
//! never ran cannot have shown that it does no harm, and what a hang's figures mean.

use super::meta::{META, measure};
use super::params::MmapLockParams;
use super::sentences::MmapLockFact;
use crate::params::{Params, Time};
use crate::{hang, suggest};
use analysis::Outcome;
use model::{ArmResult, Plan, Reason, Role, State, Trial};

pub(super) fn review(plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
    let params = plan.arms.first().and_then(|arm| MmapLockParams::of(&arm.settings));
    if let Some(params) = params {
        let cut = params.duration.get() + params.hang_after.get();
        outcome.caveats.extend(hang::cut_off(arms, cut, Some("hang-after")));
    }
    take_back(plan, trials, arms, outcome);
    never_throttled(plan, trials, arms, outcome);
}

/// Takes `not-affected` back where readers with a quota were never throttled: then the cause was
/// not there.
fn never_throttled(plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
    let limited = |arm: &&model::Arm| {
        let params = MmapLockParams::of(&arm.settings);
        arm.role == Role::Case && params.is_some_and(|p| p.reader_quota.value().is_some())
    };
    for arm in plan.arms.iter().filter(limited) {
        let result = arms.iter_mut().find(|result| result.id == arm.id);
        let Some(result) = result.filter(|r| r.state == Some(State::NotAffected)) else { continue };
        let of_arm = || trials.iter().filter(|trial| trial.arm == arm.id);
        let throttled = |trial: &Trial| {
            let periods = trial.observation.measures.get(measure::THROTTLED);
            periods.is_some_and(|periods| periods.value > 0.0)
        };
        if of_arm().any(throttled) {
            continue;
        }
        result.state = Some(State::Inconclusive);
        if outcome.state == State::NotAffected {
            outcome.state = State::Inconclusive;
        }
        let (arm, trials) = ((&arm.id).into(), of_arm().count() as u64);
        let fact = MmapLockFact::NeverThrottled { arm, trials };
        outcome.reasons.insert(0, Reason::Scenario(fact.into()));
    }
}

/// Takes `not-affected` back where the scanners of a case, or those of its control, read nothing in
/// half of the trials: a control without its load would let the case's load show as the cause.
fn take_back(plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
    let reads = |arm: &&model::Arm| {
        let params = MmapLockParams::of(&arm.settings);
        arm.role == Role::Case && params.is_some_and(|params| params.busy.most() > 0)
    };
    let mut idle_readers = Vec::new();
    for arm in plan.arms.iter().filter(reads) {
        let result = arms.iter_mut().find(|result| result.id == arm.id);
        // Readers of the case that read nothing cannot say not-affected; readers of its control
        // that read nothing leave it without the case's load, and so cannot say that it is affected
        // either.
        let idle: Vec<Reason> = match result.as_ref().and_then(|result| result.state) {
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
            idle_readers.extend(idle);
        }
    }
    let supported =
        arms.iter().any(|arm| arm.role == Role::Case && arm.state == Some(State::Affected));
    let taken_back = match outcome.state {
        State::NotAffected => !idle_readers.is_empty(),
        State::Affected => !idle_readers.is_empty() && !supported,
        _ => false,
    };
    if taken_back {
        outcome.state = State::Inconclusive;
        outcome.reasons.splice(0..0, idle_readers);
        // More blocks like these would not settle it.
        outcome.caveats.clear();
        let settings = super::summary::asked(plan);
        let longer = settings.map(|all| MmapLockParams { duration: Time::s(5), ..all }.settings());
        let suggestion = longer.map(|all| suggest::other_run(&META, MmapLockFact::MoreTime, &all));
        outcome.suggestions.extend(suggestion);
    }
}

fn idle(trials: &[Trial], arm: &str) -> Option<Reason> {
    let of_arm = || trials.iter().filter(|trial| trial.arm == arm);
    let read_nothing = |trial: &&Trial| {
        let bytes = trial.observation.measures.get(measure::SCAN_BYTES);
        bytes.is_none_or(|bytes| bytes.value <= 0.0)
    };
    let (idle, all) = (of_arm().filter(read_nothing).count(), of_arm().count());
    (all > 0 && 2 * idle >= all).then(|| {
        let (arm, idle, trials) = (arm.into(), idle as u64, all as u64);
        Reason::Scenario(MmapLockFact::ReadersReadNothing { arm, idle, trials }.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Counts;
    use crate::testing::{told, value_of};
    use model::testing::{arm, plan, result};
    use model::{Amount, Arm, Caveat, Measure, Observation, Test, Unit, What};

    fn plan_of(busy: u32) -> Plan {
        let settings = MmapLockParams { busy: Counts::one(busy), ..Default::default() }.settings();
        let arm = |id: &str, role, against: Option<&str>| Arm {
            settings: settings.clone(),
            against: against.map(str::to_owned),
            ..arm(id, role)
        };
        let against = (busy > 0).then_some("twin");
        let arms = vec![arm("twin", Role::Control, None), arm("busy", Role::Case, against)];
        Plan { arms, ..plan(&[]) }
    }

    fn trial(arm: &str, bytes: f64) -> Trial {
        let mut observation = Observation::default();
        let bytes = Measure::exact(bytes, Unit::Bytes);
        observation.measures.insert(measure::SCAN_BYTES.to_owned(), bytes);
        Trial { observation, ..model::testing::trial(0, arm, 0.0) }
    }

    /// Study and arm after the review.
    fn outcome_of(
        busy: u32,
        bytes: &[f64],
        twin: &[f64],
        state: State,
    ) -> (Outcome, Option<State>) {
        let mut outcome = Outcome::new(state, measure::STALL, Test::default());
        let of = |arm: &'static str, bytes: &[f64]| -> Vec<Trial> {
            bytes.iter().map(|bytes| trial(arm, *bytes)).collect()
        };
        let trials = [of("busy", bytes), of("twin", twin)].concat();
        let mut arms = [result("busy", Role::Case, Some(state))];
        review(&plan_of(busy), &trials, &mut arms, &mut outcome);
        (outcome, arms[0].state)
    }

    /// Their states.
    fn reviewed(busy: u32, bytes: &[f64], twin: &[f64], state: State) -> (State, Option<State>) {
        let (outcome, arm) = outcome_of(busy, bytes, twin, state);
        (outcome.state, arm)
    }

    #[test]
    fn readers_that_never_ran_show_no_absence() {
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
    fn a_control_without_its_load_makes_nothing_affected() {
        use State::{Affected, Inconclusive};
        let read = [9.0; 2];
        let idle = reviewed(10, &read, &[0.0, 9.0], Affected);
        assert_eq!(idle, (Inconclusive, Some(Inconclusive)));
        assert_eq!(reviewed(10, &read, &[0.0, 9.0, 9.0], Affected), (Affected, Some(Affected)));
    }

    #[test]
    fn readers_that_read_nothing_are_named_and_get_more_time() {
        let (outcome, _) = outcome_of(10, &[0.0, 9.0, 0.0], &[9.0; 3], State::NotAffected);
        let [Reason::Scenario(why)] = outcome.reasons.as_slice() else { panic!("{outcome:?}") };
        let sentence = told(&META, why);
        assert!(sentence.starts_with("The readers of busy read nothing in 2 of 3"), "{sentence}");
        let [longer] = outcome.suggestions.as_slice() else { panic!("{outcome:?}") };
        let What::Scenario(fact) = &longer.what else { panic!("{longer:?}") };
        told(&META, fact);
        let parameters = &longer.run.as_ref().unwrap().parameters;
        assert_eq!(value_of(parameters, "duration").as_deref(), Some("5s"));
    }

    #[test]
    fn a_hang_is_said_to_be_cut_off() {
        let mut outcome = Outcome::new(State::Affected, measure::STALL, Test::default());
        let mut arm = result("busy", Role::Case, Some(State::Affected));
        arm.hangs.count = 1;
        review(&plan_of(10), &[], &mut [arm], &mut outcome);
        let after = Amount::exact(500.0, Unit::Milliseconds);
        let parameter = Some("hang-after".to_owned());
        assert_eq!(outcome.caveats, [Caveat::HangCutOff { after, parameter }]);
    }
}
