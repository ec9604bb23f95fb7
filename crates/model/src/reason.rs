//! Why a verdict is what it is, and what it cannot tell. These are typed facts; one place turns
//! them into English.

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
    /// The statement of the scenario about its outcome.
    Scenario(Fact),
    /// A disturbance of the machine or of the kernel makes the figures prove nothing.
    Untrustworthy,
    /// Nothing has been measured yet.
    NotMeasured,
    /// Something is missing, so the study was not run, or not to its end. The first reason names
    /// what is missing.
    Skipped,
    /// A trial broke; the first reason says how.
    Broken,
    /// This version does not know the scenario, so it cannot judge the record.
    UnknownScenario,
    /// A study of several factors.
    Study(StudyHeadline),
    /// A watch, which has no trials. The findings of `tailback watch` are in the record's `live`.
    Watched,
}

/// The result of a study of several factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyHeadline {
    /// The name of the study.
    pub name: String,
    /// Combinations that stall.
    pub affected: u32,
    /// All combinations.
    pub of: u32,
    /// The judged figure.
    pub measure: String,
    /// The combination that stalls most, if that is settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<String>,
}

/// A ground of a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// What the test says about all blocks.
    Evidence(BlocksSeen),
    /// By how much an affected arm is worse than its control.
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
        /// Number of its trials that hung, and number of all its trials.
        hung: (u32, u32),
        /// The control.
        control: String,
        /// Number of its trials that hung, and number of all its trials.
        control_hung: (u32, u32),
    },
    /// The plan has no control.
    NoControl,
    /// No arm with the cause was run.
    NoCase,
    /// No block is whole.
    NoWholeBlock {
        /// The judged figure, which every control and every case has to yield.
        measure: String,
    },
    /// The same test shows no stall in this figure either.
    NorIn {
        /// The figure.
        measure: String,
        /// What could have been missed with this figure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missed: Option<Missed>,
    },
    /// The verdict for this figure is not settled, and why.
    NotSettledIn {
        /// The figure.
        measure: String,
        /// The first reason for that.
        why: Option<Box<Reason>>,
    },
    /// A control is so noisy that it could hide a stall that matters.
    TooNoisy {
        /// The control.
        control: String,
        /// A stall has to add more than this to show against the control.
        shows_above: Amount,
        /// The most that noise may hide.
        most: Amount,
    },
    /// An arm of a study of factors that was cleared by a larger margin than its own.
    LargerMargin {
        /// The arm.
        arm: String,
        /// The margin by which it would be judged alone.
        own: Amount,
        /// The margin that all arms of the study share.
        used: Amount,
    },
    /// A control shows so much itself that too little room is left for a stall of the case.
    ControlStalls {
        /// The control.
        control: String,
        /// The figure.
        measure: String,
        /// The median of the control.
        level: Amount,
        /// The most that it may be.
        most: Amount,
    },
    /// Something makes figures doubtful.
    Doubt(Doubt),
    /// All that was seen may come from what trials leave behind.
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
    /// A setting turned out to be unusable when it was tried.
    Unusable {
        /// Why it is unusable.
        why: Box<Problem>,
    },
    /// The verdict that the whole blocks before a broken trial would have given.
    WouldHaveBeen {
        /// The number of these blocks.
        blocks: u32,
        /// The verdict in one word.
        state: State,
        /// The verdict in one sentence.
        headline: Box<Headline>,
    },
    /// The study was interrupted before its verdict was settled.
    Interrupted,
    /// The time budget was used up before the verdict was settled.
    OutOfTime {
        /// Blocks that were run by then.
        blocks: u32,
    },
    /// The study had not ended when the record was written.
    NotEnded,
    /// A reason that only the scenario knows.
    Scenario(Fact),
}

/// What the test says about all blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlocksSeen {
    /// Whole blocks.
    pub blocks: u32,
    /// Each arm with the cause, compared with its control.
    pub pairs: Vec<PairSeen>,
    /// The test of `affected`; absent if the verdict does not depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affected: Option<EValue>,
    /// The test of `not-affected`; absent if the verdict does not depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_affected: Option<EValue>,
}

/// In how many blocks an arm was clearly worse or better than its control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairSeen {
    /// The arm.
    pub arm: String,
    /// Its control; absent if the plan has only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
    /// Blocks in which it was clearly worse.
    pub worse: u32,
    /// Blocks in which it was clearly better.
    pub better: u32,
}

/// An e-value, and the e-value that is needed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EValue {
    /// The e-value.
    pub value: f64,
    /// The e-value that is needed.
    pub needed: f64,
    /// The error rate that this threshold keeps.
    pub error_rate: f64,
}

/// Why figures are doubtful.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// The kernel became tainted during the study.
    Tainted {
        /// The new flags of /proc/sys/kernel/tainted.
        flags: u64,
    },
    /// The hypervisor took a larger share of a CPU from a case than from its control.
    Steal {
        /// The case.
        arm: String,
        /// Its control.
        control: String,
        /// The difference in that share, in the median block.
        more: f64,
        /// The largest difference with which a case is still judged.
        most: f64,
    },
    /// The measured thread had no CPU for some time, and without that time no effect is left.
    NoCpu {
        /// The case whose effect this explains; absent if it explains all effects.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arm: Option<String>,
        /// How long, in the median trial, in milliseconds a second.
        ms_per_s: f64,
    },
}

/// What a trial with the cause leaves behind for the next trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CarryOver {
    /// The control.
    pub control: String,
    /// The control's figure right after an arm with the cause, in the median trial.
    pub after_case: Amount,
    /// The control's figure in its other trials.
    pub otherwise: Amount,
}

/// What a study cannot tell, and what would settle it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Caveat {
    /// A difference up to this counts as no difference.
    Margin(Amount),
    /// It is not settled whether these arms stalled.
    ArmsOpen {
        /// The arms.
        arms: Vec<String>,
    },
    /// The stall is settled, but its size has no interval yet.
    NoInterval {
        /// The confidence that the interval would have.
        confidence: f64,
        /// The least number of blocks that gives an interval.
        blocks: u32,
    },
    /// Trials of incomplete blocks were left out of the test.
    LeftOut {
        /// How many trials.
        trials: u32,
    },
    /// A trial hung; how long it would have taken is not known.
    HangCutOff {
        /// When it was cut off, in milliseconds.
        after: Amount,
        /// The parameter that lets a trial hang longer, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parameter: Option<String>,
    },
    /// The guest was emulated, so sizes do not carry over to a real machine.
    Emulated,
    /// Another run could load the machine at the same time.
    SharedMachine,
    /// A control has other figures right after a case.
    CarryOver(CarryOver),
    /// The same, in a study that runs a trial that is not judged after each case.
    WashedOut(CarryOver),
    /// A doubt about some arms. It does not affect what the other arms support.
    Doubt(Doubt),
    /// What the arms would do on a quiet machine is not known.
    QuietMachineUnknown,
    /// More blocks like these would settle the verdict.
    MoreBlocks {
        /// How many more blocks.
        more: u32,
        /// How many blocks in all.
        blocks: u32,
        /// Whether the next run of the same command continues this study.
        goes_on: bool,
    },
    /// Not even a thousand blocks like these would settle the verdict.
    NeverSettles {
        /// How many blocks.
        blocks: u32,
    },
    /// The test alone would say not-affected, but a reason does not allow that verdict.
    NeedsQuietBlocks,
    /// The test alone would say not-affected, but a trial with the cause hung.
    HangRulesOut,
    /// The test alone would say not-affected, but it leaves out so many blocks in which a case gave
    /// no figure that a stall may have removed it.
    FigureLacking {
        /// The case.
        arm: String,
        /// The judged figure.
        measure: String,
        /// Number of blocks in which the case gave no figure and its control gave one.
        blocks: u32,
        /// The control.
        control: String,
        /// Number of blocks in which the control gave no figure and the case gave one.
        control_blocks: u32,
    },
    /// The test alone would say not-affected, but the control of a case hung, and so many blocks
    /// would not show a stall of the case.
    ControlHung {
        /// The case.
        arm: String,
        /// The control.
        control: String,
        /// Number of complete blocks in which the control hung.
        blocks: u32,
        /// Number of blocks in which the case alone gave no figure, less those in which the control
        /// alone gave none.
        lacking: u32,
    },
    /// A verdict needs whole blocks.
    NeedsBlocks {
        /// The least number of blocks that is usually needed.
        least: u32,
        /// The number of blocks at which the study ends.
        most: u32,
    },
    /// A study with the control alone shows nothing.
    NeedsCase,
    /// A plan without a control shows nothing.
    NeedsControl,
    /// A caveat that only the scenario knows.
    Scenario(Fact),
}

impl Caveat {
    /// Whether more blocks may settle the study, or have to be added to those that it has.
    pub fn needs_blocks(&self) -> bool {
        matches!(
            self,
            Caveat::MoreBlocks { goes_on: true, .. }
                | Caveat::NeverSettles { .. }
                | Caveat::FigureLacking { .. }
                | Caveat::ControlHung { .. }
        )
    }
}
