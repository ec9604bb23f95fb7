//! What keeps the table from being run.

/// Why the table could not be run at all.
#[derive(Debug, thiserror::Error)]
pub enum TruthError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: std::path::PathBuf,
        /// The kernel's reason.
        source: std::io::Error,
    },
    /// A line of the history that no run wrote.
    #[error("{path}, line {line}: {why}; repair it, or take the file from git")]
    History {
        /// Which file.
        path: std::path::PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A row that makes no sense.
    #[error("{0}")]
    Row(String),
    /// Another one is at it.
    #[error("{0}: another run of the table uses this folder; wait for its end")]
    Busy(std::path::PathBuf),
}

impl TruthError {
    pub(crate) fn file(path: &std::path::Path, source: std::io::Error) -> Self {
        TruthError::File { path: path.to_owned(), source }
    }
}
