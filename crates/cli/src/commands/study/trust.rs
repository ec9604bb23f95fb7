//! A study file is code: what it may do only with --trust.

use crate::exit::Failure;
use runner::studies::Design;
use std::fmt::Write as _;
use std::path::Path;

/// Refuses a file that runs programs or kernels of its own choice, shows a folder to a guest or
/// writes outside the working folder, unless it is trusted; and one whose report would replace
/// another file, trusted or not.
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
            "{file}: `output.report`: {} is not a report of tailback, and it stays; name another file",
            report.display()
        ))),
        _ => Ok(()),
    }
}

/// For a dry run: every key that needs trust.
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

/// Whether nothing is there, or an empty file, or what begins as a report does.
fn may_replace(path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else { return true };
    if !metadata.is_file() {
        return false;
    }
    let Ok(start) = os::file::read_start(path, 100) else { return false };
    let begins = |id: &str| start.starts_with(format!("{id}: ").as_bytes());
    start.is_empty() || scenarios::ALL.iter().any(|s| begins(s.meta().id))
}
