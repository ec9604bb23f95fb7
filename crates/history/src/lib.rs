//! An index of the records' figures, so that a thousand records are not read each time.
//!
//! The records are authoritative: the index can be deleted at any time, and whatever is wrong with
//! its file it is made anew. A crate of its own, so that SQLite is nowhere else and the fuzzer
//! reaches it.

mod file;
mod index;

pub use index::HistoryIndex;
use std::path::PathBuf;

/// Why there is no history.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The folder cannot be read.
    #[error("{}: {source}; name a folder of records", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The index fails.
    #[error("index of the history: {0}; delete it and try again")]
    Index(#[from] rusqlite::Error),
}
