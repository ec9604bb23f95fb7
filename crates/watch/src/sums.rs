//! What is added up for a program over several intervals.

use crate::tick::{Job, LiveRuntime, MemoryTick, Spot};
use host::cgroup::{Limit, Usage};
use probe::live::{PairCounts, ReaderCounts, ThreadCounts};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Processes and threads of a program that are told apart at most; the sums are of all.
const MOST_APART: usize = 256;

/// Jobs that woke a program which are remembered at most.
const MOST_WAKERS: usize = 32;

/// What tells one program from another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// Its group; none for the root group.
    pub group: Option<String>,
    /// Its job.
    pub job: Job,
}

/// The sums of a program; times in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sums {
    /// Whether any of its processes is looked at.
    pub in_scope: bool,
    /// What all its threads together gained.
    pub all: ThreadCounts,
    /// What each process lost.
    pub pids: HashMap<u32, u64>,
    /// What each thread gained.
    pub threads: HashMap<u32, ThreadCounts>,
    /// Held by a quota, by the group whose quota it is; none where that is not known.
    pub quota: BTreeMap<Option<String>, u64>,
    /// Who ran on its CPU while it was ready, for how long and the worst.
    pub neighbours: HashMap<Key, (u64, u64)>,
    /// Jobs that woke it.
    pub wakers: BTreeSet<Job>,
    /// Its highest nice value.
    pub nice: i32,
    /// Where its threads waited actively, as it was last seen.
    pub spot: Option<Spot>,
    /// Its runtime, where a quota holds it and it has one that is known.
    pub runtime: Option<LiveRuntime>,
}

impl Sums {
    /// Adds what a thread gained.
    pub fn thread(&mut self, gained: &ThreadCounts) {
        add(&mut self.all, gained);
        self.nice = self.nice.max(gained.nice);
        let lost = gained.ready_ns.saturating_add(gained.foreign_ns);
        count(&mut self.pids, gained.pid, |all| *all = all.saturating_add(lost));
        count(&mut self.threads, gained.tid, |all| {
            if all.tid == 0 {
                (all.tid, all.pid, all.name) = (gained.tid, gained.pid, gained.name.clone());
            }
            add(all, gained);
        });
    }

    /// Adds that a program of this job woke it.
    pub fn woken_by(&mut self, job: &Job) {
        if self.wakers.len() < MOST_WAKERS {
            self.wakers.insert(job.clone());
        }
    }

    /// Adds that another program ran while it was ready.
    pub fn behind(&mut self, key: Key, pair: &PairCounts) {
        count(&mut self.neighbours, key, |(ns, worst)| {
            *ns = ns.saturating_add(pair.ns);
            *worst = (*worst).max(pair.worst_ns);
        });
    }

    /// The process that lost most.
    pub fn worst_pid(&self) -> u32 {
        let worst = self.pids.iter().max_by_key(|(pid, lost)| (**lost, std::cmp::Reverse(**pid)));
        worst.map_or(0, |(pid, _)| *pid)
    }
}

/// Changes an entry, where there is room for it.
pub fn count<K: std::hash::Hash + Eq, V: Default>(
    map: &mut HashMap<K, V>,
    key: K,
    change: impl FnOnce(&mut V),
) {
    if map.len() < MOST_APART || map.contains_key(&key) {
        change(map.entry(key).or_default());
    }
}

fn add(all: &mut ThreadCounts, gained: &ThreadCounts) {
    let sums = [
        (&mut all.ran_ns, gained.ran_ns),
        (&mut all.ready_ns, gained.ready_ns),
        (&mut all.others_ns, gained.others_ns),
        (&mut all.own_ns, gained.own_ns),
        (&mut all.idle_ns, gained.idle_ns),
        (&mut all.rest_ns, gained.rest_ns),
        (&mut all.beside_idle_ns, gained.beside_idle_ns),
        (&mut all.waits, gained.waits),
        (&mut all.asleep_ns, gained.asleep_ns),
        (&mut all.lock_ns, gained.lock_ns),
        (&mut all.foreign_ns, gained.foreign_ns),
        (&mut all.lock_waits, gained.lock_waits),
        (&mut all.samples, gained.samples),
        (&mut all.spins, gained.spins),
    ];
    for (sum, more) in sums {
        *sum = sum.saturating_add(more);
    }
    for (sum, more) in all.throttled_ns.iter_mut().zip(gained.throttled_ns) {
        *sum = sum.saturating_add(more);
    }
    all.worst_ns = all.worst_ns.max(gained.worst_ns);
    all.lock_worst_ns = all.lock_worst_ns.max(gained.lock_worst_ns);
}

/// The sums of a reader of foreign memory maps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// Processes that read, and for how long each held the lock.
    pub pids: HashMap<u32, u64>,
    /// Holds and their times.
    pub all: ReaderCounts,
}

impl Reading {
    /// Adds what a reader gained.
    pub fn add(&mut self, gained: &ReaderCounts) {
        count(&mut self.pids, gained.reader, |ns| *ns = ns.saturating_add(gained.ns));
        let sums = [
            (&mut self.all.holds, gained.holds),
            (&mut self.all.ns, gained.ns),
            (&mut self.all.ready_ns, gained.ready_ns),
            (&mut self.all.throttled_ns, gained.throttled_ns),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
        self.all.worst_ns = self.all.worst_ns.max(gained.worst_ns);
        self.all.nice = self.all.nice.max(gained.nice);
    }
}

/// The sums of a group with a quota.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupSums {
    /// Its quota, the last that was seen.
    pub limit: Limit,
    /// What its counters gained; each is absent where some reading lacked it.
    pub gained: Usage,
    /// How long it was there, in nanoseconds.
    pub over_ns: u64,
}

/// The sums of a group with a memory.high.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemorySums {
    /// Its limit, the last that was seen, in bytes.
    pub high_bytes: u64,
    /// What it held when it was last seen, in bytes.
    pub held_bytes: u64,
    /// How often it was found above the limit.
    pub high_events: u64,
    /// Time in which one of its tasks or more stood still for memory, in nanoseconds.
    pub stalled_ns: u64,
    /// Intervals in which its tasks were looked at.
    pub looks: u32,
    /// Of those: one or more slept for the limit.
    pub seen_asleep: u32,
    /// Its processes.
    pub tasks: HashMap<u32, MemoryTaskSums>,
}

/// The sums of a process of such a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryTaskSums {
    /// Its name.
    pub name: String,
    /// The most memory that it was seen to have, in bytes.
    pub bytes: u64,
    /// Looks that saw one of its threads asleep for the limit.
    pub asleep: u32,
    /// Whether it is looked at.
    pub in_scope: bool,
}

impl MemorySums {
    /// Adds an interval.
    pub fn add(&mut self, more: &MemoryTick) {
        self.high_bytes = more.high_bytes;
        self.held_bytes = more.gained.current_bytes.unwrap_or(0);
        let plus = |sum: u64, more: Option<u64>| sum.saturating_add(more.unwrap_or(0));
        self.high_events = plus(self.high_events, more.gained.high_events);
        self.stalled_ns = plus(self.stalled_ns, more.gained.some_ns);
        self.looks += u32::from(!more.tasks.is_empty());
        self.seen_asleep += u32::from(more.tasks.iter().any(|task| task.sleeps));
        for task in &more.tasks {
            count(&mut self.tasks, task.pid, |sums| {
                sums.name.clone_from(&task.name);
                sums.bytes = sums.bytes.max(task.bytes);
                sums.asleep += u32::from(task.sleeps);
                sums.in_scope |= task.in_scope;
            });
        }
    }
}

/// The sum of two readings of the same counters.
pub fn both(one: &Usage, other: &Usage) -> Usage {
    let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    Usage {
        usage_ns: sum(one.usage_ns, other.usage_ns),
        nr_periods: sum(one.nr_periods, other.nr_periods),
        nr_throttled: sum(one.nr_throttled, other.nr_throttled),
        throttled_ns: sum(one.throttled_ns, other.throttled_ns),
        nr_bursts: sum(one.nr_bursts, other.nr_bursts),
        burst_ns: sum(one.burst_ns, other.burst_ns),
        throttled_self_ns: sum(one.throttled_self_ns, other.throttled_self_ns),
    }
}

/// Nanoseconds as milliseconds.
pub use os::time::ms_of_ns as ms;

/// The largest of these figures, 0 without any.
pub fn largest(all: impl Iterator<Item = f64>) -> f64 {
    all.fold(0.0, f64::max)
}
