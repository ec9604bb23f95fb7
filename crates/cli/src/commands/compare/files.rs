//! The record files of a comparison.

use crate::output;
use std::path::{Path, PathBuf};

/// Prefix of all their names.
const PAIR: &str = "pair-";

/// The files of a pair in this folder: before, after.
pub fn files(folder: &Path, number: u32) -> [PathBuf; 2] {
    ["before", "after"].map(|side| folder.join(format!("{PAIR}{number:02}-{side}.json")))
}

/// Whether a folder holds records of pairs.
pub fn holds_pairs(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(PAIR))
}

/// Renames the records of a pair that does not count, so that file patterns for the other records
/// do not match them.
pub fn put_aside(files: &[PathBuf]) {
    for file in files.iter().filter(|file| file.exists()) {
        let aside = file.with_extension("left-out.json");
        let renamed = runner::save::rename(file, aside.file_name().unwrap_or_default());
        if let Err(error) = renamed {
            output::complain(&format!("{}: {error}; this record does not count", file.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_a_pair_that_does_not_count_are_kept_under_another_name() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!holds_pairs(folder.path()) && !holds_pairs(&folder.path().join("none")));
        let pair = files(folder.path(), 3);
        std::fs::write(&pair[0], "a record").unwrap();
        put_aside(&pair);
        let aside = folder.path().join("pair-03-before.left-out.json");
        assert_eq!(std::fs::read_to_string(aside).unwrap(), "a record");
        assert!(!pair[0].exists() && holds_pairs(folder.path()));
    }
}
