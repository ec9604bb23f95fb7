//! Turns sums since the start into what they gained.

use crate::tick::Tick;
use host::Roots;
use probe::live::{
    ChainCounts, ChainKey, Counts, NativeCounts, PairCounts, ReaderCounts, ThreadCounts,
    ThreadState,
};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// Most threads that are remembered: twice as many as the kernel's table holds, and as one reading
/// contains.
const MOST_THREADS: usize = 32_768;

/// A table with room for this many times its content gives some room back.
const SPARE: usize = 8;

/// Threads that gained less than this, in nanoseconds, are left out. They cannot be part of a
/// finding, and on a busy machine they are the majority.
const LEAST_NS: u64 = 20_000;

/// A reader of a memory map.
type ReaderId = (u32, u32, u32, String);

/// The sums as they were last read.
#[derive(Debug, Default)]
pub struct Gained {
    threads: HashMap<(u32, u64), Known>,
    readings: u64,
    /// When threads were last forgotten, by the monotonic clock. The sums of a thread that began
    /// before that may be older than the interval.
    forgot_ns: u64,
    /// Threads that had ended at the last reading. Only the next reading may still contain them.
    ended: HashSet<(u32, u64)>,
    readers: HashMap<ReaderId, ReaderCounts>,
    chains: HashMap<ChainKey, ChainCounts>,
    switches: u64,
    /// Threads that were not counted: as the source last said, and since the start.
    lost_threads: u64,
    lost_threads_in_all: u64,
    /// The process that watches, by its number in /proc. It sleeps behind the nodes that it asks.
    own: Option<u32>,
}

/// The sums of a thread as they were last read.
#[derive(Debug)]
struct Known {
    sums: ThreadCounts,
    /// The number of that reading.
    reading: u64,
}

impl Gained {
    /// Starts from this moment.
    pub fn new(roots: &Roots) -> Self {
        let own = std::fs::read_link(roots.proc.join("self")).ok();
        let own = own.and_then(|pid| pid.to_str()?.parse().ok());
        Gained { own, ..Gained::default() }
    }

    /// Puts what the sums gained into a tick.
    pub fn add_to(&mut self, counts: Counts, tick: &mut Tick) {
        self.readings += 1;
        let ended = std::mem::take(&mut self.ended);
        let mut left_out = 0;
        for mut thread in counts.threads {
            let before = self.threads.get(&(thread.tid, thread.start)).map(|known| &known.sums);
            // All its sums would count as gained now.
            let may_be_forgotten = before.is_none() && thread.start < self.forgot_ns;
            // A thread that had lost its place starts anew.
            let before = before.filter(|before| before.waits <= thread.waits);
            // Sums that may include waits in progress never decrease. Otherwise a wait could count
            // twice: once too early, while its end was just being written, and once more
            // afterwards.
            if let Some(before) = before {
                thread.combine(before, u64::max);
            }
            let gained = before.map_or_else(|| thread.clone(), |before| since(&thread, before));
            let of = [
                gained.ready_ns,
                gained.lock_ns,
                gained.reclaim_ns,
                gained.compaction_ns,
                gained.memory_ns,
                gained.fault_ns,
                gained.move_ns,
            ];
            let lost = of.into_iter().fold(0, u64::saturating_add);
            let matters = lost.saturating_add(gained.ran_ns) >= LEAST_NS;
            if matters && may_be_forgotten {
                left_out += 1;
            } else if matters {
                tick.threads.push(gained);
            }
            if thread.state == ThreadState::Gone {
                self.ended.insert((thread.tid, thread.start));
            }
            // Thousands of names would be scattered over memory that is to be given back.
            let sums = ThreadCounts { name: String::new(), lock_by: String::new(), ..thread };
            let id = (sums.tid, sums.start);
            self.threads.insert(id, Known { sums, reading: self.readings });
        }
        for id in ended {
            self.threads.remove(&id);
            self.ended.remove(&id);
        }
        if self.threads.len() > MOST_THREADS {
            self.forget();
            self.forgot_ns = counts.at_ns;
        }
        give_back(&mut self.threads);
        // All readers come with each reading.
        let mut readers = HashMap::new();
        for mut reader in counts.readers {
            let id = (reader.reader, reader.target, reader.call, reader.file.clone());
            let before = self.readers.remove(&id).unwrap_or_default();
            // A reader that had lost its place starts anew. A hold in progress counts as one
            // hold.
            let before = match reader.holds + 1 < before.holds {
                true => ReaderCounts::default(),
                false => before,
            };
            reader.combine(&before, u64::max);
            if reader.ns > before.ns {
                let mut gained = reader.clone();
                gained.combine(&before, u64::saturating_sub);
                tick.readers.push(gained);
            }
            readers.insert(id, reader);
        }
        self.readers = readers;
        tick.chains = self.chains(counts.chains);
        tick.pairs = behind_deadlines(counts.pairs, &mut tick.threads);
        tick.unnamed_ns = counts.unnamed_ns;
        // A source that counts no switches has no figure for them.
        tick.machine.switches =
            (counts.switches > 0).then(|| counts.switches.saturating_sub(self.switches));
        self.switches = counts.switches;
        // The files of /proc, which replace programs that fail, count from 0.
        let is_anew = counts.lost_threads < self.lost_threads;
        let before = if is_anew { 0 } else { self.lost_threads };
        tick.lost_threads = (counts.lost_threads - before).saturating_add(left_out);
        self.lost_threads = counts.lost_threads;
        self.lost_threads_in_all = self.lost_threads_in_all.saturating_add(tick.lost_threads);
    }
}

impl Gained {
    /// Threads that were not counted, since the start. A thread that is missing in several
    /// intervals counts in each of them.
    pub fn lost_threads_in_all(&self) -> u64 {
        self.lost_threads_in_all
    }

    /// How long a thread has waited since it was first seen, in waits that are over. The second
    /// time is that of waking on an idle CPU. None before its first wait is over: that wait may
    /// have begun before anything was counted.
    pub fn waited_ns(&self, tid: u32, start: u64) -> Option<(u64, u64)> {
        let thread = &self.threads.get(&(tid, start))?.sums;
        if thread.waits == 0 {
            return None;
        }
        Some((thread.ready_ns.saturating_sub(thread.open_ns), thread.idle_ns))
    }

    /// Forgets the threads that were read longest ago, and keeps about half. Threads that a reading
    /// contained together stay or go together.
    fn forget(&mut self) {
        let mut readings: Vec<u64> = self.threads.values().map(|known| known.reading).collect();
        let Some(place) = readings.len().checked_sub(MOST_THREADS / 2) else { return };
        let (_, oldest, _) = readings.select_nth_unstable(place);
        let oldest = *oldest;
        self.threads.retain(|_, known| known.reading >= oldest);
    }

    fn chains(&mut self, now: Vec<ChainCounts>) -> Vec<ChainCounts> {
        let of = |chain: &ChainCounts| {
            // A chain that had lost its place starts anew.
            let before = self.chains.get(&chain.key).filter(|before| before.wakes <= chain.wakes);
            let (ns, wakes) = before.map_or((0, 0), |before| (before.ns, before.wakes));
            ChainCounts {
                ns: chain.ns.saturating_sub(ns),
                wakes: chain.wakes - wakes,
                ..chain.clone()
            }
        };
        let is_other = |chain: &ChainCounts| Some(chain.key.sleeper) != self.own;
        let gained = now.iter().map(of).filter(|one| one.wakes > 0 && is_other(one)).collect();
        self.chains = now.into_iter().map(|chain| (chain.key, chain)).collect();
        gained
    }
}

/// A thread under SCHED_DEADLINE that has used its budget up is runnable until its next period.
/// Neither programs of a lower priority nor idle CPUs keep it from running. So of processes whose
/// threads all have that policy, only the time behind other such threads has a known cause.
fn behind_deadlines(mut pairs: Vec<PairCounts>, threads: &mut [ThreadCounts]) -> Vec<PairCounts> {
    let processes = |is_deadline: bool| -> HashSet<u32> {
        let alike = threads.iter().filter(|thread| thread.is_deadline == is_deadline);
        alike.map(|thread| thread.pid).collect()
    };
    let deadline: HashSet<u32> = &processes(true) - &processes(false);
    let mut behind: HashMap<u32, u64> = HashMap::new();
    for pair in pairs.iter_mut().filter(|pair| deadline.contains(&pair.victim)) {
        pair.ns = pair.forced_ns;
        pair.worst_ns = pair.worst_ns.min(pair.ns);
        let sum = behind.entry(pair.victim).or_default();
        *sum = sum.saturating_add(pair.ns);
    }
    pairs.retain(|pair| pair.ns > 0);
    for thread in threads.iter_mut().filter(|thread| deadline.contains(&thread.pid)) {
        let left = behind.entry(thread.pid).or_default();
        let known_ns = thread.others_ns.min(*left);
        *left -= known_ns;
        let unknown_ns = (thread.others_ns - known_ns).saturating_add(thread.idle_ns);
        thread.rest_ns = thread.rest_ns.saturating_add(unknown_ns);
        thread.others_ns = known_ns;
        thread.idle_ns = 0;
        thread.beside_idle_ns = 0;
        thread.beside_worst_ns = 0;
    }
    pairs
}

/// Gives back room that a table had for more than it holds.
fn give_back<K: Eq + Hash, V>(table: &mut HashMap<K, V>) {
    if table.capacity() > SPARE * table.len() {
        table.shrink_to(2 * table.len());
    }
}

fn since(now: &ThreadCounts, before: &ThreadCounts) -> ThreadCounts {
    // Nodes are looked at thread by thread, in `nodes`.
    let mut gained = ThreadCounts { native: NativeCounts::default(), ..now.clone() };
    gained.combine(before, u64::saturating_sub);
    gained
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, pair, reader, thread};

    #[test]
    fn a_thread_gains_what_its_sums_grew_by_and_a_new_one_all() {
        let mut gained = Gained::default();
        let read = |gained: &mut Gained, threads: Vec<ThreadCounts>| {
            let mut tick = Tick::default();
            gained.add_to(Counts { threads, ..Counts::default() }, &mut tick);
            tick.threads
        };
        let first = thread(1, 10, 20);
        assert_eq!(read(&mut gained, vec![first.clone()])[0].ready_ns, 20 * MS);
        let later = ThreadCounts { ready_ns: 25 * MS, ran_ns: 13 * MS, ..first.clone() };
        let now = read(&mut gained, vec![later]);
        assert_eq!((now[0].ready_ns, now[0].ran_ns), (5 * MS, 3 * MS));
        // A thread that has ended is reported at most once more, and gains nothing.
        let gone = ThreadCounts {
            state: ThreadState::Gone,
            ready_ns: 25 * MS,
            ran_ns: 13 * MS,
            ..first.clone()
        };
        assert_eq!(read(&mut gained, vec![gone.clone()]), []);
        assert_eq!(read(&mut gained, vec![gone]), []);
        assert!(gained.threads.is_empty());
        assert!(gained.threads.capacity() < 16);
        // The same number, another thread.
        let other = ThreadCounts { start: 9, ..first };
        assert_eq!(read(&mut gained, vec![other])[0].ready_ns, 20 * MS);
    }

    #[test]
    fn the_threads_that_were_read_longest_ago_are_forgotten_and_count_anew() {
        let mut gained = Gained::default();
        let mut at_ns = 0;
        let mut lost_threads = 0;
        let mut read = |threads: Vec<ThreadCounts>| {
            at_ns += 1000 * MS;
            let mut tick = Tick::default();
            gained.add_to(Counts { at_ns, threads, ..Counts::default() }, &mut tick);
            let gains: Vec<u64> = tick.threads.iter().map(|one| one.ready_ns / MS).collect();
            lost_threads += tick.lost_threads;
            assert_eq!(gained.lost_threads_in_all(), lost_threads);
            (gains, gained.threads.len(), tick.lost_threads)
        };
        let of = |tid: u32, ready_ms| ThreadCounts { start: 1, ..thread(tid, 0, ready_ms) };
        assert_eq!(read(vec![of(1, 20)]), (vec![20], 1, 0));
        // In each reading as many as the kernel's table holds.
        let half = u32::try_from(MOST_THREADS / 2).unwrap();
        let crowd = |first: u32| -> Vec<ThreadCounts> {
            (first..first + half).map(|tid| of(tid, 1)).collect()
        };
        assert_eq!(read(crowd(10)).1, MOST_THREADS / 2 + 1);
        // No thread of the reading in which some are forgotten is left out.
        let (gains, known, lost) = read(crowd(100_000));
        assert_eq!((gains.len(), known, lost), (MOST_THREADS / 2, MOST_THREADS / 2, 0));
        // Its sum is older than the interval.
        assert_eq!(read(vec![of(1, 25)]), (vec![], MOST_THREADS / 2 + 1, 1));
        assert_eq!(read(vec![of(1, 27), of(100_000, 4)]).0, [2, 3]);
        // This one has begun since.
        let new = ThreadCounts { start: 3_500 * MS, ..of(2, 9) };
        assert_eq!(read(vec![new]).0, [9]);
    }

    #[test]
    fn a_sum_that_shrinks_is_not_counted_again() {
        let mut gained = Gained::default();
        let mut read = |ready_ms: u64, holds: u64, held_ms: u64| {
            let threads = vec![ThreadCounts { ready_ns: ready_ms * MS, ..thread(1, 10, 0) }];
            let readers = vec![ReaderCounts { holds, ns: held_ms * MS, ..reader(2, 1, "maps", 0) }];
            let mut tick = Tick::default();
            gained.add_to(Counts { threads, readers, ..Counts::default() }, &mut tick);
            let ready = tick.threads.iter().map(|one| one.ready_ns).sum::<u64>() / MS;
            (ready, tick.readers.iter().map(|one| one.ns).sum::<u64>() / MS)
        };
        assert_eq!(read(100, 3, 80), (100, 80));
        assert_eq!(read(60, 2, 50), (0, 0));
        assert_eq!(read(120, 4, 90), (20, 10));
        // A reader whose place was given to another starts anew.
        assert_eq!(read(120, 1, 30), (0, 30));
    }

    #[test]
    fn moves_are_counted_once_also_of_a_thread_that_hardly_ran() {
        let mut gained = Gained::default();
        let mut read = |move_ms: u64, moves: u64| {
            let threads = vec![ThreadCounts { move_ns: move_ms * MS, moves, ..thread(1, 0, 0) }];
            let mut tick = Tick::default();
            gained.add_to(Counts { threads, ..Counts::default() }, &mut tick);
            tick.threads.iter().map(|one| (one.move_ns / MS, one.moves)).collect::<Vec<_>>()
        };
        assert_eq!([read(20, 2), read(50, 5), read(50, 5)], [vec![(20, 2)], vec![(30, 3)], vec![]]);
    }

    #[test]
    fn lost_threads_are_told_by_interval_and_add_up_over_all_sources() {
        let mut gained = Gained::default();
        let mut read = |lost_threads| {
            let mut tick = Tick::default();
            gained.add_to(Counts { lost_threads, ..Counts::default() }, &mut tick);
            (tick.lost_threads, gained.lost_threads_in_all())
        };
        assert_eq!([read(904), read(904), read(1_808)], [(904, 904), (0, 904), (904, 1_808)]);
        // Another source.
        assert_eq!([read(50), read(60)], [(50, 1_858), (10, 1_868)]);
    }

    #[test]
    fn who_may_wait_for_its_next_budget_is_behind_no_lower_priority() {
        let of = |pid| ThreadCounts {
            others_ns: 300 * MS,
            idle_ns: 100 * MS,
            beside_idle_ns: 50 * MS,
            is_deadline: pid == 1,
            ..thread(pid, 100, 400)
        };
        let behind = |victim, forced_ms: u64| PairCounts {
            forced_ns: forced_ms * MS,
            ..pair(victim, 9, "hog", 300)
        };
        let pairs = vec![behind(1, 20), behind(1, 0), behind(2, 20)];
        let mut tick = Tick::default();
        let counts = Counts { threads: vec![of(1), of(2)], pairs, ..Counts::default() };
        Gained::default().add_to(counts, &mut tick);
        let parts =
            |one: &ThreadCounts| [one.others_ns, one.idle_ns, one.rest_ns].map(|ns| ns / MS);
        assert_eq!([&tick.threads[0], &tick.threads[1]].map(parts), [[20, 0, 380], [300, 100, 0]]);
        assert_eq!((tick.threads[0].beside_idle_ns, tick.threads[1].beside_idle_ns), (0, 50 * MS));
        let pairs: Vec<(u32, u64, u64)> =
            tick.pairs.iter().map(|one| (one.victim, one.ns / MS, one.worst_ns / MS)).collect();
        assert_eq!(pairs, [(1, 20, 20), (2, 300, 75)]);
    }

    #[test]
    fn the_process_that_watches_sleeps_behind_nobody() {
        let sleepers = |pid| {
            let key = ChainKey { sleeper: pid, holder: 2, steps: 1, ..ChainKey::default() };
            let chain = ChainCounts { key, name: "db".to_owned(), ns: MS, wakes: 1, worst_ns: MS };
            let mut tick = Tick::default();
            let counts = Counts { chains: vec![chain], ..Counts::default() };
            Gained::new(&Roots::real()).add_to(counts, &mut tick);
            tick.chains.len()
        };
        assert_eq!((sleepers(std::process::id()), sleepers(0)), (0, 1));
    }
}
