//! A control group of the journal, held open: one below a mount in which tailback makes groups.

use crate::cgroup_tree::GroupTree;
use crate::held;
use crate::hierarchy::Interface;
use crate::roots::Roots;
use model::group::Controller;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The file systems of the two interfaces.
const fn magic(interface: Interface) -> u64 {
    match interface {
        Interface::V1 => 0x0027_e0eb,
        Interface::V2 => 0x6367_7270,
    }
}

/// A group that is held open.
#[derive(Debug)]
pub(super) struct HeldGroup(OwnedFd);

/// Why there is none.
#[derive(Debug)]
pub(super) enum NoGroup {
    /// It is none in which tailback makes groups.
    Foreign(String),
    /// It is gone.
    Gone,
}

impl HeldGroup {
    /// The group of this path, if it is one in which tailback makes groups of the controller by
    /// this interface, or by either.
    ///
    /// # Errors
    /// If it is none, or gone.
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
        // Of mounts on each other's way the innermost is what the path leads to.
        let (kind, depth) = mounts
            .iter()
            .filter_map(holding)
            .max_by_key(|(_, depth)| *depth)
            .ok_or_else(|| foreign("not a group of a mount in which tailback makes groups"))?;
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

    /// The group that passes a controller of v2 on to its children.
    ///
    /// # Errors
    /// As [`HeldGroup::open`].
    pub(super) fn open_v2(
        roots: &Roots,
        controller: Controller,
        path: &Path,
    ) -> Result<Self, NoGroup> {
        Self::open(roots, controller.name(), Some(Interface::V2), path)
    }

    /// A path that leads to it, whatever becomes of its name.
    pub(super) fn path(&self) -> PathBuf {
        held::path_of(&self.0)
    }
}
