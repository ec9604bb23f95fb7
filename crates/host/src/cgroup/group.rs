//! One group with a quota, from its making to its end.

use super::bandwidth::Bandwidth;
use super::clear::{clear, lift_quota};
use super::controller;
use super::error::{self, BadQuota, CgroupError, shown};
use super::left_group;
use super::parent_group::ParentGroup;
use super::usage::Usage;
use crate::cgroup_tree::Interface;
use crate::journal::{Noted, write_existing};
use rustix::io::Errno;
use std::fs;
use std::path::{Path, PathBuf};

/// The name of a group below one of ours.
const BELOW: &str = "below";

/// A group with a quota. Where it is dropped it is removed, with all that runs in it.
#[derive(Debug)]
pub struct BandwidthGroup {
    parent_group: ParentGroup,
    /// Where the quota is.
    cpu: PathBuf,
    /// Where CPU time is counted, if that is elsewhere.
    usage: Option<PathBuf>,
    /// The directories in the journal.
    noted: Vec<Noted>,
    removed: bool,
}

impl BandwidthGroup {
    /// Makes an empty group without a quota, named `tailback-PID-STARTTIME-N` after this process.
    ///
    /// Under v2 the parent gives its children the cpu controller first, where it does not yet.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn create(parent_group: &ParentGroup) -> Result<Self, CgroupError> {
        let (cpu, noted) = controller::make_group(parent_group)?;
        let name = cpu.file_name().unwrap_or_default();
        let usage = parent_group.usage.as_ref().map(|parent| parent.join(name));
        // From here on dropping it cleans up, whatever fails.
        let mut group = BandwidthGroup {
            parent_group: parent_group.clone(),
            cpu,
            usage: None,
            noted: noted.into_iter().collect(),
            removed: false,
        };
        if let Some(usage) = usage {
            group.noted.extend(left_group::make(&parent_group.roots, &usage)?);
            group.usage = Some(usage);
        }
        Ok(group)
    }

    /// Sets quota, period and burst; what is in force meanwhile is no quota.
    ///
    /// # Errors
    /// If a value is out of range, above what the groups above leave, or unknown to this kernel.
    pub fn set(&self, bandwidth: &Bandwidth) -> Result<(), CgroupError> {
        bandwidth.check()?;
        let (interface, above) = (self.parent_group.interface, &self.parent_group.above);
        bandwidth.check_below(above, interface)?;
        let burst_file = self.cpu.join(match interface {
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
        match self.parent_group.interface {
            Interface::V1 => {
                let quota = self.cpu.join("cpu.cfs_quota_us");
                // The old quota in the new period may be more than a group above allows.
                write(&quota, "-1")?;
                write(&self.cpu.join("cpu.cfs_period_us"), &period_us.to_string())?;
                write(&quota, &quota_us.to_string())
            }
            Interface::V2 => write(&self.cpu.join("cpu.max"), &format!("{quota_us} {period_us}")),
        }
    }

    /// Takes the quota away, so that what is killed in the group can end at once.
    pub fn lift(&self) {
        lift_quota(&self.cpu);
    }

    /// The group's directory, where the quota is.
    pub fn path(&self) -> &Path {
        &self.cpu
    }

    /// The directories that a process has to join by its pid in `cgroup.procs`: one, or under v1
    /// with a hierarchy of its own for CPU time two.
    pub fn join_paths(&self) -> Vec<&Path> {
        std::iter::once(&self.cpu).chain(&self.usage).map(PathBuf::as_path).collect()
    }

    /// Makes a group below this one, without a quota of its own; it goes with this one. Returns the
    /// directories that a process has to join to be in it.
    ///
    /// Under v2 this one can hold no processes any more.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn below(&self) -> Result<Vec<PathBuf>, CgroupError> {
        if self.parent_group.interface == Interface::V2 {
            write(&self.cpu.join("cgroup.subtree_control"), "+cpu")?;
        }
        let below = self.cpu.join(BELOW);
        fs::create_dir(&below).map_err(|e| error::io(&below, e))?;
        // CPU time of groups below counts in the group itself.
        Ok(std::iter::once(below).chain(self.usage.clone()).collect())
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
        let shared = &self.cpu;
        Usage::read(
            self.parent_group.interface,
            &self.cpu,
            Some(self.usage.as_ref().unwrap_or(shared)),
        )
    }

    /// Kills what runs in the group and removes it.
    ///
    /// # Errors
    /// If it is still busy after some seconds, or if this very process is in it.
    pub fn remove(mut self) -> Result<(), CgroupError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), CgroupError> {
        if self.removed {
            return Ok(());
        }
        self.removed = true;
        let mut done = Ok(());
        for group in self.join_paths() {
            done = done.and(clear(group));
        }
        // What could not be removed stays in the journal.
        if done.is_ok() {
            self.noted.drain(..).for_each(Noted::undone);
        }
        controller::take_back(&self.parent_group);
        done
    }
}

impl Drop for BandwidthGroup {
    fn drop(&mut self) {
        // There is no caller to return an error to; the next start sweeps.
        let _ = self.end();
    }
}

fn write(path: &Path, value: &str) -> Result<(), CgroupError> {
    write_existing(path, value).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::INVAL | Errno::RANGE) => BadQuota::Refused {
            path: shown(path),
            value: value.to_owned(),
            error: error.to_string(),
        }
        .into(),
        Some(Errno::NOENT) if path.parent().is_some_and(Path::exists) => {
            CgroupError::NoBandwidth { path: shown(path) }
        }
        _ => error::io(path, error),
    })
}
