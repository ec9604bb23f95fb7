//! Who waited, for what, how long, who held it, and what the holder was doing meanwhile.

use crate::measure::Measure;
use crate::not_seen::{EvidenceSource, NotSeen};
use serde::{Deserialize, Serialize};

/// What was seen of the waits of one trial, and what could not be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Where it came from, source by source: a probe, a file of /proc.
    pub sources: Vec<EvidenceSource>,
    /// What could not be had, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<NotSeen>,
    /// Events that were lost because buffers were full.
    pub lost_events: u64,
    /// The longest waits, longest first; a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// What the scheduler did to each thread of interest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadEvidence>,
    /// Waits that were seen in all, beyond those listed.
    pub waits_seen: u64,
    /// Time in waits that were seen, in nanoseconds.
    pub waits_ns: u64,
    /// How all waits that were seen went by, together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// What each CPU did on which a thread of interest ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<CpuEvidence>,
    /// What the quota of a group did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaEvidence>,
    /// What a limit of memory did to a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryEvidence>,
    /// What the schedulers of an Erlang VM did together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<VmEvidence>,
}

/// What a limit of memory did to a group, by the group's own files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryEvidence {
    /// The group, as a path below the place where groups are mounted.
    pub group: String,
    /// Its `memory.high`, in bytes; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_bytes: Option<u64>,
    /// Its `memory.max`, in bytes; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// The most that it was seen to hold, in bytes.
    pub held_bytes: u64,
    /// How often it was found above `memory.high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_events: Option<u64>,
    /// Processes of it that were killed for memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kills: Option<u64>,
    /// Time in which one of its tasks or more stood still for memory, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled_ns: Option<u64>,
    /// Who held most of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filled_by: Option<Filler>,
}

/// A process that fills a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Filler {
    /// Its first thread.
    pub task: Task,
    /// What it held, in bytes.
    pub bytes: u64,
}

/// What the schedulers of an Erlang VM did, all of them together; each stands in
/// [`Evidence::threads`] by the name of its thread.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VmEvidence {
    /// How long they were watched, in nanoseconds of wall time.
    pub watched_ns: u64,
    /// Scheduler threads that did anything, dirty ones among them.
    pub schedulers: u32,
    /// The figures that could be had; what could not stands in [`Evidence::missing`].
    pub figures: Vec<Figure>,
}

impl ThreadEvidence {
    /// Asleep, but neither in futex nor in a call that waits for input; none where one of them is
    /// not known.
    pub fn slept_elsewhere_ns(&self) -> Option<u64> {
        let idle = self.futex_slept_ns?.saturating_add(self.poll_slept_ns?);
        Some(self.blocked_ns?.saturating_sub(idle))
    }
}

impl VmEvidence {
    /// A figure by its name.
    pub fn figure(&self, name: &str) -> Option<&Measure> {
        self.figures.iter().find(|figure| figure.name == name).map(|figure| &figure.measure)
    }
}

/// A figure, and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure {
    /// What it is; the names of this tool's own are in [`figure`].
    pub name: String,
    /// The figure.
    pub measure: Measure,
    /// Where it comes from.
    pub source: EvidenceSource,
}

/// Names of figures of a VM: sums over its scheduler threads.
pub mod figure {
    /// CPU time, in milliseconds.
    pub const RAN: &str = "ran";
    /// CPU time while the VM had no work for the scheduler, in milliseconds: less the active time
    /// that the VM counts itself.
    pub const SPUN: &str = "spun";
    /// Time runnable and not on a CPU, in milliseconds.
    pub const DELAYED: &str = "delayed";
    /// The longest of these times of any scheduler, in milliseconds.
    pub const LONGEST_DELAY: &str = "longest_delay";
    /// Of the time runnable: while the quota held the group off that CPU, in milliseconds.
    pub const CAUGHT: &str = "caught";
    /// Calls of futex.
    pub const FUTEX_CALLS: &str = "futex_calls";
    /// Time in futex, asleep there or not, in milliseconds.
    pub const FUTEX_TIME: &str = "futex_time";
    /// Asleep where a scheduler without work does not sleep, in milliseconds: neither in futex nor
    /// waiting for input, so in a native function or in a file.
    pub const SLEPT_ELSEWHERE: &str = "slept_elsewhere";
}

/// Parts of the threads of an Erlang VM, as [`Task::part`] names them.
pub mod part {
    /// A thread of a node that is no scheduler, and all of them where they are not told apart.
    pub const NODE: &str = "node";
    /// A process that a node started.
    pub const PORT: &str = "port program";
    /// A normal scheduler.
    pub const SCHEDULER: &str = "scheduler";
    /// A dirty CPU scheduler.
    pub const DIRTY_CPU: &str = "dirty CPU scheduler";
    /// A dirty I/O scheduler.
    pub const DIRTY_IO: &str = "dirty I/O scheduler";

    /// Whether it is that of a scheduler of any sort.
    pub fn is_scheduler(part: &str) -> bool {
        [SCHEDULER, DIRTY_CPU, DIRTY_IO].contains(&part)
    }
}

/// How waits went by; each moment counts once, so the times add up to no more than the waits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Split {
    /// Some known holder held, in nanoseconds.
    pub covered_ns: u64,
    /// Beside that: nobody is known to have held; the waiter itself was runnable, but not on a CPU.
    #[serde(default)]
    pub own_ns: u64,
    /// Of what is covered: some holder ran.
    pub running_ns: u64,
    /// Of that: no holder ran, and one was runnable.
    pub preempted_ns: u64,
    /// Of that: every holder slept.
    pub blocked_ns: u64,
    /// Who ran while a holder was runnable, longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Behind>,
}

/// What a CPU did in a trial; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuEvidence {
    /// The CPU.
    pub cpu: u32,
    /// It ran something.
    pub busy_ns: u64,
    /// It ran nothing.
    pub idle_ns: u64,
    /// Of that: though a thread of interest was runnable on it.
    pub idle_while_waiting_ns: u64,
}

/// What the quota of a group did to its threads; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuotaEvidence {
    /// Where the figures of the threads come from.
    pub source: EvidenceSource,
    /// Periods in which the group was throttled, by its own counters.
    pub throttles: u64,
    /// How long its run queues were throttled, all CPUs together, where the kernel counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// Each thread: what it used, and how long it was caught.
    pub threads: Vec<QuotaShare>,
    /// When the group was held off a CPU, as far as it was seen; ascending, a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<Throttle>,
}

/// A stretch in which its quota held a group off a CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throttle {
    /// The CPU.
    pub cpu: u32,
    /// When it began, in milliseconds after the trial's load was released.
    pub from_ms: f64,
    /// When it ended: when quota was there again, or when a thread of the group ran again.
    pub until_ms: f64,
    /// Who ran there when the quota was used up, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Task>,
}

/// A thread's part in a quota.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuotaShare {
    /// Who.
    pub task: Task,
    /// CPU time that it used, in nanoseconds.
    pub used_ns: u64,
    /// Runnable from the moment that its group had no quota left on its CPU until it ran again, in
    /// nanoseconds; absent where no program in the kernel looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caught_ns: Option<u64>,
}

/// A thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Task {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Its name: `comm`.
    pub name: String,
    /// Its part in the scenario, where it has one: `mapper`, `scanner`, `spinner`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Its nice value, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
}

/// One wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wait {
    /// When it began, in milliseconds after the trial's load was released.
    pub at_ms: f64,
    /// How long it took, in nanoseconds.
    pub took_ns: u64,
    /// Who waited.
    pub waiter: Task,
    /// For what.
    pub resource: Resource,
    /// How it was wanted: `write`, `read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Where in the kernel it waited, innermost first, where that was seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// Who held it meanwhile, longest first; a bounded number.
    pub holders: Vec<Holder>,
    /// Part of the wait in which some known holder held it, in nanoseconds.
    pub covered_ns: u64,
    /// How it went by, each moment counted once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// What was happening, moment by moment, where it was kept; ascending.
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
    /// Its control group was above memory.high, and the kernel let it sleep for that.
    MemoryHigh {
        /// The process.
        pid: u32,
    },
    /// It slept in the kernel; for what was not seen.
    Sleep,
    /// In the words of a record of version 1.
    Said(String),
}

/// Somebody who held what was waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Holder {
    /// Who.
    pub task: Task,
    /// How it was held: `read`, `write`.
    pub mode: String,
    /// How long of the wait it was held, in nanoseconds.
    pub overlap_ns: u64,
    /// Of that: running on a CPU.
    pub running_ns: u64,
    /// Of that: runnable, but another thread ran on its CPU.
    pub preempted_ns: u64,
    /// Of that: asleep.
    pub blocked_ns: u64,
    /// Of the time that it was runnable: throttled by the quota of its own group; absent where that
    /// was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// CPU on which it waited to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Who ran while it was runnable, longest first; a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Behind>,
}

/// Threads of one name that ran while another was runnable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Behind {
    /// Their part in the scenario or their name.
    pub name: String,
    /// What the name is.
    #[serde(default)]
    pub kind: BehindKind,
    /// How many threads; 0 where that is not known.
    pub threads: u32,
    /// How long they ran meanwhile, in nanoseconds.
    pub ns: u64,
}

/// What the name of those who ran is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BehindKind {
    /// Their name: `comm`. Older records do not say, and hold other kinds too.
    #[default]
    Name,
    /// Their part in the scenario.
    Part,
    /// Nobody ran: the thread was throttled, or had not been fetched yet.
    Idle,
    /// Everybody who has no part.
    Others,
}

/// A stretch of one thread's time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Span {
    /// Who.
    pub task: Task,
    /// What it did: `running`, `preempted`, `blocked`, `holding`, `waiting`.
    pub state: String,
    /// On which CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// From when, in milliseconds after the trial's load was released.
    pub from_ms: f64,
    /// Until when.
    pub until_ms: f64,
}

/// What the scheduler did to a thread in a trial; times in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadEvidence {
    /// Who.
    pub task: Task,
    /// On a CPU.
    pub running_ns: u64,
    /// Runnable and waiting for a CPU.
    pub runnable_ns: u64,
    /// Longest single wait for a CPU.
    pub longest_runnable_ns: u64,
    /// Asleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_ns: Option<u64>,
    /// Moves from one CPU to another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrations: Option<u64>,
    /// Times that it was taken off a CPU though it wanted to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemptions: Option<u64>,
    /// Runnable while its group had no quota left on its CPU, and until it ran again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// How often that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttles: Option<u64>,
    /// Calls of futex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub futex_calls: Option<u64>,
    /// Time in futex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub futex_ns: Option<u64>,
    /// Of that: asleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub futex_slept_ns: Option<u64>,
    /// Asleep in calls that wait for input: epoll_wait, poll, select and their kin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_slept_ns: Option<u64>,
    /// Who ran while it was runnable, longest first; a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Behind>,
}
