//! Earlier findings about the levels of a study, beside the findings of this record.

use crate::cells::{cell, column};
use crate::grid::{Cell, Column, Grid};
use crate::look::Look;
use model::factorial::{Factorial, PriorFinding};
use model::{ArmResult, Judged, Meta};
use os::terminal::line as plain;
use std::fmt::Write as _;

/// One row for each level with an earlier finding in the study file; empty if there are none.
pub(crate) fn table(record: &Judged, meta: Option<&Meta>, look: Look) -> String {
    let Some(factorial) = &record.factorial else { return String::new() };
    if factorial.found.is_empty() {
        return String::new();
    }
    let name = record.judgement.measure.as_deref().unwrap_or(&record.plan.judging.measure);
    let measure = meta.and_then(|meta| meta.measure(name));
    let mut grid = Grid::new(vec![
        Column::left("factor"),
        Column::left("level"),
        Column::left("found before"),
        Column::left("today"),
        measure.map_or_else(|| Column::right(plain(name)), column),
    ]);
    for found in &factorial.found {
        let arm = arm_of(factorial, found, &record.judgement.arms);
        let state = arm.and_then(|arm| arm.state).map_or(Cell::from("-"), Cell::state);
        let figure = arm.map_or_else(|| "-".to_owned(), |arm| cell(arm, name));
        grid.row(vec![
            Cell::from(plain(&found.factor)),
            Cell::from(plain(&found.level)),
            Cell::from(plain(&found.words)),
            state,
            Cell::from(figure),
        ]);
    }
    let mut text = "\n  Earlier findings, and today's:\n".to_owned();
    let _ = write!(text, "\n{}", grid.text_of_words(look, 2));
    if look.why {
        let note = "The verdict and the figure of today are those of the combination with this \
                    level and with the control's level of every other factor.";
        let _ = writeln!(text, "{}", look.wrap(note, "  ", "  "));
    }
    text
}

/// The arm with this level of one factor, and with the control's levels of all others.
fn arm_of<'a>(
    factorial: &Factorial,
    found: &PriorFinding,
    arms: &'a [ArmResult],
) -> Option<&'a ArmResult> {
    let place = factorial.factors.iter().position(|factor| factor.name == found.factor)?;
    let mut levels = factorial.control.clone();
    levels.get_mut(place)?.clone_from(&found.level);
    let cell = factorial.cells.iter().find(|cell| cell.levels == levels)?;
    arms.iter().find(|arm| arm.id == cell.arm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use model::factorial::{Cell, Factor};

    /// The tests' record as a factorial study: its case is the sink that is affected.
    fn study() -> Judged {
        let names = |all: &[&str]| all.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let factor = |name: &str, levels| Factor { name: name.to_owned(), levels: names(levels) };
        let cell = |arm: &str, sink| Cell { arm: arm.to_owned(), levels: names(&[sink, "1"]) };
        let found = |level: &str, words: &str| PriorFinding {
            factor: "sink".to_owned(),
            level: level.to_owned(),
            words: words.to_owned(),
        };
        let factorial = Factorial {
            factors: vec![factor("sink", &["port", "file", "tag"]), factor("x", &["1", "2"])],
            control: names(&["file", "1"]),
            cells: vec![cell("case", "port"), cell("control", "file")],
            found: vec![found("port", "collapse\u{1b}[2J"), found("tag", "not tried")],
            ..Factorial::default()
        };
        let mut study = record();
        study.factorial = Some(factorial);
        study
    }

    #[test]
    fn each_finding_stands_beside_its_own_arm_and_what_was_not_run_has_none() {
        let text = table(&study(), None, Look::default());
        let row = |word: &str| text.lines().find(|line| line.contains(word)).unwrap().to_owned();
        assert!(row(" port ").contains("affected"), "{text}");
        assert!(row(" port ").ends_with("900 [899, 901]"), "{text}");
        assert!(row(" tag ").ends_with('-'), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        assert_eq!(table(&record(), None, Look::default()), "");
    }
}
