//! Why there was a stall, as typed facts with times that add up. They are turned into English
//! when they are shown.

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
    /// The verdict of the record.
    pub state: State,
    /// The arm whose trial with probes is explained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The cause of the stall.
    pub cause: Cause,
    /// Where the time of all waits went; the shares add up to it.
    pub shares: Vec<Share>,
    /// Other observations.
    pub evidence: Vec<Seen>,
    /// What fixes it, or what to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Remedy>,
    /// The guest in which the study ran, if it ran in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<GuestOf>,
    /// What the probes cost; absent if no trial had probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Where the evidence comes from.
    pub sources: Vec<EvidenceSource>,
    /// Evidence that is missing.
    pub missing: Vec<MissingEvidence>,
    /// The longest waits, longest first, with the timeline of the longest.
    pub waits: Vec<Wait>,
}

/// The cause of a stall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The longest wait: the first of [`Explanation::waits`].
    LongestWait,
    /// The CPU quota of a group throttled threads.
    Quota(QuotaCause),
    /// The memory limit of a group put threads to sleep.
    Memory(MemoryCause),
    /// A thread was runnable but not on a CPU.
    NoCpu(Delay),
    /// The schedulers of an Erlang VM used up the CPU quota of their group.
    SchedulersThrottled(SchedulersThrottled),
    /// One scheduler of an Erlang VM slept in native code, while another had no work.
    SchedulersUneven(SchedulersUneven),
    /// The schedulers of an Erlang VM ran; nothing else held them up.
    SchedulersRan(SchedulersRan),
    /// There is no evidence, so this is the headline of the verdict.
    Verdict(Headline),
}

/// Which thread used the quota of a group, and which thread it throttled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuotaCause {
    /// The thread that used most CPU time.
    pub task: Task,
    /// CPU time that it used, in nanoseconds.
    pub used_ns: u64,
    /// Its share of the CPU time that the group used, in per cent.
    pub percent: f64,
    /// Periods in which the group was throttled.
    pub throttled_periods: u64,
    /// The thread that was throttled for longest, if that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<Throttled>,
}

/// Which thread slept because of the memory.high of its group, and which process filled the
/// group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryCause {
    /// What the group's own files reported.
    #[serde(flatten)]
    pub memory: MemoryEvidence,
    /// The thread with the longest single sleep of this kind, and its length in nanoseconds, if
    /// that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<(Task, u64)>,
}

/// A thread that was throttled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttled {
    /// The thread.
    pub task: Task,
    /// How long it was runnable while throttled, in nanoseconds.
    pub throttled_ns: u64,
}

/// A thread that was runnable but not on a CPU; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delay {
    /// The thread.
    pub task: Task,
    /// Time on a CPU.
    pub running_ns: u64,
    /// Time runnable but not on a CPU.
    pub runnable_ns: u64,
    /// The longest single wait for a CPU, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_ns: Option<u64>,
    /// Threads that ran on its CPU meanwhile, longest first.
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
    /// How long they were runnable while throttled, if that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
}

/// What the schedulers of a VM did, all together; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// How long they were watched, in wall time.
    pub watched_ns: u64,
    /// How many schedulers did anything.
    pub schedulers: u32,
    /// CPU time of all of them.
    pub ran_ns: u64,
    /// The part of the CPU time without work, if it is known and worth mentioning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spun: Option<Spun>,
}

/// CPU time of schedulers that had no work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spun {
    /// In nanoseconds.
    pub ns: u64,
    /// The true time is this or more.
    pub at_least: bool,
    /// Its share of the CPU time, in per cent.
    pub percent: f64,
}

/// Schedulers, one of which was in native code while another had no work; times in nanoseconds.
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
    /// The scheduler that worked least, if it is a different one.
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
    /// How long it slept in the way in which a scheduler without work sleeps.
    pub idle_ns: u64,
}

/// Schedulers that were not held up; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchedulersRan {
    /// What they did.
    #[serde(flatten)]
    pub work: Work,
    /// How long they were runnable but not on a CPU, all together.
    pub delayed_ns: u64,
    /// The scheduler that ran most, if it was watched separately.
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
    /// Time runnable but not on a CPU.
    pub runnable_ns: u64,
    /// How it spent most of its time.
    pub mostly: Mostly,
}

/// How a scheduler spent most of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mostly {
    /// It waited for a CPU longer than it ran.
    Waiting,
    /// It worked in the VM for longer than it waited for a CPU.
    Work,
    /// It spent nearly all of its time on work in the VM.
    WorkAlone,
}

/// A share of the time of all waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// What happened in that time.
    pub what: Happened,
    /// How long, in nanoseconds.
    pub ns: u64,
    /// Its share of all waits, in per cent.
    pub percent: f64,
}

/// What happened while a thread waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Happened {
    /// A holder was runnable but not on a CPU (preempted or throttled), and no holder ran.
    HolderPreempted,
    /// A holder ran.
    HolderRan,
    /// Every known holder slept.
    HoldersSlept,
    /// There was a holder, but what it did is not known.
    HolderUnknown,
    /// There was no holder any more. The waiter itself waited for a CPU.
    WaiterDelayed,
    /// No holder is known.
    NoHolderKnown,
}

/// An observation besides the cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// What the schedulers of a VM did in futex.
    Futex {
        /// Number of calls.
        calls: u64,
        /// Number of calls a second.
        per_second: f64,
        /// Time in these calls, in nanoseconds.
        ns: u64,
    },
    /// How long the schedulers of a VM were runnable but not on a CPU.
    SchedulersDelayed {
        /// The sum over all schedulers, in nanoseconds.
        ns: u64,
        /// The longest single wait for a CPU, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        longest_ns: Option<u64>,
        /// The part of the sum in which a quota throttled them, if that was seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        throttled_ns: Option<u64>,
    },
    /// How often a quota throttled its group on a CPU; times in nanoseconds.
    Throttles {
        /// How often.
        times: usize,
        /// The sum of these times.
        ns: u64,
        /// The same sum as counted by cpu.stat.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counted_ns: Option<u64>,
        /// The longest single time.
        longest_ns: u64,
        /// The thread that ran most often when the quota was used up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used_up_by: Option<UsedUp>,
    },
    /// Waits of a millisecond or more.
    Waits {
        /// Number of these waits.
        count: u64,
        /// How long they took together, in nanoseconds.
        ns: u64,
    },
    /// Threads that ran while a holder was runnable, longest first.
    RanMeanwhile {
        /// The threads.
        behind: Vec<Behind>,
    },
    /// A thread was runnable but not on a CPU.
    NoCpu(Delay),
}

/// The thread that ran when a quota was used up.
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
        /// The arm with the change.
        arm: String,
        /// The change.
        change: Changed,
        /// The effect of the change.
        outcome: FixOutcome,
    },
    /// The first suggestion of the verdict.
    Suggested(Suggestion),
}

/// What the probes cost, and how many events they lost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// How fast the control worked with probes and without them.
    pub rates: Vec<Rate>,
    /// Events that were lost, over all trials with probes.
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
    /// The rate with probes.
    pub with: f64,
    /// Median over the trials without probes.
    pub without: f64,
    /// The smallest and the largest rate of these trials.
    pub range: (f64, f64),
    /// The change of the rate, in per cent.
    pub change_percent: f64,
    /// Whether trials without probes differ from each other by as much.
    pub within_range: bool,
}

/// Evidence that is missing.
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
