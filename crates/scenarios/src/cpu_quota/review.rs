//! The scenario's own review of an outcome: whether the trials would have shown the kernel bug.

use super::meta::{MARGIN, measure};
use super::sentences::CpuQuotaFact;
use super::summary::of_quota;
use crate::{Objection, Results, Review};
use model::{Amount, ArmResult, Caveat, Reason, Role, State, Unit};

/// A group must be able to lose this multiple of the margin. Then the bug would have shown.
const CLEAR: f64 = 2.0;

pub(super) fn review(results: &Results) -> Review {
    let mut review = Review::default();
    for case in cleared(results) {
        let Some((fact, settles)) = would_have_shown(case) else { continue };
        let reason = Reason::Scenario(fact.into());
        match settles {
            Some(settles) => {
                review.objections.push(Objection::to_arm(&case.id, reason));
                review.settles.get_or_insert_with(|| Caveat::Scenario(settles.into()));
            }
            None => review.also.push(reason),
        }
    }
    review
}

/// The cases that the study clears.
fn cleared<'a>(results: &Results<'a>) -> Vec<&'a ArmResult> {
    let arms = results.arms;
    let is_clear = |arm: &&ArmResult| arm.state == Some(State::NotAffected);
    let cases: Vec<&ArmResult> = arms.iter().filter(|arm| arm.role == Role::Case).collect();
    match results.outcome.state {
        State::Untrustworthy | State::Skipped => Vec::new(),
        // Something else keeps the study open, such as the other figure. Then no arm stays clear.
        State::Inconclusive if cases.iter().all(is_clear) => Vec::new(),
        _ => cases.into_iter().filter(is_clear).collect(),
    }
}

/// What an arm would have lost on a kernel with the bug. If that is too little to show, also what
/// would show it.
fn would_have_shown(case: &ArmResult) -> Option<(CpuQuotaFact, Option<CpuQuotaFact>)> {
    let could_lose = case.measures.get(measure::COULD_LOSE)?.median;
    let arm = (&case.id).into();
    let throttled = throttled(case);
    let lost = could_lose * throttled;
    Some(if could_lose < CLEAR * MARGIN {
        let fact = CpuQuotaFact::TooLittleToLose { arm, most: of_quota(could_lose) };
        (fact, Some(CpuQuotaFact::MoreToLose))
    } else if lost < CLEAR * MARGIN {
        let share = Amount::exact(100.0 * throttled, Unit::Percent);
        (CpuQuotaFact::SeldomThrottled { arm, share }, Some(CpuQuotaFact::MoreCpuTime))
    } else {
        (CpuQuotaFact::WouldHaveLost { arm, most: of_quota(lost) }, None)
    })
}

/// The share of its periods in which a group was throttled. Only in these it had used up its quota,
/// so only in these an expired slice would have been missed.
fn throttled(case: &ArmResult) -> f64 {
    let median = |name: &str| case.measures.get(name).map(|measure| measure.median);
    let of = median(measure::THROTTLED).zip(median(measure::PERIODS));
    of.map_or(0.0, |(throttled, periods)| (throttled / periods.max(1.0)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use crate::testing::{reviewed_by, told};
    use analysis::Outcome;
    use model::testing::{estimate, plan, result};
    use model::{Fact, Test};

    fn case(id: &str, could_lose: f64, throttled: f64, state: State) -> ArmResult {
        let mut case = result(id, Role::Case, Some(state));
        for (name, value, unit) in [
            (measure::COULD_LOSE, could_lose, Unit::Percent),
            (measure::THROTTLED, throttled, Unit::Count),
            (measure::PERIODS, 40.0, Unit::Count),
        ] {
            case.measures.insert(name.to_owned(), estimate(value, unit));
        }
        case
    }

    /// The outcome and the states of these cases, after the review.
    fn outcome_of<const N: usize>(
        mut arms: [ArmResult; N],
        state: State,
    ) -> (Outcome, [Option<State>; N]) {
        let mut outcome = Outcome::new(state, measure::LOST, Test::default());
        reviewed_by(review, &plan(&[]), &[], &mut arms, &mut outcome);
        (outcome, arms.map(|arm| arm.state))
    }

    fn reviewed(could_lose: f64, throttled: f64, state: State) -> Outcome {
        let (outcome, arms) = outcome_of([case("spread", could_lose, throttled, state)], state);
        assert_eq!(arms, [Some(outcome.state)]);
        outcome
    }

    fn said(outcome: &Outcome) -> &Fact {
        let [Reason::Scenario(fact)] = outcome.reasons.as_slice() else { panic!("{outcome:?}") };
        told(&META, fact);
        fact
    }

    #[test]
    fn a_study_that_could_not_have_shown_the_bug_does_not_say_not_affected() {
        let weak = reviewed(4.0, 40.0, State::NotAffected);
        assert_eq!(weak.state, State::Inconclusive);
        let fact = CpuQuotaFact::TooLittleToLose { arm: "spread".into(), most: of_quota(4.0) };
        assert_eq!(*said(&weak), fact.into());
        assert_eq!(weak.caveats, [Caveat::Scenario(CpuQuotaFact::MoreToLose.into())]);
        let strong = reviewed(12.0, 40.0, State::NotAffected);
        assert_eq!(strong.state, State::NotAffected);
        assert_eq!(said(&strong).id, "would-have-lost");
        assert_eq!(reviewed(4.0, 40.0, State::Affected).state, State::Affected);
    }

    #[test]
    fn a_group_that_did_not_use_up_its_quota_shows_nothing() {
        let seldom = reviewed(12.0, 19.0, State::NotAffected);
        assert_eq!(
            (seldom.state, said(&seldom).id.as_ref()),
            (State::Inconclusive, "seldom-throttled")
        );
        assert_eq!(seldom.caveats, [Caveat::Scenario(CpuQuotaFact::MoreCpuTime.into())]);
        let half = reviewed(12.0, 20.0, State::NotAffected);
        assert_eq!(half.state, State::NotAffected);
        let fact = CpuQuotaFact::WouldHaveLost { arm: "spread".into(), most: of_quota(6.0) };
        assert_eq!(*said(&half), fact.into());
        assert_eq!(reviewed(12.0, 1.0, State::Affected).state, State::Affected);
    }

    #[test]
    fn each_case_is_weighed_by_itself() {
        use State::{Affected, Inconclusive, NotAffected};
        let ids = |outcome: &Outcome| -> Vec<String> {
            let facts = outcome.reasons.iter().filter_map(|reason| match reason {
                Reason::Scenario(fact) => Some(fact.id.clone()),
                _ => None,
            });
            facts.collect()
        };
        let strong = |state| case("spread", 12.0, 40.0, state);
        let weak = || case("large quota", 4.0, 40.0, NotAffected);
        let (outcome, arms) = outcome_of([strong(NotAffected), weak()], NotAffected);
        assert_eq!((outcome.state, arms), (Inconclusive, [Some(NotAffected), Some(Inconclusive)]));
        assert_eq!(ids(&outcome), ["too-little-to-lose", "would-have-lost"]);
        assert_eq!(outcome.caveats, [Caveat::Scenario(CpuQuotaFact::MoreToLose.into())]);
        // The verdict rests on the other arm.
        let (outcome, arms) = outcome_of([strong(Affected), weak()], Affected);
        assert_eq!((outcome.state, arms), (Affected, [Some(Affected), Some(Inconclusive)]));
        assert_eq!(ids(&outcome), ["too-little-to-lose"]);
        let (outcome, arms) = outcome_of([strong(NotAffected), weak()], Inconclusive);
        assert_eq!((outcome.state, arms), (Inconclusive, [Some(Inconclusive); 2]));
        assert!(outcome.reasons.is_empty(), "the other figure is open: {outcome:?}");
    }
}
