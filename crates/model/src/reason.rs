//! Why a verdict is what it is, and what it cannot tell: typed facts, turned into English in one
//! place.

use crate::estimate::Comparison;
use crate::fact::{Amount, Fact};
use crate::missed::Missed;
use crate::problem::{Need, Problem};
use crate::state::State;
use serde::{Deserialize, Serialize};

/// The verdict in one sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Headline {
    /// What the scenario says of its outcome.
    Scenario(Fact),
    /// What disturbed the machine, or the kernel, makes the figures prove nothing.
    Untrustworthy,
    /// Nothing was measured yet.
    NotMeasured,
    /// Something is missing, so the study was not run or not to its end; the first reason says
    /// what.
    Skipped,
    /// A trial broke; the first reason says how.
    Broken,
    /// The scenario is unknown to this version, so that it cannot judge the record.
    UnknownScenario,
    /// A study of several factors.
    Study(StudyHeadline),
    /// Nothing was tried: what `tailback watch` found stands in the record's `live`.
    Watched,
}

/// What a study of several factors found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyHeadline {
    /// Its name.
    pub name: String,
    /// Combinations that stall.
    pub affected: u32,
    /// All combinations.
    pub of: u32,
    /// The judged figure.
    pub measure: String,
    /// The combination that stalls most, where it is settled which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<String>,
}

/// A ground of a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// What the test says of all blocks.
    Evidence(BlocksSeen),
    /// What an affected arm has over its control.
    OverControl {
        /// The arm.
        arm: String,
        /// The judged figure.
        measure: String,
        /// By how much.
        shift: Comparison,
    },
    /// An arm hung more often than its control.
    Hung {
        /// The arm.
        arm: String,
        /// Its trials that hung, and all of them.
        hung: (u32, u32),
        /// The control.
        control: String,
        /// Its trials that hung, and all of them.
        control_hung: (u32, u32),
    },
    /// The plan has no control.
    NoControl,
    /// No arm with the cause was run.
    NoCase,
    /// No block is whole.
    NoWholeBlock {
        /// The judged figure, which every control and case has to yield.
        measure: String,
    },
    /// By the same test no stall shows in this figure either.
    NorIn {
        /// The figure.
        measure: String,
        /// What could have been missed by it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missed: Option<Missed>,
    },
    /// It is not settled for this figure, and why.
    NotSettledIn {
        /// The figure.
        measure: String,
        /// The first ground of that.
        why: Option<Box<Reason>>,
    },
    /// A control is so noisy that a stall that matters could hide behind it.
    TooNoisy {
        /// The control.
        control: String,
        /// What would show against it.
        shows_above: Amount,
        /// The most that may be hidden.
        most: Amount,
    },
    /// Something makes figures doubtful.
    Doubt(Doubt),
    /// What trials leave behind may be all that was seen.
    CarryOver(CarryOver),
    /// A trial broke.
    Broke {
        /// What went wrong.
        error: Box<Problem>,
    },
    /// A need is not met.
    Missing {
        /// What is missing.
        what: Box<Need>,
    },
    /// A setting turned out not to be usable once it was tried.
    Unusable {
        /// Why.
        why: Box<Problem>,
    },
    /// What the whole blocks before a break would have made the verdict.
    WouldHaveBeen {
        /// So many blocks.
        blocks: u32,
        /// In one word.
        state: State,
        /// In one sentence.
        headline: Box<Headline>,
    },
    /// The study was interrupted before its verdict was settled.
    Interrupted,
    /// The time was over before its verdict was settled.
    OutOfTime {
        /// Blocks that were run until then.
        blocks: u32,
    },
    /// The study had not ended when the record was written.
    NotEnded,
    /// What only the scenario knows.
    Scenario(Fact),
}

/// What the test says of all blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlocksSeen {
    /// Whole blocks.
    pub blocks: u32,
    /// Each arm with the cause held against its control.
    pub pairs: Vec<PairSeen>,
    /// The test of `affected`; absent where it does not matter to the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affected: Option<EValue>,
    /// The test of `not-affected`; absent where it does not matter to the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_affected: Option<EValue>,
}

/// In how many blocks an arm was clearly worse or better than its control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairSeen {
    /// The arm.
    pub arm: String,
    /// Its control; absent where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
    /// Blocks in which it was clearly worse.
    pub worse: u32,
    /// Blocks in which it was clearly better.
    pub better: u32,
}

/// An e-value, and what it takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EValue {
    /// The e-value.
    pub value: f64,
    /// What is needed.
    pub needed: f64,
    /// The error rate that this keeps to.
    pub error_rate: f64,
}

/// What makes figures doubtful.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// The kernel became tainted during the study.
    Tainted {
        /// The new flags of /proc/sys/kernel/tainted.
        flags: u64,
    },
    /// The hypervisor took more of a CPU's time from a case than from its control.
    Steal {
        /// The case.
        arm: String,
        /// Its control.
        control: String,
        /// How much more of a CPU's time, in the median block.
        more: f64,
        /// The most that can be judged on.
        most: f64,
    },
    /// The measured thread itself had no CPU, and without that time no effect is left.
    NoCpu {
        /// The case that it explains; absent where it explains them all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arm: Option<String>,
        /// For how long, in the median trial, in milliseconds a second.
        ms_per_s: f64,
    },
}

/// What a trial with the cause leaves behind for the next trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CarryOver {
    /// The control.
    pub control: String,
    /// What it reads right after an arm with the cause, in the median trial.
    pub after_case: Amount,
    /// What it reads otherwise.
    pub otherwise: Amount,
}

/// What a study cannot tell, and what would settle it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Caveat {
    /// A difference of up to this counts as none.
    Margin(Amount),
    /// It is not settled whether these arms stalled.
    ArmsOpen {
        /// The arms.
        arms: Vec<String>,
    },
    /// The stall is settled, and its size has no interval yet.
    NoInterval {
        /// The confidence that it would have.
        confidence: f64,
        /// So many blocks or more give one.
        blocks: u32,
    },
    /// Trials of blocks that are not whole had no part in the test.
    LeftOut {
        /// How many.
        trials: u32,
    },
    /// A trial hung; how long it would have taken is not known.
    HangCutOff {
        /// When it was cut off, in milliseconds.
        after: Amount,
        /// The parameter that lets a trial hang longer, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parameter: Option<String>,
    },
    /// The guest was emulated, so sizes do not carry over to a real machine.
    Emulated,
    /// Another run could load the machine at the same time.
    SharedMachine,
    /// A control reads otherwise right after a case.
    CarryOver(CarryOver),
    /// The same, where each case was followed by a trial that is not judged.
    WashedOut(CarryOver),
    /// A doubt about some arms that does not touch what the others support.
    Doubt(Doubt),
    /// What the arms would do on a quiet machine is not known.
    QuietMachineUnknown,
    /// More blocks like these would settle it.
    MoreBlocks {
        /// How many more.
        more: u32,
        /// How many in all.
        blocks: u32,
        /// Whether the next run of the same command goes on where this one ended.
        goes_on: bool,
    },
    /// Not even a thousand blocks like these would settle it.
    NeverSettles {
        /// How many.
        blocks: u32,
    },
    /// The test alone would say not-affected; a reason does not allow it.
    NeedsQuietBlocks,
    /// A verdict takes whole blocks.
    NeedsBlocks {
        /// Usually so many or more.
        least: u32,
        /// At most so many are run.
        most: u32,
    },
    /// A study of the control alone tells nothing.
    NeedsCase,
    /// A plan without a control tells nothing.
    NeedsControl,
    /// What only the scenario knows.
    Scenario(Fact),
}
