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
    /// The trials of records could not be kept while others were read.
    #[error("trials of records: {0}; make room beside the folder of --parquet, or name another")]
    Trials(std::io::Error),
}
