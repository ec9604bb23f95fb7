//! Writes files that a command makes from records: a page, an export.

use crate::exit::Failure;
use crate::records::Named;
use crate::session::Session;
use model::Explanation;
use report::Shown;
use runner::SaveError;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Whether the page for this `--output` is printed to standard output. Then nothing else is.
/// Without `--output`, the commands that ask this make no page.
pub fn is_printed(path: Option<&Path>) -> bool {
    path == Some(Path::new("-"))
}

/// Refuses to print both JSON and a page.
///
/// # Errors
/// If both would go to standard output.
pub fn check_output(path: Option<&Path>, json: bool) -> Result<(), Failure> {
    match json && is_printed(path) {
        true => Err(Failure::usage(
            "--output -: --json prints to standard output too; name a file for the page",
        )),
        false => Ok(()),
    }
}

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
    runner::save_text(text, path).map_err(|error| not_written(&error, "file"))
}

/// The failure of a file that could not be written: room on the disk is a need, any other reason is
/// bad usage. `named` is what the user named: a file or a folder.
pub fn not_written(error: &SaveError, named: &str) -> Failure {
    match is_full(error.source.kind()) {
        true => Failure::need(format!("{error}; free some disk space or write elsewhere")),
        false => Failure::usage(format!("{error}; name a {named} that can be written")),
    }
}

/// Whether the disk, or the part of it that this user may fill, is full.
pub fn is_full(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;

    #[test]
    fn a_page_on_standard_output_is_printed_alone() {
        let printed = Some(Path::new("-"));
        let file = Some(Path::new("page.html"));
        assert!(is_printed(printed) && !is_printed(file) && !is_printed(None));
        assert_eq!(check_output(printed, true).unwrap_err().code, exit::USAGE);
        for (path, json) in [(printed, false), (file, true), (None, true), (None, false)] {
            assert!(check_output(path, json).is_ok(), "{path:?} {json}");
        }
    }

    #[test]
    fn a_full_disk_is_a_missing_need_and_a_wrong_file_is_bad_usage() {
        let code = |kind: ErrorKind| {
            let path = PathBuf::from("/x/page.html");
            not_written(&SaveError { path, source: kind.into() }, "file").code
        };
        assert_eq!(code(ErrorKind::StorageFull), exit::NEED);
        assert_eq!(code(ErrorKind::QuotaExceeded), exit::NEED);
        assert_eq!(code(ErrorKind::PermissionDenied), exit::USAGE);
    }
}
