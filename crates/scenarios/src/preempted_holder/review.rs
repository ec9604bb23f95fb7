//! The scenario's own review of an outcome: whether the holder was ever without a CPU, and what the
//! figures of a hang mean.

use super::meta::measure;
use super::params::PreemptedHolderParams;
use super::sentences::PreemptedHolderFact;
use super::trial::HANG_AFTER;
use crate::params::Params;
use crate::{Objection, Results, Review, hang};
use model::{ArmResult, Caveat, Reason, Role, State};

/// Least time that threads without a CPU must hold the lock, all together, in milliseconds per
/// second. Threads that spin in all of it lose 2% of their CPU time, less than the margin. Eight
/// threads on two CPUs had 510 to 630 (20 runs on Linux 6.18), two threads 0.
const PREEMPTED: f64 = 20.0;

pub(super) fn review(results: &Results) -> Review {
    let params = PreemptedHolderParams::of_case(results.plan);
    let after = params.map(|params| params.duration.get() + HANG_AFTER);
    let hang = after.and_then(|after| hang::cut_off(results.arms, after, None));
    let affected = |arm: &&ArmResult| arm.role == Role::Case && arm.state == Some(State::Affected);
    let objections: Vec<Objection> =
        results.arms.iter().filter(affected).filter_map(holder_ran).collect();
    let settles = (!objections.is_empty()).then_some(PreemptedHolderFact::MoreThreads);
    Review {
        objections,
        settles: settles.map(|fact| Caveat::Scenario(fact.into())),
        caveats: hang.into_iter().collect(),
        ..Review::default()
    }
}

/// An objection if the threads of a case lost their CPU time to a holder that ran.
fn holder_ran(case: &ArmResult) -> Option<Objection> {
    let preempted = case.measures.get(measure::PREEMPTED)?;
    // A trial that hung waits for a holder without a CPU, and has no such figure.
    if preempted.median >= PREEMPTED || case.hangs.count > 0 {
        return None;
    }
    let (arm, preempted) = ((&case.id).into(), preempted.clone());
    let why = PreemptedHolderFact::HolderRan { arm, preempted };
    Some(Objection::to_arm(&case.id, Reason::Scenario(why.into())))
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use crate::testing::{reviewed_by, settings, told};
    use analysis::Outcome;
    use model::testing::{arm, estimate, plan, result};
    use model::{Amount, Arm, Plan, Test, Unit};

    /// A case with this much time in which a thread without a CPU held the lock.
    fn case(id: &str, preempted: f64, state: State) -> ArmResult {
        let mut case = result(id, Role::Case, Some(state));
        let preempted = estimate(preempted, Unit::MillisecondsPerSecond);
        case.measures.insert(measure::PREEMPTED.to_owned(), preempted);
        case
    }

    /// The outcome after the review, and the states of the cases.
    fn reviewed(state: State, cases: &[ArmResult]) -> (Outcome, Vec<Option<State>>) {
        let settings = settings(&META, &[]);
        let planned =
            |case: &ArmResult| Arm { settings: settings.clone(), ..arm(&case.id, Role::Case) };
        let plan = Plan { arms: cases.iter().map(planned).collect(), ..plan(&[]) };
        let mut cases = cases.to_vec();
        let mut outcome = Outcome::new(state, measure::LOST, Test::default());
        reviewed_by(review, &plan, &[], &mut cases, &mut outcome);
        (outcome, cases.into_iter().map(|case| case.state).collect())
    }

    #[test]
    fn threads_that_spin_for_a_holder_that_ran_show_nothing() {
        use State::{Affected, Inconclusive, NotAffected};
        let (outcome, _) = reviewed(Affected, &[case("case", 19.0, Affected)]);
        assert_eq!(outcome.state, Inconclusive);
        let [Reason::Scenario(why)] = outcome.reasons.as_slice() else { panic!("{outcome:?}") };
        assert!(told(&META, why).contains("for 19 ms/s [19, 19] only"), "{outcome:?}");
        let more = PreemptedHolderFact::MoreThreads;
        assert_eq!(outcome.caveats, [Caveat::Scenario(more.into())]);
        let state_of = |preempted, state| {
            let (outcome, _) = reviewed(state, &[case("case", preempted, state)]);
            outcome.state
        };
        assert_eq!(state_of(20.0, Affected), Affected);
        assert_eq!(state_of(0.0, NotAffected), NotAffected);
    }

    #[test]
    fn each_case_is_looked_at_by_its_own_state() {
        use State::{Affected, Inconclusive, NotAffected};
        let cases = [
            case("one", 600.0, Affected),
            case("other", 0.0, Affected),
            case("third", 0.0, NotAffected),
        ];
        let (outcome, states) = reviewed(Affected, &cases);
        assert_eq!(outcome.state, Affected);
        assert_eq!(states, [Affected, Inconclusive, NotAffected].map(Some));
    }

    #[test]
    fn threads_that_hang_are_affected_and_said_to_be_cut_off() {
        let mut all_hung = result("case", Role::Case, Some(State::Affected));
        all_hung.hangs.count = 6;
        let mut one_hung = case("case", 0.0, State::Affected);
        one_hung.hangs.count = 1;
        for hung in [all_hung, one_hung] {
            let (outcome, _) = reviewed(State::Affected, &[hung]);
            assert_eq!(outcome.state, State::Affected);
            let after = Amount::exact(30_400.0, Unit::Milliseconds);
            assert_eq!(outcome.caveats, [Caveat::HangCutOff { after, parameter: None }]);
        }
    }
}
