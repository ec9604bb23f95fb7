//! Errors of a study file, or of the record that it is to continue.

use std::path::PathBuf;

/// Why a study cannot be run, or cannot be continued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StudyError {
    /// Something in the file is wrong.
    #[error("{}:{line}:{column}: {why}", .path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong and what would be right.
        why: String,
    },
    /// The file has more combinations than one record can hold.
    #[error(
        "{}: {arms} arms, and one record holds {most} at most, with --yes or without; take fewer \
         levels, or split the file",
        .path.display()
    )]
    TooMany {
        /// The file.
        path: PathBuf,
        /// Its combinations.
        arms: u128,
        /// The most that there may be.
        most: usize,
    },
    /// A record that cannot be continued.
    #[error("{}: {why}; --fresh starts from scratch", .path.display())]
    Stale {
        /// The record.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}
