//! What only this scenario knows of an outcome: whether a kernel with the bug would have shown it.

use super::meta::{MARGIN, measure};
use super::sentences::CpuQuotaFact;
use super::summary::of_quota;
use analysis::Outcome;
use model::{ArmResult, Caveat, Reason, Role, State};

/// What a group has to be able to lose, as a multiple of the margin: then it would have shown.
const CLEAR: f64 = 2.0;

pub(super) fn review(arms: &mut [ArmResult], outcome: &mut Outcome) {
    let Some(case) = arms.iter_mut().find(|arm| arm.role == Role::Case) else { return };
    let Some(could_lose) = case.measures.get(measure::COULD_LOSE) else { return };
    if outcome.state != State::NotAffected {
        return;
    }
    let most = could_lose.median;
    let (arm, lost) = ((&case.id).into(), of_quota(most));
    if most >= CLEAR * MARGIN {
        let fact = CpuQuotaFact::WouldHaveLost { arm, most: lost };
        outcome.reasons.push(Reason::Scenario(fact.into()));
        return;
    }
    let fact = CpuQuotaFact::TooLittleToLose { arm, most: lost };
    outcome.reasons.insert(0, Reason::Scenario(fact.into()));
    outcome.state = State::Inconclusive;
    case.state = Some(State::Inconclusive);
    // More blocks like these would not settle it.
    outcome.caveats = vec![Caveat::Scenario(CpuQuotaFact::MoreToLose.into())];
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use crate::testing::told;
    use model::testing::{estimate, result};
    use model::{Fact, Test, Unit};

    fn reviewed(could_lose: f64, state: State) -> Outcome {
        let mut case = result("spread", Role::Case, Some(state));
        let could_lose = estimate(could_lose, Unit::Percent);
        case.measures.insert(measure::COULD_LOSE.to_owned(), could_lose);
        let mut outcome = Outcome::new(state, measure::LOST, Test::default());
        let mut arms = [case];
        review(&mut arms, &mut outcome);
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
