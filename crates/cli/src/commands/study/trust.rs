//! A study file is code. This module checks what needs --trust.

use crate::exit::Failure;
use runner::studies::Design;
use std::fmt::Write as _;
use std::path::Path;

/// Refuses an untrusted file that runs its own programs or kernels, shows a folder to a guest, or
/// writes outside the working folder. Also refuses any file, trusted or not, whose report would
/// replace another file.
///
/// # Errors
/// One line that names the key.
pub fn check(design: &Design, file: &Path, trusted: bool) -> Result<(), Failure> {
    let file = file.display();
    let untrusted = design.untrusted(&working()).into_iter().next();
    if let Some(found) = untrusted.filter(|_| !trusted) {
        return Err(Failure::usage(format!(
            "{file}: {found}; a study file is code: read it, and give --trust to run it"
        )));
    }
    match &design.output.report {
        Some(report) if !may_replace(report) => Err(Failure::usage(format!(
            "{file}: `output.report`: {} is not a report of tailback, and is not overwritten; name \
             another file",
            report.display()
        ))),
        _ => Ok(()),
    }
}

/// Lists every key that needs trust, for a dry run.
pub fn list(design: &Design) -> String {
    let mut text = String::new();
    for found in design.untrusted(&working()) {
        let _ = writeln!(text, "  needs --trust: {found}");
    }
    text
}

fn working() -> std::path::PathBuf {
    std::env::current_dir().unwrap_or_default()
}

/// Whether the path is free, or holds an empty file or a file that begins like a report.
fn may_replace(path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else { return true };
    if !metadata.is_file() {
        return false;
    }
    let Ok(start) = os::file::read_start(path, 100) else { return false };
    let begins = |id: &str| start.starts_with(format!("{id}: ").as_bytes());
    start.is_empty() || scenarios::ALL.iter().any(|s| begins(s.meta().id))
}
