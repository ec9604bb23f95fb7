//! Why the probes are not available.

use model::not_seen::NoPrograms;

/// Why nothing can be counted. The message names the next step; for [`NoPrograms`] the report
/// writes the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// The kernel programs cannot be had.
    #[error("programs in the kernel are not available: {0:?}")]
    NoPrograms(NoPrograms),
    /// A library or a symbol does not exist.
    #[error("{what}: {why}")]
    NoSymbol {
        /// The library or the symbol.
        what: String,
        /// Why it was not found, and the next step.
        why: String,
    },
    /// The process has ended, or it never existed.
    #[error("pid {0}: no such process; see ps")]
    NoProcess(u32),
}

impl From<NoPrograms> for ProbeError {
    fn from(why: NoPrograms) -> Self {
        ProbeError::NoPrograms(why)
    }
}
