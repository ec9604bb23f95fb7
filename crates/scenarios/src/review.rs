//! The review of a tested outcome, as data, and the one function that applies it.

use analysis::Outcome;
use model::{ArmResult, Caveat, Plan, Reason, Role, State, Suggestion, Trial};

/// The results of the test, as input of a review.
#[derive(Debug, Clone, Copy)]
pub struct Results<'a> {
    /// The plan of the study.
    pub plan: &'a Plan,
    /// Every trial.
    pub trials: &'a [Trial],
    /// The estimates of each arm, and the state that the test gives it.
    pub arms: &'a [ArmResult],
    /// The outcome of the test for the study.
    pub outcome: &'a Outcome,
}

impl<'a> Results<'a> {
    /// The estimates of an arm.
    pub fn arm(&self, id: &str) -> Option<&'a ArmResult> {
        self.arms.iter().find(|arm| arm.id == id)
    }

    /// The state that the test gives an arm.
    pub fn says(&self, id: &str) -> Option<State> {
        self.arm(id)?.state
    }
}

/// The scenario's own review of an outcome.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Review {
    /// Why the test alone concludes too much.
    pub objections: Vec<Objection>,
    /// How the found stall comes about. Shown before the reasons of the test.
    pub causes: Vec<Reason>,
    /// Other observations. Shown after the reasons of the test.
    pub also: Vec<Reason>,
    /// How to settle the questions that the objections leave open, if they withdraw the verdict.
    pub settles: Option<Caveat>,
    /// What else the study cannot show.
    pub caveats: Vec<Caveat>,
    /// What to do next, if the objections withdraw the verdict.
    pub suggestions: Vec<Suggestion>,
}

/// Why the test alone concludes too much.
#[derive(Debug, Clone, PartialEq)]
pub struct Objection {
    /// The arm that the objection is about, by its id. None: the whole study.
    pub arm: Option<String>,
    /// The reason.
    pub reason: Reason,
}

impl Objection {
    /// Nothing can be concluded from the study, because of this fact of its scenario.
    pub fn to_study(why: impl Into<model::Fact>) -> Self {
        Objection { arm: None, reason: Reason::Scenario(why.into()) }
    }

    /// Nothing can be concluded from this arm.
    pub fn to_arm(id: &str, reason: Reason) -> Self {
        Objection { arm: Some(id.to_owned()), reason }
    }
}

/// Applies a review. If it objects to the study, or to arms that carry the verdict, the study
/// becomes inconclusive.
pub(crate) fn apply(review: Review, arms: &mut [ArmResult], outcome: &mut Outcome) {
    let Review { objections, causes, also, settles, caveats, suggestions } = review;
    for id in objections.iter().filter_map(|objection| objection.arm.as_ref()) {
        let of_id = arms.iter_mut().filter(|arm| arm.id == *id);
        of_id.for_each(|arm| arm.state = Some(State::Inconclusive));
    }
    let is_affected =
        |arm: &ArmResult| arm.role == Role::Case && arm.state == Some(State::Affected);
    let to_study = objections.iter().any(|objection| objection.arm.is_none());
    let taken_back = match outcome.state {
        State::Untrustworthy | State::Skipped => TakenBack::Nothing,
        _ if to_study => TakenBack::Study,
        _ if objections.is_empty() => TakenBack::Nothing,
        State::Affected if !arms.iter().any(is_affected) => TakenBack::Arms,
        State::NotAffected => TakenBack::Arms,
        _ => TakenBack::Nothing,
    };
    let mut whys: Vec<Reason> = objections.into_iter().map(|objection| objection.reason).collect();
    whys.dedup();
    if taken_back == TakenBack::Nothing {
        outcome.reasons.extend(whys);
    } else {
        outcome.state = State::Inconclusive;
        outcome.reasons.splice(0..0, whys);
        // More blocks like these would not settle the study. What would settle it comes first.
        outcome.caveats.retain(stays);
        outcome.caveats.splice(0..0, settles);
        outcome.suggestions.extend(suggestions);
    }
    set_back(arms, outcome.state, taken_back);
    outcome.reasons.splice(0..0, causes);
    outcome.reasons.extend(also);
    outcome.caveats.extend(caveats);
}

/// Whether a caveat holds for any verdict, or whatever a review objects to.
fn stays(caveat: &Caveat) -> bool {
    matches!(
        caveat,
        Caveat::LeftOut { .. }
            | Caveat::Emulated
            | Caveat::SharedMachine
            | Caveat::CarryOver(_)
            | Caveat::FigureLacking { .. }
            | Caveat::ControlHung { .. }
            | Caveat::HangRulesOut
            | Caveat::WashedOut(_)
            | Caveat::Doubt(_)
    )
}

/// What a review withdrew from the result of the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakenBack {
    Nothing,
    /// The verdict, because of single arms that the review already set back.
    Arms,
    /// The verdict, for a reason that holds for the whole study.
    Study,
}

/// Limits the states of single arms to what the verdict allows, so that no table claims more than
/// the verdict above it. Every withdrawal of a verdict goes through this function.
///
/// If the study is untrustworthy, so is every arm. If the study is inconclusive, no arm with the
/// cause is affected, and not all of them are cleared. If a review withdraws the verdict for the
/// whole study, such as when the control had no room, this holds for every arm. If it withdraws
/// the verdict because of single arms, this holds for all fixes too.
pub(crate) fn set_back(arms: &mut [ArmResult], verdict: State, taken_back: TakenBack) {
    let says = |arm: &ArmResult| matches!(arm.state, Some(State::Affected | State::NotAffected));
    let is_case = |arm: &ArmResult| arm.role == Role::Case;
    let cleared = |arm: &ArmResult| !is_case(arm) || arm.state == Some(State::NotAffected);
    let all_are_cleared = arms.iter().all(cleared);
    for arm in arms.iter_mut().filter(|arm| says(arm)) {
        let affected = arm.state == Some(State::Affected);
        let too_much = match verdict {
            State::Affected | State::NotAffected => false,
            State::Untrustworthy | State::Skipped => true,
            State::Inconclusive if is_case(arm) => {
                affected || all_are_cleared || taken_back == TakenBack::Study
            }
            State::Inconclusive => taken_back != TakenBack::Nothing,
        };
        if too_much {
            arm.state = Some(verdict);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::testing::result;
    use model::{Test, What};

    /// The states that are left for these arms. Arms with the id `fix` are fixes.
    fn left(says: &[(&str, State)], verdict: State, taken_back: TakenBack) -> Vec<State> {
        let role = |id: &str| if id == "fix" { Role::Fix } else { Role::Case };
        let arm = |(id, state): &(&str, State)| result(id, role(id), Some(*state));
        let mut arms: Vec<ArmResult> = says.iter().map(arm).collect();
        set_back(&mut arms, verdict, taken_back);
        arms.into_iter().filter_map(|arm| arm.state).collect()
    }

    #[test]
    fn no_arm_says_more_than_the_verdict() {
        use State::{Affected, Inconclusive, NotAffected, Untrustworthy};
        use TakenBack::{Arms, Nothing, Study};
        let says = [("one", Affected), ("two", NotAffected), ("fix", NotAffected)];
        assert_eq!(left(&says, Affected, Nothing), [Affected, NotAffected, NotAffected]);
        assert_eq!(left(&says, Inconclusive, Arms), [Inconclusive, NotAffected, Inconclusive]);
        assert_eq!(left(&says, Inconclusive, Study), [Inconclusive; 3]);
        assert_eq!(left(&says, Untrustworthy, Nothing), [Untrustworthy; 3]);
        // A cleared arm stays cleared next to an arm that is not settled.
        let open = [("one", NotAffected), ("two", Inconclusive), ("fix", NotAffected)];
        assert_eq!(left(&open, Inconclusive, Nothing), open.map(|(_, state)| state));
        let clear = [("one", NotAffected), ("two", NotAffected), ("fix", Affected)];
        assert_eq!(left(&clear, NotAffected, Nothing), clear.map(|(_, state)| state));
        assert_eq!(left(&clear, Inconclusive, Nothing), [Inconclusive, Inconclusive, Affected]);
    }

    /// The outcome with two cases, after a review with this objection.
    fn reviewed(state: State, objection: Objection) -> (Outcome, Vec<Option<State>>) {
        let mut outcome = Outcome::new(state, "lost", Test::default());
        let more = Caveat::MoreBlocks { more: 3, blocks: 9, goes_on: false };
        outcome.reasons = vec![Reason::NoControl];
        outcome.caveats = vec![more, Caveat::Emulated];
        let mut arms = ["one", "two"].map(|id| result(id, Role::Case, Some(state)));
        let review = Review {
            objections: vec![objection],
            settles: Some(Caveat::NeedsCase),
            suggestions: vec![What::RunAgain.into()],
            ..Review::default()
        };
        apply(review, &mut arms, &mut outcome);
        (outcome, arms.iter().map(|arm| arm.state).collect())
    }

    #[test]
    fn an_objection_takes_back_what_rests_on_it_and_no_more() {
        use State::{Affected, Inconclusive, NotAffected, Untrustworthy};
        let to_one = || Objection::to_arm("one", Reason::NoCase);
        let (outcome, arms) = reviewed(Affected, to_one());
        assert_eq!((outcome.state, arms), (Affected, vec![Some(Inconclusive), Some(Affected)]));
        assert_eq!(outcome.reasons, [Reason::NoControl, Reason::NoCase]);
        assert!(outcome.caveats.len() == 2 && outcome.suggestions.is_empty(), "{outcome:?}");
        let (outcome, arms) = reviewed(NotAffected, to_one());
        assert_eq!(arms, [Some(Inconclusive), Some(NotAffected)]);
        assert_eq!(outcome.state, Inconclusive);
        assert_eq!(outcome.reasons, [Reason::NoCase, Reason::NoControl]);
        assert_eq!(outcome.caveats, [Caveat::NeedsCase, Caveat::Emulated]);
        assert_eq!(outcome.suggestions, [What::RunAgain.into()]);
        let to_all = || Objection { arm: None, reason: Reason::NoCase };
        for state in [Affected, NotAffected, Inconclusive] {
            let (outcome, arms) = reviewed(state, to_all());
            assert_eq!((outcome.state, arms), (Inconclusive, vec![Some(Inconclusive); 2]));
        }
        assert_eq!(reviewed(Untrustworthy, to_all()).0.state, Untrustworthy);
    }
}
