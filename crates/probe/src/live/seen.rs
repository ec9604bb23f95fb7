//! What can be seen on this kernel.

/// What a [`LiveProbe`](super::LiveProbe) sees on this kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Who reads the memory map of whom, and what the other waits for its own lock.
    pub lock: bool,
    /// Who frees memory itself before it gets any.
    pub reclaim: bool,
    /// Whether the file that is read is known by name.
    pub file: bool,
    /// How long a quota held a thread, to the microsecond.
    pub throttled: bool,
    /// Whether threads wait actively.
    pub samples: bool,
    /// Who holds the lock of a single mapping that a thread waits for; none where the kernel has no
    /// such lock.
    pub mapping: Option<bool>,
    /// Whether there are processes that /proc does not show, since it is that of a PID namespace.
    pub namespaced: bool,
}
