//! Programs that lost time, and why they lost it.

use super::program::Program;
use super::workload::Workload;
use serde::{Deserialize, Serialize};

/// A program that lost time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Victim {
    /// The program.
    pub program: Program,
    /// CPU time that it got, over all its threads.
    pub ran_ns: u64,
    /// The causes of its runnable time, over all its threads.
    pub parts: Parts,
    /// Its waits for its own mmap lock.
    #[serde(default, skip_serializing_if = "LockWaits::is_none")]
    pub lock: LockWaits,
    /// Its waits for memory.
    #[serde(default, skip_serializing_if = "MemoryWaits::is_none")]
    pub memory: MemoryWaits,
    /// Time that it slept because another thread was runnable but not running, longest first; a
    /// bounded number. It is not part of its runnable time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asleep: Vec<AsleepBehind>,
    /// What [`AsleepBehind::stalled_ns`] is, behind the programs that `asleep` does not list.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_stalled_ns: u64,
    /// The runnable time of the threads that were compared, from the tool and from the kernel
    /// (`schedstat`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<Compared>,
    /// Its threads, largest loss first; a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<VictimThread>,
}

impl Victim {
    /// All time that it lost: runnable but not on a CPU, waiting for its mmap lock, stalled for
    /// memory, or asleep behind a thread that was kept from running.
    pub fn lost_ns(&self) -> u64 {
        let waits = [self.lock.ns, self.memory.ns, self.stalled_ns()];
        waits.into_iter().fold(self.parts.ready_ns, u64::saturating_add)
    }

    /// The longest single wait of any of these kinds.
    pub fn worst_ns(&self) -> u64 {
        let asleep = self.asleep.iter().map(|one| one.stalled_worst_ns);
        let lock = self.lock.worst_ns.max(self.lock.own_worst_ns);
        let waits = [self.parts.worst_ns, lock, self.memory.worst_ns];
        waits.into_iter().chain(asleep).fold(0, u64::max)
    }

    /// Time asleep in locks behind threads that a quota, a lower priority or a lower weight kept
    /// from running.
    pub fn stalled_ns(&self) -> u64 {
        let listed = self.asleep.iter().map(|one| one.stalled_ns);
        listed.fold(self.other_stalled_ns, u64::saturating_add)
    }
}

/// Time that a program slept because the thread that should wake it was runnable but not running.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AsleepBehind {
    /// The program whose thread was runnable.
    pub holder: Program,
    /// How long the other program slept meanwhile, over all its threads.
    pub ns: u64,
    /// The longest single sleep.
    pub worst_ns: u64,
    /// Part of `ns`: all sleepers of the chain slept in locks (futex).
    pub futex_ns: u64,
    /// Part of `ns`: a sleeper of the chain slept for a pipe, a socket or another process.
    pub input_ns: u64,
    /// Part of `ns`: in locks, and a quota throttled the holder, a thread of another program.
    pub by_quota_ns: u64,
    /// Part of `ns`: in locks, and the holder had the lower priority: the higher nice value, the
    /// lower weight, or a lower priority than a sleeper with a real-time or deadline policy.
    /// Between programs of one name in one group, also for messages, unless by such a policy.
    pub inverted_ns: u64,
    /// Part of `inverted_ns`: the sleeper had a real-time or deadline policy.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub by_policy_ns: u64,
    /// The weights of holder and sleeper at the level where their groups or sessions differ, if
    /// the holder has the lower weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<(Weight, Weight)>,
    /// Part of `ns`: through at least one more thread that slept itself.
    pub through_others_ns: u64,
    /// Part of `ns` with a cause of its own: the larger of `by_quota_ns` and `inverted_ns`. The
    /// remaining time is behind holders on a busy machine, for messages, or another loss.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stalled_ns: u64,
    /// The longest single sleep with such a cause.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stalled_worst_ns: u64,
}

/// The runnable time of the same threads over the same time, from two sources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compared {
    /// The time as the sum of the parts.
    pub parts_ns: u64,
    /// Part of that time: the CPU was idle. If a wake-up makes a CPU switch at once, the kernel
    /// does not read the clock a second time. It then counts no delay up to the switch.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waking_ns: u64,
    /// The time as counted by the kernel.
    pub kernel_ns: u64,
}

impl Compared {
    /// Whether both agree, within 5% or within 5 ms a second. The time on idle CPUs may be in the
    /// kernel's count, wholly, partly or not at all.
    pub fn agrees(&self, over_ns: u64) -> bool {
        let least = self.parts_ns.saturating_sub(self.waking_ns);
        let nearest = self.kernel_ns.clamp(least, self.parts_ns.max(least));
        let off = nearest.abs_diff(self.kernel_ns);
        off <= self.kernel_ns / 20 || off <= over_ns / 200
    }
}

/// A thread that lost time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VictimThread {
    /// Thread.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// CPU time.
    pub ran_ns: u64,
    /// Runnable but not on a CPU.
    pub ready_ns: u64,
    /// Part of that time: throttled.
    pub throttled_ns: u64,
    /// The longest single wait.
    pub worst_ns: u64,
    /// Waiting for the mmap lock of its program while another process held it.
    pub foreign_ns: u64,
    /// All waits for that lock, and for memory.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_up_ns: u64,
}

/// The causes of the time for which threads were runnable but not running. All parts add up to
/// [`Parts::ready_ns`], except [`Parts::worst_ns`] and [`Parts::waits`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parts {
    /// All runnable time: the kernel's run delay.
    pub ready_ns: u64,
    /// Number of waits.
    pub waits: u64,
    /// The longest wait.
    pub worst_ns: u64,
    /// Throttled by the quota of its own group.
    pub own_quota_ns: u64,
    /// Throttled by the quota of a group above, by group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<GroupPart>,
    /// Throttled, but it is not known whether by its own group or by a group above.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub some_quota_ns: u64,
    /// Other programs ran on its CPU: the three that cost most, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<NeighbourPart>,
    /// All other programs that ran on its CPU.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_neighbours_ns: u64,
    /// Other programs or its own threads ran on its CPU, and it is confined to some CPUs while
    /// another CPU was idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined: Option<ConfinedPart>,
    /// Other programs ran on its CPU while another allowed CPU was idle.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub beside_idle_ns: u64,
    /// Interrupts had the CPU: an estimate from the interrupt time of all CPUs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub interrupts_ns: u64,
    /// Its own threads and processes ran on that CPU.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub own_program_ns: u64,
    /// The hypervisor had the CPU: an estimate from the steal time of all CPUs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hypervisor_ns: u64,
    /// Its CPU was idle: mostly, the thread was being woken.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waking_ns: u64,
    /// The cause is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_told_apart_ns: u64,
}

impl Parts {
    /// Throttled, by its own group or by a group above.
    pub fn quota_ns(&self) -> u64 {
        let ancestors = self.ancestors.iter().map(|part| part.ns);
        ancestors.fold(self.own_quota_ns.saturating_add(self.some_quota_ns), u64::saturating_add)
    }

    /// Behind other programs, apart from confined and idle CPUs.
    pub fn neighbours_ns(&self) -> u64 {
        let named = self.neighbours.iter().map(|part| part.ns);
        named.fold(self.other_neighbours_ns, u64::saturating_add)
    }

    /// All time except quotas, other programs and its own threads.
    pub fn rest_ns(&self) -> u64 {
        let told = [self.quota_ns(), self.neighbours_ns(), self.own_program_ns];
        self.ready_ns.saturating_sub(told.into_iter().fold(0, u64::saturating_add))
    }

    /// The sum of all parts, which equals [`Parts::ready_ns`].
    pub fn sum_ns(&self) -> u64 {
        [
            self.quota_ns(),
            self.neighbours_ns(),
            self.own_program_ns,
            self.confined.as_ref().map_or(0, |part| part.ns),
            self.beside_idle_ns,
            self.interrupts_ns,
            self.hypervisor_ns,
            self.waking_ns,
            self.not_told_apart_ns,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }
}

/// Time for which the quota of a group throttled threads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupPart {
    /// The group.
    pub group: String,
    /// The owner of the group; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
    /// How long.
    pub ns: u64,
}

/// Time that another program ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NeighbourPart {
    /// The program.
    pub program: Program,
    /// How long.
    pub ns: u64,
    /// The longest single time.
    pub worst_ns: u64,
    /// Why it got the CPU.
    #[serde(default, skip_serializing_if = "Why::is_unknown")]
    pub why: Why,
    /// Its real-time policy, if it got the CPU by one; absent if it is not known which one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<RealTimePolicy>,
}

/// A real-time policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RealTimePolicy {
    /// SCHED_FIFO: a thread keeps its CPU from others of the same priority until it sleeps.
    Fifo,
    /// SCHED_RR: threads of the same priority take turns.
    RoundRobin,
}

impl RealTimePolicy {
    /// The name of the policy in the kernel's interface.
    pub fn name(self) -> &'static str {
        match self {
            RealTimePolicy::Fifo => "SCHED_FIFO",
            RealTimePolicy::RoundRobin => "SCHED_RR",
        }
    }
}

/// Why another program got the CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// It has a real-time policy with this priority, which goes before all programs without one.
    RealTime(u32),
    /// It has a real-time policy with this priority, and so has the victim. The one that runs
    /// keeps running.
    SamePriority(u32),
    /// It has a deadline policy, which goes before all other policies.
    Deadline,
    /// It has more weight at the level where the two differ.
    Weight {
        /// The weight of the victim, or of its group at that level.
        victim: Weight,
        /// The weight of the other program, or of its group at that level.
        culprit: Weight,
    },
    /// No reason: both have the same weight at that level, or the victim has more. If the kernel
    /// shares CPUs by sessions (autogroup), these are the two nice values, victim first, which
    /// have no effect.
    Shared(Option<(i32, i32)>),
    /// It is not known.
    #[default]
    Unknown,
}

impl Why {
    /// Whether the reason is not known.
    pub fn is_unknown(&self) -> bool {
        *self == Why::Unknown
    }
}

/// A weight by which the scheduler shares CPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Weight {
    /// 1024 corresponds to nice 0, to a `cpu.weight` of 100 and to `cpu.shares` of 1024.
    pub weight: u64,
    /// What the weight belongs to.
    pub of: WeightOf,
}

/// What a weight belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WeightOf {
    /// A thread with this nice value.
    Nice(i32),
    /// A thread with the idle policy (SCHED_IDLE).
    IdlePolicy,
    /// A session with this nice value (autogroup).
    Session(i32),
    /// A control group.
    Group(String),
    /// It is not known.
    #[default]
    Unknown,
}

/// Time behind other programs or its own threads on the CPUs to which a program is confined, while
/// another CPU was idle.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfinedPart {
    /// The CPUs, as a list: `0-1,4`.
    pub cpus: String,
    /// How long.
    pub ns: u64,
    /// Share of the time in which a CPU outside of these was idle.
    pub idle_share: f64,
}

/// Waits of a program for its own mmap lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockWaits {
    /// All waits.
    pub ns: u64,
    /// Part of that time: another process held the lock.
    pub foreign_ns: u64,
    /// Number of waits.
    pub waits: u64,
    /// The longest wait in which another process had a part.
    pub worst_ns: u64,
    /// The longest other wait.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub own_worst_ns: u64,
}

impl LockWaits {
    /// Whether there were no waits.
    pub fn is_none(&self) -> bool {
        *self == LockWaits::default()
    }
}

/// Waits of a program for memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryWaits {
    /// All waits.
    pub ns: u64,
    /// Part of that time: its threads freed memory themselves (direct reclaim).
    pub reclaim_ns: u64,
    /// Part of that time: its threads moved pages to free contiguous ones (direct compaction).
    pub compaction_ns: u64,
    /// The longest single wait in which a thread slept.
    pub worst_ns: u64,
}

impl MemoryWaits {
    /// Whether there were no waits.
    pub fn is_none(&self) -> bool {
        *self == MemoryWaits::default()
    }
}

fn is_zero(ns: &u64) -> bool {
    *ns == 0
}
