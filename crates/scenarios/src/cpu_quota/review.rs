//! What only this scenario knows of an outcome: whether a kernel with the bug would have shown it.

use super::meta::{MARGIN, measure};
use super::sentences::say;
use super::summary::of_quota;
use analysis::Outcome;
use model::{ArmResult, Caveat, Fact, Reason, Role, State};

/// What a group has to be able to lose, as a multiple of the margin: then it would have shown.
const CLEAR: f64 = 2.0;

pub(super) fn review(arms: &mut [ArmResult], outcome: &mut Outcome) {
    let Some(case) = arms.iter_mut().find(|arm| arm.role == Role::Case) else { return };
    let Some(could_lose) = case.measures.get(measure::COULD_LOSE) else { return };
    if outcome.state != State::NotAffected {
        return;
    }
    let most = could_lose.median;
    let reason = |id: &str| {
        let fact = Fact::new(id).with("arm", case.id.as_str()).with("most", of_quota(most));
        Reason::Scenario(fact)
    };
    if most >= CLEAR * MARGIN {
        outcome.reasons.push(reason(say::WOULD_HAVE_LOST));
        return;
    }
    outcome.reasons.insert(0, reason(say::TOO_LITTLE));
    outcome.state = State::Inconclusive;
    case.state = Some(State::Inconclusive);
    // More blocks like these would not settle it.
    outcome.caveats = vec![Caveat::Scenario(Fact::new(say::MORE_TO_LOSE))];
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use crate::testing::told;
    use model::testing::{estimate, result};
    use model::{Test, Unit};

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
        assert_eq!(said(&weak).id, say::TOO_LITTLE);
        assert_eq!(said(&weak).values["most"], of_quota(4.0).into());
        assert_eq!(weak.caveats, [Caveat::Scenario(Fact::new(say::MORE_TO_LOSE))]);
        let strong = reviewed(12.0, State::NotAffected);
        assert_eq!(strong.state, State::NotAffected);
        assert_eq!(said(&strong).id, say::WOULD_HAVE_LOST);
        assert_eq!(reviewed(4.0, State::Affected).state, State::Affected);
    }
}
