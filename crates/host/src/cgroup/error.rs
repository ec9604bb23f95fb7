//! What can go wrong with a control group, and what would help.

use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no group, or not the one that was asked for.
#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    /// Nowhere a cpu controller.
    #[error(
        "{}: no cpu controller; the kernel has none (CONFIG_CGROUP_SCHED), it is disabled (cgroup_disable=cpu), or a group above does not pass it on",
        path.display()
    )]
    NoController {
        /// Where it was looked for last.
        path: PathBuf,
    },
    /// The hierarchy with the cpu controller is not mounted where this process could see its group.
    #[error(
        "control group {group} of the cpu controller cannot be seen here; mount its hierarchy, or run outside of the container"
    )]
    NotVisible {
        /// The group, as the kernel names it.
        group: String,
    },
    /// The file system takes no writes.
    #[error(
        "{}: mounted read-only; run outside of the container, or give it a writable /sys/fs/cgroup (--privileged)",
        path.display()
    )]
    ReadOnly {
        /// The group or file.
        path: PathBuf,
    },
    /// This user may not write there.
    #[error(
        "{}: permission denied; run as root, or have the cpu controller delegated: systemd-run --user --scope -p Delegate=yes tailback ...",
        path.display()
    )]
    Denied {
        /// The group or file.
        path: PathBuf,
    },
    /// A group of v2 with processes cannot pass a controller on to children.
    #[error(
        "{}: holds {processes} processes itself, so it cannot give its children the cpu controller; move them into a child group of their own, or run outside of the container",
        path.display()
    )]
    Occupied {
        /// The group.
        path: PathBuf,
        /// How many processes it holds.
        processes: usize,
    },
    /// A group of v2 that takes threads only.
    #[error("{}: a threaded group, whose children take no processes; start tailback from another group", path.display())]
    Threaded {
        /// The group.
        path: PathBuf,
    },
    /// The kernel has no quota for groups.
    #[error("{}: missing; the kernel has no CPU quota for groups (CONFIG_CFS_BANDWIDTH)", path.display())]
    NoBandwidth {
        /// The file that should be there.
        path: PathBuf,
    },
    /// The quota is below the kernel's minimum.
    #[error("a quota of {quota_us} us is below the kernel's minimum of 1000 us")]
    QuotaTooSmall {
        /// The quota, in microseconds.
        quota_us: u64,
    },
    /// The period is out of the kernel's range.
    #[error("a period of {period_us} us is outside of the kernel's range, 1000 us to 1000000 us")]
    PeriodOutOfRange {
        /// The period, in microseconds.
        period_us: u64,
    },
    /// A group above has less.
    #[error(
        "a quota of {quota_us} us in {period_us} us is more than the {above_quota_us} us in {above_period_us} us of {}, {}; take a smaller one or raise that",
        above.display(),
        if *refused { "and v1 refuses that (EINVAL)" } else { "which v2 would enforce all the same" }
    )]
    QuotaAboveParent {
        /// The quota, in microseconds.
        quota_us: u64,
        /// Its period, in microseconds.
        period_us: u64,
        /// The group above.
        above: PathBuf,
        /// Its quota, in microseconds.
        above_quota_us: u64,
        /// Its period, in microseconds.
        above_period_us: u64,
        /// Whether the kernel refuses it, as v1 does.
        refused: bool,
    },
    /// The burst is more than the quota.
    #[error(
        "a burst of {burst_us} us is more than the quota of {quota_us} us; the kernel takes at most as much"
    )]
    BurstAboveQuota {
        /// The burst, in microseconds.
        burst_us: u64,
        /// The quota, in microseconds.
        quota_us: u64,
    },
    /// The kernel knows no burst.
    #[error("{}: missing; the kernel has no burst for quotas, which came with Linux 5.14", path.display())]
    NoBurst {
        /// The file that should be there.
        path: PathBuf,
    },
    /// The kernel takes the value for invalid or out of range.
    #[error(
        "{}: the kernel refuses `{value}`: {source}; a group above, perhaps one that cannot be seen here, may allow less",
        path.display()
    )]
    Refused {
        /// The file.
        path: PathBuf,
        /// What was written.
        value: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A group cannot be removed.
    #[error(
        "{}: still busy after its processes were killed (left: {}); the next start of tailback removes it",
        path.display(),
        words(left)
    )]
    Busy {
        /// The group.
        path: PathBuf,
        /// Processes that are left in it, by pid; 0 stands for one of another pid namespace.
        left: Vec<i32>,
    },
    /// This very process is in a group that is to be removed.
    #[error("{}: this process (pid {pid}) is in the group itself, so its processes are not killed", path.display())]
    OwnProcess {
        /// The group.
        path: PathBuf,
        /// This process.
        pid: u32,
    },
    /// A change cannot be written into the journal, so it is not made.
    #[error(transparent)]
    Journal(#[from] crate::journal::JournalError),
    /// A file could not be read or written, or is not what it should be.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl CgroupError {
    /// Whether root or a delegated group would help.
    pub fn is_privilege(&self) -> bool {
        matches!(self, CgroupError::Denied { .. } | CgroupError::ReadOnly { .. })
    }

    /// Whether the values that were asked for are at fault.
    pub fn is_bad_value(&self) -> bool {
        use CgroupError::{BurstAboveQuota, PeriodOutOfRange, QuotaAboveParent, QuotaTooSmall};
        use CgroupError::{NoBurst, Refused};
        matches!(
            self,
            QuotaTooSmall { .. }
                | PeriodOutOfRange { .. }
                | QuotaAboveParent { .. }
                | BurstAboveQuota { .. }
                | NoBurst { .. }
                | Refused { .. }
        )
    }

    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match Errno::from_io_error(&source) {
            Some(Errno::ROFS) => CgroupError::ReadOnly { path },
            Some(Errno::ACCESS | Errno::PERM) => CgroupError::Denied { path },
            _ => CgroupError::Io { path, source },
        }
    }
}

fn words(pids: &[i32]) -> String {
    if pids.is_empty() {
        return "nothing that can be seen".to_owned();
    }
    let words: Vec<String> = pids.iter().take(5).map(|pid| format!("pid {pid}")).collect();
    words.join(", ")
}
