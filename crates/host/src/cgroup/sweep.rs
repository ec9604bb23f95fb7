//! Removing what a killed run left behind.

use super::clear::clear;
use super::error::CgroupError;
use super::parent_group::ParentGroup;
use crate::owner::Owner;
use crate::roots::Roots;
use std::path::{Path, PathBuf};

/// What was swept.
#[derive(Debug, Default)]
pub struct Swept {
    /// Groups that are gone now.
    pub removed: Vec<PathBuf>,
    /// Groups that could not be removed.
    pub failed: Vec<CgroupError>,
}

/// Removes the groups of runs whose process is gone, with all that still runs in them.
///
/// A group of a process that lives, of another pid namespace, or of another program is left alone.
/// What a gone run has passed on to the children of the parent group stands in its journal.
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

/// [`sweep`] below every group below which this process may make one.
pub fn sweep_all(roots: &Roots) -> Swept {
    let mut all = Swept::default();
    let parents = [ParentGroup::find(roots), ParentGroup::find_memory(roots)];
    for parent in parents.into_iter().flatten() {
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

/// The groups of tailback below a group, and whose they are.
pub(super) fn groups_of_tailback(parent: &Path) -> Vec<(PathBuf, Owner)> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let owner = Owner::parse(entry.file_name().to_str()?)?;
        entry.file_type().is_ok_and(|kind| kind.is_dir()).then(|| (entry.path(), owner))
    });
    named.collect()
}
