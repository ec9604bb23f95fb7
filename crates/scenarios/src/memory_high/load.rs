//! What leader and worker are told and report.

use load::protocol::{Failure, FailureKind};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Work {
    /// Memory that it keeps once it has filled it, in bytes.
    pub(super) need: u64,
    /// Memory that each unit fills anew, in bytes.
    pub(super) unit: u64,
    /// How often a unit begins at most, in microseconds.
    pub(super) every_us: u64,
    /// Memory that it fills before it is ready, in bytes.
    pub(super) fill: u64,
}

/// What the leader is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spec {
    /// The file by which a process joins the group.
    pub(super) procs: PathBuf,
    /// The user that the worker becomes, as UID:GID; the leader's if absent.
    pub(super) user: Option<String>,
    /// What the first worker does. One that is started again fills nothing before it works.
    pub(super) work: Work,
    /// How long, in milliseconds.
    pub(super) duration_ms: u64,
}

/// What the leader reports.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct WorkReport {
    /// How long the work was watched, in nanoseconds.
    pub(super) window_ns: u64,
    /// Of that: there was no worker, since it was being started again.
    pub(super) down_ns: u64,
    /// Units that came to their end.
    pub(super) units: u64,
    /// Workers that were started again.
    pub(super) restarts: u64,
    /// The longest unit, or the longest time without one, in nanoseconds.
    pub(super) worst_ns: u64,
    /// How long units took, the one under way at the end too: HdrHistogram V2, base64.
    pub(super) durations: String,
}

/// A failure of one of the two.
pub(super) fn failure(what: &str, error: &std::io::Error) -> Failure {
    let kind = match error.kind() {
        std::io::ErrorKind::PermissionDenied => FailureKind::Permission,
        std::io::ErrorKind::OutOfMemory | std::io::ErrorKind::WouldBlock => FailureKind::Limit,
        _ => FailureKind::System,
    };
    Failure { kind, what: format!("{what}: {error}") }
}
