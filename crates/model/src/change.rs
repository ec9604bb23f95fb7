//! What changed between two sets of records of one scenario: one made before a change, one after
//! it.

use crate::estimate::{Comparison, Estimate};
use crate::machine::Machine;
use crate::role::Role;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema of a comparison.
pub const SCHEMA: &str = "tailback/change/4";

/// What may be compared besides parameters, by the word that `--across` takes.
pub mod across {
    /// The machine.
    pub const HOST: &str = "host";
    /// The kernel.
    pub const KERNEL: &str = "kernel";
    /// The OTP release.
    pub const OTP: &str = "otp";
    /// The version of tailback.
    pub const TAILBACK: &str = "tailback";
    /// All of them.
    pub const ALL: [&str; 4] = [HOST, KERNEL, OTP, TAILBACK];
}

/// The comparison of the records after a change with the records before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// [`SCHEMA`].
    pub schema: String,
    /// The scenario.
    pub scenario: String,
    /// The records before the change, in the order in which they were named.
    pub before: Vec<Side>,
    /// The records after the change.
    pub after: Vec<Side>,
    /// What the comparison counts. It decides which verdicts are possible.
    pub basis: Basis,
    /// The verdict in one word.
    pub state: ChangeState,
    /// The change that decided the verdict.
    pub headline: ChangeHeadline,
    /// Why the verdict is what it is; or why the records cannot be compared.
    pub reasons: Vec<ChangeReason>,
    /// What to do next.
    pub suggestions: Vec<ChangeSuggestion>,
    /// What differs between the sides: kernel, parameters, flags.
    pub differs: Vec<Setting>,
    /// The arms that all records have, control first.
    pub arms: Vec<ArmChange>,
}

/// One of the records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The name that the user gave it: its file.
    pub name: String,
    /// When its study began (RFC 3339, UTC).
    pub started: String,
    /// Its verdict in one word.
    pub verdict: crate::state::State,
    /// Its machine.
    pub host: Machine,
}

/// What a comparison counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Blocks of trials. They show whether these runs differ, but not why. Two runs differ even
    /// if nothing was changed.
    Blocks,
    /// Pairs of runs, one run of each side. Each pair gives one difference. Several pairs show
    /// how much runs differ by themselves, so they can support worse or better.
    Pairs,
}

/// What decided a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeHeadline {
    /// The largest change of the kind that decided, in multiples of its margin.
    Largest {
        /// The arm.
        arm: String,
        /// The figure.
        measure: String,
        /// The figure on both sides.
        difference: Box<Difference>,
    },
    /// No judged figure is in all records.
    NoFigure,
    /// The records cannot be compared; the reasons say why.
    NotComparable,
}

/// A reason for the verdict of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeReason {
    /// One record on each side does not show how much runs differ by themselves.
    OneRecordEach,
    /// There are several pairs of runs, but too few for an interval.
    TooFewPairs {
        /// Pairs that the records make.
        pairs: usize,
        /// Pairs that are needed.
        needed: usize,
        /// Figures that are judged: each of them is one more chance of a wrong verdict.
        judged: usize,
        /// The joint confidence of all statements.
        confidence: f64,
    },
    /// The times in the records do not show in which order they were made.
    OrderUnknown,
    /// They make fewer pairs than the smaller side has records, so drift of the machine can look
    /// like the change.
    NotInTurns {
        /// The order in which they were made.
        order: Vec<Turn>,
    },
    /// Two consecutive pairs had the same order, and the order was not random. So an offset that
    /// varies from run to run can look like the change.
    FixedOrder {
        /// The order in which they were made.
        order: Vec<Turn>,
    },
    /// The order was not random, and it alternates from pair to pair. The error rate is halved,
    /// because in simulations 6.5% of the verdicts were wrong at 5%.
    OrderByHand,
    /// Records that are in no complete pair. They are not counted.
    Unpaired {
        /// Records before.
        before: usize,
        /// Records after.
        after: usize,
    },
    /// Too few blocks or pairs for an interval, or too many trials were cut off.
    NoInterval {
        /// The arms.
        arms: Vec<String>,
    },
    /// An arm hung in more of its trials on one side than on the other.
    Hung {
        /// The arm.
        arm: String,
        /// Trials that hung before, and all of them.
        before: (u32, u32),
        /// Trials that hung after, and all of them.
        after: (u32, u32),
    },
    /// Arms with the cause that only one side has. They are not compared.
    OneSided {
        /// The arms.
        arms: Vec<String>,
    },
    /// A control changed by more than the margin. The change is subtracted.
    ControlChanged {
        /// The control.
        arm: String,
        /// The figure.
        measure: String,
        /// By how much.
        shift: Comparison,
    },
    /// What the verdict claims: the interval of a judged figure lies wholly beyond its margin.
    Claim {
        /// The highest rate at which that claim is wrong, over all judged figures together.
        error_rate: f64,
    },
    /// A side has no record.
    NoRecord,
    /// Two records are of different scenarios.
    OtherScenario {
        /// One of the scenarios.
        record: RecordWith,
        /// The other scenario.
        other: RecordWith,
    },
    /// A record is untrustworthy.
    Untrustworthy {
        /// Its name.
        record: String,
    },
    /// A record has no trials.
    NoTrials {
        /// Its name.
        record: String,
    },
    /// The records are judged by different figures or margins.
    JudgedOtherwise,
    /// No arm with the cause is in all records.
    NoCommonCase,
    /// An arm has different controls in different records.
    OtherControl {
        /// The arm.
        arm: String,
        /// One record, and the control that the arm has there.
        record: RecordWith,
        /// Another record, and the control that the arm has there.
        other: RecordWith,
    },
    /// A record was named twice. It would count as two runs.
    SameRecord {
        /// One name of the record.
        record: String,
        /// Its other name.
        other: String,
    },
    /// Records of one side were not made in the same way.
    MixedSide {
        /// One of the records.
        record: String,
        /// Another record.
        other: String,
        /// What differs between them.
        setting: Setting,
    },
    /// The sides differ in more than the thing that is compared.
    Confounded {
        /// The differences, by the words that `--across` takes.
        by: Vec<String>,
    },
}

/// A record, and what it has instead of what another record has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordWith {
    /// The name that the user gave the record.
    pub record: String,
    /// Its scenario or its control; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has: Option<String>,
}

/// Consecutive records of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The side.
    pub side: When,
    /// How many records.
    pub records: usize,
}

/// A side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Before the change.
    Before,
    /// After the change.
    After,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeSuggestion {
    /// Make pairs of runs.
    MakePairs {
        /// How many pairs.
        pairs: usize,
        /// What these pairs would show.
        purpose: Purpose,
    },
    /// Look in a record after the change for what held up what.
    Explain {
        /// Its name.
        record: String,
    },
    /// Name records of one scenario.
    OneScenario,
    /// Make a new record in place of this one.
    Replace {
        /// Its name.
        record: String,
    },
    /// Make all records with the same version of tailback.
    SameVersion,
    /// Make all records with the same parameters.
    SameParameters,
    /// Name each record once.
    NameOnce,
    /// Name records of one set-up on each side.
    OneSetUp,
    /// Say with `--across` that all of these are compared.
    Across {
        /// All words that `--across` has to name.
        names: Vec<String>,
    },
}

/// What more pairs of runs would show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Whether the change caused the difference.
    Cause,
    /// A difference that is too small for this number of blocks.
    Detect,
    /// A difference that is too small for this number of pairs.
    Narrow,
}

/// Something that differs between the sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// What differs.
    pub what: SettingName,
    /// The arms for which it differs; empty if it differs for all arms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<String>,
    /// The value before; absent if it is not known or does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<SettingValue>,
    /// The value after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<SettingValue>,
}

/// What may differ between two records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingName {
    /// Architecture.
    Architecture,
    /// CPUs that are online.
    Cpus,
    /// CPUs that may be used.
    AllowedCpus,
    /// Model of the CPU.
    CpuModel,
    /// Memory, in bytes.
    Memory,
    /// Whether the machine runs under a hypervisor.
    VirtualMachine,
    /// What executes the instructions of a guest.
    GuestAccelerator,
    /// What the clock of a guest counts.
    GuestClock,
    /// Version of QEMU.
    Qemu,
    /// CPUs of the host of a guest.
    GuestHostCpus,
    /// Kernel of the host of a guest.
    GuestHostKernel,
    /// CPU quota of the group in which tailback runs, in CPUs.
    CpuLimit,
    /// Memory limit of the group in which tailback runs, in bytes.
    MemoryLimit,
    /// Kernel release.
    Kernel,
    /// Kernel build.
    KernelBuild,
    /// Preemption mode.
    Preemption,
    /// Timer interrupts a second.
    Hz,
    /// Clock source.
    ClockSource,
    /// Distribution.
    Distribution,
    /// Version of tailback.
    Tailback,
    /// OTP release and version of the run-time system.
    Otp,
    /// Emulator flags.
    EmulatorFlags,
    /// A parameter of the scenario.
    Parameter(String),
}

/// A value of something that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// Yes or no.
    Holds(bool),
    /// A whole number.
    Whole(u64),
    /// A number.
    Number(f64),
    /// A word.
    Text(String),
    /// Several words.
    Words(Vec<String>),
}

impl From<&str> for SettingValue {
    fn from(text: &str) -> Self {
        SettingValue::Text(text.to_owned())
    }
}

/// The verdict on a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeState {
    /// Over pairs of runs it is worse by more than the margin.
    Worse,
    /// Over pairs of runs it is better by more than the margin.
    Better,
    /// These runs differ by more than the margin. The cause is not known: it may be what is
    /// compared, or something else that changed between the runs.
    Differs,
    /// No difference was shown. That is not the same as no difference.
    NoDifferenceShown,
    /// The records cannot be compared.
    NotComparable,
}

impl ChangeState {
    /// The word in the JSON.
    pub fn word(self) -> &'static str {
        match self {
            ChangeState::Worse => "worse",
            ChangeState::Better => "better",
            ChangeState::Differs => "differs",
            ChangeState::NoDifferenceShown => "no-difference-shown",
            ChangeState::NotComparable => "not-comparable",
        }
    }

    /// The exit code for scripts. Only `worse` is a failure.
    pub fn exit_code(self) -> u8 {
        match self {
            ChangeState::Better | ChangeState::Differs | ChangeState::NoDifferenceShown => 0,
            ChangeState::Worse => 1,
            ChangeState::NotComparable => 4,
        }
    }
}

/// One arm on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmChange {
    /// The arm.
    pub id: String,
    /// Its role.
    pub role: Role,
    /// The verdict on this arm by the judged figures; only arms with the cause have one.
    pub state: Option<ChangeState>,
    /// Each figure that both sides have, by name.
    pub measures: BTreeMap<String, Difference>,
}

/// One figure of an arm on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The id of the control that was subtracted in each block; absent if the figure is shown as
    /// it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// The figure before. Its `trials` are what [`Change::basis`] counts: blocks, or pairs.
    pub before: Estimate,
    /// The figure after.
    pub after: Estimate,
    /// After compared with before; above zero, the figure is higher after.
    pub comparison: Comparison,
    /// The verdict on the figure, if it is judged and lower is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ChangeState>,
    /// The margin of a judged figure: a difference up to this does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
}

impl Difference {
    /// The size of the change, in multiples of the margin if the figure has one.
    pub fn size(&self) -> f64 {
        let shift = self.comparison.shift.abs();
        self.margin.filter(|margin| *margin > 0.0).map_or(shift, |margin| shift / margin)
    }
}
