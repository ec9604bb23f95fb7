//! The state of each row: its lines that count, and its stale lines.

use crate::Row;
use crate::history::{Build, History, Line};
use crate::tally::Tally;
use std::collections::BTreeSet;

/// The state of a row.
#[derive(Debug)]
pub struct Standing<'a> {
    /// The row.
    pub row: &'a Row,
    /// The lines that count.
    pub lines: Vec<&'a Line>,
    /// The counts of these lines.
    pub tally: Tally,
    /// The newest lines of another judge, or of an earlier content of the row.
    pub stale: Vec<&'a Line>,
}

/// The progress of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All its runs count.
    Complete,
    /// Some of its runs count.
    Begun,
    /// No runs count, but there are stale lines.
    Stale,
    /// It was never run.
    NotRun,
}

impl<'a> Standing<'a> {
    /// The state of a row according to this history.
    pub fn of(row: &'a Row, history: &'a History) -> Self {
        let lines = history.counted(row);
        Standing { row, tally: Tally::of(row, &lines), lines, stale: history.stale(row) }
    }

    /// The progress of the row.
    pub fn progress(&self) -> Progress {
        match (self.tally.runs, self.stale.is_empty()) {
            (0, true) => Progress::NotRun,
            (0, false) => Progress::Stale,
            (runs, _) if runs < self.row.runs => Progress::Begun,
            _ => Progress::Complete,
        }
    }

    /// The lines to show: those that count, else the stale ones.
    pub fn shown(&self) -> &[&'a Line] {
        if self.lines.is_empty() { &self.stale } else { &self.lines }
    }

    /// The builds of the shown lines, such as `73bdb32e`. A build with changed sources has a `+`
    /// at the end.
    pub fn builds(&self) -> String {
        let builds: BTreeSet<String> =
            self.shown().iter().map(|line| build_name(&line.build)).collect();
        builds.into_iter().collect::<Vec<_>>().join(", ")
    }
}

/// The name of a build.
pub fn build_name(build: &Build) -> String {
    let commit = build.commit.as_deref().unwrap_or("unknown");
    format!("{commit}{}", if build.changed { "+" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;
    use crate::history::tests::line;
    use crate::row::{parse, tests::ROW};

    #[test]
    fn a_row_is_complete_begun_stale_or_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let mut history = History::read(&folder.path().join("h")).unwrap();
        let row = Row { runs: 2, ..parse(ROW).unwrap().remove(0) };
        let progress = |history: &History| Standing::of(&row, history).progress();
        assert_eq!(progress(&history), Progress::NotRun);
        let old = Build { commit: None, changed: false };
        let line = line(&row, Answer::NotAffected);
        history.add(Line { judge: None, build: old, ..line.clone() }).unwrap();
        assert_eq!(progress(&history), Progress::Stale);
        assert_eq!(Standing::of(&row, &history).builds(), "unknown");
        history.add(line.clone()).unwrap();
        assert_eq!(progress(&history), Progress::Begun);
        let build = Build { changed: true, ..line.build.clone() };
        history.add(Line { build, ..line }).unwrap();
        assert_eq!(progress(&history), Progress::Complete);
        assert_eq!(Standing::of(&row, &history).builds(), "73bdb32e, 73bdb32e+");
    }
}
