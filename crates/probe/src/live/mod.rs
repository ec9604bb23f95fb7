//! What `tailback watch` lets the kernel add up: for every thread, how long it was runnable and
//! did not run, and why; for pairs of processes, how long one ran while the other was runnable on
//! its CPU; and which processes read the memory map of another process under the lock of that
//! map.
//!
//! No event is sent: the reader reads the tables once a second. Nothing is pinned, so programs
//! and tables disappear with this process, however it ends.

#[cfg(feature = "bpf")]
mod blocked;
mod counts;
#[cfg(feature = "bpf")]
mod load;
#[cfg(feature = "bpf")]
mod nodes;
mod number;
#[cfg(feature = "bpf")]
mod object;
#[cfg(feature = "bpf")]
mod online;
#[cfg(feature = "bpf")]
mod open;
#[cfg(feature = "bpf")]
mod others;
#[cfg(feature = "bpf")]
mod per_cpu;
#[cfg(feature = "bpf")]
mod raw;
#[cfg(feature = "bpf")]
mod read;
#[cfg(feature = "bpf")]
mod samples;
mod seen;
#[cfg(feature = "bpf")]
mod stats;
#[cfg(feature = "bpf")]
mod threads;

pub use counts::{
    ChainCounts, ChainKey, Counts, Did, LEVELS, NativeCounts, NodeSample, PairCounts, ReaderCounts,
    Sampled, Sleep, Slept, ThreadCounts, ThreadState,
};
#[cfg(feature = "bpf")]
pub use nodes::NODES;
pub use number::{is_kernel_outside, is_outside};
#[cfg(feature = "bpf")]
pub use others::watchers;
#[cfg(feature = "bpf")]
pub use read::LiveProbe;
pub use seen::Seen;
#[cfg(feature = "bpf")]
pub use stats::Counting;

/// Most Erlang nodes that are examined more closely.
#[cfg(not(feature = "bpf"))]
pub const NODES: usize = 16;

#[cfg(not(feature = "bpf"))]
use model::not_seen::NoPrograms;

/// Always 0: a build without kernel programs cannot see those of other processes.
#[cfg(not(feature = "bpf"))]
pub fn watchers() -> usize {
    0
}

/// Never exists: a build without kernel programs counts nothing.
#[cfg(not(feature = "bpf"))]
#[derive(Debug)]
pub struct Counting(std::convert::Infallible);

#[cfg(not(feature = "bpf"))]
impl Counting {
    /// Always None.
    pub fn start() -> Option<Self> {
        None
    }
}

/// Never exists: a build without kernel programs has no probe.
#[cfg(not(feature = "bpf"))]
#[derive(Debug)]
pub struct LiveProbe(std::convert::Infallible);

#[cfg(not(feature = "bpf"))]
impl LiveProbe {
    /// Always refused.
    ///
    /// # Errors
    /// [`NoPrograms::NotBuilt`].
    pub fn start(_: &host::Roots) -> Result<Self, NoPrograms> {
        Err(NoPrograms::NotBuilt)
    }

    /// What the probe can see.
    pub fn seen(&self) -> Seen {
        match self.0 {}
    }

    /// Whether the probe sees all commits of journals.
    pub fn look_for_journal(&mut self) -> bool {
        match self.0 {}
    }

    /// Examines these nodes more closely.
    pub fn look_at_nodes(&mut self, _: &[(u32, u64)], _: bool) {
        match self.0 {}
    }

    /// Takes the CPUs that are online.
    pub fn set_online(&mut self, _: std::collections::BTreeSet<u32>) {
        match self.0 {}
    }

    /// Whether the CPU time of the programs is to be counted.
    pub fn count_next(&mut self) -> bool {
        match self.0 {}
    }

    /// The sums so far.
    ///
    /// # Errors
    /// Never.
    pub fn read(&mut self) -> Result<Counts, NoPrograms> {
        match self.0 {}
    }
}
