//! What a review says of a tested outcome, as data, and the one engine that applies it.

use analysis::Outcome;
use model::{ArmResult, Caveat, Plan, Reason, Role, State, Suggestion, Trial};

/// What the test made of a study, for a review.
#[derive(Debug, Clone, Copy)]
pub struct Results<'a> {
    /// What was to be done.
    pub plan: &'a Plan,
    /// Every trial.
    pub trials: &'a [Trial],
    /// The estimates of each arm, with what the test says of it.
    pub arms: &'a [ArmResult],
    /// What the test says of the study.
    pub outcome: &'a Outcome,
}

impl<'a> Results<'a> {
    /// The estimates of an arm.
    pub fn arm(&self, id: &str) -> Option<&'a ArmResult> {
        self.arms.iter().find(|arm| arm.id == id)
    }

    /// What the test says of an arm.
    pub fn says(&self, id: &str) -> Option<State> {
        self.arm(id)?.state
    }
}

/// What only a scenario knows of an outcome.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Review {
    /// Why the test alone says too much.
    pub objections: Vec<Objection>,
    /// How what was found comes about; said before the grounds of the test.
    pub causes: Vec<Reason>,
    /// What else was seen; said after them.
    pub also: Vec<Reason>,
    /// What would settle what the objections leave open, where they take the verdict back.
    pub settles: Option<Caveat>,
    /// What the study cannot tell besides.
    pub caveats: Vec<Caveat>,
    /// What to do next in that case.
    pub suggestions: Vec<Suggestion>,
}

/// Why the test alone says too much.
#[derive(Debug, Clone, PartialEq)]
pub struct Objection {
    /// What it says too much of: an arm by its name, or the whole study.
    pub arm: Option<String>,
    /// Why.
    pub reason: Reason,
}

impl Objection {
    /// Nothing can be concluded from the study, for this fact of its scenario.
    pub fn to_study(why: impl Into<model::Fact>) -> Self {
        Objection { arm: None, reason: Reason::Scenario(why.into()) }
    }

    /// Nothing can be concluded from this arm.
    pub fn to_arm(id: &str, reason: Reason) -> Self {
        Objection { arm: Some(id.to_owned()), reason }
    }
}

/// Applies a review. A study to which it objects settles nothing; nor does one whose verdict rests
/// on arms to which it objects.
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
        // More blocks like these would not settle it; what would comes first.
        outcome.caveats.retain(is_of_the_machine);
        outcome.caveats.splice(0..0, settles);
        outcome.suggestions.extend(suggestions);
    }
    set_back(arms, outcome.state, taken_back);
    outcome.reasons.splice(0..0, causes);
    outcome.reasons.extend(also);
    outcome.caveats.extend(caveats);
}

/// Whether a caveat holds whatever the verdict is.
fn is_of_the_machine(caveat: &Caveat) -> bool {
    matches!(
        caveat,
        Caveat::LeftOut { .. }
            | Caveat::Emulated
            | Caveat::SharedMachine
            | Caveat::CarryOver(_)
            | Caveat::WashedOut(_)
            | Caveat::Doubt(_)
    )
}

/// What a review took back of what the test says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakenBack {
    Nothing,
    /// The verdict, for the sake of arms that it set back itself.
    Arms,
    /// The verdict, for a reason that holds for the study as a whole.
    Study,
}

/// Sets back what is said of single arms to what the verdict leaves of it, so that no table says
/// more than the verdict above it. Whatever is taken back of a verdict goes through here.
///
/// Where nothing can be trusted, that is so of every arm. Where a study is inconclusive, no arm
/// with the cause is affected, and not all of them are cleared. What a review takes back of the
/// study as a whole, as where the control had no room, holds for every arm; and what it takes back
/// of an arm with the cause holds for what should fix it.
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

    /// What is left of what is said of these arms; those named `fix` are to fix the stall.
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
        // One that is cleared stays so beside one that is not settled.
        let open = [("one", NotAffected), ("two", Inconclusive), ("fix", NotAffected)];
        assert_eq!(left(&open, Inconclusive, Nothing), open.map(|(_, state)| state));
        let clear = [("one", NotAffected), ("two", NotAffected), ("fix", Affected)];
        assert_eq!(left(&clear, NotAffected, Nothing), clear.map(|(_, state)| state));
        assert_eq!(left(&clear, Inconclusive, Nothing), [Inconclusive, Inconclusive, Affected]);
    }

    /// An outcome with two cases, after a review with this objection.
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
