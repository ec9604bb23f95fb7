//! Removes the groups that a killed run left behind.

use super::clear::clear;
use super::error::CgroupError;
use super::parent_group::ParentGroup;
use crate::owner::Owner;
use crate::roots::Roots;
use std::path::{Path, PathBuf};

/// The result of a sweep.
#[derive(Debug, Default)]
pub struct Swept {
    /// Groups that were removed.
    pub removed: Vec<PathBuf>,
    /// Groups that could not be removed.
    pub failed: Vec<CgroupError>,
}

/// Removes the groups of runs whose process has ended, with all processes that still run in them.
///
/// Groups of a living process, of another pid namespace, or of another program are left alone.
/// The controllers that a dead run has enabled are in its journal.
pub fn sweep(parent_group: &ParentGroup) -> Swept {
    let mut swept = Swept::default();
    for parent in std::iter::once(&parent_group.folder).chain(&parent_group.usage) {
        for group in abandoned(parent_group, parent) {
            match clear(&group) {
                Ok(()) => swept.removed.push(group),
                Err(error) => swept.failed.push(error),
            }
        }
    }
    swept
}

/// Runs [`sweep`] for every parent group that this process may use.
pub fn sweep_all(roots: &Roots) -> Swept {
    let mut all = Swept::default();
    let parents = [
        ParentGroup::find(roots).ok(),
        ParentGroup::find_memory(roots).ok(),
        ParentGroup::find_io(roots).ok(),
    ];
    let mut parents: Vec<ParentGroup> = parents.into_iter().flatten().collect();
    // They are often one group. What cannot be removed there would be waited for each time.
    parents.dedup_by(|next, parent| next.folder == parent.folder);
    for parent in parents {
        let Swept { removed, failed } = sweep(&parent);
        all.removed.extend(removed);
        all.failed.extend(failed);
    }
    all
}

fn abandoned(parent_group: &ParentGroup, parent: &Path) -> Vec<PathBuf> {
    let of_tailback = groups_of_tailback(parent);
    let gone = of_tailback.into_iter().filter(|(_, owner)| owner.is_gone(&parent_group.roots));
    gone.map(|(path, _)| path).collect()
}

/// The groups of tailback below a group, with their owners.
pub(super) fn groups_of_tailback(parent: &Path) -> Vec<(PathBuf, Owner)> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let owner = Owner::parse(entry.file_name().to_str()?)?;
        entry.file_type().is_ok_and(|kind| kind.is_dir()).then(|| (entry.path(), owner))
    });
    named.collect()
}
