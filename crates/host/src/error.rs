//! What can go wrong for a caller of this crate.

use std::io;
use std::path::PathBuf;

/// Why something could not be learnt of the machine.
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
    /// A file is larger than any such file can honestly be.
    #[error("{}: larger than {limit} bytes, so not what it should be", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that is read, in bytes.
        limit: u64,
    },
}
