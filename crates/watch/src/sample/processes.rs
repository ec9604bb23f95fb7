//! Names, groups and jobs of processes, read so that no process can block the reader.
//!
//! So `stat` is not read. On Linux 6.18, its reader sleeps for a lock of a process that is in the
//! middle of an exec, and that process may wait seconds for a CPU.

use super::status::{self, Status};
use crate::scope;
use crate::tick::{Job, Process, Tick};
use crate::why::{lineage_of, part};
use host::CpuGroups;
use host::roots::{Roots, read_start, read_text};
use model::live::Scope;
use probe::live::{ThreadCounts, is_outside};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Most processes that are looked up in an interval. For the others, only what the programs in
/// the kernel know is used.
const MOST: usize = 1_024;

/// Most processes that are remembered, and most threads.
const MOST_KNOWN: usize = 16_384;

/// Most groups whose lineages are remembered. The names in a lineage may take some thousand bytes.
const MOST_LINEAGES: usize = 4_096;

/// Most threads whose own group is looked up in an interval.
const MOST_THREADS: usize = 24;

/// Intervals after which a process is looked up again: it may have changed its group. If it is
/// counted with another name, or began at another time, it is looked up at once.
const OLD: u64 = 5;

/// Intervals after which a process that was not looked up again is forgotten, and a thread that no
/// quota has throttled again.
const FORGOTTEN: u64 = 3 * OLD;

/// The shortest competition that is looked into, in nanoseconds.
const LEAST_NS: u64 = 1_000_000;

/// Most bytes that are read of a file with one value.
const VALUE: u64 = 1_024;

/// Looks processes up, and remembers them.
pub struct Processes {
    roots: Roots,
    scope: Scope,
    groups: Option<CpuGroups>,
    known: HashMap<u32, Known>,
    /// The groups of throttled threads, by thread and its start.
    threads: HashMap<(u32, u64), KnownThread>,
    lineages: HashMap<String, KnownLineage>,
    weights: HashMap<String, u64>,
    /// Whether the kernel shares the CPUs between sessions (autogroup).
    has_sessions: bool,
    /// How many CPUs are online.
    cpus: usize,
    interval: u64,
}

#[derive(Debug, Clone)]
struct Known {
    process: Process,
    looked: u64,
    /// When its first thread began, and the name with which it was counted. None if that thread
    /// did not run.
    counted: Option<(u64, String)>,
}

impl Known {
    /// Whether it may be the process with this first thread, and not one with the same number.
    fn may_be(&self, first: Option<&ThreadCounts>) -> bool {
        let both = self.counted.as_ref().zip(first);
        both.is_none_or(|((start, _), first)| *start == first.start)
    }

    /// Whether it still has its name: it changes if the process executes another program.
    fn is_named_as(&self, first: Option<&ThreadCounts>) -> bool {
        let name = self.counted.as_ref().map_or(&self.process.name, |(_, name)| name);
        first.is_none_or(|first| first.name == *name)
    }
}

/// The groups that bind a group.
#[derive(Debug)]
struct KnownLineage {
    groups: Vec<String>,
    looked: u64,
}

/// A thread that a quota throttled.
#[derive(Debug)]
struct KnownThread {
    /// None in the root group, and if the thread had ended when it was first looked up.
    group: Option<String>,
    looked: u64,
    /// When a quota last throttled it.
    used: u64,
}

impl Processes {
    /// For this machine, and the programs to watch on it.
    pub fn new(roots: &Roots, scope: &Scope, groups: Option<CpuGroups>) -> Self {
        Processes {
            roots: roots.clone(),
            scope: scope.clone(),
            groups,
            known: HashMap::new(),
            threads: HashMap::new(),
            lineages: HashMap::new(),
            weights: HashMap::new(),
            has_sessions: has_sessions(roots),
            cpus: 0,
            interval: 0,
        }
    }

    /// Names the processes of a tick, those that matter most first.
    pub fn name(&mut self, tick: &mut Tick) {
        self.interval += 1;
        self.cpus = tick.machine.cpus as usize;
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
        }
        if self.threads.len() > MOST_KNOWN {
            self.threads.clear();
        }
        if self.lineages.len() > MOST_LINEAGES {
            self.lineages.clear();
        }
        if self.interval.is_multiple_of(OLD) {
            self.forget();
        }
        let firsts = first_threads(&tick.threads);
        for pid in wanted(tick) {
            let outer_session = tick.outer_sessions.get(&pid).copied();
            let first = firsts.get(&pid).copied();
            if let Some(process) = self.look(pid, outer_session, first) {
                tick.processes.insert(pid, process);
            }
        }
        let groups = tick.processes.values().filter_map(|process| process.group.clone());
        for group in groups.collect::<BTreeSet<_>>() {
            let lineage = self.lineage(&group);
            tick.lineages.insert(group, lineage);
        }
        self.group_threads(tick);
        self.weigh(tick);
    }

    /// Adds the groups of throttled threads that are in another group than their process. The
    /// level of the quota that throttled a thread counts from the thread's own group.
    fn group_threads(&mut self, tick: &mut Tick) {
        let is_wanted = |thread: &&ThreadCounts| {
            thread.tid != thread.pid && throttled_ns(thread) > 0 && !is_outside(thread.pid)
        };
        let mut wanted: Vec<&ThreadCounts> = tick.threads.iter().filter(is_wanted).collect();
        // Unknown threads come first, then those that were looked up longest ago. So after some
        // intervals all are known, and none stays old.
        wanted.sort_by_cached_key(|thread| {
            let known = self.threads.get(&(thread.tid, thread.start));
            (known.map(|known| known.looked), Reverse(throttled_ns(thread)), thread.tid)
        });
        let mut room = MOST_THREADS;
        let mut found = Vec::new();
        for thread in wanted {
            let Some(process) = tick.processes.get(&thread.pid) else { continue };
            let group = self.group_of_thread(thread, &mut room);
            if let Some(group) = group.filter(|group| process.group.as_ref() != Some(group)) {
                found.push((thread.tid, group));
            }
        }
        for (tid, group) in found {
            let lineage = self.lineage(&group);
            tick.lineages.insert(group.clone(), lineage);
            tick.thread_groups.insert(tid, group);
        }
    }

    /// The group of a thread. `room` is the number of threads that may still be looked up.
    fn group_of_thread(&mut self, thread: &ThreadCounts, room: &mut usize) -> Option<String> {
        let id = (thread.tid, thread.start);
        let known = self.threads.get_mut(&id);
        let is_fresh = known.as_ref().is_some_and(|known| self.interval - known.looked < OLD);
        let before = known.and_then(|known| {
            known.used = self.interval;
            known.group.clone()
        });
        if is_fresh || *room == 0 {
            return before;
        }
        *room -= 1;
        let groups = self.groups.as_ref()?;
        let group = groups
            .of_thread(&self.roots, thread.pid, thread.tid)
            .filter(|group| group != "/" || groups.top_is_bound())
            .or(before);
        let now = self.interval;
        self.threads.insert(id, KnownThread { group: group.clone(), looked: now, used: now });
        group
    }

    /// Drops what was not asked for lately.
    fn forget(&mut self) {
        self.known.retain(|_, known| self.interval - known.looked < FORGOTTEN);
        self.known.shrink_to_fit();
        self.threads.retain(|_, known| self.interval - known.used < FORGOTTEN);
        self.threads.shrink_to_fit();
        self.lineages.retain(|_, known| self.interval - known.looked < FORGOTTEN);
        self.lineages.shrink_to_fit();
    }

    /// Adds the weights of groups that compete for CPUs.
    fn weigh(&mut self, tick: &mut Tick) {
        let Some(groups) = &self.groups else { return };
        if self.interval.is_multiple_of(OLD) {
            self.weights.clear();
        }
        let pairs = tick.pairs.iter().map(|pair| (pair.victim, pair.culprit, pair.ns));
        // The holder and the program that it holds up may differ in weight too.
        let chains = tick.chains.iter().map(|one| (one.key.holder, one.key.sleeper, one.ns));
        let long = pairs.chain(chains).filter(|(_, _, ns)| *ns >= LEAST_NS);
        let competitors = long.map(|(one, other, _)| {
            let group = |pid| tick.processes.get(&pid)?.group.as_deref();
            let of = |pid| lineage_of(&tick.lineages, group(pid));
            part(of(one), of(other))
        });
        let wanted: BTreeSet<&str> =
            competitors.flat_map(|(one, other)| [one, other]).flatten().collect();
        for group in wanted.into_iter().take(MOST) {
            let known = self.weights.get(group).copied();
            if let Some(weight) = known.or_else(|| groups.weight(group)) {
                self.weights.insert(group.to_owned(), weight);
                tick.weights.insert(group.to_owned(), weight);
            }
        }
    }

    /// The nice value of a process's session, if the kernel shares the CPUs between sessions.
    fn session_nice(&self, pid: u32) -> Option<i32> {
        if !self.has_sessions {
            return None;
        }
        let file = self.roots.proc.join(pid.to_string()).join("autogroup");
        let bytes = read_start(&file, VALUE).ok()?;
        String::from_utf8_lossy(&bytes).trim_end().rsplit_once("nice ")?.1.parse().ok()
    }

    /// `outer_session` is its session, if /proc does not know that session. `first` is its first
    /// thread, if that ran.
    fn look(
        &mut self,
        pid: u32,
        outer_session: Option<u32>,
        first: Option<&ThreadCounts>,
    ) -> Option<Process> {
        let before = self.known.get(&pid).filter(|known| known.may_be(first));
        let is_fresh =
            |known: &&Known| self.interval - known.looked < OLD && known.is_named_as(first);
        if let Some(known) = before.filter(is_fresh) {
            return Some(known.process.clone());
        }
        let before = before.cloned();
        let (groups, roots) = (self.groups.as_ref(), &self.roots);
        // Read before the status, which tells whether its first thread had already begun to end.
        let mut group = groups.and_then(|groups| {
            groups.of_process(roots, pid).filter(|group| group != "/" || groups.top_is_bound())
        });
        let Some(mut status) = status::read(roots, pid) else {
            // It has ended meanwhile. What is known about it still applies to what it did.
            return before.map(|known| known.process);
        };
        if status.session == 0 {
            status.session = outer_session.unwrap_or(0);
        }
        // In version 1 of control groups, a thread that ends has left its group.
        let may_have_left = group.is_none() && status.first_ends;
        match &before {
            Some(known) if may_have_left => group.clone_from(&known.process.group),
            // Its session may tell more than this.
            None if may_have_left && status.ends() => return None,
            _ => {}
        }
        // In a container, everything is in the group that is its top.
        let of_job = group.as_deref().filter(|group| *group != "/");
        // Sessions are the groups of everything that is in no group.
        let bound = group.as_deref().map(|group| self.lineage(group)).unwrap_or_default();
        let is_free = group.is_none() || of_job.is_some() && bound.iter().all(|one| one == "/");
        let process = Process {
            in_scope: scope::holds(&self.scope, pid, &status.name, group.as_deref()),
            job: job(&status, of_job),
            nice: nice(pid),
            is_idle: os::policy::is_idle(pid),
            session_nice: is_free.then(|| self.session_nice(pid)).flatten(),
            confined: self.confined(pid, &status),
            name: status.name,
            group,
        };
        let counted = first.map(|first| (first.start, first.name.clone()));
        let counted = counted.or_else(|| before.and_then(|known| known.counted));
        let known = Known { process: process.clone(), looked: self.interval, counted };
        self.known.insert(pid, known);
        Some(process)
    }

    /// The CPUs that a process may use; None if these are all that are online.
    fn confined(&self, pid: u32, status: &Status) -> Option<Vec<u32>> {
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
        let own = match rustix::thread::sched_getaffinity(Some(pid)) {
            Ok(may) => numbers(&may),
            // This machine may have more CPUs than that call can name here.
            Err(rustix::io::Errno::INVAL) => self.listed(status)?,
            Err(_) => return None,
        };
        (!own.is_empty() && own.len() < self.cpus).then_some(own)
    }

    /// The CPUs that are online among those that a process may use by its status.
    fn listed(&self, status: &Status) -> Option<Vec<u32>> {
        let text = read_text(&self.roots.sys.join("devices/system/cpu/online")).ok()?;
        // The kernel may cut a long list. Then the line feed is missing.
        let online = os::cpulist::parse(text.strip_suffix('\n')?)?;
        let mut own = os::cpulist::parse(status.cpu_list.as_deref()?)?;
        own.retain(|cpu| online.binary_search(cpu).is_ok());
        Some(own)
    }

    /// The groups that bind a group, itself first. It may get the controller later, and with it a
    /// quota, so it is looked up again. Once it is gone, what is known of it stays: threads that
    /// ran in it may still be counted.
    fn lineage(&mut self, group: &str) -> Vec<String> {
        let Some(groups) = &self.groups else { return Vec::new() };
        let known = self.lineages.get(group);
        if let Some(known) = known.filter(|known| self.interval - known.looked < OLD) {
            return known.groups.clone();
        }
        let read = groups.lineage(group);
        let kept = known.filter(|_| !groups.is_there(group)).map(|known| known.groups.clone());
        let all = kept.unwrap_or(read);
        let known = KnownLineage { groups: all.clone(), looked: self.interval };
        self.lineages.insert(group.to_owned(), known);
        all
    }
}

/// The first thread of each process, among these. If a number was given to another process
/// meanwhile, the thread of the later one.
fn first_threads(threads: &[ThreadCounts]) -> HashMap<u32, &ThreadCounts> {
    let mut all: HashMap<u32, &ThreadCounts> = HashMap::new();
    for thread in threads.iter().filter(|thread| thread.tid == thread.pid) {
        let first = all.entry(thread.pid).or_insert(thread);
        if thread.start > first.start {
            *first = thread;
        }
    }
    all
}

/// How long quotas throttled a thread.
fn throttled_ns(thread: &ThreadCounts) -> u64 {
    thread.throttled_ns.iter().fold(0, |all: u64, ns| all.saturating_add(*ns))
}

/// Whether the kernel makes a group of each session and shares the CPUs between these groups.
fn has_sessions(roots: &Roots) -> bool {
    let text = read_start(&roots.proc.join("sys/kernel/sched_autogroup_enabled"), VALUE);
    text.is_ok_and(|text| text.trim_ascii() == b"1")
}

/// The nice value of a process; 0 if it has ended.
fn nice(pid: u32) -> i32 {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.and_then(|pid| rustix::process::getpriority_process(Some(pid)).ok()).unwrap_or(0)
}

/// The numbers of these CPUs. CPUs that are offline leave gaps.
fn numbers(cpus: &rustix::thread::CpuSet) -> Vec<u32> {
    let all = u32::try_from(rustix::thread::CpuSet::MAX_CPU).unwrap_or(u32::MAX);
    (0..all).filter(|cpu| cpus.is_set(*cpu as usize)).collect()
}

/// The processes in a tick, sorted by what they lost and used.
fn wanted(tick: &Tick) -> Vec<u32> {
    let mut weights: BTreeMap<u32, u64> = BTreeMap::new();
    let mut add = |pid: u32, ns: u64| {
        if pid != 0 && !is_outside(pid) {
            let weight = weights.entry(pid).or_default();
            *weight = weight.saturating_add(ns);
        }
    };
    for thread in &tick.threads {
        add(thread.pid, thread.ready_ns.saturating_add(thread.lock_ns).max(thread.ran_ns));
        add(thread.waker, thread.ready_ns);
    }
    for pair in &tick.pairs {
        add(pair.culprit, pair.ns);
        add(pair.victim, pair.ns);
    }
    for chain in &tick.chains {
        add(chain.key.sleeper, chain.ns);
        add(chain.key.holder, chain.ns);
    }
    for node in &tick.nodes {
        add(node.pid, u64::MAX / 2);
    }
    for reader in &tick.readers {
        // They are rare, and must never be left out.
        add(reader.reader, u64::MAX / 2);
        add(reader.target, u64::MAX / 2);
    }
    let mut all: Vec<(u64, u32)> = weights.into_iter().map(|(pid, ns)| (ns, pid)).collect();
    all.sort_by(|a, b| b.cmp(a));
    all.truncate(MOST);
    all.into_iter().map(|(_, pid)| pid).collect()
}

/// What a process belongs to: its group, unless that group is for everything in a login session.
fn job(status: &Status, group: Option<&str>) -> Job {
    match group.and_then(Job::of_group) {
        _ if status.is_of_kernel => Job::Kernel,
        Some(job) => job,
        None if status.session != 0 => Job::Session(status.session),
        None => Job::Unknown,
    }
}

/// Reads any text, for the fuzzer.
#[cfg(feature = "fuzz")]
pub fn fuzz(text: &str) {
    if let Some(status) = status::parse(text) {
        assert!(!status.name.chars().any(os::terminal::steers));
        let _ = job(&status, Some(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{second, thread};

    const SHELL: &str = "Name:\tsh\nState:\tS (sleeping)\nPPid:\t1\nNSsid:\t9\t3\nVmSize:\t9 kB\n";

    #[test]
    fn a_process_is_named_without_its_stat() {
        let tree = testing::Tree::new(&[("proc/7/status", SHELL)]);
        let mut processes = Processes::new(&Roots::at(tree.root()), &Scope::default(), None);
        let mut tick = second();
        tick.threads.push(thread(7, 10, 20));
        processes.name(&mut tick);
        let named = &tick.processes[&7];
        assert_eq!((named.name.as_str(), &named.job), ("sh", &Job::Session(9)));
    }

    #[test]
    fn a_machine_with_more_cpus_than_the_call_can_name_is_read_by_its_files() {
        let file = "sys/devices/system/cpu/online";
        let tree = testing::Tree::new(&[(file, "0-3,1500-2000\n")]);
        let processes = Processes::new(&Roots::at(tree.root()), &Scope::default(), None);
        let listed = |list: &str| {
            let status = status::parse(&format!("{SHELL}Cpus_allowed_list:\t{list}\n")).unwrap();
            processes.listed(&status)
        };
        // CPU 4 is offline.
        assert_eq!(listed("2-4,1999"), Some(vec![2, 3, 1999]));
        assert_eq!(listed("4"), Some(Vec::new()));
        assert_eq!(processes.listed(&status::parse(SHELL).unwrap()), None);
        // A long list: every eighth CPU is online.
        let every_eighth: Vec<String> = (0..1000).map(|core| (core * 8).to_string()).collect();
        tree.put(file, every_eighth.join(",") + "\n");
        assert_eq!(listed("7984-7999"), Some(vec![7984, 7992]));
        // The kernel cut the list.
        tree.put(file, "0-3,150");
        assert_eq!(listed("2-4"), None);
    }

    /// The status of a process that ends, with this many threads.
    fn zombie(threads: u32) -> String {
        format!("Name:\tsh\nState:\tZ\nPPid:\t1\nNSsid:\t9\nThreads:\t{threads}\n")
    }

    #[test]
    fn a_process_that_ends_stays_in_the_group_that_it_left() {
        let tree = testing::Tree::new(&[("proc/7/status", SHELL)]);
        let mut processes = Processes::new(&Roots::at(tree.root()), &Scope::default(), None);
        for threads in [1, 2] {
            tree.put("proc/7/status", zombie(threads));
            let process = Process { group: Some("/a".into()), ..Process::default() };
            processes.known.insert(7, Known { process, looked: 0, counted: None });
            processes.interval = OLD;
            assert_eq!(processes.look(7, None, None).unwrap().group.as_deref(), Some("/a"));
        }
    }

    #[test]
    fn a_process_that_is_first_met_as_it_ends_is_named_where_its_group_is_known() {
        let in_group = [("proc/7/cgroup", "0::/a\n"), ("sys/fs/cgroup/a/cpu.max", "max 100000\n")];
        let tree = testing::Tree::new(&[&testing::CGROUP2[..], &in_group].concat());
        let roots = Roots::at(tree.root());
        let mut processes = Processes::new(&roots, &Scope::default(), CpuGroups::find(&roots));
        tree.put("proc/7/status", zombie(1));
        assert_eq!(processes.look(7, None, None).unwrap().group.as_deref(), Some("/a"));
        // It may have left its group before it was first looked at.
        processes.known.clear();
        tree.put("proc/7/cgroup", "0::/\n");
        assert_eq!(processes.look(7, None, None), None);
        tree.put("proc/7/status", zombie(2));
        assert_eq!(processes.look(7, None, None).unwrap().group, None);
    }

    #[test]
    fn a_process_that_executes_another_program_is_looked_up_again_at_once() {
        let tree = testing::Tree::new(&[("proc/7/status", SHELL)]);
        let mut processes = Processes::new(&Roots::at(tree.root()), &Scope::default(), None);
        let mut name = |tree: &testing::Tree, status: &str, counted: &str| {
            tree.put("proc/7/status", SHELL.replace("sh", status));
            let mut tick = second();
            tick.threads.push(ThreadCounts { name: counted.to_owned(), ..thread(7, 10, 20) });
            processes.name(&mut tick);
            tick.processes[&7].name.clone()
        };
        assert_eq!(name(&tree, "sh", "sh"), "sh");
        assert_eq!(name(&tree, "other", "sh"), "sh", "nothing says that it was renamed");
        assert_eq!(name(&tree, "cc1", "cc1"), "cc1");
        // The name that was counted may be an older one.
        assert_eq!(name(&tree, "ld", "as"), "ld");
        assert_eq!(name(&tree, "other", "as"), "ld");
    }

    #[test]
    fn another_process_with_the_same_number_is_not_taken_for_the_first_one() {
        let tree = testing::Tree::new(&[("proc/7/status", SHELL)]);
        let mut processes = Processes::new(&Roots::at(tree.root()), &Scope::default(), None);
        let mut job = |starts: &[u64]| {
            let mut tick = second();
            let of = |start: &u64| ThreadCounts { start: *start, ..thread(7, 10, 20) };
            tick.threads = starts.iter().map(of).collect();
            processes.name(&mut tick);
            tick.processes.remove(&7).map(|process| process.job)
        };
        assert_eq!(job(&[1]), Some(Job::Session(9)));
        tree.put("proc/7/status", SHELL.replace("NSsid:\t9", "NSsid:\t5"));
        assert_eq!(job(&[1]), Some(Job::Session(9)));
        assert_eq!(job(&[2, 1]), Some(Job::Session(5)));
        // What is known of the earlier process does not apply to the later one.
        std::fs::remove_file(tree.path("proc/7/status")).unwrap();
        assert_eq!((job(&[2]), job(&[3])), (Some(Job::Session(5)), None));
    }

    #[test]
    fn the_groups_of_a_container_that_is_gone_stay_known_while_they_are_asked_for() {
        let tree = testing::Tree::new(&testing::CGROUP2);
        for group in ["pod", "pod/c"] {
            tree.put(&format!("sys/fs/cgroup/{group}/cpu.max"), "50000 100000\n");
        }
        let roots = Roots::at(tree.root());
        let mut processes = Processes::new(&roots, &Scope::default(), CpuGroups::find(&roots));
        let mut after = |intervals: u64| {
            processes.interval += intervals;
            processes.forget();
            processes.lineage("/pod/c")
        };
        assert_eq!(after(1), ["/pod/c", "/pod", "/"]);
        std::fs::remove_dir_all(tree.path("sys/fs/cgroup/pod/c")).unwrap();
        for _ in 0..10 {
            assert_eq!(after(OLD), ["/pod/c", "/pod", "/"]);
        }
        assert_eq!(after(FORGOTTEN), ["/pod", "/"]);
    }

    #[test]
    fn a_group_that_gets_the_controller_later_is_a_level_of_its_own() {
        let in_group = [("proc/7/cgroup", "0::/a/b\n"), ("proc/7/status", SHELL)];
        let above = [("sys/fs/cgroup/a/cpu.max", "max 100000\n"), ("sys/fs/cgroup/a/b/x", "")];
        let tree = testing::Tree::new(&[&testing::CGROUP2[..], &in_group, &above].concat());
        let roots = Roots::at(tree.root());
        let mut processes = Processes::new(&roots, &Scope::default(), CpuGroups::find(&roots));
        let mut lineage = || {
            let mut tick = second();
            tick.threads.push(thread(7, 10, 20));
            processes.name(&mut tick);
            tick.lineages["/a/b"].clone()
        };
        assert_eq!(lineage(), ["/a", "/"]);
        tree.put("sys/fs/cgroup/a/b/cpu.max", "20000 100000\n");
        let later = (0..OLD).map(|_| lineage()).last().unwrap();
        assert_eq!(later, ["/a/b", "/a", "/"]);
    }

    /// The groups of a virtual machine under libvirt.
    #[test]
    fn a_throttled_thread_in_a_group_of_its_own_is_looked_up_there() {
        let tree = testing::Tree::new(&testing::CGROUP2);
        tree.put("proc/7/status", SHELL);
        tree.put("proc/7/cgroup", "0::/vm/emulator\n");
        for group in ["vm", "vm/emulator", "vm/vcpu0"] {
            tree.put(&format!("sys/fs/cgroup/{group}/cpu.max"), "max 100000\n");
        }
        tree.put("proc/7/task/9/cgroup", "0::/vm/emulator\n");
        tree.put("proc/7/task/8/cgroup", "0::/vm/vcpu0\n");
        let roots = Roots::at(tree.root());
        let mut processes = Processes::new(&roots, &Scope::default(), CpuGroups::find(&roots));
        let mut look = |throttled: u64| {
            let mut tick = second();
            tick.threads = [7, 8, 9].map(|tid| ThreadCounts { tid, ..thread(7, 10, 20) }).into();
            tick.threads.iter_mut().for_each(|one| one.throttled_ns[0] = throttled);
            processes.name(&mut tick);
            tick
        };
        assert!(look(0).thread_groups.is_empty());
        let tick = look(5);
        assert_eq!(tick.processes[&7].group.as_deref(), Some("/vm/emulator"));
        assert_eq!(tick.thread_groups, HashMap::from([(8, "/vm/vcpu0".to_owned())]));
        assert_eq!(tick.lineages["/vm/vcpu0"], ["/vm/vcpu0", "/vm", "/"]);
        // Once it has ended, it stays where it was.
        std::fs::remove_file(tree.root().join("proc/7/task/8/cgroup")).unwrap();
        let later = (0..OLD).map(|_| look(5)).last().unwrap();
        assert_eq!(later.thread_groups.get(&8).map(String::as_str), Some("/vm/vcpu0"));
    }

    #[test]
    fn of_many_throttled_threads_none_is_forgotten_and_each_is_looked_up_again() {
        let tree = testing::Tree::new(&testing::CGROUP2);
        tree.put("proc/7/status", SHELL);
        tree.put("proc/7/cgroup", "0::/vm/emulator\n");
        for group in ["vm", "vm/emulator", "vm/vcpu0", "vm/vcpu1"] {
            tree.put(&format!("sys/fs/cgroup/{group}/cpu.max"), "max 100000\n");
        }
        // More than are looked up before the first of them are old. The last one loses least.
        let last = 208;
        for tid in 8..last {
            tree.put(&format!("proc/7/task/{tid}/cgroup"), "0::/vm/emulator\n");
        }
        tree.put(&format!("proc/7/task/{last}/cgroup"), "0::/vm/vcpu0\n");
        let roots = Roots::at(tree.root());
        let mut processes = Processes::new(&roots, &Scope::default(), CpuGroups::find(&roots));
        let mut look = || {
            let mut tick = second();
            tick.threads =
                (8..=last).map(|tid| ThreadCounts { tid, ..thread(7, 10, 20) }).collect();
            for (one, ns) in tick.threads.iter_mut().rev().zip(1_u64..) {
                one.throttled_ns[0] = ns;
            }
            processes.name(&mut tick);
            tick.thread_groups.remove(&last)
        };
        (0..10).for_each(|_| drop(look()));
        for _ in 0..30 {
            assert_eq!(look().as_deref(), Some("/vm/vcpu0"));
        }
        tree.put(&format!("proc/7/task/{last}/cgroup"), "0::/vm/vcpu1\n");
        let later = (0..15).map(|_| look()).last().flatten();
        assert_eq!(later.as_deref(), Some("/vm/vcpu1"));
    }

    #[test]
    fn a_login_is_no_service() {
        let read = status::parse(SHELL).unwrap();
        let own = |group| job(&read, Some(group));
        assert_eq!(own("/system.slice/a.service"), Job::Group("/system.slice/a.service".into()));
        assert_eq!(own("/user.slice/user-0.slice/session-3.scope"), Job::Session(9));
        assert_eq!(job(&read, None), Job::Session(9));
        let of_kernel = status::parse("Name:\tkthreadd\nPPid:\t0\nNSsid:\t0\n").unwrap();
        assert_eq!(job(&of_kernel, None), Job::Kernel);
    }
}
