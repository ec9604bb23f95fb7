//! What `tailback watch` has the kernel add up: for every thread how long it was ready and did not
//! run and why, for pairs of processes how long one ran while the other was ready on its CPU, and
//! who reads the memory map of another under that one's lock.
//!
//! No event is sent: the reader looks at the tables once a second. Nothing is pinned, so programs
//! and tables go with this process, however it ends.

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
    ChainCounts, ChainKey, Counts, LEVELS, NativeCounts, NodeSample, PairCounts, ReaderCounts,
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

/// Erlang nodes that are looked at more closely at most.
#[cfg(not(feature = "bpf"))]
pub const NODES: usize = 16;

#[cfg(not(feature = "bpf"))]
use model::not_seen::NoPrograms;

/// In a build without programs for the kernel those of others are not seen.
#[cfg(not(feature = "bpf"))]
pub fn watchers() -> usize {
    0
}

/// In a build without programs for the kernel nothing is counted.
#[cfg(not(feature = "bpf"))]
#[derive(Debug)]
pub struct Counting(std::convert::Infallible);

#[cfg(not(feature = "bpf"))]
impl Counting {
    /// Always none.
    pub fn start() -> Option<Self> {
        None
    }
}

/// In a build without programs for the kernel there is none.
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

    /// What is seen.
    pub fn seen(&self) -> Seen {
        match self.0 {}
    }

    /// Looks more closely at nodes.
    pub fn look_at_nodes(&mut self, _: &[(u32, u64)], _: bool) {
        match self.0 {}
    }

    /// Whether the programs' time is to be counted.
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
