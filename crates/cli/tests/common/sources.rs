//! The Rust sources of this repository, for tests that read them.

use std::path::{Path, PathBuf};

/// All sources below a folder; none if there is no such folder.
pub fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries
        .flat_map(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() { below(&path) } else { vec![path] }
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}
