//! What may not differ after a run: control groups, settings, mounts, files.

use crate::workspace::{GOVERNORS, Workspace};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Where control groups are.
const GROUPS: &str = "/sys/fs/cgroup";

/// Limits that a run could have set on a group that is not its own.
const LIMITS: [&str; 4] = ["cpu.max", "memory.high", "memory.max", "memory.swap.max"];

/// What a machine is like, a line for each thing.
#[derive(Debug, Clone)]
pub struct State(BTreeSet<String>);

impl State {
    /// As it is now; of control groups those that `tool` would have made.
    pub fn now(workspace: &Workspace, tool: i32) -> Self {
        let mut lines = BTreeSet::new();
        groups(Path::new(GROUPS), &format!("tailback-{tool}-"), &mut lines);
        settings(&mut lines);
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        // The small disk of a case is ours.
        let disk = format!(" {} ", workspace.at("full").display());
        let mounts = mounts.lines().filter(|line| !line.contains(&disk));
        lines.extend(mounts.map(|line| format!("mount {line}")));
        for folder in workspace.watched() {
            files(&folder, workspace, &mut lines);
        }
        State(lines)
    }

    /// What differs from what was before.
    pub fn since(&self, before: &State) -> Vec<String> {
        let new = self.0.difference(&before.0).map(|line| format!("new: {line}"));
        let gone = before.0.difference(&self.0).map(|line| format!("gone: {line}"));
        new.chain(gone).collect()
    }
}

/// Groups of the run, wherever they are, and what groups of the machine pass on and are limited to.
/// Those of other runs come and go meanwhile.
fn groups(folder: &Path, own: &str, lines: &mut BTreeSet<String>) {
    let control = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
    if !control.trim().is_empty() {
        lines.insert(format!("setting {}: {}", folder.display(), control.trim()));
    }
    for limit in LIMITS {
        let text = fs::read_to_string(folder.join(limit)).unwrap_or_default();
        if !text.is_empty() && !text.starts_with("max") {
            lines.insert(format!("setting {}: {limit} {}", folder.display(), text.trim()));
        }
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if name.starts_with(own) {
            lines.insert(format!("group {}", entry.path().display()));
        }
        if !name.starts_with("tailback-") {
            groups(&entry.path(), own, lines);
        }
    }
}

fn settings(lines: &mut BTreeSet<String>) {
    for cpu in fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten() {
        for (file, initial) in GOVERNORS {
            let path = cpu.path().join("cpufreq").join(file);
            // Ours is a plain file, which a writer empties first; one of the kernel takes a value
            // whole or not at all, so a kill between the two is none that could happen.
            if fs::metadata(&path).is_ok_and(|file| file.len() == 0) {
                let _ = fs::write(&path, initial);
            }
            if let Ok(text) = fs::read_to_string(&path) {
                lines.insert(format!("setting {}: {}", path.display(), text.trim()));
            }
        }
    }
}

fn files(folder: &Path, workspace: &Workspace, lines: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if !may_stay(&path, workspace) {
            lines.insert(format!("file {}", path.display()));
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            files(&path, workspace, lines);
        }
    }
}

/// What a run is meant to leave; what is in a folder is looked at one by one.
fn may_stay(path: &Path, workspace: &Workspace) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // What is half made begins with a dot, wherever it is.
    if name.starts_with('.') {
        return false;
    }
    // A lock is only a lock where its file stays. One is empty, the other names the last run.
    let locks = ["lock", "run"].map(|name| Path::new("/run/tailback").join(name));
    // Records and pages are what a run is for: each record is read after the case.
    let results = ["state/tailback", "full/tailback", "tmp", "full"].map(|name| workspace.at(name));
    // The folder of the locks of records; a lock in it goes with the run that held it.
    let of_locks = results[..2].iter().any(|folder| *folder.join("locks-0") == *path);
    let is_result = name.ends_with(".json") || name.ends_with(".html");
    let is_there = |folder: Option<&Path>| results.iter().any(|one| Some(one.as_path()) == folder);
    // The pairs of `compare --run` have a folder of their own.
    let is_of_pairs = |folder: &Path| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("compare-") && is_there(folder.parent())
    };
    // So is what was compiled and unpacked, but no dump of a node.
    let cache = workspace.at("cache/tailback");
    let is_cached = path.starts_with(&cache) && !name.ends_with(".dump");
    locks.iter().any(|lock| lock == path)
        || results[..2].iter().any(|folder| folder == path)
        || (is_result && is_there(path.parent()))
        || is_of_pairs(path)
        || (is_result && path.parent().is_some_and(is_of_pairs))
        || of_locks
        || is_cached
}
