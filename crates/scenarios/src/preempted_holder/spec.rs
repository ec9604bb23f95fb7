//! What the threads that share a lock are told.

use super::lock::LockKind;
use super::params::Fault;
use serde::{Deserialize, Serialize};

/// What the threads are to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Threads that share the lock.
    pub threads: u32,
    /// The CPUs that all of them may run on.
    pub cpus: Vec<u32>,
    /// How they wait for the lock.
    pub lock: LockKind,
    /// CPU time with the lock in each round, in nanoseconds.
    pub inside_ns: u64,
    /// CPU time without it in each round, in nanoseconds.
    pub outside_ns: u64,
    /// Where they touch pages that are not there yet.
    pub fault: Fault,
    /// How many in each round.
    pub pages: u32,
    /// Whether these are parts of huge pages.
    pub huge: bool,
    /// Whether the one that holds the lock asks for a longer time slice.
    pub extension: bool,
    /// How long they go on, in milliseconds.
    pub duration_ms: u64,
}
