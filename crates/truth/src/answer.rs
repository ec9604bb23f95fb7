//! The answers that a run can give, in one word.

use model::{ChangeState, FixOutcome, State};
use serde::{Deserialize, Serialize};

/// The word of a verdict, of a fix, of a comparison, of a ladder, of a census, or of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The verdict of a study.
    Affected,
    /// The verdict of a study.
    NotAffected,
    /// The verdict of a study.
    Inconclusive,
    /// The verdict of a study.
    Untrustworthy,
    /// The verdict of a study.
    Skipped,
    /// Outcome of a fix.
    Fixed,
    /// Outcome of a fix.
    Helped,
    /// Outcome of a fix, also where the study found no stall.
    NotShown,
    /// Outcome of a comparison.
    Worse,
    /// Outcome of a comparison.
    Better,
    /// Outcome of a comparison.
    Differs,
    /// Outcome of a comparison.
    NoDifferenceShown,
    /// Outcome of a comparison.
    NotComparable,
    /// A ladder names the boundary that there is, and no other.
    Boundary,
    /// A ladder names a boundary that there is not.
    WrongBoundary,
    /// A ladder names no boundary.
    NoBoundary,
    /// The range of a census holds the share.
    Covered,
    /// It does not.
    NotCovered,
    /// A census names the factor that is the cause.
    FactorNamed,
    /// A census names a factor that is no cause.
    WrongFactorNamed,
    /// A census names no factor.
    NoFactorNamed,
    /// Every study of a check has a verdict, and none is wrong.
    AllSettled,
    /// A verdict of a check is wrong.
    WrongClaim,
}

impl Answer {
    /// Whether it leaves open what was asked.
    pub fn is_open(self) -> bool {
        use Answer::{Inconclusive, NotComparable, Skipped, Untrustworthy};
        matches!(self, Inconclusive | Untrustworthy | Skipped | NotComparable)
    }

    /// The answer of that word.
    pub fn of_word(word: &str) -> Option<Self> {
        serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
    }
}

/// The word, as records and rows have it.
impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

impl From<State> for Answer {
    fn from(state: State) -> Self {
        match state {
            State::Affected => Answer::Affected,
            State::NotAffected => Answer::NotAffected,
            State::Inconclusive => Answer::Inconclusive,
            State::Skipped => Answer::Skipped,
            State::Untrustworthy => Answer::Untrustworthy,
        }
    }
}

impl From<FixOutcome> for Answer {
    fn from(outcome: FixOutcome) -> Self {
        match outcome {
            FixOutcome::Fixed => Answer::Fixed,
            FixOutcome::Helped => Answer::Helped,
            FixOutcome::NotShown => Answer::NotShown,
        }
    }
}

impl From<ChangeState> for Answer {
    fn from(state: ChangeState) -> Self {
        // By its word, so that a state that `compare` learns later needs a line above only.
        Answer::of_word(state.word()).unwrap_or(Answer::NotComparable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_records() {
        for state in [State::Affected, State::NotAffected, State::Skipped, State::Untrustworthy] {
            assert_eq!(Answer::from(state).to_string(), state.word());
            assert_eq!(Answer::of_word(state.word()), Some(Answer::from(state)));
        }
        assert_eq!(Answer::from(ChangeState::Worse), Answer::Worse);
        assert_eq!(Answer::from(ChangeState::NoDifferenceShown), Answer::NoDifferenceShown);
        assert_eq!(Answer::of_word("healed"), None);
    }
}
