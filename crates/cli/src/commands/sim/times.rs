//! Conversions of times, and errors of the simulation.

use crate::exit::Failure;
use model::units;
use std::time::Duration;

/// A duration in nanoseconds.
pub(super) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds in the form that people write: `10ms`.
pub(super) fn time(ns: u64) -> String {
    units::format_duration(Duration::from_nanos(ns))
}

/// The usage error for an input that the simulation refuses.
pub(super) fn refused(error: sim::Error) -> Failure {
    Failure::usage(format!("sim cpu-quota: {error}"))
}
