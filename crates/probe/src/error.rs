//! Why there are no probes.

use model::not_seen::NoPrograms;

/// Why nothing can be counted. A message names what next; that of [`NoPrograms`] is the report's to
/// make.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// There are none.
    #[error("programs in the kernel cannot be had: {0:?}")]
    NoPrograms(NoPrograms),
    /// A library or a symbol does not exist.
    #[error("{what}: {why}")]
    NoSymbol {
        /// The library or the symbol.
        what: String,
        /// Why not, and what next.
        why: String,
    },
    /// The process is gone or was never there.
    #[error("pid {0}: no such process; see ps")]
    NoProcess(u32),
}

impl From<NoPrograms> for ProbeError {
    fn from(why: NoPrograms) -> Self {
        ProbeError::NoPrograms(why)
    }
}
