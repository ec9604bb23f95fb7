//! Errors of writing rows.

use std::error::Error;
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

    /// The kind of the error from the kernel, if one is the cause. The Parquet library passes it
    /// on.
    pub fn of_kernel(&self) -> Option<io::ErrorKind> {
        let mut cause: Option<&(dyn Error + 'static)> = Some(self);
        while let Some(error) = cause {
            if let Some(of_kernel) = error.downcast_ref::<io::Error>() {
                return Some(of_kernel.kind());
            }
            cause = error.source();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_known_also_behind_the_library() {
        let path = || PathBuf::from("/x");
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let plain = RowsError::Io { path: path(), source: full() };
        let behind = RowsError::Parquet { path: path(), source: full().into() };
        for error in [plain, behind] {
            assert_eq!(error.of_kernel(), Some(io::ErrorKind::StorageFull), "{error}");
        }
        assert_eq!(RowsError::Interrupted.of_kernel(), None);
    }
}
