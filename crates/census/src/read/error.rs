//! Why nothing could be read.

use std::path::PathBuf;

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub enum CensusError {
    /// What was named is not there.
    #[error("{}: {source}; name records, brief records, or a folder of them", .path.display())]
    Named {
        /// What was named.
        path: PathBuf,
        /// The kernel's reason.
        source: std::io::Error,
    },
}
