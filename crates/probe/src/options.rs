//! What a session follows.

use host::roots::Roots;
use std::time::Duration;

/// What a session follows.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// The trees of /proc and /sys.
    pub roots: Roots,
    /// Waits shorter than this are not reported.
    pub threshold: Duration,
    /// Whether waits for the mmap lock and its holders are recorded.
    pub lock: bool,
    /// Whether futex calls are counted; this makes every system call on the machine slightly
    /// slower.
    pub futex: bool,
    /// Whether the session records which threads a quota throttles.
    pub quota: bool,
}

impl SessionOptions {
    /// The scheduler and the mmap lock, with waits of at least one millisecond.
    pub fn new(roots: &Roots) -> Self {
        SessionOptions {
            roots: roots.clone(),
            threshold: Duration::from_millis(1),
            lock: true,
            futex: false,
            quota: false,
        }
    }
}
