//! Control groups.

use host::Roots;
use host::cgroup::ParentGroup;
use std::path::{Path, PathBuf};
use testing::{root_or_skip, skipped};

/// How many levels are searched.
const LEVELS: u32 = 5;

/// The group below which a test that needs root may make groups. None if the test is skipped.
#[track_caller]
pub fn parent_or_skip() -> Option<ParentGroup> {
    let Ok(parent) = ParentGroup::find(&Roots::real()) else {
        skipped("no groups can be made here");
        return None;
    };
    root_or_skip().then_some(parent)
}

/// All groups of tailback.
pub fn of_tailback() -> Vec<PathBuf> {
    starting_with("tailback-")
}

/// The groups of a run.
pub fn of_run(tool: u32) -> Vec<PathBuf> {
    starting_with(&format!("tailback-{tool}-"))
}

fn starting_with(start: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    below(Path::new("/sys/fs/cgroup"), LEVELS, start, &mut found);
    found
}

fn below(folder: &Path, levels: u32, start: &str, found: &mut Vec<PathBuf>) {
    if levels == 0 {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if entry.file_name().to_string_lossy().starts_with(start) {
            found.push(entry.path());
        }
        below(&entry.path(), levels - 1, start, found);
    }
}
