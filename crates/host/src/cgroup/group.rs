//! One group with a quota, from creation to removal.

use super::bandwidth::Bandwidth;
use super::clear::lift_limits;
use super::error::{self, BadQuota, CgroupError, shown};
use super::made_group::{self, MadeGroup};
use super::parent_group::ParentGroup;
use super::usage::Usage;
use crate::hierarchy::Interface;
use std::fs;
use std::path::{Path, PathBuf};

/// The name of a group below a group of tailback's.
const BELOW: &str = "below";

/// A group with a quota. When it is dropped, it is removed with all processes in it.
#[derive(Debug)]
pub struct BandwidthGroup(MadeGroup);

impl BandwidthGroup {
    /// Makes an empty group without a quota, named `tailback-PID-STARTTIME-N` after this process.
    ///
    /// Under v2, the cpu controller is first enabled for the children of the parent, if
    /// necessary.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn create(parent_group: &ParentGroup) -> Result<Self, CgroupError> {
        MadeGroup::create(parent_group).map(BandwidthGroup)
    }

    /// Sets quota, period and burst. While they are set, no quota is in force.
    ///
    /// # Errors
    /// If a value is out of range, is above what the groups above allow, or is unknown to this
    /// kernel.
    pub fn set(&self, bandwidth: &Bandwidth) -> Result<(), CgroupError> {
        bandwidth.check()?;
        let (interface, above) = (self.0.parent.interface, &self.0.parent.above);
        bandwidth.check_below(above, interface)?;
        let burst_file = self.0.folder.join(match interface {
            Interface::V1 => "cpu.cfs_burst_us",
            Interface::V2 => "cpu.max.burst",
        });
        let burst_known = burst_file.exists();
        if bandwidth.burst_us > 0 && !burst_known {
            return Err(BadQuota::NoBurst { path: shown(&burst_file) }.into());
        }
        // An old burst above the new quota would be refused, so the burst is reset first.
        if burst_known {
            write(&burst_file, "0")?;
        }
        self.set_quota(bandwidth)?;
        if bandwidth.burst_us > 0 {
            write(&burst_file, &bandwidth.burst_us.to_string())?;
        }
        Ok(())
    }

    fn set_quota(&self, bandwidth: &Bandwidth) -> Result<(), CgroupError> {
        let Bandwidth { quota_us, period_us, .. } = *bandwidth;
        match self.0.parent.interface {
            Interface::V1 => {
                let quota = self.0.folder.join("cpu.cfs_quota_us");
                // The old quota with the new period may be more than a group above allows.
                write(&quota, "-1")?;
                write(&self.0.folder.join("cpu.cfs_period_us"), &period_us.to_string())?;
                write(&quota, &quota_us.to_string())
            }
            Interface::V2 => {
                write(&self.0.folder.join("cpu.max"), &format!("{quota_us} {period_us}"))
            }
        }
    }

    /// Removes the quota, so that killed processes in the group can end at once.
    pub fn lift(&self) {
        lift_limits(&self.0.folder);
    }

    /// The group's directory, which has the files of the quota.
    pub fn path(&self) -> &Path {
        &self.0.folder
    }

    /// The directories that a process has to join with its pid in `cgroup.procs`. One directory;
    /// two under v1 if CPU time has a hierarchy of its own.
    pub fn join_paths(&self) -> Vec<&Path> {
        self.0.folders().collect()
    }

    /// Makes a group below this one, without a quota of its own; it is removed with this one.
    /// Returns the directories that a process has to join.
    ///
    /// Under v2, this group can then hold no processes itself.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn below(&self) -> Result<Vec<PathBuf>, CgroupError> {
        if self.0.parent.interface == Interface::V2 {
            write(&self.0.folder.join("cgroup.subtree_control"), "+cpu")?;
        }
        let below = self.0.folder.join(BELOW);
        fs::create_dir(&below).map_err(|e| error::io(&below, e))?;
        // The CPU time of groups below is counted in the group itself.
        Ok(std::iter::once(below).chain(self.0.usage.clone()).collect())
    }

    /// Moves a process with all its threads into the group.
    ///
    /// # Errors
    /// If the process has ended or may not be moved.
    pub fn add(&self, pid: u32) -> Result<(), CgroupError> {
        for group in self.join_paths() {
            write(&group.join("cgroup.procs"), &pid.to_string())?;
        }
        Ok(())
    }

    /// The counters of the group so far.
    pub fn usage(&self) -> Usage {
        let MadeGroup { parent, folder, usage, .. } = &self.0;
        Usage::read(parent.interface, folder, Some(usage.as_ref().unwrap_or(folder)))
    }

    /// Kills all processes in the group and removes it.
    ///
    /// # Errors
    /// If it is still busy after some seconds, or if this process is in it.
    pub fn remove(mut self) -> Result<(), CgroupError> {
        self.0.end()
    }
}

/// Writes a quota setting; the file exists if the kernel has quotas.
fn write(path: &Path, value: &str) -> Result<(), CgroupError> {
    if !path.exists() && path.parent().is_some_and(Path::exists) {
        return Err(CgroupError::NoBandwidth { path: shown(path) });
    }
    made_group::write(path, value)
}
