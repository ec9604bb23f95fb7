//! Errors of writing rows.

use std::io;
use std::path::PathBuf;

/// Why rows could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// The folder contains something else.
    #[error("{}: {what}: not written by a census, so kept; name an empty folder", .path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// What it contains.
        what: String,
    },
    /// A system call failed.
    #[error("{}: {source}; name a writable folder with enough space", .path.display())]
    Io {
        /// The path that could not be written.
        path: PathBuf,
        /// The error from the kernel.
        source: io::Error,
    },
    /// A Parquet file could not be written.
    #[error("{}: {source}; name a writable folder with enough space", .path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The error from the Parquet library.
        source: parquet::errors::ParquetError,
    },
    /// The caller interrupted the work.
    #[error("interrupted; nothing was written")]
    Interrupted,
}

impl RowsError {
    /// An error from the kernel for this path.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> RowsError {
        let path = path.into();
        move |source| RowsError::Io { path, source }
    }
}
