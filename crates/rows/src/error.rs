//! Why rows could not be written.

use std::io;
use std::path::PathBuf;

/// Why rows could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// Something else is in the folder.
    #[error("{}: {what}, which no census wrote, and it stays; name an empty folder", .path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// What is in it.
        what: String,
    },
    /// The kernel refuses.
    #[error("{}: {source}; name a folder that can be written and has room", .path.display())]
    Io {
        /// What was to be written.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A Parquet file could not be written.
    #[error("{}: {source}; name a folder that can be written and has room", .path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Why.
        source: parquet::errors::ParquetError,
    },
    /// The caller wanted to end.
    #[error("interrupted; nothing was written")]
    Interrupted,
}

impl RowsError {
    /// A refusal of the kernel at this path.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> RowsError {
        let path = path.into();
        move |source| RowsError::Io { path, source }
    }
}
