//! Errors of reading a fleet.

use std::path::PathBuf;

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub enum CensusError {
    /// A path that the user named does not exist.
    #[error("{}: {source}; name records, brief records, or a folder with records", .path.display())]
    Named {
        /// The path.
        path: PathBuf,
        /// The error from the kernel.
        source: std::io::Error,
    },
    /// The trials of records could not be stored.
    #[error(
        "trials of records: {0}; free some disk space beside the folder of --parquet, or name \
         another folder"
    )]
    Trials(std::io::Error),
}
