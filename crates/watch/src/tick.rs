//! One interval, as it was read: plain data, so that tests can make it up.

use crate::inside::InsideTick;
use crate::node::NodeTick;
use crate::runtime::{LiveRuntime, Settings};
use host::cgroup::{Limit, MemoryUsage, Usage};
use model::live::{Compared, Workload};
use probe::live::{ChainCounts, PairCounts, ReaderCounts, ThreadCounts};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What happened between two readings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tick {
    /// How long it was, in nanoseconds.
    pub over_ns: u64,
    /// Whether the whole machine is looked at.
    pub whole_machine: bool,
    /// What threads gained; those that gained nothing are left out.
    pub threads: Vec<ThreadCounts>,
    /// Who ran while others were ready.
    pub pairs: Vec<PairCounts>,
    /// Who slept while another stood ready.
    pub chains: Vec<ChainCounts>,
    /// Ready time of some threads, by process, as it stands here and as the kernel counts it.
    pub compared: Vec<(u32, Compared)>,
    /// Time of that kind that has no name, in nanoseconds.
    pub unnamed_ns: u64,
    /// Threads that lost their place in the table before they were read.
    pub lost_threads: u64,
    /// What readers of the memory maps of others gained.
    pub readers: Vec<ReaderCounts>,
    /// The processes in all of these, as far as they were still there.
    pub processes: HashMap<u32, Process>,
    /// Processes outside the PID namespace that is looked at, by the marked numbers that they have.
    pub outside: HashMap<u32, Outside>,
    /// Sessions of processes inside it that began outside, by process.
    pub outer_sessions: HashMap<u32, u32>,
    /// Where threads of these spun, by process, as far as that is known.
    pub spots: HashMap<u32, Spot>,
    /// The runtimes of processes in groups that were throttled, as far as they are known.
    pub runtimes: HashMap<u32, RuntimeTick>,
    /// For each group of those: the groups whose quota binds it, itself first.
    pub lineages: HashMap<String, Vec<String>>,
    /// Whose these groups are, those above them and those with a quota or a full memory; as far as
    /// that is known.
    pub workloads: HashMap<String, Workload>,
    /// Weights of groups that compete for CPUs.
    pub weights: HashMap<String, u64>,
    /// Share of the interval in which each CPU was idle.
    pub idle_shares: Vec<f64>,
    /// The groups that have a quota.
    pub groups: Vec<GroupTick>,
    /// Erlang nodes.
    pub nodes: Vec<NodeTick>,
    /// What nodes answered.
    pub inside: Vec<InsideTick>,
    /// The groups that have a memory.high.
    pub memory: Vec<MemoryTick>,
    /// Memory groups that are at their limit, by processes that stood still for memory.
    pub full: HashMap<u32, Full>,
    /// The machine.
    pub machine: MachineTick,
    /// What watching cost.
    pub spent: Spent,
}

/// A process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Process {
    /// Its name: `comm` of its first thread.
    pub name: String,
    /// Its group under the cpu controller; none for the root group.
    pub group: Option<String>,
    /// What it belongs to.
    pub job: Job,
    /// Whether it is looked at.
    pub in_scope: bool,
    /// Its nice value.
    pub nice: i32,
    /// Whether it runs only when nobody else wants the CPU (SCHED_IDLE).
    pub is_idle: bool,
    /// The nice value of its session, where sessions share the CPUs out (autogroup).
    pub session_nice: Option<i32>,
    /// The CPUs that it may use, where these are not all.
    pub confined: Option<Vec<u32>>,
}

/// A process outside, of which /proc says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outside {
    /// The name of one of its threads; of the first one, if that ran.
    pub name: String,
    /// Its session, as a marked number.
    pub session: u32,
}

/// What belongs together: processes of one job may take CPUs from each other without
/// harm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Job {
    /// Not known.
    #[default]
    Unknown,
    /// The kernel's own threads.
    Kernel,
    /// A service or a container.
    Group(String),
    /// What was started from one shell, or by one daemon.
    Session(u32),
    /// The same, outside the PID namespace that is looked at; 0 where the session is not known.
    Outside(u32),
}

/// A place in a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    /// The address.
    pub address: u64,
    /// The function, by the symbols of the program; absent in a library, and where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// The runtime of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuntimeTick {
    /// Which.
    pub runtime: LiveRuntime,
    /// The settings that it was started with; none where they cannot be read.
    pub settings: Option<Settings>,
}

/// A group with a quota, and what it gained.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupTick {
    /// The group.
    pub group: String,
    /// Its quota.
    pub limit: Limit,
    /// What its counters gained.
    pub gained: Usage,
}

/// A group with a memory.high, and what it gained.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryTick {
    /// The group.
    pub group: String,
    /// Its memory.high, in bytes.
    pub high_bytes: u64,
    /// What its counters gained, and what it holds.
    pub gained: MemoryUsage,
    /// Its processes, those of groups below too; none where it was not above its limit.
    pub tasks: Vec<MemoryTask>,
}

/// A process of such a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryTask {
    /// Process.
    pub pid: u32,
    /// Its name: `comm` of its first thread.
    pub name: String,
    /// Its memory, in bytes.
    pub bytes: u64,
    /// Whether one of its threads slept for the limit at this moment.
    pub sleeps: bool,
    /// Whether it is looked at.
    pub in_scope: bool,
}

/// A memory group that is at its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Full {
    /// The group.
    pub group: String,
    /// Its limit, in bytes.
    pub limit_bytes: u64,
    /// The process that holds most of its memory: its number, its name and how many bytes.
    pub largest: Option<(u32, String, u64)>,
    /// How long the process slept for pages that had been taken from the group, in nanoseconds;
    /// without what the kernel has marked.
    pub read_back_ns: u64,
}

/// What the machine did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MachineTick {
    /// CPUs that are online.
    pub cpus: u32,
    /// CPU time that was used of them, in nanoseconds.
    pub busy_ns: Option<u64>,
    /// Time that the hypervisor took, in nanoseconds.
    pub steal_ns: Option<u64>,
    /// Time of hard interrupts on them, in nanoseconds.
    pub interrupts_ns: Option<u64>,
    /// Time in which some task waited for a CPU, in nanoseconds.
    pub pressure_ns: Option<u64>,
    /// Switches.
    pub switches: Option<u64>,
}

/// What watching cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    /// CPU time of this process, in nanoseconds.
    pub tool_ns: u64,
    /// CPU time of the programs in the kernel and over how long that was counted, in nanoseconds.
    pub programs_ns: Option<(u64, u64)>,
    /// Memory of this process, in bytes.
    pub memory_bytes: u64,
    /// Memory of the tables, in bytes.
    pub table_bytes: u64,
    /// Threads that lost their place before they were read, since the beginning.
    pub lost_threads: u64,
}
