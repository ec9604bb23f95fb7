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
    /// A file does not hold what it should.
    #[error("{}: no {what} in it", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        what: &'static str,
    },
    /// The CPUs that this thread may use could not be read.
    #[error("cannot read which CPUs may be used: {source}")]
    Affinity {
        /// The system's reason.
        source: io::Error,
    },
    /// A thread could not be bound to a CPU.
    #[error(
        "cpu {cpu}: cannot bind a thread to it: {source}; see `taskset -cp $$` for those that may be used"
    )]
    Pin {
        /// The CPU.
        cpu: u32,
        /// The system's reason.
        source: io::Error,
    },
}
