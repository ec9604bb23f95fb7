//! The errors that callers of this crate can get.

use std::io;
use std::path::PathBuf;

/// Why a fact about the machine could not be determined.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file is larger than a valid file of its kind can be.
    #[error("{}: larger than {limit} bytes, so not the expected file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Most bytes that are read.
        limit: u64,
    },
}
