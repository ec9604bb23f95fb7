//! Reads TOML so that every error has its line and column.

use super::error::StudyError;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// How similar a known word has to be, so that it is suggested instead.
const ALIKE: f64 = 0.75;

/// A file that is being read.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    /// Its path, for messages.
    pub(super) path: &'a Path,
    /// Its text.
    pub(super) text: &'a str,
}

/// A key with its position, and its value.
pub(super) struct Entry<'t> {
    pub(super) key: &'t str,
    pub(super) at: Range<usize>,
    pub(super) value: &'t Spanned<DeValue<'t>>,
}

type Result<T> = std::result::Result<T, StudyError>;

impl<'a> Reader<'a> {
    /// The whole file.
    pub(super) fn root(&self) -> Result<DeTable<'a>> {
        DeTable::parse(self.text).map(Spanned::into_inner).map_err(|error| {
            let why = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            self.bad(error.span().unwrap_or(0..0), format!("no TOML: {why}"))
        })
    }

    /// An error at a position in the file.
    pub(super) fn bad(&self, at: Range<usize>, why: impl Into<String>) -> StudyError {
        let before = self.text.get(..at.start.min(self.text.len())).unwrap_or(self.text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        StudyError::Bad {
            path: self.path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            why: why.into(),
        }
    }

    /// The entries of a table, in the order of the file.
    pub(super) fn entries<'t>(&self, table: &'t DeTable<'t>) -> Vec<Entry<'t>> {
        let mut entries: Vec<Entry> = table
            .iter()
            .map(|(key, value)| Entry { key: key.get_ref(), at: key.span(), value })
            .collect();
        entries.sort_by_key(|entry| entry.at.start);
        entries
    }

    /// Refuses unknown keys.
    pub(super) fn known(&self, table: &DeTable, keys: &[&str], place: &str) -> Result<()> {
        let unknown = self.entries(table).into_iter().find(|entry| !keys.contains(&entry.key));
        let Some(entry) = unknown else { return Ok(()) };
        let why = format!(
            "unknown key `{}` in {place}{}",
            entry.key,
            suggestion(entry.key, keys.iter().copied())
        );
        Err(self.bad(entry.at, why))
    }

    /// A table.
    pub(super) fn table<'t>(
        &self,
        value: &'t Spanned<DeValue<'t>>,
        what: &str,
    ) -> Result<&'t DeTable<'t>> {
        let found = value.get_ref();
        found.as_table().ok_or_else(|| {
            self.bad(
                value.span(),
                format!("{what} is a table, but this is of type {}", found.type_str()),
            )
        })
    }

    /// A text.
    pub(super) fn string<'t>(
        &self,
        value: &'t Spanned<DeValue<'t>>,
        what: &str,
    ) -> Result<&'t str> {
        let found = value.get_ref();
        found.as_str().ok_or_else(|| {
            self.bad(
                value.span(),
                format!("{what} is a text, but this is of type {}", found.type_str()),
            )
        })
    }

    /// A whole number within these limits.
    pub(super) fn whole(
        &self,
        value: &Spanned<DeValue>,
        what: &str,
        limits: std::ops::RangeInclusive<u64>,
    ) -> Result<u64> {
        let number = value
            .get_ref()
            .as_integer()
            .and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        number.filter(|number| limits.contains(number)).ok_or_else(|| {
            let (least, most) = (limits.start(), limits.end());
            self.bad(value.span(), format!("{what} is a whole number from {least} to {most}"))
        })
    }

    /// A value in the form that it has on the command line.
    pub(super) fn word(&self, value: &Spanned<DeValue>, what: &str) -> Result<String> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map(|number| number.to_string())
                .map_err(|_| self.bad(value.span(), format!("{what} is beyond any whole number"))),
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            DeValue::Boolean(truth) => Ok(truth.to_string()),
            other => Err(self.bad(
                value.span(),
                format!(
                    "{what} is one value as on the command line, but this is of type {}",
                    other.type_str()
                ),
            )),
        }
    }
}

/// `; did you mean ..`, or else the known words.
pub(super) fn suggestion<'k>(word: &str, known: impl Iterator<Item = &'k str> + Clone) -> String {
    let alike = known
        .clone()
        .map(|known| (strsim::jaro_winkler(word, known), known))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match alike {
        Some((_, known)) => format!("; did you mean `{known}`?"),
        None => format!("; known are {}", known.collect::<Vec<_>>().join(", ")),
    }
}
