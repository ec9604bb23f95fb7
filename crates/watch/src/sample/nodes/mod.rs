//! Erlang nodes: found by the names of their threads, and looked at from outside.
//!
//! Of a node `cmdline` is read once, when it is found, and `maps` where a sample lies in code that
//! is not known yet, once a minute at most: both are read under the lock of its memory map, for
//! some microseconds.

mod cmdline;
mod maps;
mod symbols;

use crate::node::{NodeFacts, NodeTick, SchedulerTick, Seen};
use beam::ThreadKind;
use host::roots::{Roots, read_start, read_text_up_to};
use maps::{Maps, Told, file_name};
use model::live::{Code, Place, Role};
use probe::live::{Counts, NODES, NodeSample, Sampled, Sleep, ThreadCounts, ThreadState};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use symbols::Symbols;

/// Processes that are looked through for nodes at the start, at most.
const MOST_PROCESSES: usize = 32_768;

/// Threads of a node that are known at most.
const MOST_THREADS: usize = 4_096;

/// Libraries whose functions are kept.
const MOST_LIBRARIES: usize = 64;

/// The most that is read of a command line and of a map, in bytes.
const CMDLINE: u64 = 64 << 10;
const MAPS: u64 = 4 << 20;

/// Intervals between two readings of a node's threads, and of its map.
const OLD: u64 = 60;

/// A scheduler that ran less than this in an interval holds nobody up by computing.
const BUSY_NS: u64 = 200_000_000;

/// Where this share of the samples is code of the VM or of libraries, calls are looked at.
const NATIVE_SHARE: f64 = 0.3;

/// Of so many intervals those with calls, while there is a reason to look at them.
const CALLS_EVERY: u64 = 4;
const CALLS_FOR: u64 = 2;

/// The nodes of this machine.
pub struct Nodes {
    roots: Roots,
    known: BTreeMap<u32, Known>,
    libraries: HashMap<PathBuf, Symbols>,
    interval: u64,
    last_ns: u64,
    is_suspicious: bool,
}

#[derive(Default)]
struct Known {
    facts: NodeFacts,
    threads: HashMap<u32, Thread>,
    maps: Maps,
    maps_read: Option<u64>,
    threads_read: u64,
    /// Whether it was looked at before: what came before that is not of any interval.
    is_followed: bool,
}

/// A thread of a node, as it was last seen.
struct Thread {
    kind: ThreadKind,
    before: ThreadCounts,
    /// Asleep in a call up to the last reading.
    call_ns: u64,
}

impl Nodes {
    /// Those that run now.
    pub fn find(roots: &Roots) -> Self {
        let mut nodes = Nodes {
            roots: roots.clone(),
            known: BTreeMap::new(),
            libraries: HashMap::new(),
            interval: 0,
            last_ns: 0,
            is_suspicious: false,
        };
        let entries = std::fs::read_dir(&roots.proc).into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        for pid in pids.take(MOST_PROCESSES) {
            let comm = nodes.roots.proc.join(pid.to_string()).join("comm");
            if read_start(&comm, 16).is_ok_and(|name| name.starts_with(b"beam.")) {
                nodes.meet(pid);
            }
        }
        nodes
    }

    /// Their processes.
    pub fn pids(&self) -> Vec<u32> {
        self.known.keys().copied().collect()
    }

    /// Whether their system calls are to be seen in the interval that begins.
    pub fn wants_calls(&self) -> bool {
        self.is_suspicious && self.interval % CALLS_EVERY < CALLS_FOR
    }

    /// What they gained.
    pub fn take(&mut self, counts: &Counts) -> Vec<NodeTick> {
        self.interval += 1;
        let new = counts.threads.iter().filter(|thread| {
            !self.known.contains_key(&thread.pid)
                && matches!(ThreadKind::of(&thread.name), ThreadKind::Scheduler(_))
        });
        let mut new: Vec<u32> = new.map(|thread| thread.pid).collect();
        new.dedup();
        new.into_iter().for_each(|pid| self.meet(pid));
        let gone = |pid: &u32| !self.roots.proc.join(pid.to_string()).join("comm").exists();
        let gone: Vec<u32> = self.known.keys().copied().filter(gone).collect();
        gone.iter().for_each(|pid| drop(self.known.remove(pid)));
        let over_ns = counts.at_ns.saturating_sub(self.last_ns);
        self.last_ns = counts.at_ns;
        let pids = self.pids();
        let all: Vec<NodeTick> =
            pids.iter().filter_map(|pid| self.tick(*pid, counts, over_ns)).collect();
        self.is_suspicious = all.iter().any(may_hide_native_code);
        all
    }

    /// Reads what a process is that may be a node.
    fn meet(&mut self, pid: u32) {
        let of_pid = self.roots.proc.join(pid.to_string());
        let facts = read_start(&of_pid.join("cmdline"), CMDLINE);
        let Ok(mut facts) = facts.map(|bytes| cmdline::facts(&bytes)) else { return };
        facts.threads = self.threads(pid);
        let is_node = facts.threads.contains_key(&Role::Scheduler);
        if is_node && self.known.len() < NODES {
            let threads_read = self.interval;
            self.known.insert(pid, Known { facts, threads_read, ..Known::default() });
        }
    }

    /// How many threads there are of each role.
    fn threads(&self, pid: u32) -> BTreeMap<Role, u32> {
        let task = self.roots.proc.join(pid.to_string()).join("task");
        let entries = std::fs::read_dir(&task).into_iter().flatten().flatten();
        let mut all = BTreeMap::new();
        for entry in entries.take(MOST_THREADS) {
            let Ok(name) = read_start(&entry.path().join("comm"), 16) else { continue };
            let role = role(ThreadKind::of(&String::from_utf8_lossy(&name)));
            *all.entry(role).or_default() += 1;
        }
        all
    }

    fn tick(&mut self, pid: u32, counts: &Counts, over_ns: u64) -> Option<NodeTick> {
        let interval = self.interval;
        if interval - self.known.get(&pid)?.threads_read >= OLD {
            let threads = self.threads(pid);
            let known = self.known.get_mut(&pid)?;
            (known.facts.threads, known.threads_read) = (threads, interval);
        }
        let known = self.known.get_mut(&pid)?;
        let mut tick = NodeTick {
            pid,
            facts: known.facts.clone(),
            calls_seen: counts.calls_seen,
            ..NodeTick::default()
        };
        let now = counts.threads.iter().filter(|thread| thread.pid == pid);
        let now: HashMap<u32, &ThreadCounts> = now.map(|thread| (thread.tid, thread)).collect();
        known.gained(&now, (counts.at_ns, over_ns), &mut tick);
        let samples = counts.samples.iter().filter(|sample| sample.pid == pid);
        self.samples(pid, &samples.collect::<Vec<_>>(), &mut tick);
        Some(tick)
    }

    fn samples(&mut self, pid: u32, samples: &[&NodeSample], tick: &mut NodeTick) {
        let of_pid = self.roots.proc.join(pid.to_string());
        let Some(known) = self.known.get_mut(&pid) else { return };
        let strange = samples.iter().any(|sample| !known.maps.knows(sample.ip));
        let old = known.maps_read.is_none_or(|at| self.interval - at >= OLD);
        if strange && old {
            known.maps_read = Some(self.interval);
            let text = read_text_up_to(&of_pid.join("maps"), MAPS);
            known.maps = text.map(|text| Maps::read(&text)).unwrap_or_default();
        }
        for sample in samples {
            let kind = known.threads.get(&sample.tid).map_or(ThreadKind::Other, |one| one.kind);
            let spins = sample.what == Sampled::Spinning;
            let place = match known.maps.tell(sample.ip, &sample.stack) {
                Told::Plain(place) if spins && place.code == Code::Vm => {
                    Place { code: Code::Waiting, ..place }
                }
                Told::Plain(place) => place,
                Told::Library(path, offset) => {
                    let held = matches!(sample.what, Sampled::Asleep | Sampled::Silent);
                    let symbol = held.then(|| symbol(&mut self.libraries, &of_pid, &path, offset));
                    Place {
                        code: Code::Library,
                        file: Some(file_name(&path)),
                        symbol: symbol.flatten(),
                    }
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
                kind: ThreadKind::of(&counts.name),
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
            one.idle_ns = gained.futex_ns.saturating_add(gained.poll_ns);
            one.calls = less(|of| of.native.calls);
            one.silent_ns = less(|of| of.native.silent_ns);
            one.silences = less(|of| of.native.silences);
            one.silent_worst_ns = now.native.silent_worst_ns;
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

/// Asleep in calls that are neither futex nor poll, the present one included.
fn call_ns(counts: &ThreadCounts, at_ns: u64) -> u64 {
    let ongoing = if sleeps_in_call(counts) { at_ns.saturating_sub(counts.since_ns) } else { 0 };
    counts.native.call_ns.saturating_add(ongoing)
}

fn sleeps_in_call(counts: &ThreadCounts) -> bool {
    let sleeps = matches!(counts.state, ThreadState::Asleep | ThreadState::Uninterruptible);
    sleeps && counts.native.sleep == Sleep::Call
}

/// Whether a scheduler computes for long in code that is not Erlang's.
fn may_hide_native_code(tick: &NodeTick) -> bool {
    let busy = tick.schedulers.values().any(|one| one.ran_ns >= BUSY_NS);
    let running = tick.samples.iter().filter(|(seen, _)| {
        seen.role == Role::Scheduler && !matches!(seen.what, Sampled::Asleep | Sampled::Spinning)
    });
    let (all, native) = running.fold((0, 0), |(all, native), (seen, count)| {
        let is_native = matches!(seen.place.code, Code::Vm | Code::Library);
        (all + count, native + if is_native { *count } else { 0 })
    });
    busy && all > 0 && native as f64 >= all as f64 * NATIVE_SHARE
}

fn symbol(
    libraries: &mut HashMap<PathBuf, Symbols>,
    of_pid: &std::path::Path,
    path: &std::path::Path,
    offset: u64,
) -> Option<String> {
    let file = of_pid.join("root").join(path.strip_prefix("/").unwrap_or(path));
    if !libraries.contains_key(&file) && libraries.len() >= MOST_LIBRARIES {
        return None;
    }
    let symbols = libraries.entry(file).or_insert_with_key(|file| Symbols::read(file));
    symbols.at(offset).map(str::to_owned)
}

fn role(kind: ThreadKind) -> Role {
    match kind {
        ThreadKind::Scheduler(_) => Role::Scheduler,
        ThreadKind::DirtyCpu(_) => Role::DirtyCpu,
        ThreadKind::DirtyIo(_) => Role::DirtyIo,
        ThreadKind::Async => Role::Async,
        ThreadKind::Aux => Role::Aux,
        ThreadKind::Poll => Role::Poll,
        ThreadKind::Other => Role::Other,
    }
}
