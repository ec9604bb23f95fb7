//! What a record says should be changed, the surest first.

use crate::prose::fix::{effect, outcome};
use crate::prose::{Prose, Step, suggestion};
use model::{FixOutcome, Meta, Record, State};

/// How sure it is that a change helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sure {
    /// It fixed the stall in this study.
    Fixed,
    /// It helped in this study.
    Helped,
    /// It may help; the command measures whether it does.
    Try,
    /// It was tried in this study, and was not shown to help.
    NotShown,
}

impl Sure {
    /// In a word or two; nothing where it was not tried.
    pub fn mark(self) -> Option<&'static str> {
        match self {
            Sure::Fixed => Some(outcome(FixOutcome::Fixed)),
            Sure::Helped => Some(outcome(FixOutcome::Helped)),
            Sure::Try => None,
            Sure::NotShown => Some(outcome(FixOutcome::NotShown)),
        }
    }
}

impl From<FixOutcome> for Sure {
    fn from(outcome: FixOutcome) -> Self {
        match outcome {
            FixOutcome::Fixed => Sure::Fixed,
            FixOutcome::Helped => Sure::Helped,
            FixOutcome::NotShown => Sure::NotShown,
        }
    }
}

/// One change, or a next step of a study that found no stall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// How sure it is.
    pub sure: Sure,
    /// The scenario that it is about.
    pub scenario: String,
    /// What to change, and what that did or may do.
    pub what: String,
    /// The command that measures it.
    pub command: Option<String>,
}

/// What one record advises, the surest first.
pub fn of(record: &Record, meta: Option<&Meta>) -> Vec<Advice> {
    let advice =
        |sure, what, command| Advice { sure, scenario: record.scenario.clone(), what, command };
    let fixes = record.verdict.fixes.iter();
    let tried = fixes.map(|fix| advice(fix.outcome.into(), effect(fix, meta), None));
    let meta = Prose::new(record, meta).meta();
    let suggested = record.verdict.suggestions.iter().map(|one| {
        let Step { what, command } = suggestion::step(one, meta);
        advice(one.measured.map_or(Sure::Try, Sure::from), what, command)
    });
    let mut all: Vec<Advice> = tried.chain(suggested).collect();
    all.sort_by_key(|advice| advice.sure);
    all
}

/// The first few changes of several records, the surest first; what was not shown to help is none, and
/// what a record that is not affected names as next steps has no place here.
pub fn first<'a>(
    records: impl Iterator<Item = (&'a Record, Option<&'a Meta>)>,
    most: usize,
) -> Vec<Advice> {
    let affected = records.filter(|(record, _)| record.verdict.state == State::Affected);
    let mut all: Vec<Advice> = affected.flat_map(|(record, meta)| of(record, meta)).collect();
    all.retain(|advice| advice.sure != Sure::NotShown);
    all.sort_by_key(|advice| advice.sure);
    all.truncate(most);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn what_was_fixed_here_comes_first_and_what_did_not_help_last() {
        let mut record = testing::record();
        record.verdict.fixes = vec![
            testing::fix("+vain", FixOutcome::NotShown),
            testing::fix("+half", FixOutcome::Helped),
            testing::fix("+good", FixOutcome::Fixed),
        ];
        let sure: Vec<Sure> = of(&record, None).iter().map(|advice| advice.sure).collect();
        assert_eq!(sure, [Sure::Fixed, Sure::Helped, Sure::Try, Sure::NotShown]);
        let all = first([(&record, None)].into_iter(), 9);
        assert_eq!(all.len(), 3);
        record.verdict.state = State::NotAffected;
        assert_eq!(first([(&record, None)].into_iter(), 9), []);
    }
}
