//! The groups of the memory controller of v2 with their limits and counters, of whatever process:
//! read, never changed. Reading them takes no lock of a process.

use crate::cgroup::MemoryUsage;
use crate::cgroup_tree::{GroupTree, Interface};
use crate::cpu_groups::{below, walk};
use crate::roots::{self, Roots};
use crate::text;
use model::group::Controller;
use std::path::{Path, PathBuf};

/// Groups below one that are looked into for processes at most.
const MOST_BELOW: usize = 64;

/// The hierarchy of the memory controller.
#[derive(Debug, Clone)]
pub struct MemoryGroups {
    /// Where its root, or as much of it as this process may see, is mounted.
    point: PathBuf,
    /// The group that is mounted there, as the kernel names it.
    mounted: PathBuf,
}

impl MemoryGroups {
    /// Finds the hierarchy; none where none is mounted, or where the controller is that of v1.
    pub fn find(roots: &Roots) -> Option<Self> {
        let name = Controller::Memory.name();
        let (interface, point, mounted) = GroupTree::read(roots).mount(roots, name)?;
        let listed = roots::read_text(&point.join("cgroup.controllers")).unwrap_or_default();
        let is_there = listed.split_whitespace().any(|one| one == name);
        (interface == Interface::V2 && is_there).then_some(MemoryGroups { point, mounted })
    }

    /// The groups that have a `memory.high`, as the kernel names them.
    pub fn with_high(&self) -> Vec<String> {
        walk(&self.point, &self.mounted, &|folder| high_of(folder).is_some()).groups
    }

    /// The `memory.high` of a group, in bytes; none without one.
    pub fn high(&self, group: &str) -> Option<u64> {
        high_of(&self.folder(group)?)
    }

    /// What the files of a group say.
    pub fn usage(&self, group: &str) -> MemoryUsage {
        self.folder(group).map(|folder| MemoryUsage::read(&folder)).unwrap_or_default()
    }

    /// The processes in a group and in those below it, at most so many.
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
        below(&self.point, &self.mounted, group)
    }
}

/// `max`, which is no number, is no limit.
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
    fn a_hierarchy_without_the_controller_is_none() {
        let (_dir, roots) = tree(&[("cgroup.controllers", "cpu\n")]);
        assert!(MemoryGroups::find(&roots).is_none());
    }
}
