//! Writes files that a command makes from records: a page, an export.

use crate::exit::Failure;
use crate::records::Named;
use crate::session::Session;
use model::Explanation;
use report::Shown;
use std::path::{Path, PathBuf};

/// Writes to a file, or to standard output if the path is None or `-`.
///
/// # Errors
/// If the file cannot be written, or holds a record. Records are never replaced.
pub fn write(session: &Session, text: &str, path: Option<&PathBuf>) -> Result<(), Failure> {
    let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
        // A record may come from anybody, so its text must not steer the terminal.
        session.out.print(&os::terminal::lines(text));
        return Ok(());
    };
    if crate::paths::holds_record(path) {
        return Err(Failure::usage(format!(
            "{}: a record of tailback, which is never overwritten; name another file",
            path.display()
        )));
    }
    runner::save_text(text, path)
        .map_err(|error| Failure::usage(format!("{error}; name a file that can be written")))
}

/// A page of records.
///
/// # Errors
/// If it could not be made.
pub fn of(named: &[Named]) -> Result<String, Failure> {
    drawn(&named.iter().map(Named::shown).collect::<Vec<Shown>>())
}

/// A page of the records of a check, written to a file.
///
/// # Errors
/// The reason why there is no page.
pub fn of_check(session: &Session, shown: &[Shown], path: &Path) -> Result<(), Failure> {
    write(session, &drawn(shown)?, Some(&path.to_owned()))
}

fn drawn(shown: &[Shown]) -> Result<String, Failure> {
    let explanations = explanations(shown);
    Ok(report::html::page(&explained(shown, &explanations))?)
}

/// The explanation of each record: which task held up which.
pub fn explanations(shown: &[Shown]) -> Vec<Explanation> {
    shown.iter().map(|one| analysis::explain(one.record, None)).collect()
}

/// The records with their explanations.
pub fn explained<'a>(shown: &[Shown<'a>], explanations: &'a [Explanation]) -> Vec<Shown<'a>> {
    let pairs = shown.iter().zip(explanations);
    pairs.map(|(one, told)| Shown { explanation: Some(told), ..*one }).collect()
}
