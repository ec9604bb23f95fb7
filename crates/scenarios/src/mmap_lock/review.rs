//! The scenario's own review of an outcome: whether the readers read at all, and what the figures
//! of a hang mean. A load that never ran cannot show that it does no harm.

use super::checks::exceeds_mappings;
use super::meta::{META, measure};
use super::params::{LONGEST, MmapLockParams};
use super::sentences::MmapLockFact;
use crate::params::{Params, Time};
use crate::{Objection, Results, Review, hang, suggest};
use model::{Arm, Reason, Role, State, Trial};

/// Length of a trial in which readers of low priority have more time.
const MORE_TIME: Time = Time::s(5);

/// What a kernel usually allows as vm.max_map_count.
const USUAL_MAPPINGS: u64 = 65_530;

pub(super) fn review(results: &Results) -> Review {
    let params = results.plan.arms.first().and_then(|arm| MmapLockParams::of(&arm.settings));
    let cut = params.map(|params| params.duration.get() + params.hang_after.get());
    let hang = cut.and_then(|cut| hang::cut_off(results.arms, cut, Some("hang-after")));
    let idle = idle_readers(results);
    let asked = super::summary::asked(results.plan).filter(|_| !idle.is_empty());
    let longer = asked
        .and_then(longer)
        .map(|all| suggest::other_run(&META, MmapLockFact::MoreTime, &all.settings()));
    Review {
        objections: idle.into_iter().chain(never_throttled(results)).collect(),
        caveats: hang.into_iter().collect(),
        suggestions: longer.into_iter().collect(),
        ..Review::default()
    }
}

/// The same settings with longer trials. None if longer trials are not possible: the mapper would
/// split its region into more mappings than is usually allowed, or trials are the longest already.
fn longer(asked: MmapLockParams) -> Option<MmapLockParams> {
    let twice = Time::from(asked.duration.get() * 2);
    let duration = if asked.duration < MORE_TIME { MORE_TIME } else { twice.min(LONGEST) };
    let is_longer = duration > asked.duration;
    // If the settings exceed the usual limit already, the limit is higher there.
    let has_usual_limit = !exceeds_mappings(&asked, USUAL_MAPPINGS);
    let longer = MmapLockParams { duration, ..asked };
    let is_refused = has_usual_limit && exceeds_mappings(&longer, USUAL_MAPPINGS);
    (is_longer && !is_refused).then_some(longer)
}

/// Objects to `not-affected` if readers with a quota were never throttled. In that case the cause
/// was absent.
fn never_throttled(results: &Results) -> Vec<Objection> {
    let limited = |arm: &&Arm| {
        let params = MmapLockParams::of(&arm.settings);
        arm.role == Role::Case && params.is_some_and(|p| p.reader_quota.value().is_some())
    };
    let clear = |arm: &&Arm| results.says(&arm.id) == Some(State::NotAffected);
    let throttled = |trial: &Trial| {
        let periods = trial.observation.measures.get(measure::THROTTLED);
        periods.is_some_and(|periods| periods.value > 0.0)
    };
    let objection = |arm: &Arm| {
        let of_arm = || results.trials.iter().filter(|trial| trial.arm == arm.id);
        let (id, trials) = ((&arm.id).into(), of_arm().count() as u64);
        let fact = MmapLockFact::NeverThrottled { arm: id, trials };
        let reason = || Reason::Scenario(fact.into());
        (!of_arm().any(throttled)).then(|| Objection::to_arm(&arm.id, reason()))
    };
    results.plan.arms.iter().filter(limited).filter(clear).filter_map(objection).collect()
}

/// Objects to an arm if its scanners, or those of its control, read nothing in at least half of the
/// trials.
///
/// If the readers of a case read nothing, the case cannot count as not affected. If the readers of
/// the control read nothing, the control lacks the load of the case. So the case cannot count as
/// affected either. If the readers of a fix read nothing, the fix cannot count as a fix.
fn idle_readers(results: &Results) -> Vec<Objection> {
    let reads = |arm: &&Arm| {
        let params = MmapLockParams::of(&arm.settings);
        params.is_some_and(|params| params.busy.most() > 0)
    };
    let affected = results.outcome.state == State::Affected;
    let objections = |arm: &Arm| -> Vec<Objection> {
        let (own, control) = match (arm.role, results.says(&arm.id)) {
            (Role::Case, Some(State::NotAffected)) => (Some(&arm.id), arm.against.as_ref()),
            (Role::Case, Some(State::Affected)) => (None, arm.against.as_ref()),
            (Role::Fix, _) if affected => (Some(&arm.id), None),
            _ => (None, None),
        };
        let idle = own.into_iter().chain(control).filter_map(|id| idle(results.trials, id));
        idle.map(|reason| Objection::to_arm(&arm.id, reason)).collect()
    };
    results.plan.arms.iter().filter(reads).flat_map(objections).collect()
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
    use crate::params::{Counts, Size};
    use crate::testing::{reviewed_by, told, value_of};
    use analysis::Outcome;
    use model::testing::{arm, plan, result};
    use model::{Amount, Caveat, Measure, Observation, Plan, Test, Unit, What};

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

    /// The outcome of the study and the state of the arm, after the review.
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
        reviewed_by(review, &plan_of(busy), &trials, &mut arms, &mut outcome);
        (outcome, arms[0].state)
    }

    /// Their states after the review.
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
    fn a_fix_whose_readers_never_ran_fixes_nothing() {
        let fix = "status";
        let mut plan = plan_of(10);
        let case = plan.arms[1].clone();
        plan.arms.push(Arm { id: fix.to_owned(), role: Role::Fix, ..case });
        let fixed = |bytes: f64| {
            let of_block = |block: u32| {
                let arms = [("twin", 0.0, 9.0), ("busy", 600.0, 9.0), (fix, 0.0, bytes)];
                arms.map(|(arm, stall, bytes)| {
                    let lost = stall + f64::from(block % 3);
                    let lost = Measure::exact(lost, Unit::MillisecondsPerSecond);
                    let mut trial = Trial { block, ..trial(arm, bytes) };
                    trial.observation.measures.insert(measure::STALL.to_owned(), lost);
                    trial
                })
            };
            let trials = (0..32).flat_map(of_block).collect();
            let plan = Plan { judging: META.judging, error_rate: Some(0.05), ..plan.clone() };
            let judgement = crate::judge(&model::testing::facts(META.id, plan, trials));
            assert_eq!(judgement.state, State::Affected, "{judgement:?}");
            let states = judgement.arms.iter().map(|arm| arm.state).collect::<Vec<_>>();
            (judgement.fixes.len(), states[2], judgement.reasons.last().cloned())
        };
        let (fixes, state, _) = fixed(9.0);
        assert_eq!((fixes, state), (1, Some(State::NotAffected)));
        let (fixes, state, why) = fixed(0.0);
        assert_eq!((fixes, state), (0, Some(State::Inconclusive)));
        let Some(Reason::Scenario(why)) = why else { panic!("{why:?}") };
        assert!(told(&META, &why).starts_with("The readers of status read nothing in 32 of 32"));
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
    fn more_time_is_more_than_a_trial_had_and_is_not_refused() {
        let of = |duration, size| {
            let asked = MmapLockParams { duration, size, ..MmapLockParams::default() };
            longer(asked).map(|longer| longer.duration)
        };
        let usual = MmapLockParams::default().size;
        assert_eq!(of(Time::ms(250), usual), Some(Time::s(5)));
        assert_eq!(of(Time::s(5), usual), Some(Time::s(10)));
        assert_eq!(of(Time::s(3000), usual), Some(LONGEST));
        assert_eq!(of(LONGEST, usual), None);
        assert_eq!(of(Time::ms(250), Size::mib(4096)), None, "too many mappings");
        assert_eq!(of(Time::s(5), Size::mib(4096)), Some(Time::s(10)));
    }

    #[test]
    fn a_hang_is_said_to_be_cut_off() {
        let mut outcome = Outcome::new(State::Affected, measure::STALL, Test::default());
        let mut arm = result("busy", Role::Case, Some(State::Affected));
        arm.hangs.count = 1;
        reviewed_by(review, &plan_of(10), &[], &mut [arm], &mut outcome);
        let after = Amount::exact(500.0, Unit::Milliseconds);
        let parameter = Some("hang-after".to_owned());
        assert_eq!(outcome.caveats, [Caveat::HangCutOff { after, parameter }]);
    }
}
