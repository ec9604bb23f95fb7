//! The entries of the tables, byte by byte as src/bpf/watch_types.h has them.

use super::counts::{LEVELS, PairCounts, ReaderCounts, ThreadCounts, ThreadState};
use crate::event::name;

/// Pairs of one CPU and one interval.
pub const PAIRS: usize = 1024;

/// An entry of a table: numbers and bytes alone, so that any bytes of its size are one.
///
/// # Safety
/// Every pattern of bits has to be a value of the type.
pub unsafe trait Raw: Copy {
    /// Reads one; none where there are too few or too many bytes.
    fn read(bytes: &[u8]) -> Option<Self> {
        // SAFETY: as many bytes as the type has, any of which make a value.
        (bytes.len() == size_of::<Self>())
            .then(|| unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Thread {
    start: u64,
    tgid: u32,
    state: u8,
    lock: u8,
    level: u8,
    pad: u8,
    cpu: u32,
    waker: u32,
    session: u32,
    nice: i32,
    pub since: u64,
    here: u64,
    ran: u64,
    ready: u64,
    throttled: [u64; LEVELS],
    others: u64,
    own: u64,
    idle: u64,
    rest: u64,
    beside_idle: u64,
    waits: u64,
    worst: [u64; 2],
    worst_of: [u32; 2],
    throttled_mark: u64,
    queue: u64,
    asleep: u64,
    lock_from: u64,
    lock_mark: u64,
    lock_ns: u64,
    lock_waits: u64,
    lock_worst: [u64; 2],
    lock_worst_of: [u32; 2],
    foreign_ns: u64,
    space: u64,
    hold_from: u64,
    hold_ready: u64,
    hold_throttled: u64,
    target: u32,
    call: u32,
    samples: u32,
    spins: u32,
    file: [u8; 16],
    comm: [u8; 16],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Runner {
    from: u64,
    to: u64,
    tgid: u32,
    session: u32,
    comm: [u8; 16],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Cpu {
    since: u64,
    idle_since: u64,
    pub switches: u64,
    head: u64,
    ring: [Runner; 256],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pair {
    victim: u32,
    culprit: u32,
    ns: u64,
    worst: u64,
    waits: u64,
    session: u32,
    pad: u32,
    comm: [u8; 16],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pairs {
    pairs: [Pair; PAIRS],
    pub rest: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ReaderKey {
    reader: u32,
    target: u32,
    call: u32,
    pad: u32,
    file: [u8; 16],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Reader {
    holds: u64,
    ns: u64,
    ready: u64,
    throttled: u64,
    worst: [u64; 2],
    worst_of: [u32; 2],
    tid: u32,
    nice: i32,
    comm: [u8; 16],
}

// SAFETY: numbers, bytes and arrays of them.
unsafe impl Raw for Thread {}
// SAFETY: the same.
unsafe impl Raw for Cpu {}
// SAFETY: the same.
unsafe impl Raw for Pairs {}
// SAFETY: the same.
unsafe impl Raw for ReaderKey {}
// SAFETY: the same.
unsafe impl Raw for Reader {}

/// The worst of an interval, of the two that are kept.
fn worst(worst: [u64; 2], of: [u32; 2], interval: u32) -> u64 {
    let at = (interval & 1) as usize;
    if of[at] == interval { worst[at] } else { 0 }
}

impl Thread {
    /// The sums of a thread, with the worst of an interval.
    pub fn counts(&self, tid: u32, interval: u32) -> ThreadCounts {
        ThreadCounts {
            tid,
            pid: self.tgid,
            start: self.start,
            name: name(&self.comm),
            state: match self.state {
                1 => ThreadState::Running,
                2 => ThreadState::Ready,
                3 => ThreadState::Asleep,
                4 => ThreadState::Uninterruptible,
                _ => ThreadState::Unknown,
            },
            since_ns: self.since,
            waker: self.waker,
            session: self.session,
            nice: self.nice,
            ran_ns: self.ran,
            ready_ns: self.ready,
            throttled_ns: self.throttled,
            others_ns: self.others,
            own_ns: self.own,
            idle_ns: self.idle,
            rest_ns: self.rest,
            beside_idle_ns: self.beside_idle,
            waits: self.waits,
            worst_ns: worst(self.worst, self.worst_of, interval),
            asleep_ns: self.asleep,
            lock_ns: self.lock_ns,
            foreign_ns: self.foreign_ns,
            lock_waits: self.lock_waits,
            samples: self.samples.into(),
            spins: self.spins.into(),
            lock_worst_ns: worst(self.lock_worst, self.lock_worst_of, interval),
        }
    }
}

impl Pairs {
    /// Those that there are.
    pub fn counts(&self) -> impl Iterator<Item = PairCounts> {
        let used = self.pairs.iter().filter(|pair| pair.victim != 0 && pair.ns > 0);
        used.map(|pair| PairCounts {
            victim: pair.victim,
            culprit: pair.culprit,
            name: name(&pair.comm),
            ns: pair.ns,
            worst_ns: pair.worst,
            waits: pair.waits,
            session: pair.session,
        })
    }
}

impl Reader {
    /// The sums of a reader, with the worst of an interval.
    pub fn counts(&self, key: &ReaderKey, interval: u32) -> ReaderCounts {
        ReaderCounts {
            reader: key.reader,
            tid: self.tid,
            target: key.target,
            file: name(&key.file),
            call: key.call,
            name: name(&self.comm),
            nice: self.nice,
            holds: self.holds,
            ns: self.ns,
            ready_ns: self.ready,
            throttled_ns: self.throttled,
            worst_ns: worst(self.worst, self.worst_of, interval),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_the_size_that_the_programs_give_it() {
        assert_eq!(size_of::<Thread>(), 368);
        assert_eq!(size_of::<Pairs>(), 56 * PAIRS + 8);
        assert_eq!((size_of::<ReaderKey>(), size_of::<Reader>()), (32, 80));
        assert!(Thread::read(&[0; 367]).is_none() && Thread::read(&[7; 368]).is_some());
    }

    #[test]
    fn the_worst_is_that_of_the_interval_that_is_asked_for() {
        assert_eq!(worst([5, 9], [4, 3], 3), 9);
        assert_eq!(worst([5, 9], [4, 3], 4), 5);
        assert_eq!(worst([5, 9], [4, 3], 5), 0);
    }
}
