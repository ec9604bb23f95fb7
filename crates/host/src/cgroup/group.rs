//! One group with a quota, from its making to its end.

use super::bandwidth::Bandwidth;
use super::clear::lift_quota;
use super::error::{self, BadQuota, CgroupError, shown};
use super::made_group::{self, MadeGroup};
use super::parent_group::ParentGroup;
use super::usage::Usage;
use crate::hierarchy::Interface;
use std::fs;
use std::path::{Path, PathBuf};

/// The name of a group below one of ours.
const BELOW: &str = "below";

/// A group with a quota. Where it is dropped it is removed, with all that runs in it.
#[derive(Debug)]
pub struct BandwidthGroup(MadeGroup);

impl BandwidthGroup {
    /// Makes an empty group without a quota, named `tailback-PID-STARTTIME-N` after this process.
    ///
    /// Under v2 the parent gives its children the cpu controller first, where it does not yet.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn create(parent_group: &ParentGroup) -> Result<Self, CgroupError> {
        MadeGroup::create(parent_group).map(BandwidthGroup)
    }

    /// Sets quota, period and burst; what is in force meanwhile is no quota.
    ///
    /// # Errors
    /// If a value is out of range, above what the groups above leave, or unknown to this kernel.
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
        // An old burst above the new quota would be refused, so it goes first.
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
                // The old quota in the new period may be more than a group above allows.
                write(&quota, "-1")?;
                write(&self.0.folder.join("cpu.cfs_period_us"), &period_us.to_string())?;
                write(&quota, &quota_us.to_string())
            }
            Interface::V2 => {
                write(&self.0.folder.join("cpu.max"), &format!("{quota_us} {period_us}"))
            }
        }
    }

    /// Takes the quota away, so that what is killed in the group can end at once.
    pub fn lift(&self) {
        lift_quota(&self.0.folder);
    }

    /// The group's directory, where the quota is.
    pub fn path(&self) -> &Path {
        &self.0.folder
    }

    /// The directories that a process has to join by its pid in `cgroup.procs`: one, or under v1
    /// with a hierarchy of its own for CPU time two.
    pub fn join_paths(&self) -> Vec<&Path> {
        self.0.folders().collect()
    }

    /// Makes a group below this one, without a quota of its own; it goes with this one. Returns the
    /// directories that a process has to join to be in it.
    ///
    /// Under v2 this one can hold no processes any more.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn below(&self) -> Result<Vec<PathBuf>, CgroupError> {
        if self.0.parent.interface == Interface::V2 {
            write(&self.0.folder.join("cgroup.subtree_control"), "+cpu")?;
        }
        let below = self.0.folder.join(BELOW);
        fs::create_dir(&below).map_err(|e| error::io(&below, e))?;
        // CPU time of groups below counts in the group itself.
        Ok(std::iter::once(below).chain(self.0.usage.clone()).collect())
    }

    /// Moves a process with all its threads into the group.
    ///
    /// # Errors
    /// If it is gone or may not be moved.
    pub fn add(&self, pid: u32) -> Result<(), CgroupError> {
        for group in self.join_paths() {
            write(&group.join("cgroup.procs"), &pid.to_string())?;
        }
        Ok(())
    }

    /// What the group has used so far.
    pub fn usage(&self) -> Usage {
        let MadeGroup { parent, folder, usage, .. } = &self.0;
        Usage::read(parent.interface, folder, Some(usage.as_ref().unwrap_or(folder)))
    }

    /// Kills what runs in the group and removes it.
    ///
    /// # Errors
    /// If it is still busy after some seconds, or if this very process is in it.
    pub fn remove(mut self) -> Result<(), CgroupError> {
        self.0.end()
    }
}

/// Writes a setting of a quota, whose file is there where the kernel has quotas.
fn write(path: &Path, value: &str) -> Result<(), CgroupError> {
    if !path.exists() && path.parent().is_some_and(Path::exists) {
        return Err(CgroupError::NoBandwidth { path: shown(path) });
    }
    made_group::write(path, value)
}
