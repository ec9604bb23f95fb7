//! The control groups of this process, and the limits that apply to it.

use crate::cgroup::Limit;
use crate::cgroup_tree::{GroupTree, Lineage};
use crate::memory_files::MemoryFiles;
use crate::roots::Roots;
use crate::text;
use model::machine::CgroupFacts;
use std::path::PathBuf;

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

#[cfg(test)]
mod tests;
