//! The table of known answers: commands and simulated studies of which it is known which answers
//! are right and which are wrong.
//!
//! The rows are in `truth/*.toml` ([`row`]). [`session`] runs what is missing of each, on this
//! machine ([`real`]) or without one ([`simulate`]), and appends a line a run ([`results`]), so
//! that it can be stopped at any time and resumes. [`page`] writes docs/truth.md from those lines.

pub mod answer;
mod hog;
pub mod page;
pub mod real;
pub mod results;
pub mod row;
pub mod session;
pub mod simulate;
pub mod tally;

pub use answer::Answer;
pub use row::Row;

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
