//! One interval, as it was read: plain data, so that tests can construct it.

use crate::inside::InsideTick;
use crate::node::NodeTick;
use crate::runtime::{LiveRuntime, Settings};
use host::cgroup::{Limit, MemoryUsage, Usage};
use model::live::{Compared, RealTimePolicy, Scope, Workload};
use probe::live::{ChainCounts, PairCounts, ReaderCounts, ThreadCounts};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// What happened between two readings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tick {
    /// How long it was, in nanoseconds.
    pub over_ns: u64,
    /// Whether the whole machine is watched.
    pub whole_machine: bool,
    /// The programs to watch, if the user named only a group or a program name, and no process.
    /// Processes that ended before they were looked up are compared with it.
    pub named: Option<Scope>,
    /// What threads gained. Threads that gained next to nothing are left out.
    pub threads: Vec<ThreadCounts>,
    /// Which programs ran while others were runnable.
    pub pairs: Vec<PairCounts>,
    /// Which programs slept while a thread of another was runnable.
    pub chains: Vec<ChainCounts>,
    /// Runnable time of some threads, by process: as counted here, and as the kernel counts it.
    pub compared: Vec<(u32, Compared)>,
    /// Time for which it is not known who ran while others were runnable, in nanoseconds.
    pub unnamed_ns: u64,
    /// Threads that were not counted: they lost their place in the table before they were read, a
    /// reading of /proc had no room for them, or it is not known how old their sums are.
    pub lost_threads: u64,
    /// What readers of other processes' memory maps gained.
    pub readers: Vec<ReaderCounts>,
    /// The processes of all of these, as far as they still existed.
    pub processes: HashMap<u32, Process>,
    /// Processes outside the PID namespace that is watched, by their marked numbers.
    pub outside: HashMap<u32, Outside>,
    /// Sessions that began outside, of processes inside, by process.
    pub outer_sessions: HashMap<u32, u32>,
    /// The real-time policies of processes that had the CPU of others by one, by process and
    /// priority, as far as they are known.
    pub policies: HashMap<(u32, u32), RealTimePolicy>,
    /// Where threads of these processes spun, by process, as far as it is known.
    pub spots: HashMap<u32, Spot>,
    /// The runtimes of processes in throttled groups, as far as they are known.
    pub runtimes: HashMap<u32, RuntimeTick>,
    /// For each group of these processes: the groups whose quota binds it, itself first.
    pub lineages: HashMap<String, Vec<String>>,
    /// The groups of threads that are in another group than the first thread of their process, by
    /// thread. Only threads are looked up that a quota throttled.
    pub thread_groups: HashMap<u32, String>,
    /// The workloads of these groups, of the groups above them, and of groups with a quota or a
    /// full memory, as far as they are known.
    pub workloads: HashMap<String, Workload>,
    /// Whether a scheduler in eBPF (sched_ext) may run programs. Such a scheduler need not follow
    /// weights.
    pub is_sched_ext: bool,
    /// Weights of groups that compete for CPUs.
    pub weights: HashMap<String, u64>,
    /// Share of the interval in which each CPU was idle; 0 for isolated CPUs.
    pub idle_shares: Vec<f64>,
    /// The groups that have a quota.
    pub groups: Vec<GroupTick>,
    /// Erlang nodes.
    pub nodes: Vec<NodeTick>,
    /// Processes that may be nodes, but for which there was no place.
    pub nodes_left_out: Vec<u32>,
    /// What nodes answered.
    pub inside: Vec<InsideTick>,
    /// The groups that have a memory.high.
    pub memory: Vec<MemoryTick>,
    /// Memory groups that are at their limit, by processes that were stalled for memory.
    pub full: HashMap<u32, Full>,
    /// Processes that were stalled for memory although their memory group and those above reached
    /// no limit, as far as these are seen. Processes of which that is not known are not included.
    pub below_limits: HashSet<u32>,
    /// The limit of I/O of programs for whose handle a commit of a journal waited, by their
    /// groups: of the nearest group that has one.
    pub io_max: HashMap<String, IoMax>,
    /// The machine.
    pub machine: MachineTick,
    /// The cost of watching.
    pub spent: Spent,
}

/// A process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Process {
    /// Its name: `comm` of its first thread.
    pub name: String,
    /// Its group under the cpu controller; None for the root group.
    pub group: Option<String>,
    /// What it belongs to.
    pub job: Job,
    /// Whether it is in scope.
    pub in_scope: bool,
    /// Its nice value.
    pub nice: i32,
    /// Whether it runs only if nobody else wants the CPU (SCHED_IDLE).
    pub is_idle: bool,
    /// The nice value of its session, if the kernel shares the CPUs between sessions (autogroup).
    pub session_nice: Option<i32>,
    /// The CPUs that it may use; None if these are all.
    pub confined: Option<Vec<u32>>,
}

/// A process outside the PID namespace, about which /proc says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outside {
    /// The name of one of its threads: of the first one, if that ran.
    pub name: String,
    /// Its session, as a marked number.
    pub session: u32,
}

/// What belongs together. Processes of one job may take CPUs from each other without harm.
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
    /// The same, outside the PID namespace that is watched; 0 if the session is not known.
    Outside(u32),
}

impl Job {
    /// The job of all programs in a group. None for the root group, and for the scope of a login,
    /// which holds several sessions.
    pub fn of_group(group: &str) -> Option<Self> {
        let last = group.rsplit('/').next().unwrap_or_default();
        let is_of_login = last.starts_with("session-") && last.ends_with(".scope");
        (!last.is_empty() && !is_of_login).then(|| Job::Group(group.to_owned()))
    }

    /// Whether it is known to be one job. With cgroup v1, a slice may hold the programs of several
    /// services; and one number stands for all sessions that are not known.
    pub fn is_one(&self) -> bool {
        match self {
            Job::Group(group) => !group.ends_with(".slice"),
            Job::Session(_) => true,
            Job::Outside(session) => *session != 0,
            Job::Unknown | Job::Kernel => false,
        }
    }
}

/// A place in a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    /// The address.
    pub address: u64,
    /// The function, according to the program's symbols. Absent in a library, and without
    /// symbols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// The runtime of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuntimeTick {
    /// Which runtime.
    pub runtime: LiveRuntime,
    /// The settings that it was started with; None if they cannot be read.
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
    /// Its processes, and those of groups below it. Empty if it was not above its limit.
    pub tasks: Vec<MemoryTask>,
}

/// A process of such a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryTask {
    /// Process.
    pub pid: u32,
    /// Its name: `comm` of its first thread.
    pub name: String,
    /// The memory that it holds alone, in bytes.
    pub bytes: u64,
    /// Whether one of its threads slept for the limit at that moment.
    pub sleeps: bool,
    /// Whether it is in scope.
    pub in_scope: bool,
}

/// A memory group that is at its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Full {
    /// The group.
    pub group: String,
    /// Its limit, in bytes.
    pub limit_bytes: u64,
    /// Whether its limit was reached since the last look at it. If not, no group above reached its
    /// limit either. None if that is not known.
    pub is_hit: Option<bool>,
    /// The process that holds most of its memory alone: its number, its name and its bytes.
    pub largest: Option<(u32, String, u64)>,
    /// How long the process slept for pages that had been taken from the group, in nanoseconds.
    /// Sleep that the kernel itself marks is not included.
    pub read_back_ns: u64,
}

/// A limit of the I/O of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoMax {
    /// The group.
    pub group: String,
    /// The limits in its `io.max`, by device: `254:0 wbps=1048576`. A bounded number.
    pub limits: Vec<String>,
}

/// What the machine did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MachineTick {
    /// The first two numbers of the running kernel's version, if they are known.
    pub kernel: Option<(u32, u32)>,
    /// CPUs that are online.
    pub cpus: u32,
    /// CPU time that was used on them, in nanoseconds.
    pub busy_ns: Option<u64>,
    /// Time that the hypervisor took, in nanoseconds.
    pub steal_ns: Option<u64>,
    /// Time of hard interrupts on them, in nanoseconds.
    pub interrupts_ns: Option<u64>,
    /// Time in which some task waited for a CPU, in nanoseconds.
    pub pressure_ns: Option<u64>,
    /// Context switches.
    pub switches: Option<u64>,
}

/// The cost of watching.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    /// CPU time of this process, in nanoseconds.
    pub tool_ns: u64,
    /// CPU time of the programs in the kernel, and the time over which it was counted, in
    /// nanoseconds.
    pub programs_ns: Option<(u64, u64)>,
    /// Memory of this process, in bytes.
    pub memory_bytes: u64,
    /// Memory of the tables of the programs in the kernel, in bytes.
    pub table_bytes: u64,
    /// Threads that were not counted, since the start: the sum of all intervals.
    pub lost_threads: u64,
}
