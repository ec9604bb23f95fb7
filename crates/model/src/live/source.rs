//! Where the figures of a live system come from.

use crate::not_seen::NoPrograms;
use serde::{Deserialize, Serialize};

/// A source of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// eBPF on the tracepoints of the scheduler: who waited for a CPU, and who ran instead.
    Scheduler,
    /// eBPF on the tracepoints of the mmap lock: readers of the memory map of another
    /// process, and how long that process waits.
    MmapLock,
    /// Stacks of threads that wait for the lock of a single mapping, and who wakes them.
    MappingLock,
    /// eBPF on the tracepoints of direct reclaim: who frees memory itself before it gets any.
    Reclaim,
    /// Counters of a group's queue, read in the kernel: how long a quota held each thread.
    Throttled,
    /// Samples of what programs execute: whether their threads spin.
    Samples,
    /// /proc/PID/schedstat: how long each process waited for a CPU.
    Schedstat,
    /// cpu.stat of the groups that have a quota.
    CpuStat,
    /// memory.events and memory.pressure of the groups that have a memory.high.
    MemoryEvents,
    /// /proc/pressure.
    Pressure,
    /// Steal time of /proc/stat.
    Steal,
    /// /proc of processes outside the PID namespace, where tailback runs in one.
    OutsidePrograms,
    /// Control groups above a container, where tailback runs in one.
    GroupsAbove,
}

/// A source, and whether it could be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceUse {
    /// The source.
    pub source: Source,
    /// Why it could not be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
}

/// Why a source could not be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// There are no programs in the kernel.
    NoPrograms(NoPrograms),
    /// The kernel has no tracepoints of the lock; those from 5.11 on have.
    NoLockTracepoints,
    /// Addresses of the kernel's functions are hidden.
    NoSymbols,
    /// The kernel lets no program look at what others execute.
    NoSamples,
    /// The kernel lets no program see direct reclaim.
    NoReclaimTracepoints,
    /// The kernel counts no throttled time of a queue.
    NoThrottledTime,
    /// No hierarchy of the cpu controller is mounted.
    NoGroups,
    /// No memory controller of cgroup v2: v1 has no memory.high.
    NoMemoryGroups,
    /// /proc shows the processes of this PID namespace alone.
    PidNamespace,
    /// Control groups above that of the container are not shown here.
    CgroupNamespace,
}
