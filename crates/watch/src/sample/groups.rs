//! The counters of groups that have a quota.

use crate::tick::{GroupTick, Tick};
use host::CpuGroups;
use host::cgroup::Usage;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Most groups that are read in an interval.
const MOST: usize = 512;

/// Intervals after which all groups are searched for a quota again.
const OLD: u64 = 5;

/// Reads counters, and remembers them.
pub struct Groups {
    groups: CpuGroups,
    /// The groups with a quota at the last search, sorted.
    names: Vec<String>,
    /// Groups that had no quota when they were looked at after the last search.
    unlimited: HashSet<String>,
    before: HashMap<String, Usage>,
    interval: u64,
}

impl Groups {
    /// For this hierarchy.
    pub fn new(groups: CpuGroups) -> Self {
        let (names, unlimited) = (Vec::new(), HashSet::new());
        Groups { groups, names, unlimited, before: HashMap::new(), interval: 0 }
    }

    /// Adds what the counters gained to a tick.
    pub fn add(&mut self, tick: &mut Tick) {
        if self.interval.is_multiple_of(OLD) {
            self.names = self.groups.with_quota();
            self.unlimited.clear();
        }
        self.interval += 1;
        let mut now = HashMap::new();
        for name in self.in_order(tick) {
            if now.len() == MOST {
                break;
            }
            let Some(limit) = self.groups.limit(&name) else {
                self.unlimited.insert(name);
                continue;
            };
            let usage = self.groups.usage(&name);
            if let Some(before) = self.before.get(&name) {
                let gained = usage.since(before);
                tick.groups.push(GroupTick { group: name.clone(), limit, gained });
            }
            now.insert(name, usage);
        }
        tick.groups.sort_by(|one, other| one.group.cmp(&other.group));
        self.before = now;
    }

    /// The groups that may have a quota. First come those of the processes in the tick: only there
    /// a quota can have held anybody, and a large host has more groups than are read. Some of
    /// them were made after the last search.
    fn in_order(&self, tick: &Tick) -> Vec<String> {
        let near: BTreeSet<&String> = tick.lineages.values().flatten().collect();
        let others = self.names.iter().filter(|name| !near.contains(name));
        let near = near.iter().copied().filter(|name| !self.unlimited.contains(*name));
        near.chain(others).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::Roots;
    use testing::{CGROUP2, Tree};

    #[test]
    fn the_groups_of_busy_processes_are_read_first_on_a_host_with_many() {
        let tree = Tree::new(&CGROUP2);
        let quota = |name: &str| {
            tree.put(&format!("sys/fs/cgroup/{name}/cpu.max"), "50000 100000\n");
            tree.put(&format!("sys/fs/cgroup/{name}/cpu.stat"), "nr_throttled 1\n");
        };
        (0..MOST + 100).for_each(|number| quota(&format!("a{number:04}")));
        quota("web/api");
        tree.put("sys/fs/cgroup/web/cpu.max", "max 100000\n");
        // Idle groups without a quota take no room.
        (0..MOST).for_each(|number| {
            tree.put(&format!("sys/fs/cgroup/idle{number:04}/cpu.max"), "max 100000\n");
        });
        let groups = CpuGroups::find(&Roots::at(tree.root())).unwrap();
        let idle = (0..MOST).map(|number| format!("/idle{number:04}"));
        let busy = ["/web/api", "/web"].map(str::to_owned);
        let lineages: HashMap<String, Vec<String>> = idle
            .map(|name| (name.clone(), vec![name]))
            .chain([(busy[0].clone(), busy.to_vec())])
            .collect();
        let mut groups = Groups::new(groups);
        let read = |groups: &mut Groups| {
            let mut tick = Tick { lineages: lineages.clone(), ..Tick::default() };
            groups.add(&mut tick);
            tick.groups
        };
        read(&mut groups);
        let second = read(&mut groups);
        assert_eq!(second.len(), MOST);
        assert!(second.iter().any(|one| one.group == "/web/api"), "{second:?}");
        assert!(second.is_sorted_by(|one, other| one.group < other.group));
        assert!(groups.unlimited.contains("/web") && groups.unlimited.len() == MOST + 1);
    }
}
