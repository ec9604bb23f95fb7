//! The scenario's own review of an outcome: whether the holder was ever held up, and what the
//! figures of a hang mean.

use super::meta::measure;
use super::params::{Cause, HeldMutexParams};
use super::sentences::HeldMutexFact;
use super::trial::HANG_AFTER;
use crate::params::Params;
use crate::summary::control_of;
use crate::{Objection, Results, Review, hang};
use model::{ArmResult, Caveat, Plan, Reason, Role, State};

/// A holder that holds the mutex without a CPU for less than this was not held up in its sections,
/// in milliseconds per second. The clock readings of 2,000 sections a second count as up to 0.7.
const HELD_UP: f64 = 1.0;

/// A holder with fewer sections than this part of the control's was held up between them. It kept
/// nobody asleep, and that is a result: at nice 19 with sections of 20 us, it made a fifth of them.
const FEWER: f64 = 0.9;

pub(super) fn review(results: &Results) -> Review {
    let params = HeldMutexParams::of_case(results.plan);
    let after = params.map(|params| params.duration.get() + HANG_AFTER);
    let hang = after.and_then(|after| hang::cut_off(results.arms, after, None));
    let free = free_holders(results);
    let settles = free.first().map(|(_, by)| match by {
        Cause::Quota => HeldMutexFact::SmallerQuota,
        Cause::Nice | Cause::Idle => HeldMutexFact::MoreRivals,
    });
    Review {
        objections: free.into_iter().map(|(objection, _)| objection).collect(),
        settles: settles.map(|fact| Caveat::Scenario(fact.into())),
        caveats: hang.into_iter().collect(),
        ..Review::default()
    }
}

/// Objects to `not-affected` of each case whose holder was not held up, and says by what it should
/// have been.
fn free_holders(results: &Results) -> Vec<(Objection, Cause)> {
    let clear = |arm: &&ArmResult| arm.role == Role::Case && arm.state == Some(State::NotAffected);
    let objection = |case: &ArmResult| {
        let params = params_of(results.plan, &case.id)?;
        let off_cpu = case.measures.get(measure::OFF_CPU)?;
        // Without a quota, the control has the same noise and as many clock readings.
        let usual = match params.by {
            Cause::Quota => same_control(results, case, &params).and_then(off_cpu_of),
            Cause::Nice | Cause::Idle => None,
        };
        let in_sections = off_cpu.median - usual.unwrap_or(0.0) >= HELD_UP;
        if !params.held_up.is_yes() || in_sections || fewer_sections(results, case, &params) {
            return None;
        }
        let (arm, off_cpu) = ((&case.id).into(), off_cpu.clone());
        let why = Reason::Scenario(HeldMutexFact::NotHeldUp { arm, off_cpu }.into());
        Some((Objection::to_arm(&case.id, why), params.by))
    };
    results.arms.iter().filter(clear).filter_map(objection).collect()
}

fn params_of(plan: &Plan, arm: &str) -> Option<HeldMutexParams> {
    let planned = plan.arms.iter().find(|planned| planned.id == arm)?;
    HeldMutexParams::of(&planned.settings)
}

/// The control of a case, if it differs by the cause alone.
fn same_control<'a>(
    results: &Results<'a>,
    case: &ArmResult,
    params: &HeldMutexParams,
) -> Option<&'a ArmResult> {
    let control = control_of(results.plan, case, results.arms);
    control.filter(|arm| params_of(results.plan, &arm.id) == Some(params.control()))
}

fn off_cpu_of(arm: &ArmResult) -> Option<f64> {
    arm.measures.get(measure::OFF_CPU).map(|off_cpu| off_cpu.median)
}

/// Whether the holder made fewer sections than the same holder that is not held up. A control with
/// other settings does not show that. A holder without any section never held the mutex.
fn fewer_sections(results: &Results, case: &ArmResult, params: &HeldMutexParams) -> bool {
    let sections = |arm: &ArmResult| arm.measures.get(measure::SECTIONS).map(|rate| rate.median);
    let both = sections(case).zip(same_control(results, case, params).and_then(sections));
    both.is_some_and(|(of_case, of_control)| of_case > 0.0 && of_case < FEWER * of_control)
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use crate::testing::{reviewed_by, settings, told};
    use analysis::Outcome;
    use model::testing::{arm, estimate, plan, result};
    use model::{Amount, Arm, Test, Unit};

    /// A case, by its id: whether its holder should be held up, its time without a CPU, its
    /// sections a second, and its state.
    type Case<'a> = (&'a str, &'a str, f64, f64, State);

    /// The outcome after the review, and the states of the cases. The control makes 2,000 sections
    /// a second.
    fn reviewed(
        changed: (&str, &str),
        state: State,
        cases: &[Case],
    ) -> (Outcome, Vec<Option<State>>) {
        let planned = |id, role, held_up| {
            let settings = settings(&META, &[changed, ("held-up", held_up)]);
            Arm { settings, ..arm(id, role) }
        };
        let mut arms = vec![planned("usual", Role::Control, "no")];
        arms.extend(cases.iter().map(|case| planned(case.0, Role::Case, case.1)));
        let measured = |id, role, state, off_cpu, sections| {
            let mut arm = result(id, role, state);
            let off_cpu = estimate(off_cpu, Unit::MillisecondsPerSecond);
            arm.measures.insert(measure::OFF_CPU.to_owned(), off_cpu);
            let sections = estimate(sections, Unit::PerSecond);
            arm.measures.insert(measure::SECTIONS.to_owned(), sections);
            arm
        };
        let mut results = vec![measured("usual", Role::Control, None, 0.5, 2000.0)];
        results.extend(cases.iter().map(|&(id, _, off_cpu, sections, state)| {
            measured(id, Role::Case, Some(state), off_cpu, sections)
        }));
        let mut outcome = Outcome::new(state, measure::LOST, Test::default());
        let plan = Plan { arms, ..plan(&[]) };
        reviewed_by(review, &plan, &[], &mut results, &mut outcome);
        (outcome, results.into_iter().skip(1).map(|arm| arm.state).collect())
    }

    fn state_of(by: &str, held_up: &str, off_cpu: f64, sections: f64, state: State) -> State {
        let case = ("case", held_up, off_cpu, sections, state);
        reviewed(("by", by), state, &[case]).0.state
    }

    #[test]
    fn a_holder_that_kept_its_cpu_shows_nothing() {
        use State::{Affected, Inconclusive, NotAffected};
        for (by, settles) in [
            ("nice", HeldMutexFact::MoreRivals),
            ("idle", HeldMutexFact::MoreRivals),
            ("quota", HeldMutexFact::SmallerQuota),
        ] {
            let case = ("case", "yes", 0.9, 2000.0, NotAffected);
            let (outcome, _) = reviewed(("by", by), NotAffected, &[case]);
            assert_eq!(outcome.state, Inconclusive, "{by}");
            let [Reason::Scenario(why)] = outcome.reasons.as_slice() else { panic!("{outcome:?}") };
            assert!(told(&META, why).contains("for 0.9 ms/s [0.9, 0.9] only"), "{outcome:?}");
            assert_eq!(outcome.caveats, [Caveat::Scenario(settles.into())]);
        }
        // The control of a quota has 0.5 ms/s.
        assert_eq!(state_of("quota", "yes", 1.4, 2000.0, NotAffected), Inconclusive);
        assert_eq!(state_of("quota", "yes", 1.5, 2000.0, NotAffected), NotAffected);
        assert_eq!(state_of("nice", "yes", 1.0, 2000.0, NotAffected), NotAffected);
        assert_eq!(state_of("quota", "yes", 0.0, 2000.0, Affected), Affected);
        assert_eq!(state_of("quota", "no", 0.0, 2000.0, NotAffected), NotAffected);
    }

    #[test]
    fn a_holder_may_be_held_up_between_its_sections() {
        use State::{Inconclusive, NotAffected};
        assert_eq!(state_of("nice", "yes", 0.3, 1790.0, NotAffected), NotAffected);
        assert_eq!(state_of("nice", "yes", 0.3, 1810.0, NotAffected), Inconclusive);
        assert_eq!(
            state_of("idle", "yes", 0.0, 0.0, NotAffected),
            Inconclusive,
            "it never held it"
        );
    }

    #[test]
    fn each_case_is_looked_at_by_its_own_state() {
        use State::{Affected, Inconclusive, NotAffected};
        let cases = [
            ("one", "yes", 800.0, 60.0, Affected),
            ("other", "yes", 0.0, 2000.0, NotAffected),
            ("third", "yes", 5.0, 2000.0, NotAffected),
        ];
        let (outcome, states) = reviewed(("by", "nice"), Affected, &cases);
        assert_eq!(outcome.state, Affected);
        assert_eq!(states, [Affected, Inconclusive, NotAffected].map(Some));
    }

    #[test]
    fn a_hang_is_said_to_be_cut_off() {
        let settings = settings(&META, &[]);
        let arms = vec![Arm { settings, ..arm("case", Role::Case) }];
        let mut hung = result("case", Role::Case, Some(State::Affected));
        hung.hangs.count = 1;
        let mut outcome = Outcome::new(State::Affected, measure::LOST, Test::default());
        reviewed_by(review, &Plan { arms, ..plan(&[]) }, &[], &mut [hung], &mut outcome);
        let after = Amount::exact(30_700.0, Unit::Milliseconds);
        assert_eq!(outcome.caveats, [Caveat::HangCutOff { after, parameter: None }]);
    }
}
