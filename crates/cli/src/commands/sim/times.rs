//! How the simulation prints times, and how it refuses an input.

use crate::exit::Failure;
use model::units;
use std::time::Duration;

/// Nanoseconds in the form that people write: `10ms`.
pub(super) fn time(ns: u64) -> String {
    units::format_duration(Duration::from_nanos(ns))
}

/// The usage error for an input that the simulation refuses.
pub(super) fn refused(error: sim::Error) -> Failure {
    Failure::usage(format!("sim cpu-quota: {error}"))
}
