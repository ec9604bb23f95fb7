//! Several intervals, folded into sums for each program.

use crate::inside::InsideSums;
use crate::node::{NodeProcess, NodeSums};
use crate::parts::{loss_ns, stalls};
use crate::scope;
use crate::sums::{GroupSums, Key, MemorySums, Reading, Sums, keep_heaviest, take_busiest};
use crate::tick::{Full, Job, MachineTick, Process, Spent, Tick};
use crate::why::{by_weight, inverted, real_time_priority};
use model::live::{Scope, Why, Workload};
use probe::live::{
    ChainCounts, LEVELS, PairCounts, ReaderCounts, Slept, ThreadCounts, is_kernel_outside,
    is_outside,
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Most programs that are told apart. Beyond that, those that lost least are dropped, except those
/// that ran longest: a program that takes the CPU of others loses nothing itself.
const MOST_PROGRAMS: usize = 1_024;

/// A window longer than this, in nanoseconds, keeps only what matters most of each program.
const LONG_NS: u64 = 60_000_000_000;

/// Most programs that such a window tells apart. It lasts as long as the watch does.
const MOST_PROGRAMS_LONG: usize = MOST_PROGRAMS / 2;

/// Most readers of other processes' memory maps that are told apart.
const MOST_READINGS: usize = 1_024;

/// Most groups with a quota that are told apart.
const MOST_GROUPS: usize = 4_096;

/// A group at this level or deeper may stand for a group below it, so it is not known which group a
/// level counts from (`bounded` in `host::cpu_groups`).
const DEEPEST: usize = 31;

/// Most Erlang nodes that are told apart. Beyond that, those with the lowest process ids are
/// dropped.
const MOST_NODES: usize = 64;

/// At least this share of a time is nearly all of it.
const NEARLY_ALL: f64 = 0.9;

/// Who reads whose memory map, and how.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReadingKey {
    /// The program that reads.
    pub reader: Key,
    /// The program whose memory map is read.
    pub target: Key,
    /// The file; empty if there is none or it is not known.
    pub file: String,
    /// The system call, if no file is read.
    pub call: u32,
}

/// The sums over several intervals.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Window {
    /// The length of all intervals together, in nanoseconds.
    pub over_ns: u64,
    /// Whether the user named the programs to watch.
    pub(crate) asked: bool,
    pub(crate) programs: HashMap<Key, Sums>,
    pub(crate) readings: HashMap<ReadingKey, Reading>,
    pub(crate) groups: HashMap<String, GroupSums>,
    /// Groups with a memory.high, by name.
    pub(crate) memory: BTreeMap<String, MemorySums>,
    /// The full memory group for which a program was stalled last. If a limit was reached, it is
    /// the last group whose limit was.
    pub(crate) full: HashMap<Key, Full>,
    /// In how many intervals a program was stalled for memory while no group reached its limit.
    pub(crate) below_limits: HashMap<Key, u32>,
    /// The groups that bind each group, itself first.
    pub(crate) lineages: HashMap<String, Vec<String>>,
    /// The workloads of groups.
    pub(crate) workloads: HashMap<String, Workload>,
    /// Erlang nodes by their processes, each with its program.
    pub(crate) nodes: BTreeMap<NodeProcess, (Key, NodeSums)>,
    /// Whether nodes in scope may have run for which there was no place.
    pub(crate) leaves_out_nodes: bool,
    /// What nodes said about themselves, by the names under which they were asked.
    pub(crate) inside: BTreeMap<String, InsideSums>,
    pub(crate) machine: MachineTick,
    pub(crate) spent: Spent,
    pub(crate) unnamed_ns: u64,
    /// Threads that were not counted.
    pub(crate) lost_threads: u64,
    /// What programs in scope lost whose sums were dropped, in nanoseconds.
    pub(crate) dropped_ns: u64,
}

/// Names of processes in an interval.
struct Names<'a> {
    tick: &'a Tick,
    /// For each session, one of its processes that still existed.
    sessions: HashMap<u32, &'a Process>,
    /// For each process that has ended, one of its threads.
    ended: HashMap<u32, &'a ThreadCounts>,
}

impl<'a> Names<'a> {
    fn of(tick: &'a Tick) -> Self {
        let known = tick.threads.iter().filter_map(|thread| {
            Some((thread.session, tick.processes.get(&thread.pid)?)).filter(|(id, _)| *id != 0)
        });
        let has_ended = |thread: &&ThreadCounts| {
            !is_outside(thread.pid) && !tick.processes.contains_key(&thread.pid)
        };
        let ended = tick.threads.iter().filter(has_ended).map(|thread| (thread.pid, thread));
        Names { tick, sessions: known.collect(), ended: ended.collect() }
    }

    /// The program of a victim: of a known process, or of one that has ended in the interval.
    fn victim(&self, pid: u32) -> Option<Key> {
        let of_ended = || {
            let thread = self.ended.get(&pid)?;
            Some(self.key(pid, &thread.name, thread.session))
        };
        self.of_process(pid).or_else(of_ended)
    }

    /// The program of a process that slept. If the process has ended in the interval, its group is
    /// known only from its session.
    fn sleeper(&self, pid: u32) -> Option<Key> {
        let of_ended = || {
            let thread = self.ended.get(&pid)?;
            let is_known = self.sessions.contains_key(&thread.session);
            is_known.then(|| self.key(pid, &thread.name, thread.session))
        };
        self.of_process(pid).or_else(of_ended)
    }

    /// The session of a process that has ended, if one of its processes still existed: its group is
    /// then taken for that of the process. 0 otherwise.
    fn known_session(&self, pid: u32) -> u32 {
        let session = self.ended.get(&pid).map(|thread| thread.session);
        session.filter(|session| self.sessions.contains_key(session)).unwrap_or(0)
    }

    /// The program of a known process.
    fn of_process(&self, pid: u32) -> Option<Key> {
        let process = self.tick.processes.get(&pid)?;
        let (name, group, job) = (&process.name, &process.group, &process.job);
        Some(Key { name: name.clone(), group: group.clone(), job: job.clone() })
    }

    /// The program of a process that may have ended, or that is outside.
    fn key(&self, pid: u32, name: &str, session: u32) -> Key {
        if let Some(key) = self.of_process(pid) {
            return key;
        }
        if is_outside(pid) {
            let known = self.tick.outside.get(&pid).filter(|_| !is_kernel_outside(pid));
            let name = known.map_or(name, |outside| &outside.name);
            return Key { name: name.to_owned(), group: None, job: self.job_outside(pid, session) };
        }
        let (group, job) = match self.sessions.get(&session) {
            Some(process) => (process.group.clone(), process.job.clone()),
            None if session == 0 => (None, Job::Unknown),
            None => (None, Job::Session(session)),
        };
        Key { name: name.to_owned(), group, job }
    }
}

impl Names<'_> {
    /// The job of a process outside. Its session may be known only from its threads.
    fn job_outside(&self, pid: u32, session: u32) -> Job {
        if is_kernel_outside(pid) {
            return Job::Kernel;
        }
        Job::Outside(self.tick.outside.get(&pid).map_or(session, |outside| outside.session))
    }

    /// The job of a process.
    fn job(&self, pid: u32) -> Option<Job> {
        match is_outside(pid) {
            true => Some(self.job_outside(pid, 0)),
            false => self.tick.processes.get(&pid).map(|process| process.job.clone()),
        }
    }
}

impl Window {
    /// The sums of these intervals.
    pub fn of<'a>(ticks: impl IntoIterator<Item = &'a Tick>) -> Self {
        let mut window = Window::default();
        ticks.into_iter().for_each(|tick| window.add(tick));
        window
    }

    /// Adds an interval.
    pub fn add(&mut self, tick: &Tick) {
        let names = Names::of(tick);
        self.over_ns = self.over_ns.saturating_add(tick.over_ns);
        self.asked |= !tick.whole_machine;
        self.unnamed_ns = self.unnamed_ns.saturating_add(tick.unnamed_ns);
        self.lost_threads = self.lost_threads.saturating_add(tick.lost_threads);
        // Groups that still exist come back with each interval.
        if self.lineages.len() > MOST_GROUPS {
            self.lineages.clear();
        }
        for (group, lineage) in &tick.lineages {
            self.lineages.insert(group.clone(), lineage.clone());
        }
        if self.workloads.len() > MOST_GROUPS {
            self.workloads.clear();
        }
        for (group, workload) in &tick.workloads {
            self.workloads.insert(group.clone(), workload.clone());
        }
        tick.groups.iter().for_each(|group| {
            if self.groups.len() < MOST_GROUPS || self.groups.contains_key(&group.group) {
                let blank = || GroupSums::new(group.limit);
                let sums = self.groups.entry(group.group.clone()).or_insert_with(blank);
                sums.add(group, tick.over_ns);
            }
        });
        for group in &tick.memory {
            if self.memory.len() < MOST_GROUPS || self.memory.contains_key(&group.group) {
                self.memory.entry(group.group.clone()).or_default().add(group);
            }
        }
        for (pid, full) in &tick.full {
            let Some(key) = names.of_process(*pid) else { continue };
            let so_far = self.full.get(&key);
            if so_far.is_none() && self.full.len() >= MOST_GROUPS {
                continue;
            }
            let read_back_ns = so_far.map_or(0, |full| full.read_back_ns);
            let read_back_ns = read_back_ns.saturating_add(full.read_back_ns);
            // The limit need not be reached in each interval.
            let kept = so_far.filter(|so_far| so_far.is_hit > full.is_hit).unwrap_or(full).clone();
            self.full.insert(key, Full { read_back_ns, ..kept });
        }
        let below = tick.below_limits.iter().filter_map(|pid| names.of_process(*pid));
        for key in below.collect::<HashSet<_>>() {
            if self.below_limits.len() < MOST_GROUPS || self.below_limits.contains_key(&key) {
                let intervals = self.below_limits.entry(key).or_default();
                *intervals = intervals.saturating_add(1);
            }
        }
        tick.threads.iter().for_each(|thread| self.thread(thread, &names));
        tick.pairs.iter().for_each(|pair| self.pair(pair, &names));
        tick.chains.iter().for_each(|chain| self.chain(chain, &names));
        for (pid, compared) in &tick.compared {
            let Some(key) = names.of_process(*pid) else { continue };
            if let Some(sums) = self.programs.get_mut(&key) {
                sums.compare(compared);
            }
        }
        tick.readers.iter().for_each(|reader| self.reader(reader, &names));
        self.nodes(tick, &names);
        for inside in &tick.inside {
            let sums = self.inside.entry(inside.name.clone()).or_default();
            sums.add(&inside.look, tick.over_ns);
        }
        self.machine(&tick.machine);
        self.spent(&tick.spent);
        self.prune();
    }

    /// Its length, in seconds.
    pub fn seconds(&self) -> f64 {
        self.over_ns as f64 / 1e9
    }

    /// A time as milliseconds a second.
    pub(crate) fn rate(&self, ns: u64) -> f64 {
        if self.over_ns == 0 { 0.0 } else { ns as f64 / self.over_ns as f64 * 1e3 }
    }

    /// How long a program was stalled for memory: its threads freed some, moved pages, or slept
    /// until pages were read back.
    pub(crate) fn memory_ns(&self, key: &Key, sums: &Sums) -> u64 {
        let read_back = self.full.get(key).map_or(0, |full| full.read_back_ns);
        let all = [sums.all.reclaim_ns, sums.all.compaction_ns, sums.all.memory_ns, read_back];
        all.into_iter().fold(0, u64::saturating_add)
    }

    /// Programs in scope, always in the same order.
    pub(crate) fn victims(&self) -> impl Iterator<Item = (&Key, &Sums)> {
        let mut all: Vec<(&Key, &Sums)> =
            self.programs.iter().filter(|(_, sums)| sums.in_scope).collect();
        all.sort_by(|a, b| a.0.cmp(b.0));
        all.into_iter()
    }

    fn thread(&mut self, thread: &ThreadCounts, names: &Names) {
        let process = names.tick.processes.get(&thread.pid);
        let key = names.key(thread.pid, &thread.name, thread.session);
        let own_group = names.tick.thread_groups.get(&thread.tid);
        let by_group = self.by_group(thread, own_group.or(key.group.as_ref()));
        let waker = names.job(thread.waker);
        let in_scope = process.map_or_else(
            || !is_outside(thread.pid) && holds_ended(names.tick, thread.pid, &key),
            |process| process.in_scope,
        );
        let sums = self.programs.entry(key).or_default();
        sums.in_scope |= in_scope;
        sums.thread(thread);
        if let Some(group) = own_group {
            sums.in_group(thread.tid, group);
        }
        // Many kernel threads are bound to one CPU.
        let is_free = |process: &&Process| process.job != Job::Kernel;
        let confined = process.filter(is_free).and_then(|process| process.confined.as_deref());
        if let Some(cpus) = confined {
            let idle = idle_outside(&names.tick.idle_shares, cpus);
            sums.confine(cpus, thread, names.tick.over_ns, idle);
        }
        if let Some(spot) = names.tick.spots.get(&thread.pid) {
            sums.spot = Some(spot.clone());
        }
        if let Some(runtime) = names.tick.runtimes.get(&thread.pid) {
            sums.runtime = Some(*runtime);
        }
        for (group, ns) in by_group {
            sums.throttled_by(group, ns);
        }
        if let Some(job) = waker {
            sums.woken_by(&job);
        }
    }

    /// The time that quotas throttled a thread, by group. The kernel tells the level of the
    /// group, which may be above all groups that are seen here. If the kernel could not tell the
    /// level, the group that it must have been is taken, or None.
    fn by_group(
        &self,
        thread: &ThreadCounts,
        group: Option<&String>,
    ) -> Vec<(Option<String>, u64)> {
        let none = Vec::new();
        let group = group.filter(|group| group.matches('/').count() < DEEPEST);
        let lineage = group.and_then(|group| self.lineages.get(group)).unwrap_or(&none);
        let only = self.only_throttled(lineage);
        let times = thread.throttled_ns.iter().enumerate().filter(|(_, ns)| **ns > 0);
        let named = times.map(|(level, ns)| {
            let group = if level + 1 < LEVELS { lineage.get(level) } else { only };
            (group.cloned(), *ns)
        });
        named.collect()
    }

    /// The one of these groups that was throttled. If several were, the one with nearly all of the
    /// throttled time.
    fn only_throttled<'a>(&self, lineage: &'a [String]) -> Option<&'a String> {
        let throttled = |group: &&String| {
            let gained = &self.groups.get(*group)?.gained;
            (gained.nr_throttled != Some(0)).then(|| gained.throttled_ns.unwrap_or(0))
        };
        let all: Vec<(&String, u64)> =
            lineage.iter().filter_map(|group| Some((group, throttled(&group)?))).collect();
        let most = all.iter().max_by_key(|one| one.1)?;
        let sum = all.iter().map(|one| one.1).fold(0, u64::saturating_add);
        let is_most = all.len() == 1 || sum > 0 && most.1 as f64 >= sum as f64 * NEARLY_ALL;
        is_most.then_some(most.0)
    }

    fn pair(&mut self, pair: &PairCounts, names: &Names) {
        let process = |pid| names.tick.processes.get(&pid);
        let why = process(pair.victim).zip(process(pair.culprit));
        let why = why.map_or(Why::Unknown, |(one, other)| by_weight(names.tick, one, other));
        let priority = real_time_priority(pair.prio);
        let policy =
            priority.and_then(|priority| names.tick.policies.get(&(pair.culprit, priority)));
        let culprit = names.key(pair.culprit, &pair.name, pair.session);
        let Some(victim) = names.victim(pair.victim) else { return };
        if let Some(sums) = self.programs.get_mut(&victim) {
            sums.behind(culprit, pair, why, policy.copied());
        }
    }

    fn chain(&mut self, chain: &ChainCounts, names: &Names) {
        let pid = chain.key.sleeper;
        let Some(sleeper) = names.sleeper(pid) else { return };
        let tick = names.tick;
        let process = tick.processes.get(&pid);
        let in_scope =
            process.map_or_else(|| holds_ended(tick, pid, &sleeper), |process| process.in_scope);
        if chain.key.slept == Slept::Journal {
            return self.journal(chain, (sleeper, in_scope), names);
        }
        let holder = names.key(chain.key.holder, &chain.name, 0);
        let both = tick.processes.get(&chain.key.holder).zip(process);
        let weights = both.and_then(|(holder, sleeper)| inverted(tick, holder, sleeper));
        let stalls = stalls(&sleeper, &holder, chain.key.slept);
        let sums = self.programs.entry(sleeper).or_default();
        sums.in_scope |= in_scope;
        sums.asleep_behind(holder, chain, weights, stalls);
    }

    /// A sleep for a commit of a journal: who slept, and for whose handle the commit waited.
    fn journal(&mut self, chain: &ChainCounts, (sleeper, in_scope): (Key, bool), names: &Names) {
        let holder =
            names.key(chain.key.holder, &chain.name, names.known_session(chain.key.holder));
        let io_max = holder.group.as_ref().and_then(|group| names.tick.io_max.get(group));
        let sums = self.programs.entry(sleeper).or_default();
        sums.in_scope |= in_scope;
        sums.behind_handle(holder, chain, io_max);
    }

    fn reader(&mut self, reader: &ReaderCounts, names: &Names) {
        let key = ReadingKey {
            reader: names.key(reader.reader, &reader.name, 0),
            target: names.victim(reader.target).unwrap_or_else(|| names.key(reader.target, "", 0)),
            file: reader.file.clone(),
            call: reader.call,
        };
        if self.readings.len() < MOST_READINGS || self.readings.contains_key(&key) {
            self.readings.entry(key).or_default().add(reader);
        }
    }

    fn nodes(&mut self, tick: &Tick, names: &Names) {
        let is_in_scope = |pid: &u32| {
            tick.processes.get(pid).map_or(tick.whole_machine, |process| process.in_scope)
        };
        self.leaves_out_nodes |= tick.nodes_left_out.iter().any(is_in_scope);
        for node in &tick.nodes {
            if !is_in_scope(&node.pid) {
                continue;
            }
            let key = names.key(node.pid, "beam.smp", 0);
            let (known, sums) = self.nodes.entry(node.process()).or_default();
            *known = key;
            sums.add(node, tick.over_ns);
        }
        while self.nodes.len() > MOST_NODES {
            self.nodes.pop_first();
        }
    }

    fn machine(&mut self, more: &MachineTick) {
        let first = self.machine == MachineTick::default();
        let sum = |all: Option<u64>, more: Option<u64>| match first {
            true => more,
            false => Some(all?.saturating_add(more?)),
        };
        let all = &self.machine;
        self.machine = MachineTick {
            kernel: more.kernel,
            cpus: more.cpus,
            busy_ns: sum(all.busy_ns, more.busy_ns),
            steal_ns: sum(all.steal_ns, more.steal_ns),
            interrupts_ns: sum(all.interrupts_ns, more.interrupts_ns),
            pressure_ns: sum(all.pressure_ns, more.pressure_ns),
            switches: sum(all.switches, more.switches),
        };
    }

    fn spent(&mut self, more: &Spent) {
        let counted = match (self.spent.programs_ns, more.programs_ns) {
            (Some((ns, over)), Some((more_ns, more_over))) => {
                Some((ns + more_ns, over + more_over))
            }
            (one, other) => one.or(other),
        };
        self.spent = Spent {
            tool_ns: self.spent.tool_ns.saturating_add(more.tool_ns),
            programs_ns: counted,
            memory_bytes: self.spent.memory_bytes.max(more.memory_bytes),
            ..*more
        };
    }

    /// Bounds the memory on a machine where programs come and go under ever new names.
    fn prune(&mut self) {
        let is_long = self.over_ns > LONG_NS;
        if is_long {
            self.programs.values_mut().for_each(Sums::condense);
        }
        let most = if is_long { MOST_PROGRAMS_LONG } else { MOST_PROGRAMS };
        if self.programs.len() <= most {
            return;
        }
        let before_ns = self.kept_ns();
        let busiest = take_busiest(&mut self.programs, most / 4);
        keep_heaviest(&mut self.programs, most / 2);
        self.programs.extend(busiest);
        let dropped_ns = before_ns.saturating_sub(self.kept_ns());
        self.dropped_ns = self.dropped_ns.saturating_add(dropped_ns);
    }

    /// What programs in scope lost whose sums are there.
    fn kept_ns(&self) -> u64 {
        let in_scope = self.programs.values().filter(|sums| sums.in_scope);
        in_scope.map(loss_ns).fold(0, u64::saturating_add)
    }
}

/// Whether a process that ended before it was looked up is in scope.
fn holds_ended(tick: &Tick, pid: u32, key: &Key) -> bool {
    let is_named = |scope: &Scope| scope::holds(scope, pid, &key.name, key.group.as_deref());
    tick.whole_machine || tick.named.as_ref().is_some_and(is_named)
}

/// The share of an interval in which some CPU outside these was idle. Idle times of several CPUs
/// are added, since work could have run on any of them.
fn idle_outside(shares: &[f64], cpus: &[u32]) -> f64 {
    let is_outside = |cpu: usize| !cpus.iter().any(|own| *own as usize == cpu);
    let outside = shares.iter().enumerate().filter(|(cpu, _)| is_outside(*cpu));
    outside.map(|(_, share)| share).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, group, held_by_quota, pair, process, second, thread};
    use crate::tick::Outside;
    use probe::live::ChainKey;

    /// The mark of a number outside, and that of a kernel thread.
    const OUTSIDE: u32 = 1 << 31;
    const OF_KERNEL: u32 = 3 << 30;

    #[test]
    fn a_program_outside_is_a_culprit_and_no_victim() {
        let mut tick = second();
        process(&mut tick, 7, "web", None);
        // The process has the session of a process outside, and the number that this one has
        // there.
        let (hog, worker) = (OUTSIDE | 7, OF_KERNEL | 9);
        tick.processes.get_mut(&7).unwrap().job = Job::Session(OUTSIDE | 7);
        let of = |pid, session, ready| ThreadCounts { session, ..thread(pid, 500, ready) };
        tick.threads = vec![of(7, OUTSIDE | 7, 400), of(hog, OUTSIDE | 7, 300), of(worker, 0, 50)];
        tick.threads[0].waker = hog;
        let outside = Outside { name: "yes".into(), session: OUTSIDE | 7 };
        tick.outside.insert(hog, outside);
        let named = |pid, name, session| PairCounts { session, ..pair(7, pid, name, 200) };
        tick.pairs = vec![named(hog, "other", hog), named(worker, "kworker", 0)];
        tick.pairs.push(pair(hog, 7, "web", 300));
        let window = Window::of([&tick]);
        let victims: Vec<&str> = window.victims().map(|(key, _)| key.name.as_str()).collect();
        assert_eq!(victims, ["web"]);
        let (_, web) = window.victims().next().unwrap();
        let key = |name: &str, job| Key { name: name.to_owned(), group: None, job };
        let yes = key("yes", Job::Outside(hog));
        assert_eq!((web.neighbours[&yes].ns, &web.neighbours[&yes].why), (200 * MS, &Why::Unknown));
        assert!(web.neighbours.contains_key(&key("kworker", Job::Kernel)));
        assert_eq!(web.wakers.iter().collect::<Vec<_>>(), [&Job::Outside(hog)]);
        let shown = crate::parts::program_of(&yes, &window.programs[&yes]);
        assert_eq!((shown.outside, shown.pid, shown.processes), (true, 0, 1));
    }

    #[test]
    fn programs_that_lost_little_make_room_and_those_that_lost_much_stay() {
        let mut window = Window::default();
        for number in 0..5_000u32 {
            let mut tick = second();
            process(&mut tick, 7, "reader's victim", None);
            process(&mut tick, 8, &format!("job{number}"), None);
            let lost_a_lock = |pid, ns| ThreadCounts { foreign_ns: ns, ..thread(pid, 1, 0) };
            tick.threads = vec![lost_a_lock(7, 50 * MS), lost_a_lock(8, 1)];
            window.add(&tick);
        }
        let there = window.victims().any(|(key, _)| key.name == "reader's victim");
        assert!(there && window.programs.len() <= MOST_PROGRAMS_LONG, "{}", window.programs.len());
    }

    #[test]
    fn among_many_programs_those_that_ran_longest_stay_and_no_loss_is_forgotten() {
        const SECONDS: u64 = 70;
        const OTHERS: u32 = 600;
        let mut window = Window::default();
        for _ in 0..SECONDS {
            let mut tick = second();
            process(&mut tick, 7, "hog", None);
            tick.threads.push(thread(7, 900, 0));
            for pid in 100..100 + OTHERS {
                process(&mut tick, pid, &format!("job{pid}"), None);
                tick.threads.push(thread(pid, 1, 2));
            }
            window.add(&tick);
        }
        assert!(window.programs.len() <= MOST_PROGRAMS_LONG, "{}", window.programs.len());
        let hog = window.programs.iter().find(|(key, _)| key.name == "hog");
        assert_eq!(hog.map(|(_, sums)| sums.all.ran_ns), Some(SECONDS * 900 * MS));
        let lost_ns = window.dropped_ns + window.kept_ns();
        assert_eq!(lost_ns, SECONDS * u64::from(OTHERS) * 2 * MS);
    }

    #[test]
    fn a_long_window_forgets_neighbours_that_matter_least() {
        let mut window = Window::default();
        for session in 0..300u32 {
            let mut tick = second();
            process(&mut tick, 7, "web", None);
            tick.threads = vec![thread(7, 100, 500)];
            // A neighbour that stays, and one in a new session each second.
            let one = |id: u32, ns| PairCounts { session: id, ..pair(7, id, "job", ns) };
            tick.pairs = vec![one(9, 300), one(1000 + session, 2)];
            window.add(&tick);
        }
        let (_, web) = window.victims().next().unwrap();
        assert!(web.neighbours.len() <= 65, "{}", web.neighbours.len());
        let heaviest = web.neighbours.values().map(|behind| behind.ns).max();
        assert_eq!(heaviest, Some(300 * 300 * MS));
    }

    #[test]
    fn a_quota_above_all_groups_that_are_seen_is_not_theirs() {
        let held = |level: usize, throttled: u64| {
            let mut tick = held_by_quota(level, 400);
            tick.lineages.insert("/a/b".into(), vec!["/a/b".into(), "/a".into()]);
            tick.groups.push(group("/a", 50, 400, (throttled, 0)));
            let window = Window::of([&tick]);
            let (_, sums) = window.victims().next().unwrap();
            sums.quota.keys().next().cloned().unwrap()
        };
        assert_eq!(held(1, 5).as_deref(), Some("/a"));
        assert_eq!(held(2, 5), None);
        // If the level is not known, the only group there is taken, if it was throttled at all.
        assert_eq!(held(LEVELS - 1, 5).as_deref(), Some("/a"));
        assert_eq!(held(LEVELS - 1, 0), None);
    }

    #[test]
    fn the_quota_of_a_group_that_is_too_deep_is_that_of_no_known_group() {
        let held = |levels: usize| {
            let own = "/z".repeat(levels);
            let mut tick = second();
            process(&mut tick, 1, "web", Some(&own));
            tick.lineages.insert(own.clone(), vec![own.clone()]);
            let mut victim = thread(1, 500, 400);
            victim.throttled_ns[0] = 400 * MS;
            tick.threads.push(victim);
            let window = Window::of([&tick]);
            let (_, sums) = window.victims().next().unwrap();
            sums.quota.keys().next().unwrap().as_ref() == Some(&own)
        };
        assert!(held(DEEPEST - 1) && !held(DEEPEST));
    }

    #[test]
    fn of_two_quotas_the_one_that_throttled_is_taken_where_the_level_is_not_known() {
        let held = |pod: (u64, u64), container: (u64, u64)| {
            let mut tick = held_by_quota(LEVELS - 1, 400);
            tick.lineages.insert("/a/b".into(), vec!["/a/b".into(), "/a".into()]);
            tick.groups.push(group("/a", 50, 400, pod));
            tick.groups.push(group("/a/b", 50, 400, container));
            let window = Window::of([&tick]);
            let (_, sums) = window.victims().next().unwrap();
            sums.quota.keys().next().cloned().unwrap()
        };
        assert_eq!(held((0, 0), (9, 400)).as_deref(), Some("/a/b"));
        assert_eq!(held((1, 20), (9, 400)).as_deref(), Some("/a/b"));
        assert_eq!(held((9, 380), (9, 400)), None);
        assert_eq!(held((1, 0), (1, 0)), None);
    }

    #[test]
    fn short_lived_children_count_for_the_group_or_the_name_that_the_user_named() {
        let lost = |scope: Scope| {
            let mut tick = second();
            tick.whole_machine = false;
            tick.named = Some(scope);
            process(&mut tick, 7, "sh", Some("/ci"));
            tick.processes.get_mut(&7).unwrap().in_scope = false;
            // A child of that shell, and one of nobody who is known.
            let ended = |pid, session| ThreadCounts {
                name: "cc1".to_owned(),
                session,
                ..thread(pid, 100, 300)
            };
            tick.threads = vec![thread(7, 10, 0), ended(8, 7), ended(9, 90)];
            let window = Window::of([&tick]);
            window.victims().map(|(_, sums)| sums.all.ready_ns / MS).sum::<u64>()
        };
        let group = |name: &str| Scope { cgroup: Some(name.to_owned()), ..Scope::default() };
        let comm = |name: &str| Scope { comm: Some(name.to_owned()), ..Scope::default() };
        assert_eq!([lost(group("/ci")), lost(group("/web"))], [300, 0]);
        assert_eq!([lost(comm("cc1")), lost(comm("sh"))], [600, 0]);
    }

    #[test]
    fn a_process_that_ends_as_soon_as_it_wakes_has_slept() {
        let slept_ms = |session: u32| {
            let mut tick = second();
            process(&mut tick, 7, "sh", Some("/ci"));
            process(&mut tick, 2, "backup", Some("/jobs"));
            let ended = ThreadCounts { name: "dd".to_owned(), session, ..thread(8, 5, 0) };
            tick.threads = vec![thread(7, 10, 0), thread(2, 5, 0), ended];
            let slept = Slept::Journal;
            let key = ChainKey { sleeper: 8, holder: 2, slept, ..ChainKey::default() };
            let name = "backup".to_owned();
            tick.chains =
                vec![ChainCounts { key, name, ns: 600 * MS, wakes: 1, worst_ns: 600 * MS }];
            let window = Window::of([&tick]);
            let dd = window.victims().find(|(key, _)| key.name == "dd");
            let (key, sums) = dd.unwrap();
            let ns: u64 = sums.journal.values().map(|behind| behind.ns).sum();
            (key.group.clone(), ns / MS)
        };
        assert_eq!(slept_ms(7), (Some("/ci".to_owned()), 600));
        // The other program may be in its own group.
        assert_eq!(slept_ms(90), (None, 0));
    }

    #[test]
    fn what_ran_instead_of_a_process_that_has_ended_is_not_lost() {
        let mut tick = second();
        process(&mut tick, 2, "hog", None);
        let mut ended = thread(1, 100, 300);
        ended.name = "cc1".into();
        (ended.session, ended.others_ns) = (5, 300 * MS);
        tick.threads = vec![ended, thread(2, 900, 0)];
        let mut pair = pair(1, 2, "hog", 300);
        pair.forced_ns = 200 * MS;
        tick.pairs = vec![pair];
        let window = Window::of([&tick]);
        let key = Key { name: "cc1".into(), group: None, job: Job::Session(5) };
        let behind = window.programs[&key].neighbours.values().next().unwrap();
        assert_eq!((behind.ns, behind.forced_ns), (300 * MS, 200 * MS));
    }
}
