//! The record of an undecided study that a run goes on with.

use crate::{keep, records};
use model::record::Plan;
use model::{Machine, Record};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// An older study is left alone: the machine is hardly the same any more.
const OLDEST: Duration = Duration::from_secs(24 * 3600);

/// A larger record is not looked into.
const MOST_BYTES: u64 = 64 << 20;

/// An undecided study to go on with.
pub struct Undecided {
    /// Where its record is kept.
    pub path: PathBuf,
    /// What is left to be done.
    pub plan: Plan,
    /// What was done.
    pub record: Record,
}

/// The undecided study of this very plan: in the file that was asked for, else the newest record of
/// the scenario in the state folder, and that one alone.
pub fn find(
    asked: Option<&PathBuf>,
    scenario: &str,
    plan: &Plan,
    machine: &Machine,
) -> Option<Undecided> {
    let path = match asked {
        Some(path) => path.clone(),
        None => newest(&keep::state_folder(), scenario)?,
    };
    let metadata = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
    let age = SystemTime::now().duration_since(metadata.modified().ok()?).unwrap_or_default();
    if metadata.len() > MOST_BYTES || age > OLDEST || !keep::holds_record(&path) {
        return None;
    }
    let old = records::read(&path).ok().filter(|record| record.scenario == scenario)?;
    let (plan, record) = runner::undecided(old, plan, machine)?;
    Some(Undecided { path, plan, record })
}

/// Names of records begin with the scenario and the time, so the last by name is the newest.
fn newest(folder: &Path, scenario: &str) -> Option<PathBuf> {
    let is_of_scenario = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&format!("{scenario}-2")) && name.ends_with(".json")
    };
    let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    entries.filter(is_of_scenario).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_record_of_a_scenario_is_the_last_by_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "mmap-lock-20261121T1.json",
            "mmap-lock-20261122T1.json",
            "mmap-lock-20261123T1.html",
            "cpu-quota-20261129T1.json",
        ] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = newest(folder.path(), "mmap-lock").unwrap();
        assert!(found.ends_with("mmap-lock-20261122T1.json"));
        assert_eq!(newest(folder.path(), "busy-wait"), None);
    }
}
