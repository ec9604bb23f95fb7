//! What `tailback watch` saw of a live system: who lost time and to whom, as facts.
//!
//! Times are whole nanoseconds, so that parts add up. A figure that could not be had is absent, and
//! [`SourceUse::missing`] says why; there is no zero in its place.

mod inside;
mod node;
mod program;

use crate::not_seen::NoPrograms;
use crate::suggestion::Run;
pub use inside::{
    BusyLink, Inside, Mailbox, MailboxFlood, Micro, NodeMemory, Problem, Said, UnevenQueues,
};
pub use node::{
    BusyWait, Code, CodeTime, Configured, MoreSchedulers, NativeCall, Node, NodeFlag, NodeFlags,
    Place, Role, RoleTime,
};
pub use program::Program;
use serde::{Deserialize, Serialize};

/// What was seen in one stretch of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Live {
    /// When the stretch began (RFC 3339, UTC).
    pub from: String,
    /// How long it was, in nanoseconds.
    pub over_ns: u64,
    /// What was looked at; the whole machine where nothing is named.
    pub scope: Scope,
    /// Where the figures come from, the best source first, and what each lacks.
    pub sources: Vec<SourceUse>,
    /// Programs that lost time, most first; a bounded number.
    pub victims: Vec<Victim>,
    /// Erlang nodes, those that used most CPU time first; a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Node>,
    /// What nodes say of themselves that were asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inside: Vec<Inside>,
    /// What was found, the dearest first.
    pub findings: Vec<Finding>,
    /// An answer for each known stall.
    pub answers: Vec<Answer>,
    /// The machine.
    pub machine: MachineLoad,
    /// What watching cost.
    pub cost: Cost,
    /// The same interval by interval, the oldest first: in records alone, and of the last
    /// intervals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Interval>,
}

/// An interval of a stretch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// How long it was, in nanoseconds.
    pub over_ns: u64,
    /// Programs that lost most time in it, most first, without their threads; a bounded number.
    pub victims: Vec<Victim>,
}

/// What was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scope {
    /// These processes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<u32>,
    /// Processes of this group and of those below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// Processes of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comm: Option<String>,
}

/// A source of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// eBPF on the tracepoints of the scheduler: who waited for a CPU, and who ran instead.
    Scheduler,
    /// eBPF on the tracepoints of the mmap lock: foreign readers, and what their targets wait.
    MmapLock,
    /// Stacks of threads that wait for the lock of a single mapping, and who wakes them.
    MappingLock,
    /// Counters of a group's queue, read in the kernel: how long a quota held each thread.
    Throttled,
    /// Samples of what programs execute: whether their threads wait actively.
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
    /// The kernel counts no throttled time of a queue.
    NoThrottledTime,
    /// No hierarchy of the cpu controller is mounted.
    NoGroups,
    /// No memory controller of cgroup v2: v1 has no memory.high.
    NoMemoryGroups,
}

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
    /// Its threads, those that lost most first; a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<VictimThread>,
}

impl Victim {
    /// Time that it lost: ready without a CPU, and waiting for a lock that another process held.
    pub fn lost_ns(&self) -> u64 {
        self.parts.ready_ns.saturating_add(self.lock.foreign_ns)
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
}

/// Where the time went in which threads were ready and did not run. All but [`Parts::worst_ns`] and
/// [`Parts::waits`] add up to [`Parts::ready_ns`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Its own threads and processes ran on that CPU.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub own_program_ns: u64,
    /// The hypervisor had the CPU: an estimate from the steal time of all CPUs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hypervisor_ns: u64,
    /// Its CPU was idle: it was being woken.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waking_ns: u64,
    /// Not told apart.
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

    /// All parts together: [`Parts::ready_ns`] again.
    pub fn sum_ns(&self) -> u64 {
        [
            self.quota_ns(),
            self.neighbours_ns(),
            self.own_program_ns,
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
}

impl LockWaits {
    /// Whether there was none.
    pub fn is_none(&self) -> bool {
        *self == LockWaits::default()
    }
}

/// Something that holds a program up now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// What it is, with the figures of the case.
    pub kind: FindingKind,
    /// Who is held up.
    pub victim: Program,
    /// By whom, dearest first; empty where nobody but a quota does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub culprits: Vec<Program>,
    /// What it costs the victim, of all its threads together, in milliseconds a second.
    pub cost_ms_per_s: f64,
    /// The worst single wait, in milliseconds; 0 where single waits are not seen.
    pub worst_ms: f64,
    /// Seconds after the beginning at which it was first seen.
    pub since_s: f64,
    /// How sure it is.
    pub sure: Sure,
    /// What fixes it, the most useful first.
    pub fixes: Vec<LiveFix>,
    /// The run that reproduces it in the lab, with the parameters of this case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
}

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sure {
    /// Each wait was seen with its cause.
    Measured,
    /// Worked out from counters that were read beside each other.
    Likely,
}

/// What a finding is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Another process reads its memory map, under its lock.
    ForeignReaders(ForeignReaders),
    /// A quota holds it.
    Quota(QuotaFinding),
    /// Another program has its CPU.
    Neighbour(NeighbourFinding),
    /// It is ready on a busy CPU while one that it may use is idle.
    BesideIdle(BesideIdle),
    /// Its threads wait actively while others of them have no CPU.
    Spinning(SpinFinding),
    /// Native code holds schedulers of an Erlang node.
    NativeCall(NativeCall),
    /// Schedulers of an Erlang node spin a quota away.
    BusyWait(BusyWait),
    /// An Erlang node has more schedulers than CPUs of quota.
    MoreSchedulers(MoreSchedulers),
    /// A process of an Erlang node scans its long mailbox again and again.
    MailboxFlood(MailboxFlood),
    /// Work waits in some run queues of an Erlang node while others have none.
    UnevenQueues(UnevenQueues),
    /// Its group is above memory.high, so it sleeps.
    MemoryHigh(MemoryFinding),
}

impl FindingKind {
    /// The known stall that it is one of: the id of a scenario, or a word of its own.
    pub fn stall(&self) -> &'static str {
        match self {
            FindingKind::ForeignReaders(_) => stall::MMAP_LOCK,
            FindingKind::Quota(quota) => match quota.cause {
                QuotaCause::Runtime(_) => stall::QUOTA_BLIND,
                _ => stall::CPU_QUOTA,
            },
            FindingKind::Neighbour(_) => stall::NEIGHBOUR,
            FindingKind::BesideIdle(_) => stall::BESIDE_IDLE,
            FindingKind::Spinning(_) => stall::PREEMPTED_HOLDER,
            FindingKind::NativeCall(_) => stall::BLOCKING_NIF,
            FindingKind::BusyWait(_) => stall::BUSY_WAIT,
            FindingKind::MoreSchedulers(_) => stall::MORE_SCHEDULERS,
            FindingKind::MailboxFlood(_) => stall::MAILBOX_FLOOD,
            FindingKind::UnevenQueues(_) => stall::UNEVEN_QUEUES,
            FindingKind::MemoryHigh(_) => stall::MEMORY_HIGH,
        }
    }
}

/// Names of what may be found: those of scenarios, and some that have none.
pub mod stall {
    /// Readers of a memory map.
    pub const MMAP_LOCK: &str = "mmap-lock";
    /// A quota.
    pub const CPU_QUOTA: &str = "cpu-quota";
    /// Threads that wait actively for others that have no CPU.
    pub const PREEMPTED_HOLDER: &str = "preempted-holder";
    /// A quota that the threads of a runtime use up too early.
    pub const QUOTA_BLIND: &str = "quota-blind";
    /// A group above memory.high.
    pub const MEMORY_HIGH: &str = "memory-high";
    /// Somebody else's work on the same CPU.
    pub const NEIGHBOUR: &str = "neighbour";
    /// Ready work beside an idle CPU.
    pub const BESIDE_IDLE: &str = "beside-idle";
    /// Native code that holds schedulers of an Erlang node.
    pub const BLOCKING_NIF: &str = "blocking-nif";
    /// A mailbox that is scanned again and again.
    pub const MAILBOX_FLOOD: &str = "mailbox-flood";
    /// Schedulers that spin a quota away.
    pub const BUSY_WAIT: &str = "busy-wait";
    /// More schedulers than CPUs of quota.
    pub const MORE_SCHEDULERS: &str = "more-schedulers";
    /// Work that waits in one run queue while another has none; no scenario provokes it alone.
    pub const UNEVEN_QUEUES: &str = "uneven-queues";
}

/// Another process reads a memory map under its lock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForeignReaders {
    /// The file below /proc/PID; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The system call, where no file was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
    /// Processes that read.
    pub readers: u32,
    /// The highest nice value among them.
    pub nice: i32,
    /// How often a second the lock was held.
    pub holds_per_s: f64,
    /// For how long, in milliseconds a second.
    pub held_ms_per_s: f64,
    /// The longest hold, in milliseconds.
    pub worst_hold_ms: f64,
    /// Share of the held time in which the reader itself was ready and did not run.
    pub preempted: f64,
    /// Share of it in which a quota held the reader.
    pub throttled: f64,
}

/// A quota holds a program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuotaFinding {
    /// The group whose quota it is.
    pub group: String,
    /// Whose it is to the victim.
    pub whose: Whose,
    /// CPU time per period, in microseconds.
    pub quota_us: u64,
    /// Length of a period, in microseconds.
    pub period_us: u64,
    /// Share of its periods in which it was throttled, as cpu.stat counts them.
    pub throttled_periods: f64,
    /// Time that its CPUs were throttled, all together, in milliseconds a second, as cpu.stat
    /// counts it.
    pub throttled_ms_per_s: f64,
    /// CPU time that it used, over what the quota allows in that time; absent where it is not
    /// counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<f64>,
    /// Threads of the group that used CPU time.
    pub threads: u32,
    /// What used the quota up.
    pub cause: QuotaCause,
}

/// Whose quota it is, seen from the victim.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Whose {
    /// That of its own group.
    #[default]
    Own,
    /// That of a group above.
    Ancestor,
    /// One of the two.
    NotKnown,
}

/// What used a quota up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum QuotaCause {
    /// The work of the group.
    #[default]
    UsedUp,
    /// Threads that wait actively: this share of the CPU time was spent at instructions of waiting.
    Spun(f64),
    /// Nothing: it was throttled although it had not used what the quota gives.
    UnderQuota,
    /// A runtime that had more threads at work at once than the quota allows.
    Runtime(LiveRuntime),
}

/// A language's runtime, as far as its processes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LiveRuntime {
    /// A Java virtual machine.
    Jvm,
    /// Node.js.
    Node,
    /// That of Go.
    Go,
    /// The Erlang VM.
    Beam,
}

/// Another program has the CPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NeighbourFinding {
    /// CPU time that the victim got, in milliseconds a second.
    pub victim_ran_ms_per_s: f64,
    /// CPU time that the culprit had, in milliseconds a second.
    pub culprit_ran_ms_per_s: f64,
    /// The highest nice value of both, victim first, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nice: Option<(i32, i32)>,
}

/// Ready work beside an idle CPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BesideIdle {
    /// Share of its ready time.
    pub share: f64,
}

/// Threads of a program wait actively while others of them have no CPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpinFinding {
    /// CPU time at instructions of active waiting, in milliseconds a second.
    pub spun_ms_per_s: f64,
    /// That over all CPU time of the program, by samples.
    pub share: f64,
    /// Threads that were seen to wait actively.
    pub threads: u32,
    /// Time in which threads were ready while others of the program ran, in milliseconds a second.
    pub behind_own_ms_per_s: f64,
    /// The thread that waited longest behind others of its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_up: Option<VictimThread>,
    /// Where they wait actively, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spot: Option<Spot>,
}

/// A place in a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spot {
    /// The address.
    pub address: u64,
    /// The function, by the symbols of the program; absent in a library, and where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// A group above its memory.high.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryFinding {
    /// The group.
    pub group: String,
    /// Its memory.high, in bytes.
    pub high_bytes: u64,
    /// What it held at the end, in bytes.
    pub held_bytes: u64,
    /// How often a second it was found above.
    pub high_events_per_s: f64,
    /// Time in which one of its tasks or more stood still for memory, in milliseconds a second, as
    /// memory.pressure counts it.
    pub stalled_ms_per_s: f64,
    /// Share of the looks at its tasks that saw one asleep for the limit; absent without any look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asleep: Option<f64>,
}

/// What fixes a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LiveFix {
    /// Read a file that takes no lock instead: smaps_rollup, status, statm.
    ReadLess,
    /// Read it less often.
    ReadSeldom,
    /// Do not run the reader at a low priority, where it is preempted with the lock.
    RaiseReader,
    /// Give the reader no quota, or a larger one: it is throttled with the lock.
    UnthrottleReader,
    /// A newer kernel: from this version on this file is read without the lock.
    NewerKernel(String),
    /// A quota of so many CPUs would have been enough for what was wanted, at least.
    RaiseQuota(f64),
    /// Let unused time be carried over.
    Burst,
    /// Fewer threads than CPUs of quota.
    FewerThreads,
    /// Tell a runtime to use so many CPUs, by its own setting.
    TellRuntime(LiveRuntime, u32),
    /// Stop waiting actively.
    StopSpinning,
    /// No more threads than CPUs.
    ThreadsAsCpus,
    /// Give each of the two a CPU of its own.
    Separate,
    /// Weigh the two against each other.
    Weigh,
    /// Look at the kernel's balancing: affinities, cpusets, isolated CPUs.
    Balance,
    /// Run the native function on a dirty scheduler, or in slices that yield.
    DirtyScheduler,
    /// Flags of the Erlang node.
    Flags(NodeFlags),
    /// A dam before the process: senders wait for credit.
    Dam,
    /// Have another process make that call: one that gets no other messages.
    OtherReceiver,
    /// Raise memory.high above what the work needs.
    RaiseMemoryHigh,
    /// Limit it by memory.max instead, so that it is killed and started again.
    MemoryMax,
    /// Let the group swap.
    Swap,
}

/// The answer for one known stall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    /// The stall: the id of a scenario, or a word of [`stall`].
    pub stall: String,
    /// The answer.
    pub state: AnswerState,
}

/// Whether a stall is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AnswerState {
    /// It is: a finding says more.
    Hitting,
    /// It was measured and costs nobody more than this, in milliseconds a second; a finding begins
    /// at the second figure.
    NotHitting {
        /// What it costs the one whom it costs most.
        most_ms_per_s: f64,
        /// What would be a finding.
        finding_at_ms_per_s: f64,
    },
    /// It cannot be measured here.
    NotMeasurable(NotMeasurable),
}

/// Why a stall cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NotMeasurable {
    /// A source that it needs could not be had.
    Missing(Missing),
    /// It is about a lock inside a program, which no tracepoint shows.
    LockInProgram,
    /// No Erlang node runs here.
    NoNode,
    /// It takes a look into the node.
    NotInside,
    /// The node that was asked does not answer.
    NoAnswer,
}

/// The machine in that time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineLoad {
    /// CPUs that are online.
    pub cpus: u32,
    /// CPU time that was used of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_ns: Option<u64>,
    /// Time that the hypervisor took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_ns: Option<u64>,
    /// Share of the time in which some task waited for a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_pressure: Option<f64>,
    /// Switches a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches_per_s: Option<f64>,
}

/// What watching cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// CPU time of this process, in milliseconds a second.
    pub tool_ms_per_s: f64,
    /// CPU time of its programs in the kernel, in milliseconds a second, while it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs_ms_per_s: Option<f64>,
    /// Memory of this process, in bytes.
    pub memory_bytes: u64,
    /// Memory of its tables in the kernel, in bytes.
    pub table_bytes: u64,
    /// Threads that lost their place in a table before they were read: their time is not in the
    /// figures.
    pub lost_threads: u64,
    /// Time behind others for which there was no room to name them.
    pub unnamed_ns: u64,
}

fn is_zero(ns: &u64) -> bool {
    *ns == 0
}
