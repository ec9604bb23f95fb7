//! The group below which this process may make a group with limits on reads and writes; cgroup v2
//! only.

use super::error::{CgroupError, shown};
use super::parent_group::{Hindrance, ParentGroup, can_have_children, lineage, nowhere, tidy};
use crate::cgroup_tree::GroupTree;
use crate::group_controller::GroupController::{self, Io, Memory};
use crate::hierarchy::Interface;
use crate::roots::Roots;
use model::group::Controller;
use std::path::Path;

/// Why there is no such group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoIo {
    /// Groups with the memory controller cannot be made.
    Group(CgroupError),
    /// A group does not have the io controller.
    NoController {
        /// The group.
        path: String,
    },
    /// A group with processes cannot pass the io controller on to its children.
    Occupied {
        /// The group.
        path: String,
        /// How many processes it holds.
        processes: u64,
    },
}

impl From<CgroupError> for NoIo {
    fn from(error: CgroupError) -> Self {
        NoIo::Group(error)
    }
}

impl NoIo {
    /// Whether a group lacks a controller: the least helpful reason.
    fn is_lacking(&self) -> bool {
        matches!(self, NoIo::NoController { .. } | NoIo::Group(CgroupError::NoController { .. }))
    }
}

impl ParentGroup {
    /// Finds the nearest parent group of the io and the memory controller, which must be v2
    /// controllers. With both, the kernel counts write-back for the group that wrote the data.
    ///
    /// # Errors
    /// If there is no such group.
    pub fn find_io(roots: &Roots) -> Result<Self, NoIo> {
        let lineage = lineage(&GroupTree::read(roots), roots, Controller::Memory)?;
        if lineage.interface == Interface::V1 {
            return Err(CgroupError::MemoryOfV1.into());
        }
        let groups = tidy(lineage.groups);
        let mut hindrance: Option<NoIo> = None;
        for (index, group) in groups.iter().enumerate() {
            match to_enable(roots, group) {
                Ok(enable) => {
                    return Ok(Self::in_v2(roots, &[Memory, Io], enable, &groups[index..]));
                }
                Err(error) if hindrance.is_none() => hindrance = Some(error),
                Err(error) if error.is_lacking() => {}
                Err(error) if hindrance.as_ref().is_some_and(NoIo::is_lacking) => {
                    hindrance = Some(error);
                }
                Err(_) => {}
            }
        }
        Err(hindrance.unwrap_or_else(|| nowhere(roots, Controller::Memory).into()))
    }
}

/// Which of both controllers have yet to be enabled for the children of a group; an error if one
/// of them cannot be.
fn to_enable(roots: &Roots, group: &Path) -> Result<Vec<GroupController>, NoIo> {
    let memory = can_have_children(roots, Memory.name(), group)
        .map_err(|hindrance| NoIo::Group(hindrance.into_error(Controller::Memory, group)))?;
    let path = shown(group);
    let io = can_have_children(roots, Io.name(), group).map_err(|hindrance| match hindrance {
        Hindrance::NoController => NoIo::NoController { path },
        Hindrance::Occupied(processes) => NoIo::Occupied { path, processes },
        Hindrance::Other(error) => NoIo::Group(error),
    })?;
    let both = [(memory, Memory), (io, Io)];
    Ok(both.into_iter().filter(|(enable, _)| *enable).map(|(_, one)| one).collect())
}
