//! What can be wrong with a control group, as data.

use serde::{Deserialize, Serialize};

/// A controller of control groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Controller {
    /// CPU time: quotas.
    #[default]
    Cpu,
    /// Memory: limits.
    Memory,
}

impl Controller {
    /// As the kernel names it.
    pub const fn name(self) -> &'static str {
        match self {
            Controller::Cpu => "cpu",
            Controller::Memory => "memory",
        }
    }
}

/// Why there is no group, or not the one that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GroupProblem {
    /// Nowhere the controller.
    NoController {
        /// The controller.
        #[serde(default)]
        controller: Controller,
        /// Where it was looked for last.
        path: String,
    },
    /// The memory controller is that of v1, whose groups have other limits.
    MemoryOfV1,
    /// The hierarchy with the controller is not mounted where this process could see its group.
    NotVisible {
        /// The controller.
        #[serde(default)]
        controller: Controller,
        /// The group, as the kernel names it.
        group: String,
    },
    /// The file system takes no writes.
    ReadOnly {
        /// The group or file.
        path: String,
    },
    /// This user may not write there.
    Denied {
        /// The group or file.
        path: String,
    },
    /// A group of v2 with processes cannot pass a controller on to children.
    Occupied {
        /// The controller.
        #[serde(default)]
        controller: Controller,
        /// The group.
        path: String,
        /// How many processes it holds.
        processes: u64,
    },
    /// A group of v2 that takes threads only.
    Threaded {
        /// The group.
        path: String,
    },
    /// The kernel has no quota for groups.
    NoBandwidth {
        /// The file that should be there.
        path: String,
    },
    /// A quota, a period, a burst or a limit that cannot be had.
    Value(BadQuota),
    /// A group cannot be removed.
    Busy {
        /// The group.
        path: String,
        /// Processes that are left in it, by pid; 0 stands for one of another pid namespace.
        left: Vec<i32>,
    },
    /// This very process is in a group that is to be removed.
    OwnProcess {
        /// The group.
        path: String,
        /// This process.
        pid: u32,
    },
    /// A change cannot be written into the journal, so it is not made.
    Journal {
        /// The journal's error.
        error: String,
    },
    /// A file could not be read or written, or is not what it should be.
    Io {
        /// The file.
        path: String,
        /// The kernel's error.
        error: String,
    },
}

/// Why a quota, a period, a burst or a limit cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BadQuota {
    /// The quota is below the kernel's minimum.
    QuotaTooSmall {
        /// The quota, in microseconds.
        quota_us: u64,
    },
    /// The period is out of the kernel's range.
    PeriodOutOfRange {
        /// The period, in microseconds.
        period_us: u64,
    },
    /// A group above has less.
    QuotaAboveParent {
        /// The quota, in microseconds.
        quota_us: u64,
        /// Its period, in microseconds.
        period_us: u64,
        /// The group above.
        above: String,
        /// Its quota, in microseconds.
        above_quota_us: u64,
        /// Its period, in microseconds.
        above_period_us: u64,
        /// Whether the kernel refuses it, as v1 does.
        refused: bool,
    },
    /// The burst is more than the quota.
    BurstAboveQuota {
        /// The burst, in microseconds.
        burst_us: u64,
        /// The quota, in microseconds.
        quota_us: u64,
    },
    /// The kernel knows no burst.
    NoBurst {
        /// The file that should be there.
        path: String,
    },
    /// A group above allows less memory.
    MemoryAbove {
        /// The file with its limit.
        path: String,
        /// Its limit, in bytes.
        limit_bytes: u64,
        /// What would be needed, in bytes.
        needed_bytes: u64,
    },
    /// The kernel takes the value for invalid or out of range.
    Refused {
        /// The file.
        path: String,
        /// What was written.
        value: String,
        /// The kernel's error.
        error: String,
    },
}

impl GroupProblem {
    /// Whether root or a delegated group would help.
    pub fn is_privilege(&self) -> bool {
        matches!(self, GroupProblem::Denied { .. } | GroupProblem::ReadOnly { .. })
    }

    /// Whether the values that were asked for are at fault.
    pub fn is_bad_value(&self) -> bool {
        matches!(self, GroupProblem::Value(_))
    }
}

impl From<BadQuota> for GroupProblem {
    fn from(value: BadQuota) -> Self {
        GroupProblem::Value(value)
    }
}
