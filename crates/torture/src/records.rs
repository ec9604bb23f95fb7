//! Checks that every record of a disturbed run is readable.

use crate::workspace::Workspace;
use std::path::{Path, PathBuf};

/// One line for each unreadable record.
pub fn unreadable(workspace: &Workspace) -> Vec<String> {
    let folders = [
        workspace.records(),
        workspace.at("tmp"),
        workspace.at("full/tailback"),
        workspace.at("full"),
    ];
    let files: Vec<PathBuf> = folders.iter().flat_map(|folder| within(folder)).collect();
    // `compare --run` has a folder for its pairs.
    let pairs: Vec<PathBuf> = files.iter().flat_map(|path| within(path)).collect();
    let all = files.iter().chain(&pairs);
    let records = all.filter(|path| path.extension().is_some_and(|end| end == "json"));
    records.filter_map(|record| why_not(workspace, record)).collect()
}

/// The entries of a folder; none if it is no folder.
fn within(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Why a record is unreadable. A study must be readable by `judge`, and a watch by `explain`.
fn why_not(workspace: &Workspace, record: &Path) -> Option<String> {
    let ran = ["judge", "explain"]
        .map(|command| workspace.command(&workspace.program()).arg(command).arg(record).output());
    let is_readable = |ran: &std::io::Result<std::process::Output>| {
        let code = ran.as_ref().ok().and_then(|ran| ran.status.code());
        code.is_some_and(|code| [0, 1, 3, 4].contains(&code))
    };
    if ran.iter().any(is_readable) {
        return None;
    }
    let [judged, _] = ran;
    let said = judged.map(|ran| String::from_utf8_lossy(&ran.stderr).into_owned());
    Some(format!("record {}: {}", record.display(), said.unwrap_or_else(|error| error.to_string())))
}
