//! What a session follows.

use host::roots::Roots;
use std::time::Duration;

/// What a session follows.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// The trees of /proc and /sys.
    pub roots: Roots,
    /// Shorter waits are not reported.
    pub threshold: Duration,
    /// Whether waits for the mmap lock and its holders are followed.
    pub lock: bool,
    /// Whether calls of futex are counted; each system call of the machine costs a little then.
    pub futex: bool,
    /// Whether it is recorded which threads a quota throttles.
    pub quota: bool,
}

impl SessionOptions {
    /// The scheduler and the mmap lock, with waits from a millisecond on.
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
