//! Gives every kept input to its target again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The kept inputs of a target.
fn kept(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn no_kept_input_makes_a_target_panic() {
    for target in fuzz::TARGETS {
        let files = kept(target.name);
        assert!(!files.is_empty(), "{} has no input", target.name);
        for file in files {
            // If the target panics, its name is on the screen.
            println!("{} {}", target.name, file.display());
            (target.take)(&std::fs::read(&file).unwrap());
        }
    }
}

#[test]
fn every_folder_belongs_to_a_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let folders: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let names: BTreeSet<String> = fuzz::TARGETS.iter().map(|t| t.name.to_owned()).collect();
    assert_eq!(folders, names);
}
