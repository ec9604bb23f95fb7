//! A row of the table: one version and its result.

use super::held::Held;
use super::names::Name;
use crate::exit;
use analysis::ladder::Version;
use guest::Ending;
use guest::versions::{Of, versions};
use model::{Judged, Meta, Settings, State};
use report::prose::Prose;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The result of one version.
#[derive(Debug)]
pub enum Result {
    /// A record with its verdict.
    Judged(Box<Judged>),
    /// The guest ended without a record, in this way.
    Ending(Ending),
    /// The command in the guest ended with this exit code and without a record: a need is missing
    /// there.
    Unrecorded(u8),
    /// There is no record, for this reason.
    Nothing(String),
}

/// A version, its result, and the expected verdict.
#[derive(Debug)]
pub struct Row {
    of: Of,
    name: String,
    release: String,
    came: Result,
    expected: Option<(String, String)>,
    /// The result of a fresh run, in one word.
    fresh: Option<String>,
    /// The kernel's configuration file, if it is beside the image.
    config: Option<PathBuf>,
}

impl Row {
    /// The row of a kernel.
    pub fn of_kernel(name: &str, release: &str, came: Result) -> Self {
        let (name, release) = (name.to_owned(), release.to_owned());
        Row { of: Of::Kernel, name, release, came, expected: None, fresh: None, config: None }
    }

    /// The same row with the kernel's configuration file.
    pub fn with_config(self, config: Option<PathBuf>) -> Self {
        Row { config, ..self }
    }

    /// The kernel's configuration file, if it is beside the image.
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The row of an OTP.
    pub fn of_otp(name: &str, release: &str, came: Result) -> Self {
        Row { of: Of::Otp, ..Row::of_kernel(name, release, came) }
    }

    /// The row with the verdict that vm/versions.toml expects of this version, which is one of
    /// `names`, with these settings.
    pub fn expecting(mut self, meta: &Meta, names: &[Name]) -> Self {
        let settings = self.settings();
        let hold = |wanted: &BTreeMap<String, String>| meta.holds(&settings, wanted);
        let name = names.iter().find(|name| name.shown == self.name);
        let asked = name.map_or(self.name.as_str(), |name| name.asked.as_str());
        let version = (asked, self.release.as_str());
        let expected = versions().expected(self.of, version, meta.id, hold);
        self.expected = expected.map(|one| {
            let commit = one.commit.as_ref().map(|commit| format!(" ({commit})"));
            let measured = if one.measured { "measured here: " } else { "" };
            let source = format!("{measured}{}{}", one.source, commit.unwrap_or_default());
            (one.verdict.clone(), source)
        });
        self
    }

    /// What the user calls the version.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a version of a kernel or an OTP.
    pub fn of(&self) -> Of {
        self.of
    }

    /// The version for a ladder.
    pub fn version(&self) -> Version<'_> {
        Version { name: &self.name, release: &self.release, record: self.record() }
    }

    /// The record, if there is one.
    pub fn record(&self) -> Option<&Judged> {
        match &self.came {
            Result::Judged(record) => Some(record),
            _ => None,
        }
    }

    /// The record, or one line on why there is none.
    pub fn into_record(self) -> std::result::Result<Judged, String> {
        let instead = self.instead().unwrap_or_default();
        match self.came {
            Result::Judged(record) => Ok(*record),
            _ => Err(format!("guest {}: {instead}", self.name)),
        }
    }

    /// Whether the verdict is the expected one. None if nothing was expected or there is no
    /// verdict. Also None if the verdict is unexpected and no fresh run had the same one.
    pub fn met(&self) -> Option<bool> {
        match self.meets()? {
            true => Some(true),
            false => (self.fresh.as_deref() == Some(self.word())).then_some(false),
        }
    }

    /// Whether the verdict is settled and not the expected one.
    pub fn is_unexpected(&self) -> bool {
        self.meets() == Some(false)
    }

    /// Whether the verdict of this run is the expected one.
    fn meets(&self) -> Option<bool> {
        let (expected, _) = self.expected.as_ref()?;
        let state = self.state()?;
        let settled = matches!(state, State::Affected | State::NotAffected);
        settled.then(|| state.word() == expected)
    }

    /// Adds the result of a fresh run of the same version.
    pub fn add_fresh(&mut self, fresh: &Row) {
        self.fresh = Some(fresh.word().to_owned());
    }

    /// Whether a verdict is expected of it.
    pub fn has_expectation(&self) -> bool {
        self.expected.is_some()
    }

    /// The message about an unexpected verdict.
    pub fn complaint(&self) -> String {
        let (expected, source) = self.expected.clone().unwrap_or_default();
        let fresh = match &self.fresh {
            Some(word) if word == self.word() => ", twice".to_owned(),
            Some(word) => format!(", and {word} in a fresh run"),
            None => String::new(),
        };
        format!("{}: {}{fresh}, but {expected} was expected: {source}", self.name, self.word())
    }

    /// One line on why there is no verdict.
    pub fn failure(&self, meta: &Meta) -> Option<String> {
        match &self.came {
            Result::Judged(record) => {
                let has_none =
                    matches!(record.judgement.state, State::Skipped | State::Untrustworthy);
                let why = has_none.then(|| Prose::new(record, Some(meta)).brief())?;
                Some(format!("{}: {why}", self.name))
            }
            _ => self.instead().map(|why| format!("{}: {why}", self.name)),
        }
    }

    /// Whether its guest ended without a record.
    pub fn is_ending(&self) -> bool {
        matches!(self.came, Result::Ending(_) | Result::Unrecorded(_))
    }

    /// The reason why there is no record.
    pub fn instead(&self) -> Option<String> {
        match &self.came {
            Result::Judged(_) => None,
            Result::Ending(ending) => Some(ending.sentence()),
            Result::Unrecorded(code) => {
                Some(format!("it ended with exit code {code} and without a record"))
            }
            Result::Nothing(why) => Some(why.clone()),
        }
    }

    /// The row for the table. `effect` is the effect of the followed arm.
    pub fn shown(&self, effect: Option<String>, meta: &Meta) -> report::Row {
        let fixes = |record| Prose::new(record, Some(meta)).fixes_in_short();
        report::Row {
            name: self.name.clone(),
            release: self.release.clone(),
            result: self.state().ok_or_else(|| self.word().to_owned()),
            effect,
            expected: self.expected.as_ref().map(|(verdict, _)| verdict.clone()),
            fixes: self.record().map(fixes).unwrap_or_default(),
        }
    }

    /// The row as JSON.
    pub fn json(&self, meta: &Meta) -> serde_json::Value {
        let record = self.record();
        let key = if self.of == Of::Kernel { "kernel" } else { "otp" };
        let why = record.map(|record| Prose::new(record, Some(meta)).brief());
        let why = why.or_else(|| self.instead());
        serde_json::json!({
            key: self.name,
            "release": self.release,
            "result": self.word(),
            "why": why,
            "effect": self.effect(meta),
            "fixed_by": self.fix(meta),
            "fixes": record.map(|record| &record.judgement.fixes),
            "expected": self.expected.as_ref().map(|(verdict, _)| verdict),
            "source": self.expected.as_ref().map(|(_, source)| source),
            "as_expected": self.met(),
            "fresh_result": self.fresh,
            "guest": record.and_then(|record| record.machine.guest.as_ref()),
        })
    }

    fn word(&self) -> &str {
        match &self.came {
            Result::Judged(record) => record.judgement.state.word(),
            Result::Ending(ending) => ending.word(),
            Result::Unrecorded(_) | Result::Nothing(_) => "no-record",
        }
    }

    fn state(&self) -> Option<State> {
        self.record().map(|record| record.judgement.state)
    }

    /// The settings of its first arm; the default if there is no record.
    fn settings(&self) -> Settings {
        let Some(record) = self.record() else { return Settings::default() };
        record.plan.arms.first().map(|arm| arm.settings.clone()).unwrap_or_default()
    }

    /// The arm with the cause that is furthest from the control, and its distance.
    fn effect(&self, meta: &Meta) -> Option<String> {
        let record = self.record()?;
        let (arm, effect) = Prose::new(record, Some(meta)).worst_effect()?;
        Some(format!("{arm}: {effect}"))
    }

    /// The commits that fix the stall of these settings.
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

/// The exit code of a table: that of its worst verdict. Each row has an error rate of its own. With
/// `--expect`, it says whether all verdicts are as expected, and the changes between the rows too.
pub fn code(rows: &[Row], expect: Option<Option<Held>>) -> u8 {
    if let Some(held) = expect {
        let expected = || rows.iter().filter(|row| row.expected.is_some());
        let differs = expected().any(|row| row.met() == Some(false)) || held == Some(Held::Against);
        // A version that gave no trials has no step to its neighbours, so nothing was held there.
        let untried = |row: &Row| row.record().is_none_or(|record| record.trials.is_empty());
        let open = rows.iter().any(untried)
            || !expected().all(|row| row.met() == Some(true))
            || held == Some(Held::Open);
        return match () {
            () if differs => State::Affected.exit_code(),
            () if open => exit::BROKEN,
            () if expected().next().is_none() && held.is_none() => exit::USAGE,
            () => State::NotAffected.exit_code(),
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
                record.judgement.state = state;
                Result::Judged(Box::new(record))
            }
            Err(ending) => Result::Ending(ending),
        };
        let expected = expected.map(|word| (word.to_owned(), "a table".to_owned()));
        Row { expected, ..Row::of_kernel("k", "6.1", came) }
    }

    fn panic() -> Ending {
        Ending::Panic { line: "Kernel panic".into(), up: true }
    }

    #[test]
    fn an_expectation_is_met_missed_or_open() {
        use State::{Affected, Inconclusive, NotAffected};
        let met = |expected, state| row(Some(expected), Ok(state)).met();
        assert_eq!(met("affected", Affected), Some(true));
        assert_eq!(met("affected", NotAffected), None, "one run may be wrong");
        assert_eq!(met("affected", Inconclusive), None);
        assert_eq!(row(Some("affected"), Err(panic())).met(), None);
        assert_eq!(row(None, Ok(Affected)).met(), None);
        let twice = |fresh| {
            let mut row = row(Some("affected"), Ok(NotAffected));
            row.add_fresh(&self::row(None, Ok(fresh)));
            (row.met(), row.complaint())
        };
        let [same, other] = [twice(NotAffected), twice(Inconclusive)];
        assert_eq!((same.0, other.0), (Some(false), None));
        assert_eq!(same.1, "k: not-affected, twice, but affected was expected: a table");
        let said = "k: not-affected, and inconclusive in a fresh run, but affected was expected: a \
                    table";
        assert_eq!(other.1, said);
    }

    #[test]
    fn codes_tell_what_came_of_all_kernels() {
        use State::{Affected, Inconclusive, NotAffected, Skipped};
        let plain = |states: &[State]| {
            let rows: Vec<Row> = states.iter().map(|state| row(None, Ok(*state))).collect();
            code(&rows, None)
        };
        assert_eq!(plain(&[NotAffected, NotAffected]), 0);
        assert_eq!(plain(&[NotAffected, Affected, Inconclusive]), 1);
        assert_eq!(plain(&[NotAffected, Inconclusive]), 4);
        assert_eq!(plain(&[Skipped]), 3);
        assert_eq!(code(&[row(None, Err(panic()))], None), 4);
        let expecting = |rows: &[Row]| code(rows, Some(None));
        assert_eq!(expecting(&[row(Some("affected"), Ok(Affected)), row(None, Ok(Affected))]), 0);
        let lost = [row(Some("affected"), Ok(Affected)), row(None, Err(panic()))];
        assert_eq!(expecting(&lost), 4, "nothing was held where there is no record");
        let mut unexpected = row(Some("not-affected"), Ok(Affected));
        assert_eq!(expecting(std::slice::from_ref(&unexpected)), 4);
        unexpected.add_fresh(&row(None, Ok(Affected)));
        assert_eq!(expecting(&[unexpected]), 1);
        assert_eq!(expecting(&[row(Some("affected"), Err(panic()))]), 4);
        assert_eq!(expecting(&[row(None, Ok(Affected))]), 2, "nothing to hold it against");
        let plain = [row(None, Ok(Affected))];
        assert_eq!(code(&plain, Some(Some(Held::All))), 0);
        assert_eq!(code(&plain, Some(Some(Held::Open))), 4);
        assert_eq!(code(&plain, Some(Some(Held::Against))), 1);
    }

    #[test]
    fn what_is_expected_of_a_kernel_by_name_counts_more_than_its_release() {
        let meta = scenarios::find("cpu-quota").unwrap().meta();
        let asked = "built:slices-expire";
        let names = [Name { asked: asked.to_owned(), shown: format!("{asked} (2)") }];
        let expected = |name: &str| {
            let row = Row::of_kernel(name, "6.12.117", Result::Ending(panic()));
            row.expecting(meta, &names).expected.map(|(verdict, _)| verdict)
        };
        assert_eq!(expected("built:slices-expire (2)").as_deref(), Some("affected"));
        assert_eq!(expected("built:slices-expire").as_deref(), Some("affected"));
        assert_eq!(expected("built:plain").as_deref(), Some("not-affected"));
        assert_eq!(expected("/boot/vmlinuz").as_deref(), Some("not-affected"), "by its release");
    }

    #[test]
    fn a_row_shows_the_effect_of_its_worst_arm() {
        let row = row(Some("affected"), Ok(State::Affected));
        let meta = scenarios::find("mmap-lock").unwrap().meta();
        let json = row.json(meta);
        let effect = json["effect"].as_str().unwrap();
        assert!(effect.starts_with("busy-10: stalled +1000 ms/s ["), "{effect}");
        assert_eq!((&json["fixed_by"], &json["as_expected"]), (&"none known".into(), &true.into()));
        assert_eq!(row.failure(meta), None);
        let skipped = super::tests::row(None, Ok(State::Skipped)).failure(meta);
        assert!(
            skipped.is_some_and(|line| line.starts_with("k: ")),
            "a row without a verdict says why"
        );
    }
}
