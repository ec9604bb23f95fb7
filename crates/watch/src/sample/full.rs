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

/// Most groups whose counts are remembered.
const MOST_GROUPS: usize = 1_024;

/// Most bytes that are read of a name.
const NAME: u64 = 64;

/// Looks at full groups, and remembers their counters.
pub struct FullGroups {
    roots: Roots,
    groups: MemoryGroups,
    before: HashMap<u32, Before>,
    /// How often the limit of each group had been reached at the last look.
    hits: HashMap<String, u64>,
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
    fault_ns: u64,
    faults: u64,
}

impl FullGroups {
    /// For this hierarchy.
    pub fn new(roots: &Roots, groups: MemoryGroups) -> Self {
        FullGroups { roots: roots.clone(), groups, before: HashMap::new(), hits: HashMap::new() }
    }

    /// Adds the full groups of those processes of a tick that were stalled for memory.
    pub fn add(&mut self, tick: &mut Tick) {
        let mut before = std::mem::take(&mut self.before);
        for (pid, waited) in most_waited(tick) {
            let Some((group, limit_bytes)) = self.groups.full(&self.roots, pid) else { continue };
            let then = before.remove(&pid).filter(|then| then.group == group);
            let is_hit = self.is_hit(&group);
            let read_back_ns = self.read_back_ns(pid, &group, &waited, then);
            let largest = self.largest(&group);
            tick.full.insert(pid, Full { group, limit_bytes, is_hit, largest, read_back_ns });
        }
    }

    /// Whether the limit of a group was reached since the last look at it; None at the first look,
    /// and if the kernel does not count it.
    fn is_hit(&mut self, group: &str) -> Option<bool> {
        let hits = self.groups.hits(group)?;
        if self.hits.len() >= MOST_GROUPS {
            self.hits.clear();
        }
        self.hits.insert(group.to_owned(), hits).map(|before| hits > before)
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

fn most_waited(tick: &Tick) -> Vec<(u32, Waited)> {
    let mut all: HashMap<u32, Waited> = HashMap::new();
    for thread in tick.threads.iter().filter(|thread| !is_outside(thread.pid)) {
        let of = all.entry(thread.pid).or_default();
        let ns = [thread.group_reclaim_ns, thread.memory_ns, thread.fault_ns];
        of.all_ns = ns.into_iter().fold(of.all_ns, u64::saturating_add);
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
    }
}
