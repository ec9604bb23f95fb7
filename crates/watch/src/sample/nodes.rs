//! Erlang nodes: found by the names of their threads, and looked at from outside.
//!
//! The `cmdline` of a node is read once, when it is found. Its `maps` is read if a sample is in
//! unknown code, at most once a minute. The reader reads both. That takes the lock of the node's
//! memory map for some microseconds.

mod places;

use crate::node::{LONG_SILENCE_NS, NodeFacts, NodeTick, SchedulerTick, Seen};
use crate::reader::{Answer, MOST_PLACES, Maps, Readers, Told, What, file_name};
use beam::ThreadKind;
use host::roots::{Roots, read_start};
use host::{MappedFile, ProcessFiles, process_files};
use model::live::{Code, Place, ThreadRole};
use places::{Found, Held};
use probe::live::{
    Counts, NODES, NodeSample, Sampled, Sleep, ThreadCounts, ThreadState, is_outside,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Most processes that are searched for nodes at the start.
const MOST_PROCESSES: usize = 32_768;

/// Most threads of a node that are known.
const MOST_THREADS: usize = 4_096;

/// Most functions that are kept of a node's libraries.
const MOST_FUNCTIONS: usize = 4_096;

/// Most libraries of a node whose functions are asked for in an interval.
const LIBRARIES: usize = 4;

/// Most possible nodes that are looked at in an interval, and most processes remembered as no
/// node.
const MET: usize = 4;
const MOST_REFUSED: usize = 4_096;

/// Most candidates whose user is looked up in an interval.
const CANDIDATES: usize = 128;

/// Most bytes that are read of `status`.
const STATUS: u64 = 4_096;

/// The highest number of a scheduler: no VM starts more of them. Any program may name its threads
/// like schedulers.
const MOST_SCHEDULERS: u32 = 1_024;

/// Intervals between two readings of a node's threads, and of its map.
const OLD: u64 = 60;

/// If a scheduler computes for this long, of an interval of a second, in code of the VM or of
/// libraries, its passes are looked at often. It is half the limit of a finding, since samples
/// are few.
const NATIVE_NS: f64 = 5e7;

/// The variable in which a VM counts the passes of its schedulers ("thread progress"). Each
/// scheduler passes between two processes, and the number goes up when all that are awake have
/// passed. Every OTP from R16 on has the variable. It is exported, like everything that native
/// functions may use.
const PASSES: &str = "erts_thr_prgr__";

/// The nodes of this machine.
pub struct Nodes {
    roots: Roots,
    known: BTreeMap<u32, Known>,
    /// Processes that got no place.
    refused: HashMap<u32, Refused>,
    interval: u64,
    last_ns: u64,
    is_suspicious: bool,
}

/// A process that got no place.
#[derive(Clone, Copy)]
struct Refused {
    /// The interval in which it was refused.
    since: u64,
    /// Whether it may be a node, and all places were taken.
    is_left_out: bool,
}

#[derive(Default)]
struct Known {
    facts: NodeFacts,
    user: u32,
    /// The interval in which it was found.
    since: u64,
    /// When the process started. A later process with this number is not this node.
    started: u64,
    /// The address at which it counts the passes of its schedulers; 0 if it has none.
    passes_at: Option<u64>,
    threads: HashMap<u32, Thread>,
    maps: Maps,
    maps_read: Option<u64>,
    /// Functions of its libraries, by the library's address and the offset in the library's file.
    functions: HashMap<(u64, u64), Option<String>>,
    threads_read: u64,
    /// Whether it was looked at before. Earlier sums belong to no interval.
    is_followed: bool,
}

/// A thread of a node, as it was last seen.
struct Thread {
    kind: ThreadKind,
    before: ThreadCounts,
    /// Time asleep in calls, up to the last reading.
    call_ns: u64,
}

impl Nodes {
    /// The nodes that run at this moment.
    pub fn find(roots: &Roots, readers: &mut Readers) -> Self {
        let mut nodes = Nodes {
            roots: roots.clone(),
            known: BTreeMap::new(),
            refused: HashMap::new(),
            interval: 0,
            last_ns: 0,
            is_suspicious: false,
        };
        let entries = std::fs::read_dir(&roots.proc).into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let is_node = |pid: &u32| {
            let comm = roots.proc.join(pid.to_string()).join("comm");
            read_start(&comm, 16).is_ok_and(|name| name.starts_with(b"beam."))
        };
        let found: Vec<u32> = pids.take(MOST_PROCESSES).filter(is_node).collect();
        nodes.meet_in_turn(&found, NODES, readers);
        nodes
    }

    /// Their processes, each with the address at which it counts the passes of its schedulers.
    pub fn processes(&self) -> Vec<(u32, u64)> {
        self.known.iter().map(|(pid, known)| (*pid, known.passes_at.unwrap_or(0))).collect()
    }

    /// Whether the passes of their schedulers should be watched in the interval that begins.
    pub fn wants_passes(&self) -> bool {
        self.is_suspicious
    }

    /// What they gained.
    pub fn gained(&mut self, counts: &Counts, readers: &mut Readers) -> Vec<NodeTick> {
        self.interval += 1;
        self.forget();
        let schedulers = counts
            .threads
            .iter()
            .filter(|thread| !is_outside(thread.pid))
            .filter(|thread| matches!(kind_of(&thread.name), ThreadKind::Scheduler(_)));
        let new: BTreeSet<u32> = schedulers.map(|thread| thread.pid).collect();
        let is_new = |pid: &u32| !self.known.contains_key(pid) && !self.refused.contains_key(pid);
        let new: Vec<u32> = new.into_iter().filter(is_new).collect();
        self.meet_in_turn(&new, MET, readers);
        let over_ns = counts.at_ns.saturating_sub(self.last_ns);
        self.last_ns = counts.at_ns;
        let pids: Vec<u32> = self.known.keys().copied().collect();
        let all: Vec<NodeTick> =
            pids.iter().filter_map(|pid| self.tick(*pid, (counts, over_ns), readers)).collect();
        self.is_suspicious = all.iter().any(may_hide_native_code);
        all
    }

    /// Forgets nodes that have ended, and old refusals.
    fn forget(&mut self) {
        let roots = &self.roots;
        self.known.retain(|pid, known| process_files::started(roots, *pid) == Some(known.started));
        let interval = self.interval;
        self.refused.retain(|_, refused| interval - refused.since < OLD);
        if self.refused.len() > MOST_REFUSED {
            self.refused.clear();
        }
    }

    /// Processes that may be nodes, have no place and still run; some of them if there are many.
    pub fn left_out(&self) -> Vec<u32> {
        let left_out = self.refused.iter().filter(|(_, refused)| refused.is_left_out);
        let pids = left_out.take(CANDIDATES).map(|(pid, _)| *pid);
        pids.filter(|pid| process_files::started(&self.roots, *pid).is_some()).collect()
    }

    fn refuse(&mut self, pid: u32, is_left_out: bool) {
        self.refused.insert(pid, Refused { since: self.interval, is_left_out });
    }

    /// Looks at some of these processes; users take turns.
    fn meet_in_turn(&mut self, pids: &[u32], most: usize, readers: &mut Readers) {
        let of = |pid: &u32| Some((*pid, user(&self.roots, *pid)?));
        let pids = turn(pids, self.interval);
        let candidates: Vec<(u32, u32)> = pids.iter().filter_map(of).collect();
        for pid in places::in_turn(&candidates, most) {
            let user = candidates.iter().find(|(one, _)| *one == pid).map_or(0, |(_, user)| *user);
            self.meet(pid, user, readers);
        }
    }

    /// Checks whether a process is a node, and reads what it is.
    fn meet(&mut self, pid: u32, user: u32, readers: &mut Readers) {
        let held =
            |(pid, known): (&u32, &Known)| Held { pid: *pid, user: known.user, since: known.since };
        let held: Vec<Held> = self.known.iter().map(held).collect();
        let place = places::find(user, &held, NODES);
        let threads = if place == Found::None { BTreeMap::new() } else { self.threads(pid) };
        let Some(started) = process_files::started(&self.roots, pid) else { return };
        if !threads.contains_key(&ThreadRole::Scheduler) {
            self.refuse(pid, place == Found::None);
            return;
        }
        let line = match readers.ask(&self.roots, pid, What::CommandLine) {
            // The answer is there in the next interval.
            None => return,
            Some(Answer::CommandLine(line)) => line,
            Some(_) => {
                self.refuse(pid, false);
                return;
            }
        };
        if let Found::InsteadOf(other) = place {
            self.known.remove(&other);
            self.refuse(other, true);
        }
        let facts = NodeFacts { line, threads, counts_passes: false };
        let (since, threads_read) = (self.interval, self.interval);
        let known = Known { facts, user, since, started, threads_read, ..Known::default() };
        self.known.insert(pid, known);
    }

    /// How many threads there are of each role.
    fn threads(&self, pid: u32) -> BTreeMap<ThreadRole, u32> {
        let task = self.roots.proc.join(pid.to_string()).join("task");
        let entries = std::fs::read_dir(&task).into_iter().flatten().flatten();
        let mut all = BTreeMap::new();
        for entry in entries.take(MOST_THREADS) {
            let Ok(name) = read_start(&entry.path().join("comm"), 16) else { continue };
            let role = role(kind_of(&String::from_utf8_lossy(&name)));
            *all.entry(role).or_default() += 1;
        }
        all
    }

    fn tick(
        &mut self,
        pid: u32,
        (counts, over_ns): (&Counts, u64),
        readers: &mut Readers,
    ) -> Option<NodeTick> {
        let interval = self.interval;
        if interval - self.known.get(&pid)?.threads_read >= OLD {
            let threads = self.threads(pid);
            let known = self.known.get_mut(&pid)?;
            (known.facts.threads, known.threads_read) = (threads, interval);
        }
        self.find_passes(pid, readers);
        let known = self.known.get_mut(&pid)?;
        let mut tick = NodeTick {
            pid,
            started: known.started,
            facts: known.facts.clone(),
            passes_seen: counts.passes_seen && known.facts.counts_passes,
            ..NodeTick::default()
        };
        let now = counts.threads.iter().filter(|thread| thread.pid == pid);
        let now: HashMap<u32, &ThreadCounts> = now.map(|thread| (thread.tid, thread)).collect();
        known.gained(&now, (counts.at_ns, over_ns), &mut tick);
        let samples = counts.samples.iter().filter(|sample| sample.pid == pid);
        let samples: Vec<&NodeSample> = samples.collect();
        self.read_maps(pid, &samples, readers);
        self.read_functions(pid, &samples, readers);
        self.samples(pid, &samples, &mut tick);
        Some(tick)
    }

    /// Looks up, once, where a node counts the passes of its schedulers.
    fn find_passes(&mut self, pid: u32, readers: &mut Readers) {
        let Some(known) = self.known.get_mut(&pid) else { return };
        if known.passes_at.is_none() {
            let what = What::Variable(PASSES.to_owned());
            known.passes_at = match readers.ask(&self.roots, pid, what) {
                // The answer is there in the next interval.
                None => None,
                Some(Answer::Address(address)) => Some(address),
                Some(_) => Some(0),
            };
            known.facts.counts_passes = known.passes_at.is_some_and(|at| at > 0);
        }
    }

    /// Asks for the map of a process if a sample is in unknown code.
    fn read_maps(&mut self, pid: u32, samples: &[&NodeSample], readers: &mut Readers) {
        let Some(known) = self.known.get_mut(&pid) else { return };
        let strange = samples.iter().any(|sample| !known.maps.knows(sample.ip));
        let old = known.maps_read.is_none_or(|at| self.interval - at >= OLD);
        if !strange || !old {
            return;
        }
        // If the answer is not there yet, the next interval asks again.
        let Some(answer) = readers.ask(&self.roots, pid, What::Maps) else { return };
        known.maps_read = Some(self.interval);
        known.functions.clear();
        known.maps = match answer {
            Answer::Maps(maps) => maps,
            _ => Maps::default(),
        };
    }

    /// Asks for the functions of threads that hold their scheduler.
    fn read_functions(&mut self, pid: u32, samples: &[&NodeSample], readers: &mut Readers) {
        let Some(known) = self.known.get_mut(&pid) else { return };
        let mut wanted: HashMap<MappedFile, BTreeSet<u64>> = HashMap::new();
        for sample in samples.iter().filter(|sample| holds_scheduler(sample.what)) {
            if let Told::Library(file, offset) = known.maps.tell(sample.ip, &sample.stack)
                && !known.functions.contains_key(&(file.from, offset))
            {
                wanted.entry(file).or_default().insert(offset);
            }
        }
        if known.functions.len() > MOST_FUNCTIONS {
            known.functions.clear();
        }
        for (file, offsets) in wanted.into_iter().take(LIBRARIES) {
            let (from, offsets): (_, Vec<u64>) =
                (file.from, offsets.into_iter().take(MOST_PLACES).collect());
            let what = What::InFile(file, offsets.clone());
            let Some(answer) = readers.ask(&self.roots, pid, what) else { continue };
            let names = match answer {
                Answer::Functions(names) => names,
                _ => vec![None; offsets.len()],
            };
            known.functions.extend(offsets.into_iter().map(|offset| (from, offset)).zip(names));
        }
    }

    fn samples(&mut self, pid: u32, samples: &[&NodeSample], tick: &mut NodeTick) {
        let Some(known) = self.known.get_mut(&pid) else { return };
        for sample in samples {
            let kind = known.threads.get(&sample.tid).map_or(ThreadKind::Other, |one| one.kind);
            let spins = sample.what == Sampled::Spinning;
            let place = match known.maps.tell(sample.ip, &sample.stack) {
                Told::Plain(place) if spins && place.code == Code::Vm => {
                    Place { code: Code::Waiting, ..place }
                }
                Told::Plain(place) => place,
                Told::Library(file, offset) => {
                    let symbol = known.functions.get(&(file.from, offset)).cloned().flatten();
                    let symbol = symbol.filter(|_| holds_scheduler(sample.what));
                    Place { code: Code::Library, file: Some(file_name(&file)), symbol }
                }
            };
            let number = if let ThreadKind::Scheduler(number) = kind { number } else { 0 };
            let seen =
                Seen { role: role(kind), number, what: sample.what, place, call: sample.call };
            *tick.samples.entry(seen).or_default() += 1;
        }
    }
}

impl Known {
    /// What its threads gained until now, in an interval of this length.
    fn gained(
        &mut self,
        now: &HashMap<u32, &ThreadCounts>,
        (at_ns, over_ns): (u64, u64),
        tick: &mut NodeTick,
    ) {
        if self.threads.len() > MOST_THREADS {
            self.threads.clear();
        }
        for (tid, counts) in now {
            let before = self.threads.remove(tid);
            let same = before.filter(|thread| thread.before.start == counts.start);
            let is_known = same.is_some();
            let mut thread = same.unwrap_or_else(|| Thread {
                kind: kind_of(&counts.name),
                before: ThreadCounts::default(),
                call_ns: 0,
            });
            if is_known || self.is_followed {
                thread.gain(counts, at_ns, tick);
            }
            thread.call_ns = call_ns(counts, at_ns);
            thread.before = (*counts).clone();
            self.threads.insert(*tid, thread);
        }
        self.is_followed = true;
        for (tid, thread) in &mut self.threads {
            if !now.contains_key(tid) && sleeps_in_call(&thread.before) {
                thread.call_ns = thread.call_ns.saturating_add(over_ns);
                let ongoing_ns = at_ns.saturating_sub(thread.before.since_ns);
                add_call(tick, thread.kind, (over_ns, ongoing_ns));
            }
        }
    }
}

impl Thread {
    fn gain(&self, now: &ThreadCounts, at_ns: u64, tick: &mut NodeTick) {
        let of = role(self.kind);
        let less = |of: fn(&ThreadCounts) -> u64| of(now).saturating_sub(of(&self.before));
        let held = |counts: &ThreadCounts| counts.throttled_ns.iter().sum::<u64>();
        let gained = model::live::RoleTime {
            role: of,
            ran: u32::from(less(|of| of.ran_ns) > 0),
            ran_ns: less(|of| of.ran_ns),
            ready_ns: less(|of| of.ready_ns),
            throttled_ns: held(now).saturating_sub(held(&self.before)),
            futex_ns: less(|of| of.native.futex_ns),
            poll_ns: less(|of| of.native.poll_ns),
            ..Default::default()
        };
        let all = tick.roles.entry(of).or_default();
        let ran = all.ran + gained.ran;
        crate::node::add_role(all, &gained);
        all.ran = ran;
        let asleep = call_ns(now, at_ns).saturating_sub(self.call_ns);
        let ongoing = if sleeps_in_call(now) { at_ns.saturating_sub(now.since_ns) } else { 0 };
        add_call(tick, self.kind, (asleep, now.native.call_worst_ns.max(ongoing)));
        if let ThreadKind::Scheduler(number) = self.kind {
            let one: &mut SchedulerTick = tick.schedulers.entry(number).or_default();
            one.ran_ns = gained.ran_ns;
            one.ready_ns = gained.ready_ns;
            one.idle_ns = gained.futex_ns.saturating_add(gained.poll_ns);
            one.calls = less(|of| of.native.calls);
            one.silent_ns = less(|of| of.native.silent_ns);
            one.silences = less(|of| of.native.silences);
            one.silent_worst_ns = now.native.silent_worst_ns;
            // Under a quota, all threads stand still together. So what a quota made of a wait does
            // not make others seem silent. At least this much of the longest wait is something
            // else.
            let other_worst_ns = now.worst_ns.saturating_sub(now.throttled_worst_ns);
            if tick.passes_seen && other_worst_ns >= LONG_SILENCE_NS {
                one.unpassed_ns = gained.ready_ns.saturating_sub(gained.throttled_ns);
            }
        }
    }
}

fn add_call(tick: &mut NodeTick, kind: ThreadKind, (asleep_ns, worst_ns): (u64, u64)) {
    if asleep_ns == 0 {
        return;
    }
    let all = tick.roles.entry(role(kind)).or_default();
    all.role = role(kind);
    all.call_ns = all.call_ns.saturating_add(asleep_ns);
    if let ThreadKind::Scheduler(number) = kind {
        let one = tick.schedulers.entry(number).or_default();
        one.call_ns = one.call_ns.saturating_add(asleep_ns);
        one.call_worst_ns = one.call_worst_ns.max(worst_ns);
    }
}

/// Time asleep in calls that are neither futex nor poll, including the present call.
fn call_ns(counts: &ThreadCounts, at_ns: u64) -> u64 {
    let ongoing = if sleeps_in_call(counts) { at_ns.saturating_sub(counts.since_ns) } else { 0 };
    counts.native.call_ns.saturating_add(ongoing)
}

fn sleeps_in_call(counts: &ThreadCounts) -> bool {
    let sleeps = matches!(counts.state, ThreadState::Asleep | ThreadState::Uninterruptible);
    sleeps && counts.native.sleep == Sleep::Call
}

/// Whether a scheduler computes in code other than Erlang's for so long that it may be a finding.
/// That time is its CPU time multiplied by the share of its samples that are in such code.
fn may_hide_native_code(tick: &NodeTick) -> bool {
    tick.schedulers.iter().any(|(number, one)| {
        let running = tick.samples.iter().filter(|(seen, _)| {
            let stands_still = matches!(seen.what, Sampled::Asleep | Sampled::Spinning);
            seen.role == ThreadRole::Scheduler && seen.number == *number && !stands_still
        });
        let (all, native) = running.fold((0, 0), |(all, native), (seen, count)| {
            let is_native = matches!(seen.place.code, Code::Vm | Code::Library);
            (all + count, native + if is_native { *count } else { 0 })
        });
        all > 0 && one.ran_ns as f64 * native as f64 >= NATIVE_NS * all as f64
    })
}

/// Whether a thread that is seen like this keeps its scheduler.
fn holds_scheduler(what: Sampled) -> bool {
    matches!(what, Sampled::Asleep | Sampled::Silent)
}

/// Those of these processes whose turn it is in an interval. Any user can start more possible nodes
/// than are looked at, also with lower process ids than those of others.
fn turn(pids: &[u32], interval: u64) -> &[u32] {
    let turns = pids.len().div_ceil(CANDIDATES).max(1) as u64;
    let turn = usize::try_from(interval % turns).unwrap_or(0);
    pids.chunks(CANDIDATES).nth(turn).unwrap_or_default()
}

/// The user of a process.
fn user(roots: &Roots, pid: u32) -> Option<u32> {
    let status = ProcessFiles::open(roots, pid).ok()?.read("status", STATUS)?;
    let status = String::from_utf8_lossy(&status).into_owned();
    // The name comes before it and cannot contain a line feed.
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The kind of a thread with this name. Threads that came with ever new numbers would fill the
/// memory of a watch that lasts for weeks.
fn kind_of(name: &str) -> ThreadKind {
    match ThreadKind::of(name) {
        ThreadKind::Scheduler(number) if number > MOST_SCHEDULERS => ThreadKind::Other,
        kind => kind,
    }
}

fn role(kind: ThreadKind) -> ThreadRole {
    match kind {
        ThreadKind::Scheduler(_) => ThreadRole::Scheduler,
        ThreadKind::DirtyCpu(_) => ThreadRole::DirtyCpu,
        ThreadKind::DirtyIo(_) => ThreadRole::DirtyIo,
        ThreadKind::Async => ThreadRole::Async,
        ThreadKind::Aux => ThreadRole::Aux,
        ThreadKind::Poll => ThreadRole::Poll,
        ThreadKind::Other => ThreadRole::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_with_a_higher_number_than_a_vm_gives_is_no_scheduler() {
        let named = |tid, name: &str| ThreadCounts {
            tid,
            pid: 7,
            name: name.to_owned(),
            ran_ns: 5,
            ..ThreadCounts::default()
        };
        let names = ["erts_sched_1024", "erts_sched_1025", "4294967295_sche"];
        let threads: Vec<ThreadCounts> =
            (8..).zip(names).map(|(tid, name)| named(tid, name)).collect();
        let now: HashMap<u32, &ThreadCounts> =
            threads.iter().map(|thread| (thread.tid, thread)).collect();
        let mut known = Known { is_followed: true, ..Known::default() };
        let mut tick = NodeTick::default();
        known.gained(&now, (0, 0), &mut tick);
        assert_eq!(tick.schedulers.into_keys().collect::<Vec<_>>(), [1_024]);
        assert_eq!(tick.roles[&ThreadRole::Other].ran, 2);
    }

    #[test]
    fn processes_with_higher_ids_get_a_turn_too() {
        let pids: Vec<u32> = (0..300).collect();
        let turns = (0..3).flat_map(|interval| turn(&pids, interval).to_vec());
        assert_eq!(turns.collect::<Vec<_>>(), pids);
        assert_eq!(turn(&pids[..9], 7), &pids[..9]);
        assert!(turn(&[], 7).is_empty());
    }

    #[test]
    fn only_a_wait_as_long_as_a_silence_makes_others_seem_silent() {
        let unpassed_ns = |other_ns: u64, throttled_worst_ns: u64| {
            let (kind, before) = (ThreadKind::Scheduler(1), ThreadCounts::default());
            let thread = Thread { kind, before, call_ns: 0 };
            let now = ThreadCounts {
                ready_ns: 30_000_000,
                worst_ns: other_ns + throttled_worst_ns,
                throttled_worst_ns,
                ..ThreadCounts::default()
            };
            let mut tick = NodeTick { passes_seen: true, ..NodeTick::default() };
            thread.gain(&now, 0, &mut tick);
            assert_eq!(tick.schedulers[&1].ready_ns, 30_000_000);
            tick.schedulers[&1].unpassed_ns
        };
        // Time for which a quota throttled it does not count.
        for throttled_ns in [0, 20_000_000] {
            assert_eq!(unpassed_ns(LONG_SILENCE_NS - 1, throttled_ns), 0);
            assert_eq!(unpassed_ns(LONG_SILENCE_NS, throttled_ns), 30_000_000);
        }
    }
}
