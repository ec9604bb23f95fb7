//! One group with memory limits, from creation to removal; cgroup v2 only.

use super::error::{BadQuota, CgroupError, shown};
use super::made_group::{MadeGroup, write};
use super::memory_usage::MemoryUsage;
use super::parent_group::ParentGroup;
use crate::text;
use std::path::Path;

/// The file with the swap limit.
const SWAP_MAX: &str = "memory.swap.max";

/// Memory limits, in bytes; None means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryLimits {
    /// `memory.high`: above it, the kernel slows the group down.
    pub high: Option<u64>,
    /// `memory.max`: above it, the kernel kills processes of the group.
    pub max: Option<u64>,
    /// Whether the group may swap.
    pub swap: bool,
}

/// A group with memory limits. When it is dropped, it is removed with all processes in it.
#[derive(Debug)]
pub struct MemoryGroup(MadeGroup);

impl MemoryGroup {
    /// Makes an empty group without limits, named `tailback-PID-STARTTIME-N` after this process,
    /// below the group that [`ParentGroup::find_memory`] has found.
    ///
    /// The memory controller is first enabled for the children of the parent, if necessary.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn create(parent_group: &ParentGroup) -> Result<Self, CgroupError> {
        MadeGroup::create(parent_group).map(MemoryGroup)
    }

    /// Sets the limits.
    ///
    /// # Errors
    /// If the kernel refuses a limit.
    pub fn set(&self, limits: &MemoryLimits) -> Result<(), CgroupError> {
        let word = |limit: Option<u64>| limit.map_or_else(|| "max".to_owned(), |b| b.to_string());
        // A kernel without swap has no such file, and no swap to forbid.
        if self.has_swap_limit() {
            write(&self.0.folder.join(SWAP_MAX), if limits.swap { "max" } else { "0" })?;
        }
        write(&self.0.folder.join("memory.high"), &word(limits.high))?;
        write(&self.0.folder.join("memory.max"), &word(limits.max))
    }

    /// Whether the kernel can limit the group's swap.
    pub fn has_swap_limit(&self) -> bool {
        self.0.folder.join(SWAP_MAX).exists()
    }

    /// The group's directory.
    pub fn path(&self) -> &Path {
        &self.0.folder
    }

    /// The name of the group in its parent.
    pub fn name(&self) -> String {
        let name = self.0.folder.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// The processes in the group.
    pub fn processes(&self) -> Vec<u32> {
        let text = crate::roots::read_text(&self.0.folder.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.trim().parse().ok()).collect()
    }

    /// How much memory it holds, and how its limits have acted so far.
    pub fn usage(&self) -> MemoryUsage {
        MemoryUsage::read(&self.0.folder)
    }

    /// Kills all processes in the group and removes it.
    ///
    /// # Errors
    /// If it is still busy after some seconds, or if this process is in it.
    pub fn remove(mut self) -> Result<(), CgroupError> {
        self.0.end()
    }
}

impl ParentGroup {
    /// Checks that this group and those above it allow `needed_bytes` of memory.
    ///
    /// # Errors
    /// If one of them allows less.
    pub fn check_memory(&self, needed_bytes: u64) -> Result<(), CgroupError> {
        let files = ["memory.high", "memory.max"];
        let all = self.above.iter().flat_map(|group| files.map(|file| group.join(file)));
        for path in all {
            // `max` does not parse as a number and means no limit; the root group has no such
            // file.
            match text::number_in(&path) {
                Some(limit_bytes) if limit_bytes < needed_bytes => {
                    let path = shown(&path);
                    return Err(BadQuota::MemoryAbove { path, limit_bytes, needed_bytes }.into());
                }
                _ => {}
            }
        }
        Ok(())
    }
}
