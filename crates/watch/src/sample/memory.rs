//! Groups that have a memory.high: how often they were above it, and which processes slept for
//! it.

use crate::reader::{Answer, MOST_PLACES, Readers, What};
use crate::scope;
use crate::tick::{MemoryTask, MemoryTick, Tick};
use host::cgroup::MemoryUsage;
use host::roots::{Roots, read_start};
use host::{MemoryGroups, Resident, held_alone};
use model::live::Scope;
use os::terminal;
use std::collections::HashMap;

/// Most groups that are read in an interval.
const MOST: usize = 256;

/// Most processes of a group that are looked at in an interval.
const MOST_PROCESSES: usize = MOST_PLACES;

/// Most bytes that are read of a name.
const NAME: u64 = 64;

/// Intervals after which all groups are searched for a limit again.
const OLD: u64 = 5;

/// The kernel function in which a task sleeps if its group is above the limit.
const SLEEPS_IN: &str = "mem_cgroup_handle_over_high";

/// Reads the groups, and remembers their counters.
pub struct Memory {
    roots: Roots,
    scope: Scope,
    groups: MemoryGroups,
    names: Vec<String>,
    before: HashMap<String, MemoryUsage>,
    interval: u64,
}

impl Memory {
    /// For this hierarchy.
    pub fn new(roots: &Roots, scope: &Scope, groups: MemoryGroups) -> Self {
        let (roots, scope) = (roots.clone(), scope.clone());
        Memory { roots, scope, groups, names: Vec::new(), before: HashMap::new(), interval: 0 }
    }

    /// Adds what the counters gained to a tick. Processes are looked at only in a group that was
    /// found above its limit, or is above it.
    pub fn add(&mut self, tick: &mut Tick, readers: &mut Readers) {
        if self.interval.is_multiple_of(OLD) {
            self.names = self.fullest(self.groups.with_high());
        }
        self.interval += 1;
        let mut now = HashMap::new();
        for group in &self.names {
            let Some(high_bytes) = self.groups.high(group) else { continue };
            let usage = self.groups.usage(group);
            if let Some(before) = self.before.get(group) {
                let gained = usage.since(before);
                let above = gained.high_events > Some(0) || usage.current_bytes > Some(high_bytes);
                let tasks = if above { self.tasks(group, readers) } else { Vec::new() };
                let group = group.clone();
                tick.memory.push(MemoryTick { group, high_bytes, gained, tasks });
            }
            now.insert(group.clone(), usage);
        }
        self.before = now;
    }

    /// The groups with the least room below their limit, if there are more than are read.
    fn fullest(&self, mut names: Vec<String>) -> Vec<String> {
        if names.len() > MOST {
            names.sort_by_cached_key(|group| {
                let held = self.groups.usage(group).current_bytes.unwrap_or(0);
                self.groups.high(group).unwrap_or(u64::MAX).saturating_sub(held)
            });
            names.truncate(MOST);
        }
        names
    }

    fn tasks(&self, group: &str, readers: &mut Readers) -> Vec<MemoryTask> {
        let pids = self.groups.processes(group, MOST_PROCESSES);
        let found = pids.into_iter().filter_map(|pid| self.task(pid, group));
        let (mut tasks, sizes): (Vec<MemoryTask>, Vec<Resident>) = found.unzip();
        let alone = held_alone(&sizes);
        tasks.iter_mut().zip(alone).for_each(|(task, bytes)| task.bytes = bytes);
        let Some(first) = tasks.first().map(|task| task.pid) else { return tasks };
        let all = tasks.iter().map(|task| task.pid).collect();
        let what = What::SleepIn(SLEEPS_IN.to_owned(), all);
        if let Some(Answer::Each(sleep)) = readers.ask(&self.roots, first, what) {
            tasks.iter_mut().zip(sleep).for_each(|(task, sleeps)| task.sleeps = sleeps);
        }
        tasks
    }

    fn task(&self, pid: u32, group: &str) -> Option<(MemoryTask, Resident)> {
        let folder = self.roots.proc.join(pid.to_string());
        let name = read_start(&folder.join("comm"), NAME).ok()?;
        let name = terminal::line(String::from_utf8_lossy(&name).trim_end_matches('\n'));
        let size = Resident::of(&self.roots, pid)?;
        let in_scope = scope::holds(&self.scope, pid, &name, Some(group));
        Some((MemoryTask { pid, name, bytes: size.bytes, sleeps: false, in_scope }, size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::{CGROUP2, Tree};

    fn machine() -> (Tree, Roots) {
        let files = [
            ("proc/7/comm", "a) b\n"),
            ("proc/7/statm", "9 5 1 1 0 1 0\n"),
            ("proc/7/task/7/wchan", "ep_poll"),
            ("proc/7/task/9/wchan", "__mem_cgroup_handle_over_high"),
            ("sys/fs/cgroup/cgroup.controllers", "memory\n"),
            ("sys/fs/cgroup/a/memory.high", "4096\n"),
            ("sys/fs/cgroup/a/memory.current", "5000\n"),
            ("sys/fs/cgroup/a/memory.events", "high 3\n"),
            ("sys/fs/cgroup/a/cgroup.procs", "7\n"),
        ];
        let tree = Tree::new(&[&CGROUP2[..], &files].concat());
        let roots = Roots::at(tree.root());
        (tree, roots)
    }

    #[test]
    fn a_group_above_its_limit_is_read_with_those_who_sleep_for_it() {
        let (tree, roots) = machine();
        let groups = MemoryGroups::find(&roots).unwrap();
        let mut memory = Memory::new(&roots, &Scope::default(), groups);
        let mut tick = Tick::default();
        memory.add(&mut tick, &mut Readers::Here);
        assert!(tick.memory.is_empty(), "what was so far is not ours to tell");
        tree.put("sys/fs/cgroup/a/memory.events", "high 9\n");
        memory.add(&mut tick, &mut Readers::Here);
        let [one] = &tick.memory[..] else { panic!("{tick:?}") };
        assert_eq!((one.high_bytes, one.gained.high_events), (4096, Some(6)));
        let page = rustix::param::page_size() as u64;
        let [task] = &one.tasks[..] else { panic!("{one:?}") };
        assert_eq!((task.name.as_str(), task.bytes, task.sleeps), ("a) b", 5 * page, true));
    }

    #[test]
    fn the_fullest_groups_are_read_on_a_host_with_many() {
        let (tree, roots) = machine();
        for number in 0..MOST {
            let group = format!("sys/fs/cgroup/0-{number:03}");
            tree.put(&format!("{group}/memory.high"), "4096000\n");
            tree.put(&format!("{group}/memory.current"), format!("{number}\n"));
        }
        let groups = MemoryGroups::find(&roots).unwrap();
        let mut memory = Memory::new(&roots, &Scope::default(), groups);
        memory.add(&mut Tick::default(), &mut Readers::Here);
        let mut tick = Tick::default();
        memory.add(&mut tick, &mut Readers::Here);
        assert_eq!(tick.memory.len(), MOST);
        let has = |group: &str| tick.memory.iter().any(|one| one.group == group);
        assert!(has("/a") && !has("/0-000"), "{:?}", tick.memory);
    }
}
