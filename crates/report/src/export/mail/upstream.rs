//! Who develops what stalls in a scenario.

use crate::prose::plain;

/// Where in the kernel a scenario's stall is at home.
pub struct Upstream {
    /// The scenario.
    pub scenario: &'static str,
    /// Mailing lists beside those that every report goes to.
    pub lists: &'static [&'static str],
    /// Sources whose maintainers `scripts/get_maintainer.pl` names.
    pub sources: &'static [&'static str],
}

/// Where every regression is reported.
pub const REGRESSIONS: &str = "regressions@lists.linux.dev";

/// Who reads every report.
pub const KERNEL: &str = "linux-kernel@vger.kernel.org";

/// Who is told where a stable series regressed.
pub const STABLE: &str = "stable@vger.kernel.org";

const MM: &str = "linux-mm@kvack.org";

/// The scenarios that show a stall of the kernel itself.
const ALL: [Upstream; 4] = [
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
];

/// The one of a scenario.
///
/// # Errors
/// If it shows no stall of the kernel.
pub fn of(scenario: &str) -> Result<&'static Upstream, String> {
    ALL.iter().find(|one| one.scenario == scenario).ok_or_else(|| {
        let others: Vec<&str> = ALL.iter().map(|one| one.scenario).collect();
        format!("{} shows no stall of the kernel; {} do", plain(scenario), others.join(", "))
    })
}
