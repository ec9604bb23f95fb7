//! Errors of running the table.

/// Why the table could not be run at all.
#[derive(Debug, thiserror::Error)]
pub enum TruthError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// The error from the kernel.
        source: std::io::Error,
    },
    /// A line of the history that no run can have written.
    #[error("{path}, line {line}: {why}; repair it, or take the file from git")]
    History {
        /// The file.
        path: std::path::PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A row that is not valid.
    #[error("{0}")]
    Row(String),
    /// Another process uses the folder.
    #[error("{0}: another run of the table uses this folder; wait for its end")]
    Busy(std::path::PathBuf),
}

impl TruthError {
    pub(crate) fn file(path: &std::path::Path, source: std::io::Error) -> Self {
        TruthError::File { path: path.to_owned(), source }
    }
}
