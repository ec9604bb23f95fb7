//! Waits for something other than a CPU that have not ended: for the lock of the thread's own
//! memory map, and for memory; and locks of other processes' memory maps that are still held. The
//! programs add each of them up only when it ends, so the longest one would be seen last.

use super::counts::{ReaderCounts, ThreadCounts};
use super::raw::{READY, Space, Thread, text};

/// What a thread does with the lock of a memory map, with the numbers of the programs.
const WAITS: u8 = 1;
const READS_FOREIGN: u8 = 2;
const HOLDS_FOREIGN: u8 = 3;

/// States of a thread, in addition to [`READY`].
const RUNNING: u8 = 1;
const UNINTERRUPTIBLE: u8 = 4;

/// The memory that a thread sleeps for.
const MARKED_MEMORY: u32 = 1;
const PAGE_READ: u32 = 2;

/// The memory work of a thread: reclaim for its group, or compaction.
const OF_GROUP: u64 = 1;
const OF_COMPACTION: u64 = 2;

/// Adds the thread's current wait to its sums. Returns whether there is one. `space` looks up the
/// holders of the lock of a memory map.
pub fn add(
    thread: &Thread,
    now: u64,
    space: impl Fn(u64) -> Option<Space>,
    counts: &mut ThreadCounts,
) -> bool {
    let lock = since(thread.lock == WAITS && is_in_kernel(thread), thread.lock_from, now);
    if let Some(waited) = lock {
        let held = space(thread.space).map_or(0, |space| held_so_far(&space, now));
        let foreign = held.saturating_sub(thread.lock_mark).min(waited);
        add_to(&mut counts.lock_ns, waited);
        add_to(&mut counts.foreign_ns, foreign);
        counts.lock_worst_ns = counts.lock_worst_ns.max(foreign);
        counts.own_lock_worst_ns = counts.own_lock_worst_ns.max(waited - foreign);
    }
    let memory = since(is_in_kernel(thread), thread.reclaims_from, now)
        .map(|ns| add_reclaim(thread, ns, counts))
        .or_else(|| add_sleep(thread, now, counts));
    if let Some(ns) = memory {
        counts.memory_worst_ns = counts.memory_worst_ns.max(ns);
    }
    lock.is_some() || memory.is_some()
}

/// Whether the thread may be in such a wait, or hold a lock. A thread that has ended cannot, nor
/// can one in an interruptible sleep: in both cases the end was missed.
fn is_in_kernel(thread: &Thread) -> bool {
    [RUNNING, READY, UNINTERRUPTIBLE].contains(&thread.state)
}

/// When a thread was given the lock of another process's memory map, if it has not run since.
pub fn given_lock(thread: &Thread) -> Option<u64> {
    let is_given = thread.lock == READS_FOREIGN && thread.state == READY;
    (is_given && thread.hold_from != 0).then_some(thread.hold_from)
}

/// The lock of another process's memory map that the thread holds at `now`; `counts` are its sums
/// up to `now`.
pub fn hold(thread: &Thread, counts: &ThreadCounts, now: u64) -> Option<ReaderCounts> {
    // A thread that was given the lock and has not run since is assumed to read the same file as
    // before: the file is only seen when the thread runs.
    let holds = thread.lock == HOLDS_FOREIGN && is_in_kernel(thread);
    let ns = since(holds || given_lock(thread).is_some(), thread.hold_from, now)?;
    let throttled = counts.throttled_ns.iter().fold(0, |all: u64, ns| all.saturating_add(*ns));
    let file = text(&thread.file);
    Some(ReaderCounts {
        reader: thread.tgid,
        tid: thread.tid_here,
        target: thread.target,
        call: if file.is_empty() { thread.call } else { 0 },
        file,
        name: counts.name.clone(),
        nice: thread.nice,
        holds: 1,
        ns,
        ready_ns: counts.ready_ns.saturating_sub(thread.hold_ready),
        throttled_ns: throttled.saturating_sub(thread.hold_throttled),
        worst_ns: ns,
    })
}

/// Time from `from` to `now`; None if the condition is false, or if it begins only now.
fn since(is_so: bool, from: u64, now: u64) -> Option<u64> {
    (is_so && from != 0 && now > from).then(|| now - from)
}

fn add_reclaim(thread: &Thread, ns: u64, counts: &mut ThreadCounts) -> u64 {
    if thread.reclaims_of == OF_COMPACTION {
        add_to(&mut counts.compaction_ns, ns);
        return ns;
    }
    add_to(&mut counts.reclaim_ns, ns);
    if thread.reclaims_of == OF_GROUP {
        add_to(&mut counts.group_reclaim_ns, ns);
    }
    ns
}

fn add_to(sum: &mut u64, ns: u64) {
    *sum = sum.saturating_add(ns);
}

fn add_sleep(thread: &Thread, now: u64, counts: &mut ThreadCounts) -> Option<u64> {
    let ns = since(thread.state == UNINTERRUPTIBLE, thread.since, now)?;
    match thread.waits_for {
        MARKED_MEMORY => add_to(&mut counts.memory_ns, ns),
        PAGE_READ => {
            add_to(&mut counts.fault_ns, ns);
            add_to(&mut counts.faults, 1);
        }
        _ => return None,
    }
    Some(ns)
}

/// Total time up to `now` in which threads of other processes held the lock.
fn held_so_far(space: &Space, now: u64) -> u64 {
    let open = if space.holders > 0 { now.saturating_sub(space.since) } else { 0 };
    space.ns.saturating_add(open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::raw::Raw;

    fn zeroed<T: Raw>() -> T {
        T::read(&vec![0; size_of::<T>()]).unwrap()
    }

    fn thread() -> Thread {
        Thread { start: 1, tid: 9, tgid: 9, tid_here: 9, ..zeroed() }
    }

    fn read(thread: &Thread, space: Option<Space>) -> (bool, ThreadCounts) {
        let mut counts = thread.counts(0);
        let is_open = add(thread, 5_000, |_| space, &mut counts);
        (is_open, counts)
    }

    #[test]
    fn a_wait_for_the_lock_counts_up_to_now_and_is_whose_that_holds_it() {
        let waits = Thread { lock: WAITS, lock_from: 2_000, lock_mark: 100, ..thread() };
        let waits = Thread { state: UNINTERRUPTIBLE, ..waits };
        let (is_open, counts) = read(&waits, None);
        assert!(is_open);
        assert_eq!(
            (counts.lock_ns, counts.foreign_ns, counts.own_lock_worst_ns),
            (3_000, 0, 3_000)
        );
        let held = Space { holders: 1, since: 2_500, ns: 100 };
        let (_, counts) = read(&waits, Some(held));
        assert_eq!((counts.foreign_ns, counts.lock_worst_ns), (2_500, 2_500));
        assert_eq!(counts.own_lock_worst_ns, 500);
        let free = Space { holders: 0, since: 2_500, ns: 100 };
        assert_eq!(read(&waits, Some(free)).1.foreign_ns, 0);
        assert!(!read(&thread(), Some(held)).0);
        // The end of the wait was missed.
        assert!(!read(&Thread { state: 3, ..waits }, Some(held)).0);
        assert!(!read(&Thread { state: 5, ..waits }, Some(held)).0);
    }

    #[test]
    fn waits_for_memory_count_where_they_will_when_they_end() {
        let of =
            |reclaims_of| Thread { state: RUNNING, reclaims_from: 1_000, reclaims_of, ..thread() };
        let sums = |of: &Thread| {
            let counts = read(of, None).1;
            (counts.reclaim_ns, counts.group_reclaim_ns, counts.compaction_ns)
        };
        assert_eq!(sums(&of(0)), (4_000, 0, 0));
        assert_eq!(sums(&of(OF_GROUP)), (4_000, 4_000, 0));
        assert_eq!(sums(&of(OF_COMPACTION)), (0, 0, 4_000));
        let sleeps = |waits_for, state| Thread { state, since: 4_000, waits_for, ..thread() };
        let sums = |of: &Thread| {
            let counts = read(of, None).1;
            (counts.memory_ns, counts.fault_ns, counts.memory_worst_ns)
        };
        assert_eq!(sums(&sleeps(MARKED_MEMORY, UNINTERRUPTIBLE)), (1_000, 0, 1_000));
        assert_eq!(sums(&sleeps(PAGE_READ, UNINTERRUPTIBLE)), (0, 1_000, 1_000));
        assert_eq!(sums(&sleeps(0, UNINTERRUPTIBLE)), (0, 0, 0));
        assert_eq!(sums(&sleeps(MARKED_MEMORY, READY)), (0, 0, 0));
    }

    #[test]
    fn a_lock_that_is_held_has_its_reader() {
        let holds = Thread {
            lock: HOLDS_FOREIGN,
            state: READY,
            target: 7,
            hold_from: 1_000,
            hold_ready: 50,
            call: 17,
            ..thread()
        };
        let counts = ThreadCounts { ready_ns: 3_050, name: "ps".to_owned(), ..holds.counts(0) };
        let held = hold(&holds, &counts, 5_000).unwrap();
        assert_eq!((held.reader, held.target, held.call, held.holds), (9, 7, 17, 1));
        assert_eq!((held.ns, held.ready_ns, held.name.as_str()), (4_000, 3_000, "ps"));
        let given = Thread { lock: READS_FOREIGN, hold_from: 2_000, ..holds };
        assert_eq!(hold(&given, &counts, 5_000).unwrap().ns, 3_000);
        assert_eq!((given_lock(&given), given_lock(&holds)), (Some(2_000), None));
        assert_eq!(given_lock(&Thread { hold_from: 0, ..given }), None);
        let asleep = Thread { state: 3, ..holds };
        assert_eq!(hold(&asleep, &counts, 5_000), None);
        assert_eq!(hold(&thread(), &counts, 5_000), None);
    }
}
