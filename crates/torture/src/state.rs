//! The state that a run must not change: control groups, settings, mounts, disks, files.

use crate::workspace::{GOVERNORS, Workspace};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The folder of control groups.
const GROUPS: &str = "/sys/fs/cgroup";

/// The folder of block devices.
const BLOCK_DEVICES: &str = "/sys/block";

/// Limits that a run could have set on a group of others.
const LIMITS: [&str; 5] = ["cpu.max", "memory.high", "memory.max", "memory.swap.max", "io.max"];

/// The state of a machine, one line for each item.
#[derive(Debug, Clone)]
pub struct State(BTreeSet<String>);

impl State {
    /// The current state. Of tailback's control groups, only those of `tool` count.
    pub fn now(workspace: &Workspace, tool: i32) -> Self {
        let mut lines = BTreeSet::new();
        groups(Path::new(GROUPS), &format!("tailback-{tool}-"), &mut lines);
        settings(&mut lines);
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        // The small disk of a case belongs to the case.
        let disk = format!(" {} ", workspace.at("full").display());
        let mounts = mounts.lines().filter(|line| !line.contains(&disk));
        lines.extend(mounts.map(|line| format!("mount {line}")));
        disks(Path::new(BLOCK_DEVICES), &mut lines);
        for folder in workspace.watched() {
            files(&folder, workspace, &mut lines);
        }
        State(lines)
    }

    /// The differences from an earlier state.
    pub fn since(&self, before: &State) -> Vec<String> {
        let new = self.0.difference(&before.0).map(|line| format!("new: {line}"));
        let gone = before.0.difference(&self.0).map(|line| format!("gone: {line}"));
        new.chain(gone).collect()
    }
}

/// The disks of tailback that are files in memory. They are mounted nowhere.
fn disks(folder: &Path, lines: &mut BTreeSet<String>) {
    for device in fs::read_dir(folder).into_iter().flatten().flatten() {
        let file = fs::read_to_string(device.path().join("loop/backing_file")).unwrap_or_default();
        if file.contains("tailback-disk") {
            lines.insert(format!("disk {}", device.path().display()));
        }
    }
}

/// The groups of the run, wherever they are, and the enabled controllers and limits of other
/// groups. Groups of other tailback runs come and go, so they are skipped.
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
            // Our governor is a plain file, which a writer empties first. A kernel file takes a
            // value as a whole or not at all. So a kill between emptying and writing cannot
            // happen on a real machine.
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

/// Whether a run may leave this file. Entries of a folder are checked one by one.
fn may_stay(path: &Path, workspace: &Workspace) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Unfinished files begin with a dot, wherever they are.
    if name.starts_with('.') {
        return false;
    }
    // A lock only works if its file stays. One of these files is empty, the other names the last
    // run.
    let locks = ["lock", "run"].map(|name| Path::new("/run/tailback").join(name));
    // Records and pages are the results of a run. Each record is read after the case.
    let results = ["state/tailback", "full/tailback", "tmp", "full"].map(|name| workspace.at(name));
    // The folder of the locks of records. Each lock in it is removed with its run.
    let of_locks = results[..2].iter().any(|folder| *folder.join("locks-0") == *path);
    let is_result = name.ends_with(".json") || name.ends_with(".html");
    let is_there = |folder: Option<&Path>| results.iter().any(|one| Some(one.as_path()) == folder);
    // Each run of `compare --run` has its own folder for its pairs.
    let is_of_pairs = |folder: &Path| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("compare-") && is_there(folder.parent())
    };
    // Compiled and unpacked files in the cache may stay too, but no dump of a node.
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
