//! Times and refusals, as the flags and the answers have them.

use crate::exit::Failure;
use model::units;
use std::time::Duration;

/// A duration in nanoseconds.
pub(super) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds as people write them: `10ms`.
pub(super) fn time(ns: u64) -> String {
    units::format_duration(Duration::from_nanos(ns))
}

/// What the simulation refuses, with what was asked.
pub(super) fn refused(error: sim::Error) -> Failure {
    Failure::usage(format!("sim cpu-quota: {error}"))
}
