//! What is wanted of a session.

use host::roots::Roots;
use std::time::Duration;

/// What is wanted of a session.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The trees of /proc and /sys.
    pub roots: Roots,
    /// Shorter waits are not told of.
    pub threshold: Duration,
    /// Whether waits for the mmap lock and its holders are followed.
    pub lock: bool,
    /// Whether calls of futex are counted; each system call of the machine costs a little then.
    pub futex: bool,
    /// Whether it is noted which threads a quota catches.
    pub quota: bool,
}

impl Wish {
    /// The scheduler and the mmap lock, with waits from a millisecond on.
    pub fn new(roots: &Roots) -> Self {
        Wish {
            roots: roots.clone(),
            threshold: Duration::from_millis(1),
            lock: true,
            futex: false,
            quota: false,
        }
    }
}
