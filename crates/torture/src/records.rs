//! Records that a hit run left: each has to be readable.

use crate::workspace::Workspace;
use std::path::{Path, PathBuf};

/// What is wrong with the records that there are, a line for each that is.
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

/// What is in a folder; nothing where it is none.
fn within(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// A study's record can be judged, and what `watch` saw can be explained.
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
