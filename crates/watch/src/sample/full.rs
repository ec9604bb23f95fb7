//! Memory groups that are at their limit, and who holds most of their memory. Also how long their
//! processes slept for pages that had been taken from them.

use crate::tick::{Full, Tick};
use host::roots::{Roots, read_start};
use host::{MemoryGroups, Resident, held_alone};
use os::terminal;
use probe::live::is_outside;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Most processes that are looked up in an interval.
const MOST: usize = 4;

/// Most processes of a group that are looked at.
const MOST_PROCESSES: usize = 256;

/// A process that was stalled for memory for less than this in an interval is not looked up,
/// since it is no finding.
const LEAST_NS: u64 = 20_000_000;

/// A look at a group that is older than this many intervals says nothing about the present.
const OLDEST: u64 = 5;

/// Most groups whose counts are remembered.
const MOST_GROUPS: usize = 1_024;

/// Most bytes that are read of a name.
const NAME: u64 = 64;

/// Looks at full groups, and remembers their counters.
pub struct FullGroups {
    roots: Roots,
    groups: MemoryGroups,
    before: HashMap<u32, Before>,
    /// How often the limit of each group had been reached at the last look, and the number of that
    /// interval.
    hits: HashMap<String, (u64, u64)>,
    /// Number of intervals so far.
    intervals: u64,
}

/// A process at the last look: its group, the group's count of pages that were read back after
/// they had been taken away, and how long it had slept for pages before that count was known.
struct Before {
    group: String,
    refaults: u64,
    fault_ns: u64,
}

/// What the threads of a process were stalled for.
#[derive(Default)]
struct Waited {
    all_ns: u64,
    /// Time in which they freed memory of a group.
    group_ns: u64,
    fault_ns: u64,
    faults: u64,
}

impl FullGroups {
    /// For this hierarchy.
    pub fn new(roots: &Roots, groups: MemoryGroups) -> Self {
        FullGroups {
            roots: roots.clone(),
            groups,
            before: HashMap::new(),
            hits: HashMap::new(),
            intervals: 0,
        }
    }

    /// Adds the full groups of those processes of a tick that were stalled for memory. Of several,
    /// it is the nearest one whose limit was reached: a pod may have the limit of its container,
    /// and hold a little more.
    pub fn add(&mut self, tick: &mut Tick) {
        self.intervals += 1;
        let mut before = std::mem::take(&mut self.before);
        // Several processes may be under one limit.
        let mut looked = HashMap::new();
        for (pid, waited) in most_waited(tick) {
            let Some(limits) = self.groups.limits(&self.roots, pid) else { continue };
            let mut is_hit =
                |group: &String| *looked.entry(group.clone()).or_insert_with(|| self.is_hit(group));
            let hits: Vec<Option<bool>> = limits.iter().map(|one| is_hit(&one.group)).collect();
            let is_hit = any_hit(&hits);
            // Without a limit, only a program that does so on purpose frees memory of a group.
            if is_hit == Some(false) && waited.group_ns >= LEAST_NS {
                tick.below_limits.insert(pid);
            }
            let mut with_hits = limits.iter().zip(&hits);
            let reached = with_hits.find(|(_, hit)| **hit == Some(true)).map(|(one, _)| one);
            let full = reached.or_else(|| limits.iter().find(|one| one.is_full));
            let Some((full, nearest)) = full.zip(limits.first()) else { continue };
            let then = before.remove(&pid).filter(|then| then.group == nearest.group);
            let full = Full {
                group: full.group.clone(),
                limit_bytes: full.limit_bytes,
                is_hit,
                largest: self.largest(&full.group),
                // Of the same group in each interval, whichever limit was reached.
                read_back_ns: self.read_back_ns(pid, &nearest.group, &waited, then),
            };
            tick.full.insert(pid, full);
        }
    }

    /// Whether the limit of a group was reached since the last look at it; None if there was none
    /// lately, and if the kernel does not count it.
    fn is_hit(&mut self, group: &str) -> Option<bool> {
        let hits = self.groups.hits(group)?;
        if self.hits.len() >= MOST_GROUPS {
            self.hits.clear();
        }
        let (before, at) = self.hits.insert(group.to_owned(), (hits, self.intervals))?;
        (self.intervals - at <= OLDEST).then_some(hits > before)
    }

    /// The part of a process's sleep for pages that was for pages taken away before. The first
    /// look does not know it yet, and the next look adds it.
    fn read_back_ns(&mut self, pid: u32, group: &str, now: &Waited, then: Option<Before>) -> u64 {
        let Some(refaults) = self.groups.refaults(group) else { return 0 };
        let (read_back_ns, fault_ns) = match then {
            None => (0, now.fault_ns),
            Some(then) => {
                let taken = refaults.saturating_sub(then.refaults);
                let share = (taken as f64 / now.faults.max(1) as f64).min(1.0);
                (((then.fault_ns.saturating_add(now.fault_ns)) as f64 * share) as u64, 0)
            }
        };
        self.before.insert(pid, Before { group: group.to_owned(), refaults, fault_ns });
        read_back_ns
    }

    fn largest(&self, group: &str) -> Option<(u32, String, u64)> {
        let pids = self.groups.processes(group, MOST_PROCESSES).into_iter();
        let sized = pids.filter_map(|pid| Some((pid, Resident::of(&self.roots, pid)?)));
        let (pids, sizes): (Vec<u32>, Vec<Resident>) = sized.unzip();
        let (bytes, pid) = held_alone(&sizes).into_iter().zip(pids).max()?;
        let name = read_start(&self.roots.proc.join(pid.to_string()).join("comm"), NAME).ok()?;
        let name = terminal::line(String::from_utf8_lossy(&name).trim_end_matches('\n'));
        Some((pid, name, bytes))
    }
}

/// Whether any of these limits was reached; None if that is not known of all.
fn any_hit(hits: &[Option<bool>]) -> Option<bool> {
    let is_hit = hits.contains(&Some(true));
    (is_hit || hits.iter().all(Option::is_some)).then_some(is_hit)
}

fn most_waited(tick: &Tick) -> Vec<(u32, Waited)> {
    let mut all: HashMap<u32, Waited> = HashMap::new();
    for thread in tick.threads.iter().filter(|thread| !is_outside(thread.pid)) {
        let of = all.entry(thread.pid).or_default();
        let ns = [thread.group_reclaim_ns, thread.memory_ns, thread.fault_ns];
        of.all_ns = ns.into_iter().fold(of.all_ns, u64::saturating_add);
        of.group_ns = of.group_ns.saturating_add(thread.group_reclaim_ns);
        of.fault_ns = of.fault_ns.saturating_add(thread.fault_ns);
        of.faults = of.faults.saturating_add(thread.faults);
    }
    let mut all: Vec<(u32, Waited)> =
        all.into_iter().filter(|(_, waited)| waited.all_ns >= LEAST_NS).collect();
    all.sort_unstable_by_key(|(pid, waited)| (Reverse(waited.all_ns), *pid));
    all.truncate(MOST);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, thread};
    use testing::{CGROUP2, Tree};

    #[test]
    fn who_holds_most_of_a_full_group_is_named_and_what_was_read_back_is_counted() {
        let files = [
            ("proc/7/cgroup", "0::/a/b\n"),
            ("proc/8/comm", "a) b\n"),
            ("proc/7/statm", "9 5 1 1 0 1 0\n"),
            ("proc/8/statm", "9 8 1 1 0 1 0\n"),
            ("sys/fs/cgroup/cgroup.controllers", "memory\n"),
            ("sys/fs/cgroup/a/memory.max", "4096\n"),
            ("sys/fs/cgroup/a/memory.current", "4096\n"),
            ("sys/fs/cgroup/a/memory.events", "max 3\n"),
            ("sys/fs/cgroup/a/memory.stat", "workingset_refault_file 5\n"),
            ("sys/fs/cgroup/a/cgroup.procs", "8\n"),
            ("sys/fs/cgroup/a/b/cgroup.procs", "7\n"),
        ];
        let tree = Tree::new(&[&CGROUP2[..], &files].concat());
        let roots = Roots::at(tree.root());
        let mut full = FullGroups::new(&roots, MemoryGroups::find(&roots).unwrap());
        let mut look = |ms: u64| {
            let mut one = thread(7, 1, 0);
            (one.fault_ns, one.faults) = (ms * MS, 100);
            let mut tick = Tick { threads: vec![one], ..Tick::default() };
            full.add(&mut tick);
            // It reads pages back, and frees none for its group.
            assert!(tick.below_limits.is_empty());
            tick.full.remove(&7)
        };
        assert_eq!(look(10), None, "too little to look");
        let page = rustix::param::page_size() as u64;
        // The other process may share one of its pages.
        let largest = Some((8, "a) b".to_owned(), 7 * page));
        let group = "/a".to_owned();
        let expected = Full { group, limit_bytes: 4096, is_hit: None, largest, read_back_ns: 0 };
        assert_eq!(look(30).as_ref(), Some(&expected));
        tree.put("sys/fs/cgroup/a/memory.stat", "workingset_refault_file 55\n");
        // Half of the 100 pages, for the sleep of both intervals.
        let second = look(50).unwrap();
        assert_eq!((second.read_back_ns, second.is_hit), (40 * MS, Some(false)));
        tree.put("sys/fs/cgroup/a/memory.events", "max 4\n");
        assert_eq!(look(30).map(|full| full.is_hit), Some(Some(true)));
        // Nor is it forgotten by an interval without a look.
        assert!(look(0).is_none());
        assert_eq!(look(30).map(|full| full.is_hit), Some(Some(false)));
        assert_eq!(look(50).map(|full| full.read_back_ns), Some(0), "pages never there before");
        tree.put("sys/fs/cgroup/a/memory.stat", "workingset_refault_file 955\n");
        assert_eq!(look(50).map(|full| full.read_back_ns), Some(50 * MS));
        // What was reached since a look of long ago may have been reached long ago.
        tree.put("sys/fs/cgroup/a/memory.events", "max 5\n");
        (0..OLDEST).for_each(|_| drop(look(0)));
        assert_eq!(look(30).map(|full| full.is_hit), Some(None));
    }

    /// In Kubernetes, a pod of one container has the limit of that container, and holds a little
    /// more.
    #[test]
    fn of_two_full_groups_the_one_whose_limit_was_reached_is_taken() {
        let files = [
            ("proc/7/cgroup", "0::/pod/one\n"),
            ("proc/8/cgroup", "0::/pod\n"),
            ("sys/fs/cgroup/cgroup.controllers", "memory\n"),
            ("sys/fs/cgroup/pod/memory.max", "4096\n"),
            ("sys/fs/cgroup/pod/memory.current", "4096\n"),
            ("sys/fs/cgroup/pod/memory.events.local", "max 3\n"),
            ("sys/fs/cgroup/pod/one/memory.max", "4096\n"),
            ("sys/fs/cgroup/pod/one/memory.current", "4000\n"),
            ("sys/fs/cgroup/pod/one/memory.events.local", "max 0\n"),
        ];
        let tree = Tree::new(&[&CGROUP2[..], &files].concat());
        let roots = Roots::at(tree.root());
        let mut full = FullGroups::new(&roots, MemoryGroups::find(&roots).unwrap());
        let mut look = || {
            let mut tick = Tick::default();
            for pid in [7, 8] {
                let mut one = thread(pid, 1, 0);
                one.group_reclaim_ns = 100 * MS;
                tick.threads.push(one);
            }
            full.add(&mut tick);
            let mut below: Vec<u32> = tick.below_limits.into_iter().collect();
            below.sort_unstable();
            let of = |pid| (tick.full[&pid].group.clone(), tick.full[&pid].is_hit);
            (of(7), of(8), below)
        };
        let of = |group: &str, is_hit| (group.to_owned(), is_hit);
        assert_eq!(look(), (of("/pod/one", None), of("/pod", None), vec![]));
        tree.put("sys/fs/cgroup/pod/memory.events.local", "max 9\n");
        let hit = of("/pod", Some(true));
        assert_eq!(look(), (hit.clone(), hit.clone(), vec![]));
        let not = (of("/pod/one", Some(false)), of("/pod", Some(false)), vec![7, 8]);
        assert_eq!(look(), not);
        // It has given up much of its memory since.
        tree.put("sys/fs/cgroup/pod/memory.events.local", "max 10\n");
        tree.put("sys/fs/cgroup/pod/memory.current", "900\n");
        assert_eq!(look(), (hit.clone(), hit, vec![]));
    }

    #[test]
    fn a_process_without_any_limit_is_below_all() {
        let files = [
            ("proc/7/cgroup", "0::/a\n"),
            ("sys/fs/cgroup/cgroup.controllers", "memory\n"),
            ("sys/fs/cgroup/a/memory.max", "max\n"),
        ];
        let tree = Tree::new(&[&CGROUP2[..], &files].concat());
        let roots = Roots::at(tree.root());
        let mut full = FullGroups::new(&roots, MemoryGroups::find(&roots).unwrap());
        let threads = [7, 9].map(|pid| {
            let mut one = thread(pid, 1, 0);
            one.group_reclaim_ns = 100 * MS;
            one
        });
        let mut tick = Tick { threads: threads.into(), ..Tick::default() };
        full.add(&mut tick);
        // The other one has ended.
        assert_eq!(tick.below_limits.into_iter().collect::<Vec<_>>(), [7]);
        assert!(tick.full.is_empty());
    }
}
