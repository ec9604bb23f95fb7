//! A page that a generator shares with the tool. It shows the current operation of the generator.
//!
//! The tool sees a stall while it lasts. The page also survives a generator that had to be killed.

use crate::page::{InPage, Page};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The limits above which operations are counted, in nanoseconds.
pub const LIMITS_NS: [u64; 3] = [1_000_000, 10_000_000, 100_000_000];

/// An operation longer than this is a stall, in nanoseconds.
pub const STALL_NS: u64 = LIMITS_NS[0];

/// The counters in the page. Only the generator writes them.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Counters {
    operations: AtomicU64,
    began_ns: AtomicU64,
    worst_ns: AtomicU64,
    stalled_ns: AtomicU64,
    over: [AtomicU64; 3],
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Completed operations.
    pub operations: u64,
    /// Start time of the current operation ([`os::time::now_ns`]). 0 if none is running.
    pub began_ns: u64,
    /// The longest operation so far, in nanoseconds.
    pub worst_ns: u64,
    /// Time spent in operations longer than [`STALL_NS`], in nanoseconds.
    pub stalled_ns: u64,
    /// Number of operations longer than each of [`LIMITS_NS`].
    pub over: [u64; 3],
}

impl Counters {
    /// Records that an operation begins.
    #[inline]
    pub fn begin(&self, now_ns: u64) {
        self.began_ns.store(now_ns, Relaxed);
    }

    /// Records the duration of the operation.
    #[inline]
    pub fn end(&self, latency_ns: u64) {
        self.began_ns.store(0, Relaxed);
        self.operations.store(self.operations.load(Relaxed) + 1, Relaxed);
        if latency_ns > self.worst_ns.load(Relaxed) {
            self.worst_ns.store(latency_ns, Relaxed);
        }
        if latency_ns > STALL_NS {
            self.count_stall(latency_ns);
        }
    }

    #[cold]
    fn count_stall(&self, latency_ns: u64) {
        self.stalled_ns.store(self.stalled_ns.load(Relaxed) + latency_ns, Relaxed);
        for (count, limit) in self.over.iter().zip(LIMITS_NS) {
            if latency_ns > limit {
                count.store(count.load(Relaxed) + 1, Relaxed);
            }
        }
    }

    /// The current values of the counters.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            operations: self.operations.load(Relaxed),
            began_ns: self.began_ns.load(Relaxed),
            worst_ns: self.worst_ns.load(Relaxed),
            stalled_ns: self.stalled_ns.load(Relaxed),
            over: [0, 1, 2].map(|i: usize| self.over[i].load(Relaxed)),
        }
    }
}

impl Snapshot {
    /// The snapshot, with the running operation counted as if it ended now.
    pub fn as_of(mut self, now_ns: u64) -> Snapshot {
        if self.began_ns == 0 {
            return self;
        }
        let under_way = now_ns.saturating_sub(self.began_ns);
        self.worst_ns = self.worst_ns.max(under_way);
        if under_way > STALL_NS {
            self.stalled_ns = self.stalled_ns.saturating_add(under_way);
            for (count, limit) in self.over.iter_mut().zip(LIMITS_NS) {
                *count = count.saturating_add(u64::from(under_way > limit));
            }
        }
        self
    }
}

// SAFETY: only atomic numbers.
unsafe impl InPage for Counters {}

/// The shared page, mapped.
pub type LivePage = Page<Counters>;

impl Page<Counters> {
    /// The counters in the page.
    pub fn counters(&self) -> &Counters {
        self.contents()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_under_way_counts() {
        let page = LivePage::create().unwrap();
        let counters = page.counters();
        counters.begin(100);
        counters.end(2_000_000);
        counters.begin(5_000_000);
        let quiet = counters.snapshot();
        assert_eq!((quiet.operations, quiet.worst_ns, quiet.over), (1, 2_000_000, [1, 0, 0]));
        let stalled = quiet.as_of(205_000_000);
        assert_eq!(stalled.worst_ns, 200_000_000);
        assert_eq!(stalled.stalled_ns, 202_000_000);
        assert_eq!(stalled.over, [2, 1, 1]);
        counters.end(10);
        assert_eq!(counters.snapshot().as_of(u64::MAX).over, [1, 0, 0]);
    }

    #[test]
    fn a_generator_cannot_overflow_what_is_read_of_the_page() {
        let all = u64::MAX;
        let worst =
            Snapshot { operations: all, began_ns: 1, worst_ns: 0, stalled_ns: all, over: [all; 3] };
        assert_eq!(worst.as_of(all).over, [all; 3]);
    }
}
