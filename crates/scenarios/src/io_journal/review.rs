//! The scenario's own review of an outcome: whether the cap held the writer back, and how the
//! victim's stalls came about.

use super::meta::measure;
use super::params::{IoJournalParams, On};
use super::sentences::IoJournalFact;
use super::trial::HANG_AFTER;
use crate::params::Params;
use crate::{Objection, Results, Review, hang};
use model::{Amount, ArmResult, Caveat, Reason, Role, State, Unit};
use os::time;

/// A writer whose longest fsync takes less than this part of what its cap makes it wait in a trial
/// was not held back.
const LEAST: f64 = 0.5;

/// A call that is a stall takes longer than this, in milliseconds.
const STALL_MS: f64 = 50.0;

pub(super) fn review(results: &Results) -> Review {
    let params = IoJournalParams::of_case(results.plan);
    let after = params.map(|params| params.duration.get() + HANG_AFTER);
    let hang = after.and_then(|after| hang::cut_off(results.arms, after, None));
    let objections = not_held_back(results);
    let settles =
        (!objections.is_empty()).then(|| Caveat::Scenario(IoJournalFact::WriteMore.into()));
    let short = short_wait(results).map(|fact| Caveat::Scenario(fact.into()));
    Review {
        objections,
        causes: held_open(results).into_iter().collect(),
        settles,
        caveats: hang.into_iter().chain(short).collect(),
        ..Review::default()
    }
}

/// The parameters of an arm.
fn params_of(results: &Results, arm: &ArmResult) -> Option<IoJournalParams> {
    let planned = results.plan.arms.iter().find(|planned| planned.id == arm.id)?;
    IoJournalParams::of(&planned.settings)
}

/// The cases that the test gives this state.
fn cases<'a>(results: &Results<'a>, state: State) -> impl Iterator<Item = &'a ArmResult> {
    let is_it = move |arm: &&ArmResult| arm.role == Role::Case && arm.state == Some(state);
    results.arms.iter().filter(is_it)
}

/// Objects to `not-affected` of each case whose writer was not held back by its cap.
fn not_held_back(results: &Results) -> Vec<Objection> {
    let objection = |case: &ArmResult| {
        let why = Reason::Scenario(no_cap(&params_of(results, case)?, case)?.into());
        Some(Objection::to_arm(&case.id, why))
    };
    cases(results, State::NotAffected).filter_map(objection).collect()
}

/// Why the trials of a case do not show what its cap does. None if they do.
fn no_cap(params: &IoJournalParams, case: &ArmResult) -> Option<IoJournalFact> {
    let arm = (&case.id).into();
    if case.measures.get(measure::ROUNDS)?.median < 1.0 {
        return Some(IoJournalFact::NoRound { arm });
    }
    let writer = case.measures.get(measure::WRITER)?.clone();
    let wait_ms = time::ms(params.wait_in_trial());
    let wait = Amount::exact(wait_ms, Unit::Milliseconds);
    (writer.median < LEAST * wait_ms).then_some(IoJournalFact::CapNotReached { arm, writer, wait })
}

/// What a study does not show whose rounds wait for less than a stall.
fn short_wait(results: &Results) -> Option<IoJournalFact> {
    let case = cases(results, State::NotAffected).next()?;
    let wait_ms = time::ms(params_of(results, case)?.wait());
    let wait = Amount::exact(wait_ms, Unit::Milliseconds);
    (wait_ms < STALL_MS).then_some(IoJournalFact::ShortWait { wait })
}

/// How the stalls of the first affected case came about. None if the writer was on another file
/// system, so that it did not cause them.
fn held_open(results: &Results) -> Option<Reason> {
    let case = cases(results, State::Affected).next()?;
    if params_of(results, case)?.on == On::Other {
        return None;
    }
    let figure = |name: &str| case.measures.get(name).cloned();
    let writer = figure(measure::WRITER)?;
    let (behind, locked) = (figure(measure::BEHIND), figure(measure::LOCKED));
    Some(Reason::Scenario(IoJournalFact::HeldOpen { writer, behind, locked }.into()))
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use crate::testing::{reviewed_by, settings, told};
    use analysis::Outcome;
    use model::testing::{arm, estimate, plan, result};
    use model::{Arm, Plan, Test};

    /// The outcome of a case with these settings that differ from the defaults, so many rounds of
    /// the writer, and its longest fsync in milliseconds.
    fn reviewed(
        changed: &[(&str, &str)],
        rounds: f64,
        fsync_ms: f64,
        state: State,
    ) -> (Outcome, Option<State>) {
        let arms = vec![Arm { settings: settings(&META, changed), ..arm("case", Role::Case) }];
        let mut case = result("case", Role::Case, Some(state));
        for (name, value, unit) in [
            (measure::ROUNDS, rounds, Unit::Count),
            (measure::WRITER, fsync_ms, Unit::Milliseconds),
            (measure::BEHIND, 99.0, Unit::Percent),
        ] {
            case.measures.insert(name.to_owned(), estimate(value, unit));
        }
        let mut outcome = Outcome::new(state, measure::LOST, Test::default());
        let mut arms_seen = [case];
        reviewed_by(review, &Plan { arms, ..plan(&[]) }, &[], &mut arms_seen, &mut outcome);
        let [case] = arms_seen;
        (outcome, case.state)
    }

    /// The facts in the reasons and the caveats of an outcome.
    fn facts(outcome: &Outcome) -> Vec<&str> {
        let reasons = outcome.reasons.iter().filter_map(|reason| match reason {
            Reason::Scenario(fact) => Some(fact.id.as_str()),
            _ => None,
        });
        let caveats = outcome.caveats.iter().filter_map(|caveat| match caveat {
            Caveat::Scenario(fact) => Some(fact.id.as_str()),
            _ => None,
        });
        reasons.chain(caveats).collect()
    }

    #[test]
    fn a_writer_that_its_cap_did_not_hold_back_shows_nothing() {
        use State::{Inconclusive, NotAffected};
        // With the defaults, a round waits for a second.
        let (free, case) = reviewed(&[], 9.0, 499.0, NotAffected);
        assert_eq!((free.state, case), (Inconclusive, Some(Inconclusive)));
        assert_eq!(facts(&free), ["cap-not-reached", "write-more"]);
        let [Reason::Scenario(why)] = free.reasons.as_slice() else { panic!("{free:?}") };
        assert!(told(&META, why).contains("the cap did not hold it back"), "{free:?}");
        assert_eq!(reviewed(&[], 1.0, 501.0, NotAffected).0.state, NotAffected);
        let (none, _) = reviewed(&[], 0.0, 0.0, NotAffected);
        assert_eq!((none.state, facts(&none)), (Inconclusive, vec!["no-round", "write-more"]));
        assert_eq!(reviewed(&[("cap", "64MiB")], 9.0, 9.0, NotAffected).0.state, NotAffected);
    }

    #[test]
    fn a_trial_that_ends_during_a_round_shows_no_longer_wait_than_itself() {
        use State::{Inconclusive, NotAffected};
        // A round waits for 8 seconds, and a trial lasts for 3.
        let long = [("by", "once"), ("burst", "8MiB")];
        assert_eq!(reviewed(&long, 1.0, 3_001.0, NotAffected).0.state, NotAffected);
        let (free, _) = reviewed(&long, 1.0, 1_499.0, NotAffected);
        let [Reason::Scenario(why)] = free.reasons.as_slice() else { panic!("{free:?}") };
        assert_eq!(free.state, Inconclusive);
        assert!(told(&META, why).contains("half of the 3000 ms"), "{free:?}");
    }

    #[test]
    fn a_stall_is_explained_by_the_writer() {
        let (stalls, case) = reviewed(&[], 3.0, 990.0, State::Affected);
        assert_eq!((stalls.state, case), (State::Affected, Some(State::Affected)));
        assert_eq!(facts(&stalls), ["held-open"]);
        let [Reason::Scenario(why)] = stalls.reasons.as_slice() else { panic!("{stalls:?}") };
        let sentence = told(&META, why);
        assert!(sentence.contains("990 ms") && sentence.contains("99%"), "{sentence}");
        let (elsewhere, _) = reviewed(&[("on", "other")], 3.0, 990.0, State::Affected);
        assert!(facts(&elsewhere).is_empty(), "{elsewhere:?}");
    }

    #[test]
    fn a_cap_that_makes_nobody_wait_long_is_said() {
        let (short, _) = reviewed(&[("cap", "64MiB")], 90.0, 16.0, State::NotAffected);
        assert_eq!(facts(&short), ["short-wait"]);
        assert!(facts(&reviewed(&[], 3.0, 990.0, State::NotAffected).0).is_empty());
    }

    #[test]
    fn a_hang_is_said_to_be_cut_off() {
        let arms = vec![Arm { settings: settings(&META, &[]), ..arm("case", Role::Case) }];
        let mut hung = result("case", Role::Case, Some(State::Affected));
        hung.hangs.count = 1;
        let mut outcome = Outcome::new(State::Affected, measure::LOST, Test::default());
        reviewed_by(review, &Plan { arms, ..plan(&[]) }, &[], &mut [hung], &mut outcome);
        let after = Amount::exact(33_000.0, Unit::Milliseconds);
        assert_eq!(outcome.caveats, [Caveat::HangCutOff { after, parameter: None }]);
    }
}
