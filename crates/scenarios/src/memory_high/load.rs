//! The input and the reports of leader and worker.

use load::protocol::{Failure, FailureKind};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The work of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Work {
    /// Memory that it keeps once it is filled, in bytes.
    pub(super) need: u64,
    /// Memory that each unit fills again, in bytes.
    pub(super) unit: u64,
    /// Least time between the starts of two units, in microseconds.
    pub(super) every_us: u64,
    /// Memory that it fills before it is ready, in bytes.
    pub(super) fill: u64,
}

/// The input of the leader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spec {
    /// The file by which a process joins the group.
    pub(super) procs: PathBuf,
    /// The user that the worker becomes, as UID:GID. None: the leader's user.
    pub(super) user: Option<String>,
    /// The work of the first worker. A restarted worker fills nothing before it works.
    pub(super) work: Work,
    /// Duration of the work, in milliseconds.
    pub(super) duration_ms: u64,
}

/// The report of the leader.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct WorkReport {
    /// Duration of the watched work, in nanoseconds.
    pub(super) window_ns: u64,
    /// The part of this time without a worker, because one was being restarted, in nanoseconds.
    pub(super) down_ns: u64,
    /// Number of completed units.
    pub(super) units: u64,
    /// Number of restarted workers.
    pub(super) restarts: u64,
    /// The longest unit, or the longest time without one, in nanoseconds.
    pub(super) worst_ns: u64,
    /// Durations of units, including the unfinished unit at the end: HdrHistogram V2, base64.
    pub(super) durations: String,
}

/// A failure of the leader or the worker.
pub(super) fn failure(what: &str, error: &std::io::Error) -> Failure {
    let kind = match error.kind() {
        std::io::ErrorKind::PermissionDenied => FailureKind::Permission,
        std::io::ErrorKind::OutOfMemory | std::io::ErrorKind::WouldBlock => FailureKind::Limit,
        _ => FailureKind::System,
    };
    Failure { kind, what: format!("{what}: {error}") }
}
