//! The scenario's own review of an outcome: whether the trials would have shown the kernel bug.

use super::meta::{MARGIN, measure};
use super::sentences::CpuQuotaFact;
use super::summary::of_quota;
use crate::{Objection, Results, Review};
use model::{Caveat, Reason, Role, State};

/// A group must be able to lose this multiple of the margin. Then the bug would have shown.
const CLEAR: f64 = 2.0;

pub(super) fn review(results: &Results) -> Review {
    let case = results.arms.iter().find(|arm| arm.role == Role::Case);
    let could_lose = case.and_then(|case| case.measures.get(measure::COULD_LOSE));
    let (Some(case), Some(could_lose), State::NotAffected) =
        (case, could_lose, results.outcome.state)
    else {
        return Review::default();
    };
    let (arm, most) = ((&case.id).into(), of_quota(could_lose.median));
    if could_lose.median >= CLEAR * MARGIN {
        let fact = CpuQuotaFact::WouldHaveLost { arm, most };
        return Review { also: vec![Reason::Scenario(fact.into())], ..Review::default() };
    }
    let why = Reason::Scenario(CpuQuotaFact::TooLittleToLose { arm, most }.into());
    Review {
        objections: vec![Objection::to_arm(&case.id, why)],
        settles: Some(Caveat::Scenario(CpuQuotaFact::MoreToLose.into())),
        ..Review::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use crate::testing::{reviewed_by, told};
    use analysis::Outcome;
    use model::testing::{estimate, plan, result};
    use model::{Fact, Test, Unit};

    fn reviewed(could_lose: f64, state: State) -> Outcome {
        let mut case = result("spread", Role::Case, Some(state));
        let could_lose = estimate(could_lose, Unit::Percent);
        case.measures.insert(measure::COULD_LOSE.to_owned(), could_lose);
        let mut outcome = Outcome::new(state, measure::LOST, Test::default());
        let mut arms = [case];
        reviewed_by(review, &plan(&[]), &[], &mut arms, &mut outcome);
        assert_eq!(arms[0].state, Some(outcome.state));
        outcome
    }

    fn said(outcome: &Outcome) -> &Fact {
        let [Reason::Scenario(fact)] = outcome.reasons.as_slice() else { panic!("{outcome:?}") };
        told(&META, fact);
        fact
    }

    #[test]
    fn a_study_that_could_not_have_shown_the_bug_does_not_say_not_affected() {
        let weak = reviewed(4.0, State::NotAffected);
        assert_eq!(weak.state, State::Inconclusive);
        let fact = CpuQuotaFact::TooLittleToLose { arm: "spread".into(), most: of_quota(4.0) };
        assert_eq!(*said(&weak), fact.into());
        assert_eq!(weak.caveats, [Caveat::Scenario(CpuQuotaFact::MoreToLose.into())]);
        let strong = reviewed(12.0, State::NotAffected);
        assert_eq!(strong.state, State::NotAffected);
        assert_eq!(said(&strong).id, "would-have-lost");
        assert_eq!(reviewed(4.0, State::Affected).state, State::Affected);
    }
}
