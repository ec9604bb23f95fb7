//! Programs that lost time, and where it went.

use super::program::Program;
use super::workload::Workload;
use serde::{Deserialize, Serialize};

/// A program that lost time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Victim {
    /// Who.
    pub program: Program,
    /// CPU time that it got, of all its threads together.
    pub ran_ns: u64,
    /// Where its ready time went, of all its threads together.
    pub parts: Parts,
    /// Its waits for the lock of its memory map.
    #[serde(default, skip_serializing_if = "LockWaits::is_none")]
    pub lock: LockWaits,
    /// Its waits for memory.
    #[serde(default, skip_serializing_if = "MemoryWaits::is_none")]
    pub memory: MemoryWaits,
    /// Time that it slept because another stood ready, the longest first; a bounded number. It is
    /// no part of its ready time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asleep: Vec<AsleepBehind>,
    /// Its ready time as the kernel counts it (`schedstat`), of the threads that were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<Compared>,
    /// Its threads, those that lost most first; a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<VictimThread>,
}

impl Victim {
    /// Time that it lost for whatever reason: ready without a CPU, waiting for the lock of its
    /// memory map, standing still for memory, or asleep behind a thread that was kept from running.
    pub fn lost_ns(&self) -> u64 {
        let waits = [self.lock.ns, self.memory.ns, self.stalled_ns()];
        waits.into_iter().fold(self.parts.ready_ns, u64::saturating_add)
    }

    /// The worst single wait of all of these.
    pub fn worst_ns(&self) -> u64 {
        let asleep = self.asleep.iter().filter(|one| one.stalled_ns > 0).map(|one| one.worst_ns);
        let lock = self.lock.worst_ns.max(self.lock.own_worst_ns);
        let waits = [self.parts.worst_ns, lock, self.memory.worst_ns];
        waits.into_iter().chain(asleep).fold(0, u64::max)
    }

    /// Asleep behind threads that a quota, a higher nice value or a lower weight kept from running.
    pub fn stalled_ns(&self) -> u64 {
        self.asleep.iter().map(|one| one.stalled_ns).fold(0, u64::saturating_add)
    }
}

/// Time that a program slept because a thread that was to wake it stood ready without a CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AsleepBehind {
    /// Whose thread stood ready.
    pub holder: Program,
    /// For how long the program slept meanwhile, of all its threads together.
    pub ns: u64,
    /// The longest single time.
    pub worst_ns: u64,
    /// Of all: in locks (futex).
    pub futex_ns: u64,
    /// Of all: for a pipe, a socket or another process.
    pub input_ns: u64,
    /// Of all: a quota held the holder.
    pub by_quota_ns: u64,
    /// Of all: the holder has the higher nice value or the lower weight.
    pub inverted_ns: u64,
    /// The weights of holder and sleeper where their groups or sessions part, if the holder's is
    /// the lower one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<(Weight, Weight)>,
    /// Of all: through at least one more thread that slept itself.
    pub through_others_ns: u64,
    /// Of all: in locks or for messages, while a quota kept the holder from running, or in a lock
    /// its higher nice value or lower weight. The rest is behind holders of a busy machine, or a
    /// loss of its own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stalled_ns: u64,
}

/// The ready time of the same threads in the same time, by two sources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compared {
    /// As it stands in the parts.
    pub parts_ns: u64,
    /// Of that: its CPU was idle. Where a wake-up makes a CPU switch at once, the kernel spares
    /// itself a second look at the clock, and counts no delay up to the switch.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waking_ns: u64,
    /// As the kernel counts it.
    pub kernel_ns: u64,
}

impl Compared {
    /// Whether the kernel's count is that of the parts, with or without the time in which the CPU
    /// was idle, or between the two: within 5%, or within 5 ms a second.
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
    /// CPU time that it got.
    pub ran_ns: u64,
    /// Ready and without a CPU.
    pub ready_ns: u64,
    /// Of that: held by a quota.
    pub throttled_ns: u64,
    /// The worst single wait.
    pub worst_ns: u64,
    /// Waiting for the lock of its memory map while another process held it.
    pub foreign_ns: u64,
    /// Waiting for that lock at all, and for memory.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_up_ns: u64,
}

/// Where the time went in which threads were ready and did not run. All but [`Parts::worst_ns`] and
/// [`Parts::waits`] add up to [`Parts::ready_ns`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parts {
    /// All of it: the kernel's run delay.
    pub ready_ns: u64,
    /// How many waits.
    pub waits: u64,
    /// The worst of them.
    pub worst_ns: u64,
    /// The quota of its own group held it.
    pub own_quota_ns: u64,
    /// The quota of a group above held it, by group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<GroupPart>,
    /// A quota held it; whether its own or that of a group above is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub some_quota_ns: u64,
    /// Other programs ran on its CPU, the worst three by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<NeighbourPart>,
    /// All others that did.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_neighbours_ns: u64,
    /// Other programs ran on its CPU, and it is confined to CPUs while another was idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined: Option<ConfinedPart>,
    /// Others ran on its CPU while another CPU that it may use was idle.
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
    /// Its CPU was idle: it was being woken.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waking_ns: u64,
    /// Of unknown cause.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_told_apart_ns: u64,
}

impl Parts {
    /// Held by a quota, of its own group or of one above.
    pub fn quota_ns(&self) -> u64 {
        let ancestors = self.ancestors.iter().map(|part| part.ns);
        ancestors.fold(self.own_quota_ns.saturating_add(self.some_quota_ns), u64::saturating_add)
    }

    /// Behind other programs.
    pub fn neighbours_ns(&self) -> u64 {
        let named = self.neighbours.iter().map(|part| part.ns);
        named.fold(self.other_neighbours_ns, u64::saturating_add)
    }

    /// What is neither a quota's, nor behind other programs or its own.
    pub fn rest_ns(&self) -> u64 {
        let told = [self.quota_ns(), self.neighbours_ns(), self.own_program_ns];
        self.ready_ns.saturating_sub(told.into_iter().fold(0, u64::saturating_add))
    }

    /// All parts together: [`Parts::ready_ns`] again.
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

/// Time that the quota of a group held threads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupPart {
    /// The group.
    pub group: String,
    /// Whose it is; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
    /// For how long.
    pub ns: u64,
}

/// Time that another program ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NeighbourPart {
    /// Who.
    pub program: Program,
    /// For how long.
    pub ns: u64,
    /// The longest single time.
    pub worst_ns: u64,
    /// Why it had the CPU.
    #[serde(default, skip_serializing_if = "Why::is_unknown")]
    pub why: Why,
}

/// Why another program had the CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// A real-time policy of this priority, which comes before all programs without one.
    RealTime(u32),
    /// A real-time policy of this priority, which the victim has too: who runs goes on.
    SamePriority(u32),
    /// A deadline policy, which comes before all others.
    Deadline,
    /// More weight where the two part.
    Weight {
        /// The victim's, or that of its group there.
        victim: Weight,
        /// The other's.
        culprit: Weight,
    },
    /// Nothing: both have the same weight there, or the victim has more. Where the kernel shares
    /// CPUs out by sessions (autogroup), the two nice values, victim first, that have no effect.
    Shared(Option<(i32, i32)>),
    /// It is not known.
    #[default]
    Unknown,
}

impl Why {
    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        *self == Why::Unknown
    }
}

/// A weight by which the scheduler shares CPUs out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Weight {
    /// 1024 is that of nice 0, of `cpu.weight` 100 and of `cpu.shares` 1024.
    pub weight: u64,
    /// What has it.
    pub of: WeightOf,
}

/// What has a weight.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WeightOf {
    /// A thread of this nice value.
    Nice(i32),
    /// A thread of the idle policy (SCHED_IDLE).
    IdlePolicy,
    /// A session of this nice value (autogroup).
    Session(i32),
    /// A control group.
    Group(String),
    /// It is not known.
    #[default]
    Unknown,
}

/// Time behind others on the CPUs to which a program is confined, while another CPU was idle.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfinedPart {
    /// The CPUs, as a list: `0-1,4`.
    pub cpus: String,
    /// For how long.
    pub ns: u64,
    /// Share of the time in which a CPU outside was idle.
    pub idle_share: f64,
}

/// Waits of a program for the lock of its memory map.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockWaits {
    /// All of them.
    pub ns: u64,
    /// Of that: while another process held it.
    pub foreign_ns: u64,
    /// How many.
    pub waits: u64,
    /// The worst that another process had a part in.
    pub worst_ns: u64,
    /// The worst of the others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub own_worst_ns: u64,
}

impl LockWaits {
    /// Whether there was none.
    pub fn is_none(&self) -> bool {
        *self == LockWaits::default()
    }
}

/// Waits of a program for memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryWaits {
    /// All of them.
    pub ns: u64,
    /// Of that: its threads freed memory themselves (direct reclaim).
    pub reclaim_ns: u64,
    /// Of that: they moved pages to get free ones in a row (direct compaction).
    pub compaction_ns: u64,
    /// The worst single one in which they slept.
    pub worst_ns: u64,
}

impl MemoryWaits {
    /// Whether there was none.
    pub fn is_none(&self) -> bool {
        *self == MemoryWaits::default()
    }
}

fn is_zero(ns: &u64) -> bool {
    *ns == 0
}
