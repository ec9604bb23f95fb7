//! The settings of the threads that share a lock.

use super::lock::LockKind;
use super::params::Fault;
use serde::{Deserialize, Serialize};

/// The settings of the threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Number of threads that share the lock.
    pub threads: u32,
    /// The CPUs that all of them may run on.
    pub cpus: Vec<u32>,
    /// How the threads wait for the lock.
    pub lock: LockKind,
    /// CPU time with the lock held in each round, in nanoseconds.
    pub inside_ns: u64,
    /// CPU time without the lock in each round, in nanoseconds.
    pub outside_ns: u64,
    /// When the threads touch pages that are not mapped in yet.
    pub fault: Fault,
    /// Number of such pages in each round.
    pub pages: u32,
    /// Whether these pages are parts of huge pages.
    pub huge: bool,
    /// Whether the holder of the lock asks for a longer time slice.
    pub extension: bool,
    /// Duration of the work, in milliseconds.
    pub duration_ms: u64,
}
