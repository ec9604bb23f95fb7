//! A row of the table: one kernel, and what came of it.

use crate::exit;
use guest::{Ending, Kernel, catalogue};
use model::{Meta, Record, Settings, State};
use report::prose::Prose;
use std::collections::BTreeMap;

/// What came of one kernel.
#[derive(Debug)]
pub enum Result {
    /// A record with its verdict.
    Record(Box<Record>),
    /// The guest came to another end.
    Ending(Ending),
    /// Its command ended without a record.
    Nothing(String),
}

/// A kernel, what came of it, and what was expected.
#[derive(Debug)]
pub struct Row {
    kernel: String,
    release: String,
    came: Result,
    expected: Option<(String, String)>,
}

impl Row {
    /// The row of a kernel.
    pub fn new(kernel: &Kernel, came: Result) -> Self {
        Row { kernel: kernel.name.clone(), release: kernel.release.clone(), came, expected: None }
    }

    /// The row with what vm/kernels.toml expects of that kernel under these settings.
    pub fn expecting(mut self, meta: &Meta) -> Self {
        let settings = self.settings();
        let hold = |wanted: &BTreeMap<String, String>| meta.holds(&settings, wanted);
        let expected = catalogue().expected(&self.kernel, meta.id, hold);
        self.expected = expected.map(|e| (e.verdict.clone(), e.source.clone()));
        self
    }

    /// The record; else one line on what came instead.
    pub fn into_record(self) -> std::result::Result<Record, String> {
        let kernel = self.kernel;
        match self.came {
            Result::Record(record) => Ok(*record),
            Result::Ending(ending) => Err(format!("guest {kernel}: {}", ending.sentence())),
            Result::Nothing(why) => Err(format!("guest {kernel}: {why}")),
        }
    }

    /// Whether the verdict is the expected one; none where nothing was expected, or where there is
    /// no verdict.
    pub fn met(&self) -> Option<bool> {
        let (expected, _) = self.expected.as_ref()?;
        let state = self.state()?;
        let settled = matches!(state, State::Affected | State::NotAffected);
        settled.then(|| state.word() == expected)
    }

    /// The message where the verdict is not the expected one.
    pub fn complaint(&self) -> String {
        let (expected, source) = self.expected.clone().unwrap_or_default();
        format!("{}: {}, but {expected} was expected: {source}", self.kernel, self.word())
    }

    /// The row as it is shown.
    pub fn shown(&self, meta: &Meta) -> report::Row {
        report::Row {
            kernel: self.kernel.clone(),
            release: self.release.clone(),
            result: self.state().ok_or_else(|| self.word().to_owned()),
            effect: self.effect(meta),
            expected: self.expected.as_ref().map(|(verdict, _)| verdict.clone()),
            fixed_by: self.fix(meta),
        }
    }

    /// The row as JSON.
    pub fn json(&self, meta: &Meta) -> serde_json::Value {
        let record = match &self.came {
            Result::Record(record) => Some(record),
            _ => None,
        };
        let why = match &self.came {
            Result::Record(record) => Prose::new(record, Some(meta)).brief(),
            Result::Ending(ending) => ending.sentence(),
            Result::Nothing(why) => why.clone(),
        };
        serde_json::json!({
            "kernel": self.kernel,
            "release": self.release,
            "result": self.word(),
            "why": why,
            "effect": self.effect(meta),
            "expected": self.expected.as_ref().map(|(verdict, _)| verdict),
            "source": self.expected.as_ref().map(|(_, source)| source),
            "as_expected": self.met(),
            "guest": record.and_then(|record| record.host.guest.as_ref()),
        })
    }

    fn word(&self) -> &str {
        match &self.came {
            Result::Record(record) => record.verdict.state.word(),
            Result::Ending(ending) => ending.word(),
            Result::Nothing(_) => "no-record",
        }
    }

    fn state(&self) -> Option<State> {
        match &self.came {
            Result::Record(record) => Some(record.verdict.state),
            _ => None,
        }
    }

    /// The settings of its first arm; none where there is no record.
    fn settings(&self) -> Settings {
        let Result::Record(record) = &self.came else { return Settings::default() };
        record.plan.arms.first().map(|arm| arm.settings.clone()).unwrap_or_default()
    }

    /// The arm with the cause that is furthest from the control, and how far.
    fn effect(&self, meta: &Meta) -> Option<String> {
        let Result::Record(record) = &self.came else { return None };
        let (arm, effect) = Prose::new(record, Some(meta)).worst_effect()?;
        Some(format!("{arm}: {effect}"))
    }

    /// The commits that fix what these settings show.
    fn fix(&self, meta: &Meta) -> String {
        let settings = self.settings();
        let tags: Vec<String> = meta
            .tags
            .iter()
            .filter(|tag| (tag.matters)(&settings))
            .map(|tag| format!("{} ({})", tag.commit, tag.since))
            .collect();
        if tags.is_empty() { "none known".to_owned() } else { tags.join(", ") }
    }
}

/// The exit code of a table: as `check` has it, or whether all is as expected.
pub fn code(rows: &[Row], expect: bool) -> u8 {
    if expect {
        let expected = || rows.iter().filter(|row| row.expected.is_some());
        return match () {
            () if expected().any(|row| row.met() == Some(false)) => State::Affected.exit_code(),
            () if expected().next().is_none() => exit::USAGE,
            () if expected().all(|row| row.met() == Some(true)) => State::NotAffected.exit_code(),
            () => exit::BROKEN,
        };
    }
    let has = |state: State| rows.iter().any(|row| row.state() == Some(state));
    match () {
        () if has(State::Affected) => State::Affected.exit_code(),
        () if rows.iter().all(|row| row.state() == Some(State::NotAffected)) => {
            State::NotAffected.exit_code()
        }
        () if rows.iter().all(|row| row.state() == Some(State::Skipped)) => exit::NEED,
        () => exit::BROKEN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(expected: Option<&str>, came: std::result::Result<State, Ending>) -> Row {
        let came = match came {
            Ok(state) => {
                let mut record = crate::testing::affected_record();
                record.verdict.state = state;
                Result::Record(Box::new(record))
            }
            Err(ending) => Result::Ending(ending),
        };
        let expected = expected.map(|word| (word.to_owned(), "a table".to_owned()));
        Row { kernel: "k".into(), release: "6.1".into(), came, expected }
    }

    fn panic() -> Ending {
        Ending::Panic { line: "Kernel panic".into(), up: true }
    }

    #[test]
    fn an_expectation_is_met_missed_or_open() {
        use State::{Affected, Inconclusive, NotAffected};
        let met = |expected, state| row(Some(expected), Ok(state)).met();
        assert_eq!(met("affected", Affected), Some(true));
        assert_eq!(met("affected", NotAffected), Some(false));
        assert_eq!(met("affected", Inconclusive), None);
        assert_eq!(row(Some("affected"), Err(panic())).met(), None);
        assert_eq!(row(None, Ok(Affected)).met(), None);
    }

    #[test]
    fn codes_tell_what_came_of_all_kernels() {
        use State::{Affected, Inconclusive, NotAffected, Skipped};
        let plain = |states: &[State]| {
            let rows: Vec<Row> = states.iter().map(|state| row(None, Ok(*state))).collect();
            code(&rows, false)
        };
        assert_eq!(plain(&[NotAffected, NotAffected]), 0);
        assert_eq!(plain(&[NotAffected, Affected, Inconclusive]), 1);
        assert_eq!(plain(&[NotAffected, Inconclusive]), 4);
        assert_eq!(plain(&[Skipped]), 3);
        assert_eq!(code(&[row(None, Err(panic()))], false), 4);
        let expecting = |rows: &[Row]| code(rows, true);
        assert_eq!(expecting(&[row(Some("affected"), Ok(Affected)), row(None, Ok(Affected))]), 0);
        assert_eq!(expecting(&[row(Some("not-affected"), Ok(Affected))]), 1);
        assert_eq!(expecting(&[row(Some("affected"), Err(panic()))]), 4);
        assert_eq!(expecting(&[row(None, Ok(Affected))]), 2, "nothing to hold it against");
    }

    #[test]
    fn a_row_shows_the_effect_of_its_worst_arm() {
        let row = row(Some("affected"), Ok(State::Affected));
        let meta = scenarios::find("mmap-lock").unwrap().meta();
        let shown = row.shown(meta);
        let effect = shown.effect.unwrap();
        assert!(effect.starts_with("busy-10: stalled +1000 ms/s ["), "{effect}");
        assert_eq!(shown.fixed_by, "none known");
        assert_eq!(row.json(meta)["as_expected"], true);
    }
}
