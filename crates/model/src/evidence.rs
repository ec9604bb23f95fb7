//! Who waited, for what, how long, who held it, and what the holder was doing meanwhile.

use serde::{Deserialize, Serialize};

/// What was seen of the waits of one trial, and what could not be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Where it came from, source by source: a probe, a file of /proc.
    pub sources: Vec<String>,
    /// What could not be had, and why; each with what would give it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuotaEvidence {
    /// Where the figures come from.
    pub source: String,
    /// Periods in which the group was throttled.
    pub throttles: u64,
    /// How long its run queues were throttled, all CPUs together, where the kernel counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// Each thread: what it used, and how long it was caught.
    pub threads: Vec<QuotaShare>,
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
    /// nanoseconds.
    pub caught_ns: u64,
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
    /// For what: `mmap lock of pid 25391`.
    pub resource: String,
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
    /// How many threads.
    pub threads: u32,
    /// How long they ran meanwhile, in nanoseconds.
    pub ns: u64,
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Who ran while it was runnable, longest first; a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Behind>,
}
