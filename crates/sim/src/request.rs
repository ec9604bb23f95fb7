//! One request, and what a load may ask for.

use crate::error::Error;
use serde::Serialize;

/// Longest time that a load may name, in nanoseconds: an hour.
pub(crate) const LONGEST_NS: u64 = 3_600_000_000_000;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Request {
    /// When it arrives, in nanoseconds after the load begins.
    pub at_ns: u64,
    /// CPU time to serve it, in nanoseconds.
    pub service_ns: u64,
}

/// Refuses a load where something does not hold.
pub(crate) fn require(holds: bool, sentence: impl FnOnce() -> String) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Workload(sentence())) }
}
