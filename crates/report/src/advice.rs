//! What a record says should be changed, the surest first.

use model::verdict::FixOutcome;
use model::{Fix, Meta, Record, State};

/// How sure it is that a change helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sure {
    /// It fixed the stall in this study.
    Fixed,
    /// It helped in this study.
    Helped,
    /// It may help; the command measures whether it does.
    Try,
}

/// One change.
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

/// What one record advises, the surest first; for a record that is not affected, what it names as
/// next steps has no place here.
pub fn of(record: &Record, meta: Option<&Meta>) -> Vec<Advice> {
    if record.verdict.state != State::Affected {
        return Vec::new();
    }
    let advice =
        |sure, what, command| Advice { sure, scenario: record.scenario.clone(), what, command };
    let mut all: Vec<Advice> = record
        .verdict
        .fixes
        .iter()
        .filter_map(|fix| Some(advice(sure(fix.outcome)?, figures_of(fix, meta), None)))
        .collect();
    all.sort_by_key(|advice| advice.sure);
    let next = record.verdict.next.iter().map(|sentence| {
        let (what, command) = with_command(sentence);
        advice(Sure::Try, what.trim_end_matches(':').to_owned(), command.map(str::to_owned))
    });
    all.extend(next);
    all
}

/// The first few of several records, the surest first.
pub fn first<'a>(
    records: impl Iterator<Item = (&'a Record, Option<&'a Meta>)>,
    most: usize,
) -> Vec<Advice> {
    let mut all: Vec<Advice> = records.flat_map(|(record, meta)| of(record, meta)).collect();
    all.sort_by_key(|advice| advice.sure);
    all.truncate(most);
    all
}

fn sure(outcome: FixOutcome) -> Option<Sure> {
    match outcome {
        FixOutcome::Fixed => Some(Sure::Fixed),
        FixOutcome::Helped => Some(Sure::Helped),
        FixOutcome::NotShown => None,
    }
}

/// What a fix did: `+sbwt none: fixed; late p99 0.4 ms [0.3, 0.5] instead of 71 ms [60, 80]`.
pub fn of_fix(fix: &Fix, meta: Option<&Meta>) -> String {
    let (change, figures) = parts(fix, meta);
    format!("{change}: {}; {figures}", fix.outcome.word())
}

fn figures_of(fix: &Fix, meta: Option<&Meta>) -> String {
    let (change, figures) = parts(fix, meta);
    format!("{change}: {figures}")
}

/// What was changed, and the judged figure with and without it.
fn parts<'a>(fix: &'a Fix, meta: Option<&Meta>) -> (&'a str, String) {
    let heading = meta.and_then(|meta| meta.measure(&fix.measure)).map(|measure| measure.heading);
    let figure = |all: &std::collections::BTreeMap<String, model::Estimate>| {
        all.get(&fix.measure).map_or_else(|| "-".to_owned(), ToString::to_string)
    };
    let heading = heading.unwrap_or(&fix.measure);
    (&fix.change, format!("{heading} {} instead of {}", figure(&fix.with), figure(&fix.without)))
}

/// A sentence and the command that it ends with, if it does.
pub fn with_command(sentence: &str) -> (&str, Option<&str>) {
    match sentence.find(": tailback ") {
        Some(at) => (&sentence[..at + 1], Some(&sentence[at + 2..])),
        None => (sentence, None),
    }
}
