//! The counters of groups that have a quota.

use crate::tick::{GroupTick, Tick};
use host::CpuGroups;
use host::cgroup::Usage;
use std::collections::HashMap;

/// Most groups that are read in an interval.
const MOST: usize = 512;

/// Intervals after which all groups are searched for a quota again.
const OLD: u64 = 5;

/// Reads counters, and remembers them.
pub struct Groups {
    groups: CpuGroups,
    names: Vec<String>,
    before: HashMap<String, Usage>,
    interval: u64,
}

impl Groups {
    /// For this hierarchy.
    pub fn new(groups: CpuGroups) -> Self {
        Groups { groups, names: Vec::new(), before: HashMap::new(), interval: 0 }
    }

    /// Adds what the counters gained to a tick.
    pub fn add(&mut self, tick: &mut Tick) {
        if self.interval.is_multiple_of(OLD) {
            self.names = self.groups.with_quota().groups;
        }
        self.interval += 1;
        let mut names = self.names.clone();
        let near = tick.lineages.values().flatten();
        // Groups that were made since, if a process in them ran.
        names.extend(near.filter(|group| !self.names.contains(group)).cloned());
        names.sort();
        names.dedup();
        names.truncate(MOST);
        let mut now = HashMap::new();
        for name in names {
            let Some(limit) = self.groups.limit(&name) else { continue };
            let usage = self.groups.usage(&name);
            if let Some(before) = self.before.get(&name) {
                let gained = usage.since(before);
                tick.groups.push(GroupTick { group: name.clone(), limit, gained });
            }
            now.insert(name, usage);
        }
        self.before = now;
    }
}
