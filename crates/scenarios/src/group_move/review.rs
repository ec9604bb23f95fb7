//! The scenario's own review of an outcome: whether the mover could make its calls, and what else
//! makes moves cheap.

use super::meta::measure;
use super::params::{By, GroupMoveParams};
use super::sentences::GroupMoveFact;
use super::trial::HANG_AFTER;
use crate::params::{Params, Time};
use crate::{Objection, Results, Review, hang};
use model::{Amount, ArmResult, Caveat, Reason, Role, State, Unit};

/// A mover that makes fewer calls than this part of those that fit was kept from running.
const FEWEST: f64 = 0.5;

/// A call that is not lost takes at most this long, in seconds.
const LONGEST_CALL: f64 = 5e-3;

/// With a shorter pause, moves may begin before the kernel has ended the state in which moves are
/// cheap. With this pause, most kernels that were tried still waited 12 to 16 ms (2026-11-29).
const SINGLE_MOVES: Time = Time::ms(20);

pub(super) fn review(results: &Results) -> Review {
    let params = GroupMoveParams::of_case(results.plan);
    let after = params.as_ref().map(|params| params.duration.get() + HANG_AFTER);
    let hang = after.and_then(|after| hang::cut_off(results.arms, after, None));
    let objections = kept_off(results);
    let clear = results.outcome.state == State::NotAffected && objections.is_empty();
    let cheap = match params {
        Some(params) if clear && params.by == By::Move => made_cheap(&params),
        _ => Vec::new(),
    };
    let settles =
        (!objections.is_empty()).then(|| Caveat::Scenario(GroupMoveFact::LeaveCpu.into()));
    let caveats = cheap.into_iter().map(|fact| Caveat::Scenario(fact.into()));
    Review {
        objections,
        settles,
        caveats: hang.into_iter().chain(caveats).collect(),
        ..Review::default()
    }
}

/// Objects to `not-affected` of each case that made too few calls to show a stall.
fn kept_off(results: &Results) -> Vec<Objection> {
    let clear = |arm: &&ArmResult| arm.role == Role::Case && arm.state == Some(State::NotAffected);
    let objection = |case: &ArmResult| {
        let planned = results.plan.arms.iter().find(|planned| planned.id == case.id)?;
        let fits = fitting(&GroupMoveParams::of(&planned.settings)?);
        let calls = case.measures.get(measure::CALLS)?;
        if calls.median >= FEWEST * fits {
            return None;
        }
        let why = GroupMoveFact::FewCalls {
            arm: (&case.id).into(),
            calls: calls.clone(),
            fits: Amount::exact(fits, Unit::PerSecond),
        };
        Some(Objection::to_arm(&case.id, Reason::Scenario(why.into())))
    };
    results.arms.iter().filter(clear).filter_map(objection).collect()
}

/// The calls that fit into a second if none is lost.
fn fitting(params: &GroupMoveParams) -> f64 {
    1.0 / (params.gap.get().as_secs_f64() + LONGEST_CALL)
}

/// What may have made moves cheap. Notes of the trials name favordynmods.
fn made_cheap(params: &GroupMoveParams) -> Vec<GroupMoveFact> {
    let close = params.gap < SINGLE_MOVES;
    let close = close.then(|| GroupMoveFact::CloseMoves { gap: (&params.gap).into() });
    close.into_iter().chain([GroupMoveFact::OtherMovers]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use crate::testing::{reviewed_by, settings, told};
    use analysis::Outcome;
    use model::testing::{arm, estimate, plan, result};
    use model::{Arm, Plan, Test};

    /// The outcome of a case with these settings that differ from the defaults, and this many calls
    /// a second.
    fn reviewed(changed: &[(&str, &str)], calls: f64, state: State) -> (Outcome, Option<State>) {
        let arms = vec![Arm { settings: settings(&META, changed), ..arm("case", Role::Case) }];
        let mut case = result("case", Role::Case, Some(state));
        let calls = estimate(calls, Unit::PerSecond);
        case.measures.insert(measure::CALLS.to_owned(), calls);
        let mut outcome = Outcome::new(state, measure::LOST, Test::default());
        let mut arms_seen = [case];
        reviewed_by(review, &Plan { arms, ..plan(&[]) }, &[], &mut arms_seen, &mut outcome);
        let [case] = arms_seen;
        (outcome, case.state)
    }

    /// The facts in the caveats of an outcome.
    fn caveats(outcome: &Outcome) -> Vec<String> {
        let id = |caveat: &Caveat| match caveat {
            Caveat::Scenario(fact) => fact.id.clone(),
            other => format!("{other:?}"),
        };
        outcome.caveats.iter().map(id).collect()
    }

    #[test]
    fn a_mover_that_was_kept_from_running_shows_nothing() {
        use State::{Affected, Inconclusive, NotAffected};
        // With the usual pause, 9.5 calls fit into a second.
        let (few, case) = reviewed(&[], 4.7, NotAffected);
        assert_eq!((few.state, case), (Inconclusive, Some(Inconclusive)));
        let [Reason::Scenario(why)] = few.reasons.as_slice() else { panic!("{few:?}") };
        assert!(told(&META, why).contains("kept it from running"), "{few:?}");
        assert_eq!(caveats(&few), ["leave-cpu"]);
        assert_eq!(reviewed(&[], 4.8, NotAffected).0.state, NotAffected);
        assert_eq!(reviewed(&[], 1.0, Affected).0.state, Affected);
        let no_gap = [("gap", "0s")];
        assert_eq!(reviewed(&no_gap, 99.0, NotAffected).0.state, Inconclusive);
        assert_eq!(reviewed(&no_gap, 101.0, NotAffected).0.state, NotAffected);
    }

    #[test]
    fn what_makes_moves_cheap_stands_beside_not_affected() {
        use State::{Affected, NotAffected};
        let of = |changed: &[(&str, &str)]| caveats(&reviewed(changed, 1e5, NotAffected).0);
        assert_eq!(of(&[]), ["other-movers"]);
        assert_eq!(of(&[("gap", "19ms")]), ["close-moves", "other-movers"]);
        assert_eq!(of(&[("gap", "20ms")]), ["other-movers"]);
        assert_eq!(of(&[("by", "other-file")]), Vec::<String>::new());
        assert!(caveats(&reviewed(&[], 9.0, Affected).0).is_empty());
    }

    #[test]
    fn a_hang_is_said_to_be_cut_off() {
        let arms = vec![Arm { settings: settings(&META, &[]), ..arm("case", Role::Case) }];
        let mut hung = result("case", Role::Case, Some(State::Affected));
        hung.hangs.count = 1;
        let mut outcome = Outcome::new(State::Affected, measure::LOST, Test::default());
        reviewed_by(review, &Plan { arms, ..plan(&[]) }, &[], &mut [hung], &mut outcome);
        let after = Amount::exact(31_000.0, Unit::Milliseconds);
        assert_eq!(outcome.caveats, [Caveat::HangCutOff { after, parameter: None }]);
    }
}
