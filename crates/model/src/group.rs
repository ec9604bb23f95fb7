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
    /// The name of the controller in the kernel.
    pub const fn name(self) -> &'static str {
        match self {
            Controller::Cpu => "cpu",
            Controller::Memory => "memory",
        }
    }
}

/// Why there is no group, or not the requested one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GroupProblem {
    /// The controller is nowhere.
    NoController {
        /// The controller.
        #[serde(default)]
        controller: Controller,
        /// The last place that was searched.
        path: String,
    },
    /// The memory controller belongs to v1, whose groups have other limits.
    MemoryOfV1,
    /// The hierarchy with the controller is not mounted where this process can see its own group.
    NotVisible {
        /// The controller.
        #[serde(default)]
        controller: Controller,
        /// The group, by its name in the kernel.
        group: String,
    },
    /// The file system is read-only.
    ReadOnly {
        /// The group or file.
        path: String,
    },
    /// This user may not write there.
    Denied {
        /// The group or file.
        path: String,
    },
    /// A v2 group with processes cannot pass a controller on to its children.
    Occupied {
        /// The controller.
        #[serde(default)]
        controller: Controller,
        /// The group.
        path: String,
        /// How many processes it holds.
        processes: u64,
    },
    /// A v2 group that accepts only threads.
    Threaded {
        /// The group.
        path: String,
    },
    /// The kernel has no quota for groups.
    NoBandwidth {
        /// The file that should be there.
        path: String,
    },
    /// A quota, a period, a burst or a limit that cannot be set.
    Value(BadQuota),
    /// A group cannot be removed.
    Busy {
        /// The group.
        path: String,
        /// Processes that are still in the group, by PID; 0 is a process of another PID
        /// namespace.
        left: Vec<i32>,
    },
    /// This process itself is in a group that is to be removed.
    OwnProcess {
        /// The group.
        path: String,
        /// This process.
        pid: u32,
    },
    /// A change cannot be written to the journal, so it is not made.
    Journal {
        /// The journal's error.
        error: String,
    },
    /// A file could not be read or written, or has unexpected content.
    Io {
        /// The file.
        path: String,
        /// The kernel's error.
        error: String,
    },
}

/// Why a quota, a period, a burst or a limit cannot be set.
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
    /// A group above has a lower quota.
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
        /// Whether the kernel refuses this quota, as v1 does.
        refused: bool,
    },
    /// The burst is more than the quota.
    BurstAboveQuota {
        /// The burst, in microseconds.
        burst_us: u64,
        /// The quota, in microseconds.
        quota_us: u64,
    },
    /// The kernel does not support bursts.
    NoBurst {
        /// The file that should be there.
        path: String,
    },
    /// A group above allows less memory.
    MemoryAbove {
        /// The file that holds the limit of the group above.
        path: String,
        /// The limit of the group above, in bytes.
        limit_bytes: u64,
        /// The memory that is needed, in bytes.
        needed_bytes: u64,
    },
    /// The kernel rejects the value as invalid or out of range.
    Refused {
        /// The file.
        path: String,
        /// The text that was written.
        value: String,
        /// The kernel's error.
        error: String,
    },
}

impl GroupProblem {
    /// Whether the operation would succeed as root or in a delegated group.
    pub fn is_privilege(&self) -> bool {
        matches!(self, GroupProblem::Denied { .. } | GroupProblem::ReadOnly { .. })
    }

    /// Whether the requested values are the problem.
    pub fn is_bad_value(&self) -> bool {
        matches!(self, GroupProblem::Value(_))
    }
}

impl From<BadQuota> for GroupProblem {
    fn from(value: BadQuota) -> Self {
        GroupProblem::Value(value)
    }
}
