//! The control groups of this process, and the limits that apply to it.

use crate::cgroup::Limit;
use crate::cgroup_tree::{GroupTree, Lineage};
use crate::hierarchy::Interface;
use crate::roots::{self, Roots};
use crate::text;
use model::machine::CgroupFacts;
use std::path::{Path, PathBuf};

/// Memory limits from this value on mean no limit: v1 writes the largest number of whole pages.
const NO_LIMIT: u64 = 1 << 62;

/// The version of control groups, this process's group and its limits; None without control groups.
///
/// A limit is the tightest over the group and its ancestors. In a container those above the
/// container's own group cannot be seen, so the true limit may be tighter.
pub fn cgroup_facts(roots: &Roots) -> Option<CgroupFacts> {
    let tree = GroupTree::read(roots);
    Some(CgroupFacts {
        version: tree.version()?.to_owned(),
        path: tree.own_path("cpu").and_then(text::tidy),
        cpu_limit: tree.lineage(roots, "cpu").and_then(|lineage| cpu_limit(&lineage)),
        memory_limit_bytes: tree.lineage(roots, "memory").and_then(|l| memory_limit(&l)),
    })
}

/// Memory that the limits still allow to this process, in bytes; None without a limit.
///
/// Page cache that the kernel would reclaim first does not count as used.
pub(crate) fn memory_headroom(roots: &Roots) -> Option<u64> {
    let lineage = GroupTree::read(roots).lineage(roots, "memory")?;
    let files = MemoryFiles::named_by(lineage.interface);
    let own = lineage.groups.first()?;
    let from_above = files.limit_from_above(own).map(|limit| files.headroom(own, limit));
    let left = |group: &PathBuf| Some(files.headroom(group, files.limit(group)?));
    lineage.groups.iter().filter_map(left).chain(from_above).min()
}

fn cpu_limit(lineage: &Lineage) -> Option<f64> {
    let limits = lineage.groups.iter().filter_map(|group| Limit::read(group, lineage.interface));
    limits.map(|limit| limit.cpus()).min_by(f64::total_cmp)
}

fn memory_limit(lineage: &Lineage) -> Option<u64> {
    let files = MemoryFiles::named_by(lineage.interface);
    let from_above = files.limit_from_above(lineage.groups.first()?);
    lineage.groups.iter().filter_map(|group| files.limit(group)).chain(from_above).min()
}

/// The names of an interface's memory files.
struct MemoryFiles {
    limit: &'static str,
    usage: &'static str,
    inactive_file: &'static str,
    /// Key in `memory.stat` of the tightest limit of all ancestors, visible or not.
    limit_from_above: Option<&'static str>,
}

impl MemoryFiles {
    fn named_by(interface: Interface) -> Self {
        match interface {
            Interface::V1 => MemoryFiles {
                limit: "memory.limit_in_bytes",
                usage: "memory.usage_in_bytes",
                inactive_file: "total_inactive_file",
                limit_from_above: Some("hierarchical_memory_limit"),
            },
            Interface::V2 => MemoryFiles {
                limit: "memory.max",
                usage: "memory.current",
                inactive_file: "inactive_file",
                limit_from_above: None,
            },
        }
    }

    fn limit(&self, group: &Path) -> Option<u64> {
        text::number_in(&group.join(self.limit)).filter(|&bytes| bytes < NO_LIMIT)
    }

    fn limit_from_above(&self, group: &Path) -> Option<u64> {
        stat(group, self.limit_from_above?).filter(|&bytes| bytes < NO_LIMIT)
    }

    /// The memory that a limit still allows to a group.
    fn headroom(&self, group: &Path, limit: u64) -> u64 {
        let used = text::number_in(&group.join(self.usage)).unwrap_or(0);
        let cache = stat(group, self.inactive_file).unwrap_or(0);
        limit.saturating_sub(used.saturating_sub(cache))
    }
}

fn stat(group: &Path, key: &str) -> Option<u64> {
    text::counter(&roots::read_text(&group.join("memory.stat")).ok()?, key)
}

#[cfg(test)]
mod tests;
