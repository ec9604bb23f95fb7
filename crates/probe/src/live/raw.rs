//! The entries of the tables. build.rs takes their types from the compiled programs.

use super::counts::{
    ChainCounts, ChainKey, Did, NativeCounts, NodeSample, PairCounts, ReaderCounts, Sampled, Sleep,
    Slept, ThreadCounts, ThreadState,
};
pub use super::object::types::{
    chain as Chain, chain_key as RawChainKey, cpu as Cpu, node_sample as Sample, pairs as Pairs,
    reader as Reader, reader_key as ReaderKey, runner as Runner, space as Space, thread as Thread,
};
use crate::event;

/// Number of samples of node threads that are kept.
pub const SAMPLES: usize = 2_048;

/// The state of a runnable thread.
pub const READY: u8 = 2;

/// Number of slots for threads.
pub const THREADS: usize = 16_384;

/// An entry of a table. It holds only numbers and bytes, so any bytes of its size are a valid
/// entry.
///
/// # Safety
/// Every bit pattern must be a valid value of the type.
pub unsafe trait Raw: Copy {
    /// Reads an entry; None if the number of bytes is wrong.
    fn read(bytes: &[u8]) -> Option<Self> {
        // SAFETY: as many bytes as the type has; any bytes make a valid value.
        (bytes.len() == size_of::<Self>())
            .then(|| unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }
}

// SAFETY: numbers, bytes and arrays of them.
unsafe impl Raw for Cpu {}
// SAFETY: the same.
unsafe impl Raw for Pairs {}
// SAFETY: the same.
unsafe impl Raw for Thread {}
// SAFETY: the same.
unsafe impl Raw for ReaderKey {}
// SAFETY: the same.
unsafe impl Raw for Reader {}
// SAFETY: the same.
unsafe impl Raw for RawChainKey {}
// SAFETY: the same.
unsafe impl Raw for Chain {}
// SAFETY: the same.
unsafe impl Raw for Space {}

/// A name in the form in which the programs write it.
pub fn text(characters: &[i8]) -> String {
    event::name(&characters.iter().map(|character| character.cast_unsigned()).collect::<Vec<u8>>())
}

/// Whether something was recorded in `interval`, in the one before, or since it ended. Intervals
/// are numbered, and the numbers start again at 0.
fn is_recent(of: u32, interval: u32) -> bool {
    of.wrapping_add(1).wrapping_sub(interval) <= 2
}

/// The worst value of `interval`; two intervals are kept.
fn worst(worst: [u64; 2], of: [u32; 2], interval: u32) -> u64 {
    let at = (interval & 1) as usize;
    if of[at] == interval { worst[at] } else { 0 }
}

impl Thread {
    /// Whether the entry holds a thread.
    pub fn is_there(&self) -> bool {
        self.start != 0
    }

    /// What the thread is doing, and since when.
    pub fn moment(&self) -> (u8, u64, u64, u8, u64, u64) {
        (self.state, self.since, self.here, self.lock, self.lock_from, self.reclaims_from)
    }

    /// The sums of a thread, with the worst values of `interval`.
    pub fn counts(&self, interval: u32) -> ThreadCounts {
        ThreadCounts {
            tid: self.tid_here,
            pid: self.tgid,
            start: self.start,
            name: text(&self.comm),
            state: match self.state {
                1 => ThreadState::Running,
                2 => ThreadState::Ready,
                3 => ThreadState::Asleep,
                4 => ThreadState::Uninterruptible,
                5 => ThreadState::Gone,
                _ => ThreadState::Unknown,
            },
            since_ns: self.since,
            waker: if is_recent(self.waker_of, interval) { self.waker } else { 0 },
            session: self.session,
            nice: self.nice,
            // The kernel's only negative priority.
            is_deadline: self.prio < 0,
            ran_ns: self.ran,
            ready_ns: self.ready,
            open_ns: 0,
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
            // Call 0 reads a file and never takes this lock for writing, so 0 means no call.
            lock_call: u32::try_from(self.lock_call).ok().filter(|call| *call != 0),
            lock_by: text(&self.lock_by),
            reclaim_ns: self.reclaim,
            group_reclaim_ns: self.group_reclaim,
            compaction_ns: self.compaction,
            memory_ns: self.memory,
            fault_ns: self.fault,
            faults: self.faults,
            memory_worst_ns: worst(self.memory_worst, self.memory_worst_of, interval),
            move_ns: self.move_ns,
            moves: self.moves,
            move_worst_ns: worst(self.move_worst, self.move_worst_of, interval),
            throttled_worst_ns: worst(self.throttled_worst, self.throttled_worst_of, interval),
            beside_worst_ns: worst(self.beside_worst, self.beside_worst_of, interval),
            samples: self.samples.into(),
            spins: self.spins.into(),
            spin_at: self.spin_at,
            lock_worst_ns: worst(self.lock_worst, self.lock_worst_of, interval),
            own_lock_worst_ns: worst(self.own_lock_worst, self.own_lock_worst_of, interval),
            native: self.native(interval),
        }
    }

    fn native(&self, interval: u32) -> NativeCounts {
        NativeCounts {
            sleep: match self.sleep {
                1 => Sleep::Futex,
                2 => Sleep::Poll,
                3 => Sleep::Fault,
                4 => Sleep::Call,
                _ => Sleep::Unknown,
            },
            futex_ns: self.futex,
            poll_ns: self.poll,
            call_ns: self.native,
            calls: self.native_calls.into(),
            call_worst_ns: worst(self.native_worst, self.native_worst_of, interval),
            silent_ns: self.silent,
            silences: self.silent_calls.into(),
            silent_worst_ns: worst(self.silent_worst, self.silent_worst_of, interval),
        }
    }
}

impl Sample {
    /// The sample; None if the entry names no process.
    pub fn read(&self) -> Option<NodeSample> {
        (self.pid != 0).then(|| NodeSample {
            at_ns: self.at,
            pid: self.pid,
            tid: self.tid,
            what: match self.what {
                1 => Sampled::Spinning,
                2 => Sampled::Silent,
                3 => Sampled::Asleep,
                _ => Sampled::Running,
            },
            call: u32::try_from(self.call).ok(),
            ip: self.ip,
            stack: self.stack.to_vec(),
        })
    }
}

impl Pairs {
    /// The pairs in the table.
    pub fn counts(&self) -> impl Iterator<Item = PairCounts> {
        let used = self.pairs.iter().filter(|pair| pair.victim != 0 && pair.ns > 0);
        used.map(|pair| PairCounts {
            victim: pair.victim,
            culprit: pair.culprit,
            name: text(&pair.comm),
            ns: pair.ns,
            worst_ns: pair.worst,
            waits: pair.waits,
            forced_ns: pair.forced,
            prio: pair.prio,
            victim_prio: pair.victim_prio,
            normal_prio: pair.normal_prio,
            session: pair.session,
        })
    }
}

impl Runner {
    /// The name of the thread that ran.
    pub fn name(&self) -> String {
        text(&self.comm)
    }
}

impl Chain {
    /// The sums of a chain, with the worst value of `interval`.
    pub fn counts(&self, key: &RawChainKey, interval: u32) -> ChainCounts {
        ChainCounts {
            key: ChainKey {
                sleeper: key.sleeper,
                holder: key.holder,
                slept: match key.slept {
                    1 => Slept::Futex,
                    2 => Slept::Input,
                    3 => Slept::Journal,
                    _ => Slept::Otherwise,
                },
                steps: key.steps,
                by_quota: key.why == 1,
                did: match key.why {
                    2 => Did::SleptForDevice,
                    3 => Did::Otherwise,
                    _ => Did::Stood,
                },
                inverted: key.inverted != 0,
                by_policy: key.inverted == 2,
            },
            name: text(&self.comm),
            ns: self.ns,
            wakes: self.wakes,
            worst_ns: worst(self.worst, self.worst_of, interval),
        }
    }
}

impl Reader {
    /// The sums of a reader, with the worst value of `interval`.
    pub fn counts(&self, key: &ReaderKey, interval: u32) -> ReaderCounts {
        ReaderCounts {
            reader: key.reader,
            tid: self.tid,
            target: key.target,
            file: text(&key.file),
            call: key.call,
            name: text(&self.comm),
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
    fn an_entry_of_another_size_is_none() {
        let bytes = [7; size_of::<Cpu>()];
        assert!(Cpu::read(&bytes[1..]).is_none() && Cpu::read(&bytes).is_some());
    }

    #[test]
    fn who_had_a_handle_is_named_with_what_it_did() {
        let blank = RawChainKey::read(&[0; size_of::<RawChainKey>()]).unwrap();
        let chain = Chain::read(&[0; size_of::<Chain>()]).unwrap();
        let of = |why| {
            let key = RawChainKey { sleeper: 7, holder: 8, slept: 3, why, ..blank };
            let key = chain.counts(&key, 0).key;
            assert_eq!((key.sleeper, key.holder, key.slept), (7, 8, Slept::Journal));
            (key.did, key.by_quota)
        };
        assert_eq!((of(0), of(1)), ((Did::Stood, false), (Did::Stood, true)));
        assert_eq!((of(2), of(3)), ((Did::SleptForDevice, false), (Did::Otherwise, false)));
    }

    #[test]
    fn a_waker_counts_for_two_intervals() {
        let thread = Thread::read(&[0; size_of::<Thread>()]).unwrap();
        let waker = |waker_of, interval| Thread { waker: 7, waker_of, ..thread }.counts(interval);
        // It is read while the next interval has begun already.
        for waker_of in [4, 5, 6] {
            assert_eq!(waker(waker_of, 5).waker, 7, "{waker_of}");
        }
        for waker_of in [0, 3, 7, u32::MAX] {
            assert_eq!(waker(waker_of, 5).waker, 0, "{waker_of}");
        }
        assert_eq!((waker(u32::MAX, 0).waker, waker(u32::MAX - 1, 0).waker), (7, 0));
    }

    #[test]
    fn a_sleeper_with_a_policy_is_told_from_one_with_a_lower_nice_value() {
        let blank = RawChainKey::read(&[0; size_of::<RawChainKey>()]).unwrap();
        let chain = Chain::read(&[0; size_of::<Chain>()]).unwrap();
        let of = |inverted| {
            let key = chain.counts(&RawChainKey { inverted, ..blank }, 0).key;
            (key.inverted, key.by_policy)
        };
        assert_eq!([of(0), of(1), of(2)], [(false, false), (true, false), (true, true)]);
    }

    #[test]
    fn the_worst_is_that_of_the_interval_that_is_asked_for() {
        assert_eq!(worst([5, 9], [4, 3], 3), 9);
        assert_eq!(worst([5, 9], [4, 3], 4), 5);
        assert_eq!(worst([5, 9], [4, 3], 5), 0);
    }
}
