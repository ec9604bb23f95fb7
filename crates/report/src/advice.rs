//! The changes that a record recommends, those shown to help first.

use crate::prose::fix::{effect, outcome};
use crate::prose::{InGuest, Prose, Step, suggestion};
use crate::repro;
use model::{FixOutcome, Judged, Meta, State};

/// How certain it is that a change helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sure {
    /// The change fixed the stall in this study.
    Fixed,
    /// The change helped in this study.
    Helped,
    /// It may help; the command measures whether it does.
    Try,
    /// The change was tried in this study and was not shown to help.
    NotShown,
    /// A next step, for a study that found no stall or is undecided. It changes nothing.
    Next,
}

impl Sure {
    /// Whether the change was shown to help.
    pub fn is_shown(self) -> bool {
        matches!(self, Sure::Fixed | Sure::Helped)
    }

    /// A short label for the output; None for a next step.
    pub fn mark(self) -> Option<&'static str> {
        match self {
            Sure::Fixed => Some(outcome(FixOutcome::Fixed)),
            Sure::Helped => Some(outcome(FixOutcome::Helped)),
            Sure::Try => Some("not tested here"),
            Sure::NotShown => Some(outcome(FixOutcome::NotShown)),
            Sure::Next => None,
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

/// One change, or the next step of a study that found no stall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// How certain it is that the change helps.
    pub sure: Sure,
    /// The scenario that the advice belongs to.
    pub scenario: String,
    /// What to change, and what the change did or may do.
    pub what: String,
    /// The command that measures the effect of the change.
    pub command: Option<String>,
}

/// The heading above the advice of a record. It recommends a change only if one was measured to
/// help, and announces commands only if all of the advice has them.
pub fn heading(state: State, advice: &[Advice]) -> &'static str {
    let sure = advice.iter().any(|advice| advice.sure.is_shown());
    match state {
        State::Affected if sure => "What to change",
        State::Affected if advice.iter().all(|advice| advice.command.is_some()) => {
            "Possible fixes, each with the command that tests it"
        }
        State::Affected => "Possible fixes",
        _ => "Next",
    }
}

/// The advice of one record, the most certain first.
pub fn of(record: &Judged, meta: Option<&Meta>) -> Vec<Advice> {
    let advice =
        |sure, what, command| Advice { sure, scenario: record.scenario.clone(), what, command };
    let meta = Prose::new(record, meta).meta();
    let fixes = record.judgement.fixes.iter();
    let mut all: Vec<Advice> =
        fixes.map(|fix| advice(fix.outcome.into(), effect(fix, meta), None)).collect();
    let guest = record.machine.guest_of();
    let program = repro::program(record);
    let guest = guest.as_ref().map(|guest| InGuest { guest, program });
    for one in &record.judgement.suggestions {
        let Step { what, command } = suggestion::step(one, meta, guest);
        let untried =
            if record.judgement.state == State::Affected { Sure::Try } else { Sure::Next };
        let sure = one.measured.map_or(untried, Sure::from);
        match tried(&mut all, sure) {
            Some(tried) if tried.command.is_none() && command.is_some() => {
                tried.command = command;
            }
            _ => all.push(advice(sure, what, command)),
        }
    }
    all.sort_by_key(|advice| advice.sure);
    all
}

/// The tried fix that a suggestion refers to: the fix with this outcome. None if several fixes
/// have this outcome.
fn tried(fixes: &mut [Advice], sure: Sure) -> Option<&mut Advice> {
    let mut same = fixes.iter_mut().filter(|fix| fix.sure == sure && sure != Sure::Try);
    let first = same.next()?;
    same.next().is_none().then_some(first)
}

/// The most certain change of each affected record, the most certain first. Changes that were not
/// shown to help are left out, and so are the next steps of records that are not affected.
pub fn first<'a>(records: impl Iterator<Item = (&'a Judged, Option<&'a Meta>)>) -> Vec<Advice> {
    let affected = records.filter(|(record, _)| record.judgement.state == State::Affected);
    let mut all: Vec<Advice> =
        affected.filter_map(|(record, meta)| of(record, meta).into_iter().next()).collect();
    all.retain(|advice| advice.sure != Sure::NotShown);
    all.sort_by_key(|advice| advice.sure);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn what_was_fixed_here_comes_first_and_what_did_not_help_last() {
        let mut record = testing::record();
        record.judgement.fixes = vec![
            testing::fix("+vain", FixOutcome::NotShown),
            testing::fix("+half", FixOutcome::Helped),
            testing::fix("+good", FixOutcome::Fixed),
        ];
        let sure: Vec<Sure> = of(&record, None).iter().map(|advice| advice.sure).collect();
        assert_eq!(sure, [Sure::Fixed, Sure::Helped, Sure::Try, Sure::NotShown]);
        let all = first([(&record, None), (&record, None)].into_iter());
        assert_eq!(all.iter().map(|advice| advice.sure).collect::<Vec<_>>(), [Sure::Fixed; 2]);
        record.judgement.state = State::NotAffected;
        assert_eq!(first([(&record, None)].into_iter()), []);
    }

    #[test]
    fn the_heading_announces_commands_only_where_each_fix_has_one() {
        let with = Advice {
            sure: Sure::Try,
            scenario: "some-stall".to_owned(),
            what: "Have fewer readers.".to_owned(),
            command: Some("tailback run some-stall --busy 1".to_owned()),
        };
        let without = Advice { command: None, ..with.clone() };
        let all = heading(State::Affected, std::slice::from_ref(&with));
        assert_eq!(all, "Possible fixes, each with the command that tests it");
        assert_eq!(heading(State::Affected, &[with, without]), "Possible fixes");
    }

    #[test]
    fn each_command_names_the_program_of_the_guest() {
        let mut record = testing::record();
        let kernel_name = "debian:6.12".to_owned();
        record.machine.guest = Some(model::machine::Guest { kernel_name, ..Default::default() });
        let commands = |record: &Judged| -> Vec<String> {
            of(record, Some(&testing::META)).into_iter().filter_map(|one| one.command).collect()
        };
        let own = commands(&record);
        assert!(!own.is_empty() && own.iter().all(|one| !one.contains("--program")), "{own:?}");
        record.tool.argv[0] = "/home/me/arm64/tailback".to_owned();
        let named = commands(&record);
        assert_eq!(named.len(), own.len());
        let program = " --program /home/me/arm64/tailback -- run some-stall";
        assert!(named.iter().all(|one| one.contains(program)), "{named:?}");
    }

    #[test]
    fn a_suggestion_that_was_tried_gives_its_command_to_what_it_did() {
        let mut record = testing::record();
        record.judgement.suggestions[0].measured = Some(FixOutcome::Helped);
        record.judgement.fixes = vec![testing::fix("+half", FixOutcome::Helped)];
        let all = of(&record, Some(&testing::META));
        assert_eq!(all.len(), 1);
        assert!(all[0].what.starts_with("+half: lost") && all[0].command.is_some(), "{all:?}");
        record.judgement.fixes.push(testing::fix("+other", FixOutcome::Helped));
        assert_eq!(of(&record, Some(&testing::META)).len(), 3);
    }
}
