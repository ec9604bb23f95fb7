//! The kernel developers responsible for the stall of a scenario.

use crate::prose::plain;

/// The mailing lists and source files for the stall of a scenario.
pub struct Upstream {
    /// The scenario.
    pub scenario: &'static str,
    /// Mailing lists in addition to those of every report.
    pub lists: &'static [&'static str],
    /// Source files; `scripts/get_maintainer.pl` prints their maintainers.
    pub sources: &'static [&'static str],
}

/// The list for every regression.
pub const REGRESSIONS: &str = "regressions@lists.linux.dev";

/// The list for every report.
pub const KERNEL: &str = "linux-kernel@vger.kernel.org";

/// The list for regressions of a stable series.
pub const STABLE: &str = "stable@vger.kernel.org";

const MM: &str = "linux-mm@kvack.org";

/// The scenarios that show a stall in the kernel itself.
const ALL: [Upstream; 6] = [
    Upstream {
        scenario: "mmap-lock",
        lists: &["linux-fsdevel@vger.kernel.org", MM],
        sources: &["fs/proc/task_mmu.c", "mm/mmap_lock.c"],
    },
    Upstream { scenario: "cpu-quota", lists: &[], sources: &["kernel/sched/fair.c"] },
    Upstream {
        scenario: "preempted-holder",
        lists: &[],
        sources: &["kernel/sched/fair.c", "kernel/futex/core.c"],
    },
    Upstream {
        scenario: "memory-high",
        lists: &["cgroups@vger.kernel.org", MM],
        sources: &["mm/memcontrol.c"],
    },
    Upstream {
        scenario: "group-move",
        lists: &["cgroups@vger.kernel.org"],
        sources: &["kernel/cgroup/cgroup.c", "kernel/rcu/sync.c"],
    },
    Upstream {
        scenario: "io-journal",
        lists: &[
            "linux-ext4@vger.kernel.org",
            "linux-block@vger.kernel.org",
            "cgroups@vger.kernel.org",
        ],
        sources: &["fs/ext4/inode.c", "fs/jbd2/commit.c", "block/blk-throttle.c"],
    },
];

/// The entry of a scenario.
///
/// # Errors
/// If the scenario does not show a stall of the kernel.
pub fn of(scenario: &str) -> Result<&'static Upstream, String> {
    ALL.iter().find(|one| one.scenario == scenario).ok_or_else(|| {
        let others: Vec<&str> = ALL.iter().map(|one| one.scenario).collect();
        format!(
            "{} shows no stall of the kernel; these scenarios do: {}",
            plain(scenario),
            others.join(", ")
        )
    })
}
