//! What the programs can see on this kernel.

/// What a [`LiveProbe`](super::LiveProbe) sees on this kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Which processes read the memory map of another, and how long that process waits for its
    /// own lock.
    pub lock: bool,
    /// Direct reclaim: which threads free memory themselves before they get any.
    pub reclaim: bool,
    /// Which threads sleep while they move processes between control groups.
    pub moves: bool,
    /// Which threads sleep for a commit of the journal of a file system; or that none does, while
    /// the kernel has no such journal.
    pub journal: bool,
    /// The name of the file that is read.
    pub file: bool,
    /// In which system call a thread sleeps.
    pub calls: bool,
    /// How long a quota throttled a thread, to the microsecond.
    pub throttled: bool,
    /// Active waiting of threads.
    pub samples: bool,
    /// Which process holds the lock of a single mapping that a thread waits for. None if the
    /// kernel has no such lock.
    pub mapping: Option<bool>,
    /// Whether there may be processes that /proc does not show, since /proc belongs to a PID
    /// namespace.
    pub namespaced: bool,
}
