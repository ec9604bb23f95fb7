//! The group below which this process may make a group with a quota or a limit.

use super::error::{self, CgroupError, shown};
use crate::cgroup_tree::{GroupTree, Lineage, unescape};
use crate::group_controller::GroupController;
use crate::hierarchy::Interface;
use crate::roots::{self, Roots};
use model::group::Controller;
use procfs_core::process::MountInfo;
use rustix::fs::{Access, access};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// A group below which groups of a controller can be made and processes moved into them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentGroup {
    /// The controllers that the groups need.
    pub(super) controllers: &'static [GroupController],
    pub(super) interface: Interface,
    /// The parent of new groups.
    pub(super) folder: PathBuf,
    /// The parent of their counterparts that count CPU time, if v1 counts it in another
    /// hierarchy.
    pub(super) usage: Option<PathBuf>,
    /// Those controllers that have to be enabled for the parent's children first.
    pub(super) enable: Vec<GroupController>,
    /// The parent and the visible groups above it: their quotas apply.
    pub(super) above: Vec<PathBuf>,
    pub(super) roots: Roots,
}

impl ParentGroup {
    /// Finds the nearest parent group of the cpu controller, from this process's own group
    /// upwards.
    ///
    /// Under v1 this is the process's own group in the hierarchy of the cpu controller. Under v2
    /// it is the first group that has the controller, is writable by this user, and has enabled
    /// the controller for its children or can enable it: it holds no processes, or is the root.
    /// In a hybrid system the hierarchy that has the controller decides. Nothing is changed yet.
    ///
    /// # Errors
    /// If there is no such group; the error says what would help.
    pub fn find(roots: &Roots) -> Result<Self, CgroupError> {
        let tree = GroupTree::read(roots);
        let lineage = lineage(&tree, roots, Controller::Cpu)?;
        match lineage.interface {
            Interface::V1 => Self::of_v1(roots, &tree, tidy(lineage.groups)),
            Interface::V2 => Self::of_v2(roots, Controller::Cpu, tidy(lineage.groups)),
        }
    }

    /// Finds the nearest parent group of the memory controller, which must be a v2 controller.
    ///
    /// # Errors
    /// If there is no such group; the error says what would help.
    pub fn find_memory(roots: &Roots) -> Result<Self, CgroupError> {
        let lineage = lineage(&GroupTree::read(roots), roots, Controller::Memory)?;
        match lineage.interface {
            Interface::V1 => Err(CgroupError::MemoryOfV1),
            Interface::V2 => Self::of_v2(roots, Controller::Memory, tidy(lineage.groups)),
        }
    }

    /// The directory below which groups are made.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// `v1` or `v2`: the interface of the hierarchy that has the controller.
    pub fn version(&self) -> &'static str {
        match self.interface {
            Interface::V1 => "v1",
            Interface::V2 => "v2",
        }
    }

    fn of_v1(roots: &Roots, tree: &GroupTree, groups: Vec<PathBuf>) -> Result<Self, CgroupError> {
        let controller = Controller::Cpu;
        let Some(folder) = groups.first().cloned() else {
            return Err(nowhere(roots, controller));
        };
        check_writable(roots, &folder)?;
        let quota = folder.join("cpu.cfs_quota_us");
        if !quota.exists() {
            return Err(CgroupError::NoBandwidth { path: shown(&quota) });
        }
        // Without this hierarchy, CPU time is not counted by group; quotas work nevertheless.
        let counting = tree.lineage(roots, "cpuacct").filter(|l| l.interface == Interface::V1);
        let usage = counting.and_then(|lineage| tidy(lineage.groups).into_iter().next());
        let usage = usage.filter(|dir| *dir != folder && check_writable(roots, dir).is_ok());
        Ok(ParentGroup {
            controllers: alone(controller),
            interface: Interface::V1,
            folder,
            usage,
            enable: Vec::new(),
            above: groups,
            roots: roots.clone(),
        })
    }

    fn of_v2(
        roots: &Roots,
        controller: Controller,
        groups: Vec<PathBuf>,
    ) -> Result<Self, CgroupError> {
        let mut hindrance = None;
        for (index, group) in groups.iter().enumerate() {
            let can = can_have_children(roots, controller.name(), group);
            match can.map_err(|hindrance| hindrance.into_error(controller, group)) {
                Ok(enable) => {
                    let enable = enable.then(|| GroupController::from(controller));
                    let enable = enable.into_iter().collect();
                    let above = &groups[index..];
                    return Ok(Self::in_v2(roots, alone(controller), enable, above));
                }
                // That a group lacks the controller is the least helpful reason, so another error
                // is preferred.
                Err(error @ CgroupError::NoController { .. }) => {
                    hindrance = hindrance.or(Some(error));
                }
                Err(error) => match hindrance {
                    None | Some(CgroupError::NoController { .. }) => hindrance = Some(error),
                    Some(_) => {}
                },
            }
        }
        Err(hindrance.unwrap_or_else(|| nowhere(roots, controller)))
    }

    /// The first of these v2 groups, as the parent of groups with these controllers. The others are
    /// the visible groups above it.
    pub(super) fn in_v2(
        roots: &Roots,
        controllers: &'static [GroupController],
        enable: Vec<GroupController>,
        groups: &[PathBuf],
    ) -> Self {
        ParentGroup {
            controllers,
            interface: Interface::V2,
            folder: groups.first().cloned().unwrap_or_default(),
            usage: None,
            enable,
            above: groups.to_vec(),
            roots: roots.clone(),
        }
    }
}

/// A list of one controller.
const fn alone(controller: Controller) -> &'static [GroupController] {
    match controller {
        Controller::Cpu => &[GroupController::Cpu],
        Controller::Memory => &[GroupController::Memory],
    }
}

/// The groups of this process under a controller, its own first.
pub(super) fn lineage(
    tree: &GroupTree,
    roots: &Roots,
    controller: Controller,
) -> Result<Lineage, CgroupError> {
    let name = controller.name();
    tree.lineage(roots, name).ok_or_else(|| match tree.own_path(name) {
        Some(group) => CgroupError::NotVisible { controller, group: group.to_owned() },
        None => nowhere(roots, controller),
    })
}

pub(super) fn nowhere(roots: &Roots, controller: Controller) -> CgroupError {
    CgroupError::NoController { controller, path: shown(&roots.proc.join("self/cgroup")) }
}

/// The paths without a slash at their end, for messages.
pub(super) fn tidy(groups: Vec<PathBuf>) -> Vec<PathBuf> {
    groups.iter().map(|group| group.components().collect()).collect()
}

/// Why the children of a v2 group cannot have a controller.
pub(super) enum Hindrance {
    /// The group does not have it.
    NoController,
    /// The group holds this many processes.
    Occupied(u64),
    /// Another reason, whatever the controller is.
    Other(CgroupError),
}

impl Hindrance {
    /// The error for this controller and group.
    pub(super) fn into_error(self, controller: Controller, group: &Path) -> CgroupError {
        let path = shown(group);
        match self {
            Hindrance::NoController => CgroupError::NoController { controller, path },
            Hindrance::Occupied(processes) => CgroupError::Occupied { controller, path, processes },
            Hindrance::Other(error) => error,
        }
    }
}

impl From<CgroupError> for Hindrance {
    fn from(error: CgroupError) -> Self {
        Hindrance::Other(error)
    }
}

/// Whether the controller with this name has yet to be enabled for the children of a v2 group; an
/// error if it cannot be.
pub(super) fn can_have_children(
    roots: &Roots,
    controller: &str,
    group: &Path,
) -> Result<bool, Hindrance> {
    if !lists(&group.join("cgroup.controllers"), controller) {
        return Err(Hindrance::NoController);
    }
    let kind = roots::read_text(&group.join("cgroup.type")).ok();
    // The root of the hierarchy has no such file.
    let root = kind.is_none();
    if kind.is_some_and(|kind| kind.trim() != "domain") {
        return Err(CgroupError::Threaded { path: shown(group) }.into());
    }
    check_writable(roots, group)?;
    if lists(&group.join("cgroup.subtree_control"), controller) {
        return Ok(false);
    }
    let processes = roots::read_text(&group.join("cgroup.procs")).unwrap_or_default();
    let processes = processes.lines().count();
    if processes > 0 && !root {
        return Err(Hindrance::Occupied(processes as u64));
    }
    may_write(&group.join("cgroup.subtree_control"), Access::WRITE_OK)?;
    Ok(true)
}

fn lists(path: &Path, controller: &str) -> bool {
    let is_it = |name: &str| name == controller;
    roots::read_text(path).is_ok_and(|text| text.split_whitespace().any(is_it))
}

/// Checks that groups can be made here and that processes can be moved into them.
///
/// The kernel requires write access to `cgroup.procs` of the common ancestor of the old and the
/// new group, which is this group.
fn check_writable(roots: &Roots, group: &Path) -> Result<(), CgroupError> {
    if mounted_read_only(roots, group) {
        return Err(CgroupError::ReadOnly { path: shown(group) });
    }
    may_write(group, Access::WRITE_OK | Access::EXEC_OK)?;
    may_write(&group.join("cgroup.procs"), Access::WRITE_OK)
}

fn may_write(path: &Path, how: Access) -> Result<(), CgroupError> {
    match access(path, how) {
        // A missing file, as in a fake or unusual tree, shows up when the file is needed.
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error::io(path, error.into())),
    }
}

/// Whether the innermost mount that contains a path is read-only.
fn mounted_read_only(roots: &Roots, path: &Path) -> bool {
    let mounts = roots.mounts();
    let holding = |line: &str| {
        let mount = MountInfo::from_line(line).ok()?;
        let point = roots.resolve(Path::new(&unescape(&mount.mount_point.to_string_lossy())));
        let read_only =
            mount.mount_options.contains_key("ro") || mount.super_options.contains_key("ro");
        path.starts_with(&point).then(|| (point.components().count(), read_only))
    };
    // If several mounts have the same mount point, the last one is on top.
    let innermost = mounts.lines().filter_map(holding).max_by_key(|&(depth, _)| depth);
    innermost.is_some_and(|(_, read_only)| read_only)
}
