//! Which threads waited, for what and how long, who held it, and what the holder did meanwhile.

use crate::measure::Measure;
use crate::not_seen::{EvidenceSource, NotSeen};
use serde::{Deserialize, Serialize};

/// What was seen of the waits of one trial, and what could not be seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// The sources: probes and files of /proc.
    pub sources: Vec<EvidenceSource>,
    /// Evidence that is missing, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<NotSeen>,
    /// Events that were lost because buffers were full.
    pub lost_events: u64,
    /// The longest waits, longest first; a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// What the scheduler did to each watched thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadEvidence>,
    /// Number of all waits that were seen, not only of those listed.
    pub waits_seen: u64,
    /// The sum of all waits that were seen, in nanoseconds.
    pub waits_ns: u64,
    /// What happened during all waits that were seen, as one sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// What each CPU did on which a watched thread ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<CpuEvidence>,
    /// What the quota of a group did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaEvidence>,
    /// What a memory limit did to a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryEvidence>,
    /// What the schedulers of an Erlang VM did together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<VmEvidence>,
}

/// What a memory limit did to a group, from the group's own files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryEvidence {
    /// The group, as a path below the place where groups are mounted.
    pub group: String,
    /// Its `memory.high`, in bytes; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_bytes: Option<u64>,
    /// Its `memory.max`, in bytes; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// The largest memory that it was seen to hold, in bytes.
    pub held_bytes: u64,
    /// How often it exceeded `memory.high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_events: Option<u64>,
    /// Processes of the group that were killed for lack of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kills: Option<u64>,
    /// Time for which at least one of its tasks was stalled for memory, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled_ns: Option<u64>,
    /// The process that held most of the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filled_by: Option<Filler>,
}

/// A process that fills a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Filler {
    /// Its main thread.
    pub task: Task,
    /// The memory that it held, in bytes.
    pub bytes: u64,
}

/// What the schedulers of an Erlang VM did, all together. Each scheduler is also in
/// [`Evidence::threads`] by the name of its thread.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VmEvidence {
    /// How long they were watched, in nanoseconds of wall time.
    pub watched_ns: u64,
    /// Scheduler threads that did anything, including dirty ones.
    pub schedulers: u32,
    /// The available figures. Missing figures are in [`Evidence::missing`].
    pub figures: Vec<Figure>,
}

impl ThreadEvidence {
    /// Time asleep, but neither in futex nor in a call that waits for input. `None` if one of
    /// these times is not known.
    pub fn slept_elsewhere_ns(&self) -> Option<u64> {
        let idle = self.futex_slept_ns?.saturating_add(self.poll_slept_ns?);
        Some(self.blocked_ns?.saturating_sub(idle))
    }
}

impl VmEvidence {
    /// The figure with that name.
    pub fn figure(&self, name: &str) -> Option<&Measure> {
        self.figures.iter().find(|figure| figure.name == name).map(|figure| &figure.measure)
    }
}

/// A figure and its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure {
    /// What the figure is. The names that this tool uses are in [`figure`].
    pub name: String,
    /// The figure.
    pub measure: Measure,
    /// The source of the figure.
    pub source: EvidenceSource,
}

/// Names of figures of a VM. They are sums over its scheduler threads.
pub mod figure {
    /// CPU time, in milliseconds.
    pub const RAN: &str = "ran";
    /// CPU time while the VM had no work for the scheduler, in milliseconds: the CPU time minus
    /// the active time that the VM itself counts.
    pub const SPUN: &str = "spun";
    /// Time runnable but not on a CPU, in milliseconds.
    pub const DELAYED: &str = "delayed";
    /// The longest single wait for a CPU of any scheduler, in milliseconds.
    pub const LONGEST_DELAY: &str = "longest_delay";
    /// The part of the runnable time in which the group was throttled on that CPU, in
    /// milliseconds.
    pub const CAUGHT: &str = "caught";
    /// Calls of futex.
    pub const FUTEX_CALLS: &str = "futex_calls";
    /// Time in futex, asleep there or not, in milliseconds.
    pub const FUTEX_TIME: &str = "futex_time";
    /// Time asleep where a scheduler without work does not sleep, in milliseconds. That is
    /// neither in futex nor in a wait for input, so it is in a native function or in a file.
    pub const SLEPT_ELSEWHERE: &str = "slept_elsewhere";
}

/// Parts of the threads of an Erlang VM, as [`Task::part`] names them.
pub mod part {
    /// A thread of a node that is not a scheduler; or any thread, if threads are not told apart.
    pub const NODE: &str = "node";
    /// A process that a node started.
    pub const PORT: &str = "port program";
    /// A normal scheduler.
    pub const SCHEDULER: &str = "scheduler";
    /// A dirty CPU scheduler.
    pub const DIRTY_CPU: &str = "dirty CPU scheduler";
    /// A dirty I/O scheduler.
    pub const DIRTY_IO: &str = "dirty I/O scheduler";

    /// Whether this part is a scheduler of any kind.
    pub fn is_scheduler(part: &str) -> bool {
        [SCHEDULER, DIRTY_CPU, DIRTY_IO].contains(&part)
    }
}

/// What happened during waits. Each moment counts once, so the times do not exceed the waits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Split {
    /// Time in which a known holder held the resource, in nanoseconds.
    pub covered_ns: u64,
    /// Time without a known holder in which the waiter itself was runnable but not on a CPU. It
    /// is not part of the covered time.
    #[serde(default)]
    pub own_ns: u64,
    /// Part of the covered time: a holder ran.
    pub running_ns: u64,
    /// Part of the covered time: no holder ran, and at least one was runnable.
    pub preempted_ns: u64,
    /// Part of the covered time: every holder slept.
    pub blocked_ns: u64,
    /// Threads that ran while a holder was runnable, longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Behind>,
}

/// What a CPU did in a trial; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuEvidence {
    /// The CPU.
    pub cpu: u32,
    /// Time in which it ran something.
    pub busy_ns: u64,
    /// Time in which it ran nothing.
    pub idle_ns: u64,
    /// Part of the idle time: a watched thread was runnable on it.
    pub idle_while_waiting_ns: u64,
}

/// What the quota of a group did to its threads; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuotaEvidence {
    /// The source of the figures for the threads.
    pub source: EvidenceSource,
    /// Periods in which the group was throttled, from its own counters.
    pub throttles: u64,
    /// How long its run queues were throttled, summed over all CPUs, if the kernel counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// What each thread used, and how long it was throttled.
    pub threads: Vec<QuotaShare>,
    /// When the group was throttled on a CPU, as far as that was seen; ascending, a bounded
    /// number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<Throttle>,
}

/// A stretch of time in which a group was throttled on a CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throttle {
    /// The CPU.
    pub cpu: u32,
    /// When it began, in milliseconds after the trial's load was released.
    pub from_ms: f64,
    /// When it ended: when there was quota again, or when a thread of the group ran again.
    pub until_ms: f64,
    /// The thread that ran there when the quota was used up, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Task>,
}

/// A thread's part in the use of a quota.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuotaShare {
    /// The thread.
    pub task: Task,
    /// CPU time that it used, in nanoseconds.
    pub used_ns: u64,
    /// Runnable time from the moment at which its group had no quota left on its CPU until it ran
    /// again, in nanoseconds; absent if no program in the kernel observed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caught_ns: Option<u64>,
}

/// A thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Task {
    /// Id of the process.
    pub pid: u32,
    /// Id of the thread.
    pub tid: u32,
    /// Its name: `comm`.
    pub name: String,
    /// Its part in the scenario, if it has one: `mapper`, `scanner`, `spinner`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Its nice value, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
}

/// One wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wait {
    /// When it began, in milliseconds after the release of the trial's load.
    pub at_ms: f64,
    /// How long it took, in nanoseconds.
    pub took_ns: u64,
    /// The thread that waited.
    pub waiter: Task,
    /// The resource for which it waited.
    pub resource: Resource,
    /// How the resource was requested: `write`, `read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Where in the kernel it waited, innermost function first, if that was seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// The threads that held the resource meanwhile, longest first; a bounded number.
    pub holders: Vec<Holder>,
    /// Part of the wait in which a known holder held the resource, in nanoseconds.
    pub covered_ns: u64,
    /// What happened during the wait, with each moment counted once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// What each thread did over time, if that was kept; ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<Span>,
}

/// What was waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// The mmap lock of a process.
    MmapLock {
        /// The process.
        pid: u32,
    },
    /// The lock of a single mapping of a process.
    MappingLock {
        /// The process.
        pid: u32,
    },
    /// A read-write semaphore that a process takes in the kernel.
    Semaphore {
        /// The process.
        pid: u32,
    },
    /// A mutex that a process takes in the kernel.
    Mutex {
        /// The process.
        pid: u32,
    },
    /// The kernel put it to sleep because its control group was above memory.high.
    MemoryHigh {
        /// The process.
        pid: u32,
    },
    /// It slept in the kernel, and the reason was not seen.
    Sleep,
    /// A resource in the words of a record of version 1.
    Said(String),
}

/// A thread that held the resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Holder {
    /// The thread.
    pub task: Task,
    /// How it held the resource: `read`, `write`.
    pub mode: String,
    /// How long of the wait it held the resource, in nanoseconds.
    pub overlap_ns: u64,
    /// Part of that time: running on a CPU.
    pub running_ns: u64,
    /// Part of that time: runnable, but another thread ran on its CPU.
    pub preempted_ns: u64,
    /// Part of that time: asleep.
    pub blocked_ns: u64,
    /// Part of its runnable time: throttled by the quota of its own group; absent if that was not
    /// seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// CPU on which it waited to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Threads that ran while it was runnable, longest first; a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Behind>,
}

/// Threads of one name that ran while another was runnable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Behind {
    /// Their part in the scenario or their name.
    pub name: String,
    /// The kind of the name.
    #[serde(default)]
    pub kind: BehindKind,
    /// Number of threads; 0 if it is not known.
    pub threads: u32,
    /// How long they ran meanwhile, in nanoseconds.
    pub ns: u64,
}

/// The kind of name in a [`Behind`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BehindKind {
    /// The name of the threads: `comm`. Older records always have this kind, also for other
    /// names.
    #[default]
    Name,
    /// Their part in the scenario.
    Part,
    /// No thread ran: the waiting thread was throttled, or its CPU had not fetched it yet.
    Idle,
    /// All threads without a part.
    Others,
}

/// A stretch of one thread's time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Span {
    /// The thread.
    pub task: Task,
    /// Its state: `running`, `preempted`, `blocked`, `holding`, `waiting`.
    pub state: String,
    /// On which CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Start, in milliseconds after the release of the trial's load.
    pub from_ms: f64,
    /// End, on the same clock.
    pub until_ms: f64,
}

/// What the scheduler did to a thread in a trial; times in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadEvidence {
    /// The thread.
    pub task: Task,
    /// Time on a CPU.
    pub running_ns: u64,
    /// Time runnable, waiting for a CPU.
    pub runnable_ns: u64,
    /// Longest single wait for a CPU.
    pub longest_runnable_ns: u64,
    /// Time asleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_ns: Option<u64>,
    /// Number of moves from one CPU to another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrations: Option<u64>,
    /// How often it was preempted: taken off a CPU while it was still runnable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemptions: Option<u64>,
    /// Runnable time from the moment at which its group had no quota left on its CPU until it ran
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// How often it was throttled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttles: Option<u64>,
    /// Number of futex calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub futex_calls: Option<u64>,
    /// Time in futex calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub futex_ns: Option<u64>,
    /// Part of that time: asleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub futex_slept_ns: Option<u64>,
    /// Time asleep in calls that wait for input: epoll_wait, poll, select and similar calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_slept_ns: Option<u64>,
    /// Threads that ran while it was runnable, longest first; a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Behind>,
}
