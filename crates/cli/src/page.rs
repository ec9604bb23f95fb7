//! Files that a command makes from records: a page, an export.

use crate::exit::Failure;
use crate::output;
use crate::records::Named;
use model::Record;
use report::{ReportError, Shown};
use std::path::{Path, PathBuf};

/// Writes to a file, or to standard output for none and for `-`.
///
/// # Errors
/// If the file cannot be written, or is a record, which nothing replaces.
pub fn write(text: &str, path: Option<&PathBuf>) -> Result<(), Failure> {
    let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
        // A record may be anybody's.
        output::print(&os::terminal::lines(text));
        return Ok(());
    };
    if crate::paths::holds_record(path) {
        return Err(Failure::usage(format!(
            "{}: a record of tailback, and it stays; name another file",
            path.display()
        )));
    }
    runner::save_text(text, path)
        .map_err(|error| Failure::usage(format!("{error}; name a file that can be written")))
}

/// A page of records.
///
/// # Errors
/// If it could not be drawn.
pub fn of(named: &[Named]) -> Result<String, Failure> {
    let names: Vec<String> = named.iter().map(Named::name).collect();
    let shown = named.iter().zip(&names).map(|(one, name)| Shown {
        record: &one.record,
        meta: one.meta(),
        name,
    });
    report::html::page(&shown.collect::<Vec<_>>()).map_err(failed)
}

/// A page of the records of a check, written to a file.
///
/// # Errors
/// A line with the reason why there is none.
pub fn of_check(records: &[(&Record, String)], path: &Path) -> Result<(), Failure> {
    let shown = records.iter().map(|(record, name)| Shown {
        record,
        meta: scenarios::find(&record.scenario).map(scenarios::AnyScenario::meta),
        name,
    });
    let page = report::html::page(&shown.collect::<Vec<_>>()).map_err(failed)?;
    write(&page, Some(&path.to_owned()))
}

/// A report that could not be made, as the line that ends the program.
pub fn failed(error: ReportError) -> Failure {
    Failure::broken(error.to_string())
}
