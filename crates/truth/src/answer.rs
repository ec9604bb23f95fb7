//! The possible answers of a run, as one word each.

use model::{ChangeState, FixOutcome, State};
use serde::{Deserialize, Serialize};

/// The result of a study, a fix, a comparison, a ladder, a census, or a check.
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
    /// The outcome of a fix.
    Fixed,
    /// The outcome of a fix.
    Helped,
    /// The outcome of a fix, and also used if the study found no stall.
    NotShown,
    /// The outcome of a comparison.
    Worse,
    /// The outcome of a comparison.
    Better,
    /// The outcome of a comparison.
    Differs,
    /// The outcome of a comparison.
    NoDifferenceShown,
    /// The outcome of a comparison.
    NotComparable,
    /// A ladder names the existing boundary and no other.
    Boundary,
    /// A ladder names a boundary that does not exist.
    WrongBoundary,
    /// A ladder names no boundary.
    NoBoundary,
    /// The range of a census contains the true share.
    Covered,
    /// The range of a census does not contain the true share.
    NotCovered,
    /// A census names the factor that is the true cause.
    FactorNamed,
    /// A census names a factor that is not a cause.
    WrongFactorNamed,
    /// A census names no factor.
    NoFactorNamed,
    /// Every study of a check has a verdict, and none of them is wrong.
    AllSettled,
    /// A verdict of a check is wrong.
    WrongClaim,
}

impl Answer {
    /// Whether the answer leaves the question open.
    pub fn is_open(self) -> bool {
        use Answer::{Inconclusive, NotComparable, Skipped, Untrustworthy};
        matches!(self, Inconclusive | Untrustworthy | Skipped | NotComparable)
    }

    /// The answer with this word.
    pub fn of_word(word: &str) -> Option<Self> {
        serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
    }
}

/// The word, as used in records and rows.
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
        // Conversion by word, so that a new state of `compare` only needs a line above.
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
