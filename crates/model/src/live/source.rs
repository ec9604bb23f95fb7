//! Where the figures of a live system come from.

use crate::not_seen::NoPrograms;
use serde::{Deserialize, Serialize};

/// A source of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// eBPF on the tracepoints of the scheduler: which threads waited for a CPU, and which ran
    /// instead.
    Scheduler,
    /// eBPF on the tracepoints of the mmap lock: readers of the memory map of another process,
    /// and how long that process waits.
    MmapLock,
    /// Stacks of threads that wait for the lock of a single mapping, and the threads that wake
    /// them.
    MappingLock,
    /// eBPF on the tracepoints of direct reclaim: threads that have to free memory before they
    /// get any.
    Reclaim,
    /// eBPF on the tracepoint of moves between control groups: threads that sleep in such a move.
    GroupMoves,
    /// eBPF on the tracepoints of commits of a journal (jbd2, of ext4): threads that sleep for such
    /// a commit, and the thread for whose handle it waits.
    Journal,
    /// The system calls of threads that are woken: whether they slept in a lock, or for a message.
    Calls,
    /// Counters of a group's run queue, read in the kernel: how long a quota throttled each
    /// thread.
    Throttled,
    /// Samples of the code that programs execute: whether their threads spin.
    Samples,
    /// /proc/PID/schedstat: how long each process waited for a CPU.
    Schedstat,
    /// cpu.stat of the groups that have a quota.
    CpuStat,
    /// memory.events and memory.pressure of the groups that have a limit in memory.high.
    MemoryEvents,
    /// /proc/pressure.
    Pressure,
    /// Steal time of /proc/stat.
    Steal,
    /// /proc of processes outside the PID namespace, if tailback runs in one.
    OutsidePrograms,
    /// Control groups above a container, if tailback runs in one.
    GroupsAbove,
}

/// A source, and whether it was available.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceUse {
    /// The source.
    pub source: Source,
    /// Why it was not available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
}

/// Why a source was not available.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// There are no programs in the kernel.
    NoPrograms(NoPrograms),
    /// The kernel has no tracepoints for the lock; kernels since 5.11 have them.
    NoLockTracepoints,
    /// The addresses of kernel functions are hidden.
    NoSymbols,
    /// The kernel does not allow sampling of other programs.
    NoSamples,
    /// The kernel does not allow programs to observe direct reclaim.
    NoReclaimTracepoints,
    /// The kernel does not show which threads sleep in a move between control groups; kernels
    /// since 5.15 do, if they have control groups.
    NoGroupMoves,
    /// The kernel does not tell who wakes a thread, or refuses programs on the tracepoints of
    /// commits of a journal. A kernel that has no journal so far (jbd2) does not count here: nobody
    /// sleeps for a commit there.
    NoJournal,
    /// The kernel does not tell in which system call a thread is; kernels since 5.15 do.
    NoCalls,
    /// The kernel does not count the throttled time of a run queue.
    NoThrottledTime,
    /// No hierarchy of the cpu controller is mounted.
    NoGroups,
    /// There is no memory controller of cgroup v2; v1 has no memory.high.
    NoMemoryGroups,
    /// The kernel does not account stalls (PSI): it was built without, or booted with `psi=0`, or
    /// its default is off.
    NoPressure,
    /// /proc shows only processes of this PID namespace.
    PidNamespace,
    /// Control groups above the container's group are not visible here.
    CgroupNamespace,
    /// They are mounted here, but the group of this process was not found among them.
    OwnGroupNotFound,
}
