//! One group whose reads and writes can be limited, from creation to removal; cgroup v2 only.

use super::clear::lift_limits;
use super::error::CgroupError;
use super::made_group::MadeGroup;
use super::parent_group::ParentGroup;
use std::path::{Path, PathBuf};

/// The file with the limits, a line for each disk.
const IO_MAX: &str = "io.max";

/// A group whose reads and writes can be limited. When it is dropped, it is removed with all
/// processes in it.
#[derive(Debug)]
pub struct IoGroup(MadeGroup);

impl IoGroup {
    /// Makes an empty group without limits, named `tailback-PID-STARTTIME-N` after this process,
    /// below the group that [`ParentGroup::find_io`] has found.
    ///
    /// The controllers are first enabled for the children of the parent, if necessary. They stay
    /// enabled until [`take_back_all`](super::take_back_all).
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn create(parent_group: &ParentGroup) -> Result<Self, CgroupError> {
        MadeGroup::create(parent_group).map(IoGroup)
    }

    /// The group's directory.
    pub fn path(&self) -> &Path {
        &self.0.folder
    }

    /// The file that takes limits, such as `7:0 wbps=1048576`.
    pub fn limits(&self) -> PathBuf {
        self.0.folder.join(IO_MAX)
    }

    /// Removes the limits, so that writes that are held back go on and killed processes can end.
    pub fn lift(&self) {
        lift_limits(&self.0.folder);
    }

    /// Kills all processes in the group and removes it.
    ///
    /// # Errors
    /// If it is still busy after some seconds, or if this process is in it.
    pub fn remove(mut self) -> Result<(), CgroupError> {
        self.0.end()
    }
}
