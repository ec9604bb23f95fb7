//! The files of a group that have its memory and the limit of it, which v1 and v2 name differently.

use crate::hierarchy::Interface;
use crate::roots;
use crate::text;
use std::path::Path;

/// Memory limits from this value on mean no limit: v1 writes the largest number of whole pages.
const NO_LIMIT: u64 = 1 << 62;

/// The names of an interface's memory files.
pub(crate) struct MemoryFiles {
    limit: &'static str,
    usage: &'static str,
    inactive_file: &'static str,
    /// Key in `memory.stat` of the tightest limit of all ancestors, visible or not.
    limit_from_above: Option<&'static str>,
}

impl MemoryFiles {
    /// The names of this interface.
    pub fn named_by(interface: Interface) -> Self {
        match interface {
            Interface::V1 => MemoryFiles {
                limit: "memory.limit_in_bytes",
                usage: "memory.usage_in_bytes",
                inactive_file: "total_inactive_file",
                limit_from_above: Some("hierarchical_memory_limit"),
            },
            Interface::V2 => MemoryFiles {
                limit: "memory.max",
                usage: "memory.current",
                inactive_file: "inactive_file",
                limit_from_above: None,
            },
        }
    }

    /// The limit of a group, in bytes; None without a limit.
    pub fn limit(&self, group: &Path) -> Option<u64> {
        text::number_in(&group.join(self.limit)).filter(|&bytes| bytes < NO_LIMIT)
    }

    /// The tightest limit of a group and all groups above, in bytes, if this interface tells it.
    pub fn limit_from_above(&self, group: &Path) -> Option<u64> {
        stat(group, self.limit_from_above?).filter(|&bytes| bytes < NO_LIMIT)
    }

    /// The memory that a group holds, in bytes.
    pub fn usage(&self, group: &Path) -> Option<u64> {
        text::number_in(&group.join(self.usage))
    }

    /// The memory that a limit still allows to a group.
    pub fn headroom(&self, group: &Path, limit: u64) -> u64 {
        let used = self.usage(group).unwrap_or(0);
        let cache = stat(group, self.inactive_file).unwrap_or(0);
        limit.saturating_sub(used.saturating_sub(cache))
    }
}

fn stat(group: &Path, key: &str) -> Option<u64> {
    text::counter(&roots::read_text(&group.join("memory.stat")).ok()?, key)
}
