//! A request, and limits of a load.

use crate::error::Error;
use serde::Serialize;

/// Longest time in a load, in nanoseconds: one hour.
pub(crate) const LONGEST_NS: u64 = 3_600_000_000_000;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Request {
    /// Arrival, in nanoseconds after the load begins.
    pub at_ns: u64,
    /// CPU time that it needs, in nanoseconds.
    pub service_ns: u64,
}

/// An error with this sentence, if a condition of the load does not hold.
pub(crate) fn require(holds: bool, sentence: impl FnOnce() -> String) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Workload(sentence())) }
}
