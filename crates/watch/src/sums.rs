//! What is summed up for a program over several intervals.

use crate::tick::{GroupTick, IoMax, Job, MemoryTick, RuntimeTick, Spot};
use crate::why::is_inherited;
use host::cgroup::{Limit, Usage};
use model::live::{AsleepBehind, Compared, RealTimePolicy, Weight, Why};
use probe::live::{ChainCounts, Did, PairCounts, ReaderCounts, Slept, ThreadCounts};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

/// Most processes, threads, neighbours and quotas of a program that are told apart. The sums
/// include all.
const MOST_APART: usize = 256;

/// The same in a long window. The heaviest are kept whenever there are twice as many.
const MOST_APART_LONG: usize = 32;

/// Most jobs that are remembered as having woken a program.
const MOST_WAKERS: usize = 32;

/// What tells one program from another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// Its group; None for the root group.
    pub group: Option<String>,
    /// Its job.
    pub job: Job,
}

/// The sums of a program; times in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sums {
    /// Whether any of its processes is in scope.
    pub in_scope: bool,
    /// What all its threads together gained.
    pub all: ThreadCounts,
    /// What each process lost.
    pub pids: HashMap<u32, u64>,
    /// What each thread gained.
    pub threads: HashMap<u32, ThreadSums>,
    /// Throttled time, by the group whose quota it is; None if the group is not known.
    pub quota: BTreeMap<Option<String>, u64>,
    /// The programs that ran on its CPU while it was runnable.
    pub neighbours: HashMap<Key, Behind>,
    /// The part of the time behind others in which a CPU outside its allowed ones was idle.
    pub confined_ns: u64,
    /// The same of the time behind its own threads.
    pub confined_own_ns: u64,
    /// The CPUs to which it is confined, how long its threads were seen, and the share of that
    /// time in which another CPU was idle.
    pub confined: Option<(Vec<u32>, u64, f64)>,
    /// The programs whose threads were runnable while it slept. The key is the holder.
    pub asleep: HashMap<Key, AsleepBehind>,
    /// The programs for whose handle a commit of a journal waited, for which it slept.
    pub journal: HashMap<Key, JournalSums>,
    /// Its runnable time, according to two sources.
    pub compared: Option<Compared>,
    /// Jobs that woke it.
    pub wakers: BTreeSet<Job>,
    /// Its highest nice value.
    pub nice: i32,
    /// Where its threads spun, as it was last seen.
    pub spot: Option<Spot>,
    /// Its runtime, if its group was throttled and the runtime is known.
    pub runtime: Option<RuntimeTick>,
}

/// The sums of a thread; times in nanoseconds. There may be hundreds of threads for each of
/// hundreds of programs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ThreadSums {
    /// Thread.
    pub tid: u32,
    /// Process.
    pub pid: u32,
    /// Its name.
    pub name: Box<str>,
    /// Its group, if it was last seen in another group than its process.
    pub group: Option<Box<str>>,
    /// Time on a CPU.
    pub ran_ns: u64,
    /// Time runnable without a CPU.
    pub ready_ns: u64,
    /// The part of that time in which a quota throttled it.
    pub throttled_ns: u64,
    /// The worst single wait.
    pub worst_ns: u64,
    /// Time spent waiting for its own mmap lock while another process held it.
    pub foreign_ns: u64,
    /// All time spent waiting for that lock, and for memory.
    pub held_up_ns: u64,
    /// Samples at an instruction of busy waiting.
    pub spins: u64,
}

/// How long another program ran on the CPU of a runnable one; times in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Behind {
    /// The whole time.
    pub ns: u64,
    /// The longest single time.
    pub worst_ns: u64,
    /// The part of it that is due to a real-time or deadline policy.
    pub forced_ns: u64,
    /// Its priority in the longest of these parts, as the kernel counts priorities.
    pub prio: i32,
    /// The victim's priority then.
    pub victim_prio: i32,
    /// How long that part was.
    pub prio_ns: u64,
    /// The process that had the CPU then.
    pub forced_by: u32,
    /// Whether only a lock gave it that priority, and its own policy did not.
    pub is_inherited: bool,
    /// The real-time policy of its threads with that priority, if it is known.
    pub policy: Option<RealTimePolicy>,
    /// The reason for most of the rest of the time, as far as it is known.
    pub why: Why,
    /// How much longer that was the reason than others were.
    pub why_ns: u64,
}

impl Behind {
    /// Adds a reason, and how long it was the reason. A reason for more than half of the time
    /// always prevails, in whatever order they come (majority vote). A reason that is not known
    /// says nothing about the others: mostly, one of the two processes has ended.
    fn add_why(&mut self, why: Why, ns: u64) {
        if why == Why::Unknown {
            return;
        }
        if self.why == why {
            self.why_ns = self.why_ns.saturating_add(ns);
        } else if ns > self.why_ns {
            self.why = why;
            self.why_ns = ns - self.why_ns;
        } else {
            self.why_ns -= ns;
        }
    }
}

impl Sums {
    /// Adds what a thread gained.
    pub fn thread(&mut self, gained: &ThreadCounts) {
        add(&mut self.all, gained);
        self.nice = self.nice.max(gained.nice);
        let lost = lost_ns(gained);
        count(&mut self.pids, gained.pid, |all| *all = all.saturating_add(lost));
        count(&mut self.threads, gained.tid, |all| all.add(gained));
    }

    /// Adds that the quota of a group throttled it; None if the group is not known. Further groups
    /// than are told apart count as not known: users can make a group for each thread.
    pub fn throttled_by(&mut self, group: Option<String>, ns: u64) {
        let has_room = self.quota.len() < MOST_APART || self.quota.contains_key(&group);
        let sum = self.quota.entry(group.filter(|_| has_room)).or_default();
        *sum = sum.saturating_add(ns);
    }

    /// Adds that one of its threads is in another group than its process.
    pub fn in_group(&mut self, tid: u32, group: &str) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.group = Some(group.into());
        }
    }

    /// Time spent waiting for its mmap lock while another process held it. For a wait in
    /// progress, this may be known only later.
    pub fn foreign_ns(&self) -> u64 {
        self.all.foreign_ns.min(self.all.lock_ns)
    }

    /// Adds that a program of this job woke it.
    pub fn woken_by(&mut self, job: &Job) {
        if self.wakers.len() < MOST_WAKERS {
            self.wakers.insert(job.clone());
        }
    }

    /// Adds that another program ran while it was runnable. `why` is the reason, unless its
    /// policy is: `policy`, if it is known.
    pub fn behind(
        &mut self,
        key: Key,
        pair: &PairCounts,
        why: Why,
        policy: Option<RealTimePolicy>,
    ) {
        count(&mut self.neighbours, key, |behind| {
            behind.ns = behind.ns.saturating_add(pair.ns);
            behind.worst_ns = behind.worst_ns.max(pair.worst_ns);
            behind.forced_ns = behind.forced_ns.saturating_add(pair.forced_ns);
            if pair.forced_ns > behind.prio_ns {
                // In another interval with the same priority, it may have been known.
                behind.policy = behind.policy.filter(|_| behind.prio == pair.prio);
                (behind.prio, behind.victim_prio) = (pair.prio, pair.victim_prio);
                behind.prio_ns = pair.forced_ns;
                behind.forced_by = pair.culprit;
                behind.is_inherited = is_inherited(pair.prio, pair.normal_prio, pair.victim_prio);
            }
            if pair.forced_ns > 0 && behind.prio == pair.prio {
                behind.policy = policy.or(behind.policy);
            }
            behind.add_why(why, pair.ns.saturating_sub(pair.forced_ns));
        });
    }

    /// Adds that it slept while a thread of another program was runnable. `weights` are those of
    /// the holder and of the sleeper, if the holder's weight is the lower one. `stalls` says
    /// whether a quota and a lower priority of the holder count.
    pub fn asleep_behind(
        &mut self,
        key: Key,
        chain: &ChainCounts,
        weights: Option<(Weight, Weight)>,
        stalls: (bool, bool),
    ) {
        let weights = weights.filter(|_| stalls.1);
        // A thread with a real-time policy that sleeps for a message waits for work.
        let for_work = chain.key.by_policy && chain.key.slept == Slept::Input;
        let by_priority = stalls.1 && chain.key.inverted && !for_work;
        let inverted = by_priority || weights.is_some();
        let by_quota = stalls.0 && chain.key.by_quota;
        count(&mut self.asleep, key, |asleep| {
            let sums = [
                (&mut asleep.ns, true),
                (&mut asleep.futex_ns, chain.key.slept == Slept::Futex),
                (&mut asleep.input_ns, chain.key.slept == Slept::Input),
                (&mut asleep.by_quota_ns, by_quota),
                (&mut asleep.inverted_ns, inverted),
                (&mut asleep.by_policy_ns, by_priority && chain.key.by_policy),
                (&mut asleep.through_others_ns, chain.key.steps > 1),
            ];
            for (sum, _) in sums.into_iter().filter(|(_, is_so)| *is_so) {
                *sum = sum.saturating_add(chain.ns);
            }
            asleep.worst_ns = asleep.worst_ns.max(chain.worst_ns);
            if by_quota || inverted {
                asleep.stalled_worst_ns = asleep.stalled_worst_ns.max(chain.worst_ns);
            }
            if weights.is_some() {
                asleep.weights = weights;
            }
        });
    }

    /// Adds that it slept for a commit of a journal, which waited for a handle of another program.
    pub fn behind_handle(&mut self, key: Key, chain: &ChainCounts, io_max: Option<&IoMax>) {
        let pid = chain.key.sleeper;
        count(&mut self.pids, pid, |lost| *lost = lost.saturating_add(chain.ns));
        count(&mut self.journal, key, |sums| sums.add(chain, io_max));
    }

    /// Adds its runnable time, according to two sources.
    pub fn compare(&mut self, more: &Compared) {
        let all = self.compared.get_or_insert_default();
        all.parts_ns = all.parts_ns.saturating_add(more.parts_ns);
        all.waking_ns = all.waking_ns.saturating_add(more.waking_ns);
        all.kernel_ns = all.kernel_ns.saturating_add(more.kernel_ns);
    }

    /// Adds that this thread of it is confined to these CPUs, while others were idle for this share
    /// of an interval.
    pub fn confine(&mut self, cpus: &[u32], thread: &ThreadCounts, over_ns: u64, idle: f64) {
        let (known, seen_ns, share) = self.confined.get_or_insert_default();
        if known.is_empty() {
            *known = cpus.to_vec();
        } else if known != cpus {
            known.extend(
                cpus.iter().filter(|cpu| !known.contains(cpu)).copied().collect::<Vec<_>>(),
            );
            known.sort_unstable();
        }
        let all = seen_ns.saturating_add(over_ns);
        *share = (*share * *seen_ns as f64 + idle * over_ns as f64) / all.max(1) as f64;
        *seen_ns = all;
        let spared = |ns: u64| (ns as f64 * idle) as u64;
        self.confined_ns = self.confined_ns.saturating_add(spared(thread.others_ns));
        self.confined_own_ns = self.confined_own_ns.saturating_add(spared(thread.own_ns));
    }

    /// Keeps only what matters most, for a window that goes on. Each of hundreds of programs
    /// could have hundreds of neighbours that ended long ago. Threads are counted, so they stay.
    pub fn condense(&mut self) {
        condense(&mut self.neighbours);
        condense(&mut self.asleep);
        condense(&mut self.journal);
    }

    /// The process that lost most.
    pub fn worst_pid(&self) -> u32 {
        let worst = self.pids.iter().max_by_key(|(pid, lost)| (**lost, std::cmp::Reverse(**pid)));
        worst.map_or(0, |(pid, _)| *pid)
    }
}

/// How much an entry matters. Entries that matter least make room for others.
pub trait Weigh {
    /// Nanoseconds or bytes. Only weights within one map can be compared.
    fn weight(&self) -> u64;
}

impl Weigh for u64 {
    fn weight(&self) -> u64 {
        *self
    }
}

impl Weigh for ThreadSums {
    fn weight(&self) -> u64 {
        let all = [self.ran_ns, self.ready_ns, self.foreign_ns, self.held_up_ns];
        all.into_iter().fold(0, u64::saturating_add)
    }
}

/// What a program lost, for whatever reason.
impl Weigh for Sums {
    fn weight(&self) -> u64 {
        let own = lost_ns(&self.all);
        let asleep = self.asleep.values().map(|behind| behind.ns);
        let journal = self.journal.values().map(|behind| behind.ns);
        asleep.chain(journal).fold(own, u64::saturating_add)
    }
}

impl Weigh for Behind {
    fn weight(&self) -> u64 {
        self.ns
    }
}

impl Weigh for AsleepBehind {
    fn weight(&self) -> u64 {
        self.ns
    }
}

impl Weigh for JournalSums {
    fn weight(&self) -> u64 {
        self.ns
    }
}

impl Weigh for MemoryTaskSums {
    fn weight(&self) -> u64 {
        self.bytes
    }
}

/// Changes an entry. In a full map, a new entry takes the place of light ones. A quarter of them
/// is dropped at once, since each search goes through all entries.
pub fn count<K: Hash + Eq, V: Default + Weigh>(
    map: &mut HashMap<K, V>,
    key: K,
    change: impl FnOnce(&mut V),
) {
    if map.len() >= MOST_APART && !map.contains_key(&key) {
        keep_heaviest(map, MOST_APART - MOST_APART / 4);
    }
    change(map.entry(key).or_default());
}

fn condense<K: Hash + Eq, V: Weigh>(map: &mut HashMap<K, V>) {
    if map.len() > 2 * MOST_APART_LONG {
        keep_heaviest(map, MOST_APART_LONG);
    }
}

/// Takes out the programs that ran longest: fewer than `most`, which is at least 1.
pub fn take_busiest(programs: &mut HashMap<Key, Sums>, most: usize) -> HashMap<Key, Sums> {
    let mut ran: Vec<u64> = programs.values().map(|sums| sums.all.ran_ns).collect();
    let Some(place) = ran.len().checked_sub(most) else { return HashMap::new() };
    let (_, least, _) = ran.select_nth_unstable(place);
    let least = *least;
    programs.extract_if(|_, sums| sums.all.ran_ns > least).collect()
}

/// Keeps the `most` heaviest entries; `most` is at least 1.
pub fn keep_heaviest<K: Hash + Eq, V: Weigh>(map: &mut HashMap<K, V>, most: usize) {
    let mut weights: Vec<u64> = map.values().map(Weigh::weight).collect();
    let Some(place) = weights.len().checked_sub(most) else { return };
    let (_, least, heavier) = weights.select_nth_unstable(place);
    let least = *least;
    let mut room = most - heavier.iter().filter(|weight| **weight > least).count();
    map.retain(|_, value| {
        let stays = value.weight() > least || value.weight() == least && room > 0;
        room -= usize::from(stays && value.weight() == least);
        stays
    });
    // If one entry keeps making room for the next, the room stays.
    if map.capacity() > 4 * most {
        map.shrink_to(2 * most);
    }
}

fn add(all: &mut ThreadCounts, gained: &ThreadCounts) {
    all.combine(gained, u64::saturating_add);
    if gained.lock_ns > 0 && !gained.lock_by.is_empty() {
        (all.lock_call, all.lock_by) = (gained.lock_call, gained.lock_by.clone());
    }
    for (worst, more) in [
        (&mut all.worst_ns, gained.worst_ns),
        (&mut all.throttled_worst_ns, gained.throttled_worst_ns),
        (&mut all.beside_worst_ns, gained.beside_worst_ns),
        (&mut all.lock_worst_ns, gained.lock_worst_ns),
        (&mut all.own_lock_worst_ns, gained.own_lock_worst_ns),
        (&mut all.memory_worst_ns, gained.memory_worst_ns),
        (&mut all.move_worst_ns, gained.move_worst_ns),
    ] {
        *worst = more.max(*worst);
    }
}

/// Time that threads lost, without sleep behind other threads.
fn lost_ns(counts: &ThreadCounts) -> u64 {
    counts.ready_ns.saturating_add(held_up_ns(counts)).saturating_add(counts.move_ns)
}

/// Time that threads waited for their mmap lock and for memory.
pub fn held_up_ns(counts: &ThreadCounts) -> u64 {
    let all = [counts.lock_ns, counts.memory_ns, counts.reclaim_ns, counts.compaction_ns];
    all.into_iter().fold(0, u64::saturating_add)
}

impl ThreadSums {
    fn add(&mut self, gained: &ThreadCounts) {
        if self.tid == 0 {
            (self.tid, self.pid, self.name) = (gained.tid, gained.pid, gained.name.as_str().into());
        }
        let throttled = gained.throttled_ns.iter().fold(0, |all: u64, ns| all.saturating_add(*ns));
        let sums = [
            (&mut self.ran_ns, gained.ran_ns),
            (&mut self.ready_ns, gained.ready_ns),
            (&mut self.throttled_ns, throttled),
            (&mut self.foreign_ns, gained.foreign_ns),
            (&mut self.held_up_ns, held_up_ns(gained)),
            (&mut self.spins, gained.spins),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
        self.worst_ns = self.worst_ns.max(gained.worst_ns);
    }
}

/// The sums of a reader of other processes' memory maps.
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
        self.all.combine(gained, u64::saturating_add);
        self.all.worst_ns = self.all.worst_ns.max(gained.worst_ns);
        self.all.nice = self.all.nice.max(gained.nice);
    }
}

/// How long a program slept for commits of a journal that waited for a handle of another program;
/// times in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JournalSums {
    /// The whole time.
    pub ns: u64,
    /// Number of sleeps.
    pub waits: u64,
    /// The longest single time.
    pub worst_ns: u64,
    /// The part of it in which the other program mostly slept for a device, or for data in
    /// write-back.
    pub device_ns: u64,
    /// The part in which a quota mostly throttled the other program.
    pub quota_ns: u64,
    /// The part in which the other program mostly was runnable without a CPU for another reason.
    pub stood_ns: u64,
    /// The limit of I/O of the other program's group or of one above, as last seen.
    pub io_max: Option<IoMax>,
}

impl JournalSums {
    /// Adds an interval.
    pub fn add(&mut self, more: &ChainCounts, io_max: Option<&IoMax>) {
        let did = (more.key.did, more.key.by_quota);
        let sums = [
            (&mut self.ns, true),
            (&mut self.device_ns, did.0 == Did::SleptForDevice),
            (&mut self.quota_ns, did == (Did::Stood, true)),
            (&mut self.stood_ns, did == (Did::Stood, false)),
        ];
        for (sum, _) in sums.into_iter().filter(|(_, is_so)| *is_so) {
            *sum = sum.saturating_add(more.ns);
        }
        self.waits = self.waits.saturating_add(more.wakes);
        self.worst_ns = self.worst_ns.max(more.worst_ns);
        if let Some(limit) = io_max {
            self.io_max = Some(limit.clone());
        }
    }
}

/// Time throttled by a quota, in milliseconds a second: 1% of a thread's time. A group reaches
/// this figure if it is throttled for 10 ms in one of ten periods of 100 ms.
pub const QUOTA_LIMIT_MS_PER_S: f64 = 10.0;

/// The sums of a group with a quota.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupSums {
    /// Its quota, as last seen.
    pub limit: Limit,
    /// Whether it had another quota before.
    pub changed: bool,
    /// What its counters gained under this quota. A counter is absent if any reading lacked it.
    pub gained: Usage,
    /// How long it has had this quota, in nanoseconds.
    pub over_ns: u64,
    /// The most throttled periods in an interval.
    pub most_throttled: u64,
}

impl GroupSums {
    /// Empty sums of a group with this quota.
    pub fn new(limit: Limit) -> Self {
        GroupSums { limit, changed: false, gained: Usage::ZERO, over_ns: 0, most_throttled: 0 }
    }

    /// Adds an interval. What was counted under another quota says nothing about this one, and
    /// neither does the interval in which the quota was changed.
    pub fn add(&mut self, more: &GroupTick, over_ns: u64) {
        if self.limit != more.limit {
            *self = GroupSums { changed: true, ..GroupSums::new(more.limit) };
            return;
        }
        self.gained = both(&self.gained, &more.gained);
        self.over_ns = self.over_ns.saturating_add(over_ns);
        self.most_throttled = self.most_throttled.max(more.gained.nr_throttled.unwrap_or(0));
    }

    /// Share of its periods in which it was throttled.
    pub fn throttled_periods(&self) -> f64 {
        match (self.gained.nr_throttled, self.gained.nr_periods) {
            (Some(part), Some(of)) if of > 0 => part as f64 / of as f64,
            _ => 0.0,
        }
    }

    /// CPU time that it used, in milliseconds a second; None if it is not counted.
    pub fn used_ms_per_s(&self) -> Option<f64> {
        let used_ns = self.gained.usage_ns.filter(|_| self.over_ns > 0)?;
        Some(used_ns as f64 / self.over_ns as f64 * 1e3)
    }

    /// The CPUs that it lacked in its throttled periods; on average over the whole time if no such
    /// period was counted. A throttled CPU counts as one that was lacked throughout. That may be
    /// far too much: work that is done after some throttled periods would have fitted into one
    /// quota for each of them and one more.
    pub fn lacked_cpus(&self) -> f64 {
        let ns = self.gained.throttled_ns.unwrap_or(0) as f64;
        let periods = self.gained.nr_throttled.unwrap_or(0);
        let length_ns = self.limit.period_us as f64 * 1e3 * periods as f64;
        if length_ns > 0.0 {
            (ns / length_ns).min(self.limit.cpus() * self.most_throttled as f64)
        } else {
            ns / (self.over_ns as f64).max(1.0)
        }
    }
}

/// The sums of a group with a memory.high.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemorySums {
    /// Its limit, as last seen, in bytes.
    pub high_bytes: u64,
    /// Memory that it held when last seen, in bytes.
    pub held_bytes: u64,
    /// How often it was found above the limit.
    pub high_events: u64,
    /// Time in which at least one of its tasks was stalled for memory, in nanoseconds.
    pub stalled_ns: u64,
    /// Intervals in which its tasks were looked at.
    pub looks: u32,
    /// Those intervals in which at least one task slept for the limit.
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
    /// Whether it is in scope.
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

#[cfg(test)]
mod tests {
    use super::*;
    use probe::live::ChainKey;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_heaviest_are_kept_and_there_is_always_room_for_one_more(
            weights in prop::collection::vec(0u64..50, 0..80), most in 1usize..90,
        ) {
            let mut map: HashMap<usize, u64> = weights.iter().copied().enumerate().collect();
            keep_heaviest(&mut map, most);
            let mut sorted = weights;
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            sorted.truncate(most);
            let mut kept: Vec<u64> = map.into_values().collect();
            kept.sort_unstable_by(|a, b| b.cmp(a));
            prop_assert_eq!(kept, sorted);
        }
    }

    #[test]
    fn a_policy_belongs_to_the_priority_of_the_longest_part() {
        let mut sums = Sums::default();
        let mut policy = |ns: u64, prio: i32, policy: Option<RealTimePolicy>| {
            let pair = PairCounts { ns, forced_ns: ns, prio, ..PairCounts::default() };
            sums.behind(Key::default(), &pair, Why::Unknown, policy);
            let behind = &sums.neighbours[&Key::default()];
            (behind.prio, behind.policy)
        };
        let (fifo, round_robin) = (Some(RealTimePolicy::Fifo), Some(RealTimePolicy::RoundRobin));
        assert_eq!(policy(5, 49, None), (49, None));
        assert_eq!(policy(4, 49, fifo), (49, fifo));
        assert_eq!(policy(6, 49, None), (49, fifo));
        assert_eq!(policy(3, 9, round_robin), (49, fifo));
        assert_eq!(policy(7, 9, None), (9, None));
        assert_eq!(policy(8, 19, round_robin), (19, round_robin));
    }

    #[test]
    fn a_priority_is_inherited_if_it_was_in_the_longest_part() {
        let mut sums = Sums::default();
        let mut is_inherited = |ns: u64, normal_prio: i32| {
            let (prio, victim_prio) = (49, 120);
            let of = PairCounts { prio, normal_prio, victim_prio, ..PairCounts::default() };
            let pair = PairCounts { ns, forced_ns: ns, ..of };
            sums.behind(Key::default(), &pair, Why::Unknown, None);
            sums.neighbours[&Key::default()].is_inherited
        };
        assert_eq!([is_inherited(5, 120), is_inherited(4, 49)], [true, true]);
        assert_eq!([is_inherited(6, 49), is_inherited(3, 120)], [false, false]);
    }

    #[test]
    fn the_reason_for_most_of_the_time_is_kept_whatever_came_last() {
        let (shared, other) = (Why::Shared(None), Why::Shared(Some((0, 5))));
        let reason = |all: &[(u64, &Why)]| {
            let mut sums = Sums::default();
            for (ns, why) in all {
                // What a policy explains has another reason.
                let pair = PairCounts { ns: ns + 90, forced_ns: 90, ..PairCounts::default() };
                sums.behind(Key::default(), &pair, (*why).clone(), None);
            }
            sums.neighbours[&Key::default()].why.clone()
        };
        assert_eq!(reason(&[(50, &shared), (9, &other)]), shared);
        assert_eq!(reason(&[(9, &other), (50, &shared)]), shared);
        // Many small parts are more than a large one.
        assert_eq!(reason(&[(50, &shared), (30, &other), (30, &other)]), other);
        // A process of the culprit has ended.
        assert_eq!(reason(&[(9, &other), (50, &Why::Unknown)]), other);
        assert_eq!(reason(&[(50, &Why::Unknown), (9, &other)]), other);
        assert_eq!(reason(&[(50, &Why::Unknown), (0, &other)]), Why::Unknown);
    }

    #[test]
    fn a_real_time_thread_that_waits_for_a_message_waits_for_work() {
        let asleep = |slept: Slept, by_policy: bool| {
            let mut sums = Sums::default();
            let key = ChainKey { slept, inverted: true, by_policy, ..ChainKey::default() };
            let chain = ChainCounts { key, ns: 7, ..ChainCounts::default() };
            sums.asleep_behind(Key::default(), &chain, None, (true, true));
            let asleep = &sums.asleep[&Key::default()];
            (asleep.inverted_ns, asleep.by_policy_ns)
        };
        assert_eq!([asleep(Slept::Futex, true), asleep(Slept::Input, true)], [(7, 7), (0, 0)]);
        assert_eq!([asleep(Slept::Futex, false), asleep(Slept::Input, false)], [(7, 0), (7, 0)]);
    }

    #[test]
    fn a_program_has_a_bounded_number_of_quotas() {
        let mut sums = Sums::default();
        let group = |number: usize| Some(format!("/{number}"));
        (0..2 * MOST_APART).for_each(|number| sums.throttled_by(group(number), 1));
        sums.throttled_by(group(0), 1);
        assert_eq!(sums.quota.len(), MOST_APART + 1);
        assert_eq!((sums.quota[&group(0)], sums.quota[&None]), (2, MOST_APART as u64));
    }

    #[test]
    fn a_late_one_takes_the_place_of_those_that_matter_least() {
        let mut map: HashMap<u64, u64> = HashMap::new();
        (0..10_000u64).for_each(|key| count(&mut map, key, |weight| *weight += key % 7 + 1));
        count(&mut map, 1, |weight| *weight += 1_000);
        count(&mut map, 10_001, |weight| *weight += 1_000);
        (20_000..20_500u64).for_each(|key| count(&mut map, key, |weight| *weight += 1));
        assert!(map.len() <= MOST_APART, "{}", map.len());
        assert!(map.contains_key(&1) && map.contains_key(&10_001));
    }
}
