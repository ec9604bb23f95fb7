//! The groups of the memory controller of all processes, with limits and counters. They are only
//! read, never changed. Reading them takes no lock of a process.

use crate::cgroup::MemoryUsage;
use crate::cgroup_tree::GroupTree;
use crate::hierarchy::{Hierarchy, Interface, group_in};
use crate::memory_files::MemoryFiles;
use crate::roots::{self, Roots};
use crate::text;
use model::group::Controller;
use std::path::{Path, PathBuf};

/// Children are searched of fewer groups than this, and of each group at most this many.
const MOST_BELOW: usize = 64;

/// The limits of a process's own group and of the groups above are read for at most this many.
const MOST_ABOVE: usize = 64;

/// A group that has a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryLimit {
    /// The group.
    pub group: String,
    /// Its limit, in bytes.
    pub limit_bytes: u64,
    /// Whether at most a twentieth of its limit is left.
    pub is_full: bool,
}

/// The hierarchy of the memory controller.
#[derive(Debug, Clone)]
pub struct MemoryGroups {
    hierarchy: Hierarchy,
}

impl MemoryGroups {
    /// Finds the hierarchy; None if none with the controller is mounted.
    pub fn find(roots: &Roots) -> Option<Self> {
        let name = Controller::Memory.name();
        let hierarchy = GroupTree::read(roots).hierarchy(roots, name)?;
        let listed =
            roots::read_text(&hierarchy.point.join("cgroup.controllers")).unwrap_or_default();
        let is_there = listed.split_whitespace().any(|one| one == name);
        let is_there = hierarchy.interface == Interface::V1 || is_there;
        is_there.then_some(MemoryGroups { hierarchy })
    }

    /// Whether groups can have a `memory.high`: v1 has no such limit.
    pub fn has_high(&self) -> bool {
        self.hierarchy.interface == Interface::V2
    }

    /// The groups whose limits bind a process, the nearest first: its own group and those above, as
    /// far as they have a limit. None if the group of the process is not known or not visible here,
    /// as from a container that sees all processes.
    pub fn limits(&self, roots: &Roots, pid: u32) -> Option<Vec<MemoryLimit>> {
        let text = roots::read_text(&roots.proc.join(pid.to_string()).join("cgroup")).ok()?;
        let own = group_in(&text, self.hierarchy.interface, Controller::Memory.name())?;
        let own = self.hierarchy.name(&own)?;
        self.folder(&own)?;
        let all = Path::new(&own).ancestors().filter_map(Path::to_str).take(MOST_ABOVE);
        Some(all.filter_map(|group| self.limit(group)).collect())
    }

    /// Number of evicted pages of a group and of the groups below that were read back so far.
    pub fn refaults(&self, group: &str) -> Option<u64> {
        let stat = roots::read_text(&self.folder(group)?.join("memory.stat")).ok()?;
        // v1 has a separate count that includes the groups below.
        let begin = match self.hierarchy.interface {
            Interface::V1 => "total_workingset_refault",
            Interface::V2 => "workingset_refault",
        };
        let counts = stat.lines().filter(|line| line.starts_with(begin));
        let numbers = counts.filter_map(|line| line.split_once(' ')?.1.trim().parse::<u64>().ok());
        numbers.reduce(u64::saturating_add)
    }

    /// How often a group reached its limit so far, without the groups below if the kernel tells
    /// them apart. v1 counts the limit of memory and swap first, which may be the same size.
    pub fn hits(&self, group: &str) -> Option<u64> {
        let folder = self.folder(group)?;
        let of_v1 = |file: &str| text::number_in(&folder.join(file));
        match self.hierarchy.interface {
            Interface::V1 => {
                let with_swap = of_v1("memory.memsw.failcnt").unwrap_or(0);
                Some(of_v1("memory.failcnt")?.saturating_add(with_swap))
            }
            Interface::V2 => MemoryUsage::hits(&folder),
        }
    }

    fn limit(&self, group: &str) -> Option<MemoryLimit> {
        let files = MemoryFiles::named_by(self.hierarchy.interface);
        let folder = self.folder(group)?;
        let limit = files.limit(&folder)?;
        let held = files.usage(&folder)?;
        let is_full = held >= limit - limit / 20;
        Some(MemoryLimit { group: group.to_owned(), limit_bytes: limit, is_full })
    }

    /// The groups that have a `memory.high`.
    pub fn with_high(&self) -> Vec<String> {
        self.hierarchy.walk(&|folder| high_of(folder).is_some())
    }

    /// The `memory.high` of a group, in bytes; None if it is not set.
    pub fn high(&self, group: &str) -> Option<u64> {
        high_of(&self.folder(group)?)
    }

    /// The values from the files of a group.
    pub fn usage(&self, group: &str) -> MemoryUsage {
        self.folder(group).map(|folder| MemoryUsage::read(&folder)).unwrap_or_default()
    }

    /// The processes in a group and in the groups below it, at most `most`.
    pub fn processes(&self, group: &str, most: usize) -> Vec<u32> {
        let mut waiting: Vec<PathBuf> = self.folder(group).into_iter().collect();
        let (mut pids, mut looked_at) = (Vec::new(), 0);
        while let Some(folder) = waiting.pop().filter(|_| pids.len() < most) {
            let text = roots::read_text(&folder.join("cgroup.procs")).unwrap_or_default();
            pids.extend(text.lines().filter_map(|line| line.trim().parse::<u32>().ok()));
            looked_at += 1;
            if looked_at < MOST_BELOW {
                let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
                let folders = entries.filter(|one| one.file_type().is_ok_and(|kind| kind.is_dir()));
                waiting.extend(folders.map(|one| one.path()).take(MOST_BELOW));
            }
        }
        pids.truncate(most);
        pids
    }

    fn folder(&self, group: &str) -> Option<PathBuf> {
        self.hierarchy.folder(group)
    }
}

/// `max` does not parse as a number and means no limit.
fn high_of(folder: &Path) -> Option<u64> {
    text::number_in(&folder.join("memory.high"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::{CGROUP2, Tree};

    fn tree(files: &[(&str, &str)]) -> (Tree, Roots) {
        let tree = Tree::new(&CGROUP2);
        files.iter().for_each(|(path, text)| tree.put(&format!("sys/fs/cgroup/{path}"), text));
        let roots = Roots::at(tree.root());
        (tree, roots)
    }

    #[test]
    fn groups_with_a_limit_are_found_with_all_processes_below() {
        let (_dir, roots) = tree(&[
            ("cgroup.controllers", "cpu memory\n"),
            ("a/memory.high", "4096\n"),
            ("a/memory.events", "high 3\n"),
            ("a/cgroup.procs", "7\n"),
            ("a/b/memory.high", "max\n"),
            ("a/b/cgroup.procs", "8\n9\n"),
            ("c/memory.high", "max\n"),
        ]);
        let groups = MemoryGroups::find(&roots).unwrap();
        assert_eq!(groups.with_high(), ["/a"]);
        assert_eq!((groups.high("/a"), groups.high("/a/b")), (Some(4096), None));
        assert_eq!(groups.usage("/a").high_events, Some(3));
        let mut pids = groups.processes("/a", 10);
        pids.sort_unstable();
        assert_eq!(pids, [7, 8, 9]);
        assert_eq!(groups.processes("/a", 2).len(), 2);
        assert!(groups.processes("/../../proc", 9).is_empty());
    }

    #[test]
    fn the_groups_whose_limits_bind_a_process_are_its_own_and_those_above() {
        let (dir, roots) = tree(&[
            ("cgroup.controllers", "memory\n"),
            ("a/memory.max", "100000\n"),
            ("a/memory.current", "95000\n"),
            ("a/b/memory.max", "max\n"),
            ("a/b/memory.current", "9000\n"),
        ]);
        dir.put("proc/7/cgroup", "0::/a/b\n");
        let groups = MemoryGroups::find(&roots).unwrap();
        let limit = |group: &str, limit_bytes, is_full| MemoryLimit {
            group: group.to_owned(),
            limit_bytes,
            is_full,
        };
        assert_eq!(groups.limits(&roots, 7), Some(vec![limit("/a", 100_000, true)]));
        dir.put("sys/fs/cgroup/a/memory.current", "94000\n");
        dir.put("sys/fs/cgroup/a/b/memory.max", "9000\n");
        let both = vec![limit("/a/b", 9_000, true), limit("/a", 100_000, false)];
        assert_eq!(groups.limits(&roots, 7), Some(both));
        assert_eq!(groups.limits(&roots, 8), None);
        // The group of a process outside, seen from a container with a limit of its own.
        dir.put("sys/fs/cgroup/memory.max", "100000\n");
        dir.put("sys/fs/cgroup/memory.current", "100000\n");
        dir.put("proc/9/cgroup", "0::/../other.scope\n");
        assert_eq!(groups.limits(&roots, 9), None);
        assert_eq!(groups.refaults("/a"), None);
        let stat = "anon 9\nworkingset_refault_anon 5\nworkingset_refault_file 7\nworkingset_x 1\n";
        dir.put("sys/fs/cgroup/a/memory.stat", stat);
        assert_eq!(groups.refaults("/a"), Some(12));
    }

    /// If both limits have the same size, v1 counts that of memory and swap alone.
    #[test]
    fn the_limit_of_memory_and_swap_counts_too() {
        let point = "30 1 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        let of_group = |file: &str| format!("sys/fs/cgroup/memory/a/{file}");
        let tree = Tree::new(&[
            ("proc/self/mountinfo", point),
            ("proc/self/cgroup", "5:memory:/\n"),
            (&of_group("memory.failcnt"), "3\n"),
        ]);
        let groups = MemoryGroups::find(&Roots::at(tree.root())).unwrap();
        assert_eq!(groups.hits("/a"), Some(3));
        tree.put(&of_group("memory.memsw.failcnt"), "4\n");
        assert_eq!(groups.hits("/a"), Some(7));
    }

    #[test]
    fn a_hierarchy_without_the_controller_is_none() {
        let (_dir, roots) = tree(&[("cgroup.controllers", "cpu\n")]);
        assert!(MemoryGroups::find(&roots).is_none());
    }
}
