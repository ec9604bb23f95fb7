//! Why a stall was there, as typed facts with times that add up; turned into English where it is
//! shown.

use crate::arm::Changed;
use crate::evidence::{Behind, MemoryEvidence, Task, Wait};
use crate::fix::FixOutcome;
use crate::machine::GuestOf;
use crate::measure::Unit;
use crate::not_seen::{EvidenceSource, NotSeen};
use crate::reason::Headline;
use crate::state::State;
use crate::suggestion::Suggestion;
use serde::{Deserialize, Serialize};

/// The schema of an explanation.
pub const SCHEMA: &str = "tailback/explanation/2";

/// The explanation of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// [`SCHEMA`].
    pub schema: String,
    /// The scenario.
    pub scenario: String,
    /// Its verdict.
    pub state: State,
    /// The arm whose trial with probes is told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// What held the work up.
    pub cause: Cause,
    /// Where the time of all waits went; the shares add up to it.
    pub shares: Vec<Share>,
    /// What else was seen.
    pub evidence: Vec<Seen>,
    /// What fixes it, or what to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Remedy>,
    /// The guest that it is of, where it is of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<GuestOf>,
    /// What the probes cost; absent where no trial had any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Where the evidence comes from.
    pub sources: Vec<EvidenceSource>,
    /// What could not be had.
    pub missing: Vec<MissingEvidence>,
    /// The longest waits, longest first, with the timeline of the worst.
    pub waits: Vec<Wait>,
}

/// What held the work up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The longest wait: the first of [`Explanation::waits`].
    LongestWait,
    /// The CPU quota of a group.
    Quota(QuotaCause),
    /// The limit of memory of a group.
    Memory(MemoryCause),
    /// A thread that was ready to run and had no CPU.
    NoCpu(Delay),
    /// The schedulers of an Erlang VM used up the CPU quota of their group.
    SchedulersThrottled(SchedulersThrottled),
    /// One scheduler of an Erlang VM slept in native code, while another had no work.
    SchedulersUneven(SchedulersUneven),
    /// The schedulers of an Erlang VM ran; nothing else held them up.
    SchedulersRan(SchedulersRan),
    /// There is no evidence: what the verdict says.
    Verdict(Headline),
}

/// Who used the quota of a group, and who was throttled by it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuotaCause {
    /// The thread that used most.
    pub task: Task,
    /// CPU time that it used, in nanoseconds.
    pub used_ns: u64,
    /// Of what the group used, in percent.
    pub percent: f64,
    /// Periods in which the group was throttled.
    pub throttled_periods: u64,
    /// The thread that the quota kept off a CPU for longest, where that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<Throttled>,
}

/// Whom the memory.high of a group put to sleep, and who filled the group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryCause {
    /// What the files of the group said.
    #[serde(flatten)]
    pub memory: MemoryEvidence,
    /// Who slept longest for it at a time, and how long, in nanoseconds, where that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<(Task, u64)>,
}

/// A thread that a quota kept off a CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttled {
    /// The thread.
    pub task: Task,
    /// For how long it was ready to run then, in nanoseconds.
    pub throttled_ns: u64,
}

/// A thread that was ready to run and had no CPU; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delay {
    /// The thread.
    pub task: Task,
    /// On a CPU.
    pub running_ns: u64,
    /// Ready to run, and not on a CPU.
    pub runnable_ns: u64,
    /// The longest single time of that, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_ns: Option<u64>,
    /// Who ran on its CPU meanwhile, longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Behind>,
}

/// Schedulers under a quota; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchedulersThrottled {
    /// What they did.
    #[serde(flatten)]
    pub work: Work,
    /// Periods in which the group was throttled.
    pub throttled_periods: u64,
    /// How long they were ready to run and kept off their CPUs by the quota, where that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
}

/// What the schedulers of a VM did together; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// How long they were watched, in wall time.
    pub watched_ns: u64,
    /// How many did anything.
    pub schedulers: u32,
    /// CPU time of all of them.
    pub ran_ns: u64,
    /// Of that without work, where it is known and worth telling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spun: Option<Spun>,
}

/// CPU time without work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spun {
    /// In nanoseconds.
    pub ns: u64,
    /// It was that or more.
    pub at_least: bool,
    /// Of the CPU time, in percent.
    pub percent: f64,
}

/// Schedulers of which one was in native code while another had no work; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchedulersUneven {
    /// How long they were watched, in wall time.
    pub watched_ns: u64,
    /// The scheduler that worked most.
    pub most: Task,
    /// Its CPU time.
    pub most_ran_ns: u64,
    /// How long it slept in native code.
    pub most_native_ns: u64,
    /// The scheduler that worked least, where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<IdleScheduler>,
}

/// A scheduler without work; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleScheduler {
    /// The scheduler.
    pub task: Task,
    /// Its CPU time.
    pub ran_ns: u64,
    /// How long it slept as a scheduler without work does.
    pub idle_ns: u64,
}

/// Schedulers that were not held up; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchedulersRan {
    /// What they did.
    #[serde(flatten)]
    pub work: Work,
    /// How long they were ready to run and had no CPU, all together.
    pub delayed_ns: u64,
    /// The scheduler that ran most, where it was watched by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest: Option<Busiest>,
}

/// The scheduler that ran most; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Busiest {
    /// The scheduler.
    pub task: Task,
    /// Its CPU time.
    pub ran_ns: u64,
    /// Ready to run, and not on a CPU.
    pub runnable_ns: u64,
    /// What most of its time was.
    pub mostly: Mostly,
}

/// What the time of a scheduler was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mostly {
    /// It waited longer for a CPU than it ran.
    Waiting,
    /// More of it was work in the VM than waiting for a CPU.
    Work,
    /// Nearly all of it was work in the VM.
    WorkAlone,
}

/// A share of the time of all waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// What happened then.
    pub what: Happened,
    /// How long, in nanoseconds.
    pub ns: u64,
    /// Of all waits, in percent.
    pub percent: f64,
}

/// What happened while somebody waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Happened {
    /// A holder was ready to run and had no CPU, preempted or throttled, and none ran.
    HolderPreempted,
    /// A holder ran.
    HolderRan,
    /// Every known holder slept.
    HoldersSlept,
    /// Somebody held; what it did is not known.
    HolderUnknown,
    /// Nobody held any more; the waiter itself waited for a CPU.
    WaiterDelayed,
    /// No holder is known.
    NoHolderKnown,
}

/// Something that was seen beside the cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// What the schedulers of a VM did in futex.
    Futex {
        /// Calls.
        calls: u64,
        /// Calls in each second.
        per_second: f64,
        /// Time in them, in nanoseconds.
        ns: u64,
    },
    /// How long the schedulers of a VM were ready to run and had no CPU.
    SchedulersDelayed {
        /// All together, in nanoseconds.
        ns: u64,
        /// The longest single time, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        longest_ns: Option<u64>,
        /// Of all: kept off their CPUs by a quota, where that was seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        throttled_ns: Option<u64>,
    },
    /// How often a quota kept its group off a CPU; times in nanoseconds.
    Throttles {
        /// How often.
        times: usize,
        /// For how long, all together.
        ns: u64,
        /// The same as cpu.stat counts it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counted_ns: Option<u64>,
        /// The longest of them.
        longest_ns: u64,
        /// Who ran most often when the quota was used up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used_up_by: Option<UsedUp>,
    },
    /// Waits of a millisecond or more.
    Waits {
        /// How many.
        count: u64,
        /// How long they took together, in nanoseconds.
        ns: u64,
    },
    /// Who ran while a holder was ready to run, longest first.
    RanMeanwhile {
        /// They.
        behind: Vec<Behind>,
    },
    /// A thread that was ready to run and had no CPU.
    NoCpu(Delay),
}

/// Who ran when a quota was used up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedUp {
    /// The thread.
    pub task: Task,
    /// How often.
    pub times: usize,
}

/// What fixes a stall, or what to do next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// A change that this study measured.
    Measured {
        /// The arm that has it.
        arm: String,
        /// The change.
        change: Changed,
        /// What it did.
        outcome: FixOutcome,
    },
    /// The first suggestion of the verdict.
    Suggested(Suggestion),
}

/// What the probes cost, and what they lost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// How fast the control worked with probes and without.
    pub rates: Vec<Rate>,
    /// Events that were lost, in all trials with probes.
    pub lost_events: u64,
}

/// A rate of work with probes and without.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// The arm.
    pub arm: String,
    /// The figure.
    pub measure: String,
    /// Its unit.
    pub unit: Unit,
    /// With probes.
    pub with: f64,
    /// Median over the trials without.
    pub without: f64,
    /// The least and the most of those.
    pub range: (f64, f64),
    /// By how much it changed, in percent.
    pub change_percent: f64,
    /// Whether trials without probes differ as much from each other.
    pub within_range: bool,
}

/// Evidence that could not be had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingEvidence {
    /// What the trial with probes could not see.
    NotSeen(NotSeen),
    /// The study was run with `--no-probe`.
    NoProbe,
    /// Nothing was run.
    NothingRun,
    /// No trial with probes was run, since no arm was affected.
    NotAffected,
    /// The record has no trial with probes.
    NotProbed,
}
