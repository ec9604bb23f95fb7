//! A control group from the journal, held open. It must be in a hierarchy in which tailback makes
//! groups.

use crate::cgroup_tree::GroupTree;
use crate::group_controller::GroupController;
use crate::held;
use crate::hierarchy::Interface;
use crate::roots::Roots;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The file system magic numbers of the two interfaces.
const fn magic(interface: Interface) -> u64 {
    match interface {
        Interface::V1 => 0x0027_e0eb,
        Interface::V2 => 0x6367_7270,
    }
}

/// A group that is held open.
#[derive(Debug)]
pub(super) struct HeldGroup(OwnedFd);

/// Why the group could not be opened.
#[derive(Debug)]
pub(super) enum NoGroup {
    /// It is no group in which tailback makes groups.
    Foreign(String),
    /// It does not exist any more.
    Gone,
}

impl HeldGroup {
    /// Opens the group at `path`, if tailback makes groups of the controller there. `interface`
    /// restricts the search to v1 or v2; without it, either is fine.
    ///
    /// # Errors
    /// If it is no such group, or does not exist any more.
    pub(super) fn open(
        roots: &Roots,
        controller: &str,
        interface: Option<Interface>,
        path: &Path,
    ) -> Result<Self, NoGroup> {
        let foreign = |why: &str| NoGroup::Foreign(why.to_owned());
        let parts = held::parts(path).ok_or_else(|| foreign("not the path of a group"))?;
        let mounts = GroupTree::read(roots).mounts(roots, controller);
        let holding = |(kind, point): &(Interface, PathBuf)| {
            let point = held::parts(point)?;
            let is_it = interface.is_none_or(|interface| interface == *kind);
            (is_it && parts.starts_with(&point)).then_some((*kind, point.len()))
        };
        // If mounts are nested, the path leads to the innermost one.
        let (kind, depth) = mounts
            .iter()
            .filter_map(holding)
            .max_by_key(|(_, depth)| *depth)
            .ok_or_else(|| foreign("not in a mount where tailback makes groups"))?;
        let point: PathBuf =
            std::iter::once("/".as_ref()).chain(parts[..depth].iter().copied()).collect();
        let opened = held::folder(&point).and_then(|point| held::below(point, &parts[depth..]));
        let group = opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => NoGroup::Gone,
            _ => NoGroup::Foreign(error.to_string()),
        })?;
        match roots.is_fake() || held::magic_of(&group).is_ok_and(|found| found == magic(kind)) {
            true => Ok(HeldGroup(group)),
            false => Err(foreign("not on the file system of control groups")),
        }
    }

    /// Opens the v2 group that enables a controller for its children.
    ///
    /// # Errors
    /// As [`HeldGroup::open`].
    pub(super) fn open_v2(
        roots: &Roots,
        controller: GroupController,
        path: &Path,
    ) -> Result<Self, NoGroup> {
        Self::open(roots, controller.name(), Some(Interface::V2), path)
    }

    /// A path that leads to the open group, even if its name changes.
    pub(super) fn path(&self) -> PathBuf {
        held::path_of(&self.0)
    }
}
