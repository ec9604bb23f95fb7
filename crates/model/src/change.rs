//! What changed between records of one scenario that were made before and after something.

use crate::estimate::{Comparison, Estimate};
use crate::machine::Machine;
use crate::role::Role;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema of a comparison.
pub const SCHEMA: &str = "tailback/change/4";

/// What may be compared besides parameters, as `--across` names it.
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

/// The records after held against the records before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// [`SCHEMA`].
    pub schema: String,
    /// The scenario.
    pub scenario: String,
    /// The records of what was, in the order in which they were named.
    pub before: Vec<Side>,
    /// The records of what is.
    pub after: Vec<Side>,
    /// What is counted: it decides how much can be said.
    pub basis: Basis,
    /// The verdict in one word.
    pub state: ChangeState,
    /// What decided.
    pub headline: ChangeHeadline,
    /// Why the verdict is what it is; where the records cannot be compared, why not.
    pub reasons: Vec<ChangeReason>,
    /// What to do next.
    pub suggestions: Vec<ChangeSuggestion>,
    /// What is not the same on both sides: kernel, parameters, flags.
    pub differs: Vec<Setting>,
    /// The arms that all records have, control first.
    pub arms: Vec<ArmChange>,
}

/// One of the records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// What the user calls it: its file.
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
    /// Blocks of trials. They say whether these runs differ, and not why: a run differs from the
    /// next one even where nothing was changed.
    Blocks,
    /// Pairs of runs, one of either side, one difference each. Several show how much runs differ by
    /// themselves, so they can say that it is worse or better.
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

/// Why a comparison says what it says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeReason {
    /// One record a side does not show how much runs differ by themselves.
    OneRecordEach,
    /// More pairs of runs do, and there are too few for an interval.
    TooFewPairs {
        /// Pairs that the records make.
        pairs: usize,
        /// How many it takes.
        needed: usize,
        /// Figures that are judged: each is one chance to be wrong.
        judged: usize,
        /// The confidence of all that is said together.
        confidence: f64,
    },
    /// The times of the records do not tell in which order they were made.
    OrderUnknown,
    /// They make fewer pairs than there are records on the smaller side, so drift of the machine
    /// looks like the change.
    NotInTurns {
        /// The order in which they were made.
        order: Vec<Turn>,
    },
    /// The order within two pairs that follow one another was the same and not left to chance, so
    /// what comes and goes from run to run looks like the change.
    FixedOrder {
        /// The order in which they were made.
        order: Vec<Turn>,
    },
    /// The order was not left to chance, and changes from pair to pair: the error rate is halved,
    /// since in simulations 6.5% were wrong at 5%.
    OrderByHand,
    /// Records of the pairs that are incomplete; they count in nothing.
    Unpaired {
        /// Records before.
        before: usize,
        /// Records after.
        after: usize,
    },
    /// Too few blocks or pairs for an interval, or too many cut off.
    NoInterval {
        /// The arms.
        arms: Vec<String>,
    },
    /// A control changed by more than the margin; it is subtracted.
    ControlChanged {
        /// The control.
        arm: String,
        /// The figure.
        measure: String,
        /// By how much.
        shift: Comparison,
    },
    /// What the verdict claims: an interval wholly above the margins of the judged figures.
    Claim {
        /// How often that is wrong at most, over all judged figures together.
        error_rate: f64,
    },
    /// A side has no record.
    NoRecord,
    /// Two records are of different scenarios.
    OtherScenario {
        /// One of them.
        record: RecordWith,
        /// Another.
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
    /// An arm is held against different controls.
    OtherControl {
        /// The arm.
        arm: String,
        /// One record, and the control there.
        record: RecordWith,
        /// Another, and the control there.
        other: RecordWith,
    },
    /// A record was named twice: it would count as two runs.
    SameRecord {
        /// Its name.
        record: String,
        /// Its other name.
        other: String,
    },
    /// Records of one side were not made alike.
    MixedSide {
        /// One of them.
        record: String,
        /// Another.
        other: String,
        /// What differs between them.
        setting: Setting,
    },
    /// The sides differ in more than what is compared.
    Confounded {
        /// In what, as `--across` names it.
        by: Vec<String>,
    },
}

/// A record, and what it has that another has not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordWith {
    /// What the user calls the record.
    pub record: String,
    /// Its scenario, or its control; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has: Option<String>,
}

/// Records of one side that were made one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Which side.
    pub side: When,
    /// How many.
    pub records: usize,
}

/// A side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Before the change.
    Before,
    /// After it.
    After,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeSuggestion {
    /// Make pairs of runs.
    MakePairs {
        /// How many.
        pairs: usize,
        /// What that would show.
        purpose: Purpose,
    },
    /// Look at who held up whom in a record after the change.
    Explain {
        /// Its name.
        record: String,
    },
    /// Name records of one scenario.
    OneScenario,
    /// Make another record in the place of this one.
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
    /// Name records of one set-up for each side.
    OneSetUp,
    /// Say that all of this is what is compared.
    Across {
        /// All that `--across` has to name.
        names: Vec<String>,
    },
}

/// What pairs of runs would show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Whether the change did it.
    Cause,
    /// A difference too small for so few blocks.
    Detect,
    /// A difference too small for so few pairs.
    Narrow,
}

/// Something that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// What.
    pub what: SettingName,
    /// The arms for which it differs, where that is not all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<String>,
    /// Before; absent where it is not known or not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<SettingValue>,
    /// After.
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
    /// Whether a hypervisor is underneath.
    VirtualMachine,
    /// What runs the instructions of a guest.
    GuestAccelerator,
    /// What the clock of a guest counts.
    GuestClock,
    /// Version of QEMU.
    Qemu,
    /// CPUs of the host of a guest.
    GuestHostCpus,
    /// Kernel of the host of a guest.
    GuestHostKernel,
    /// CPU quota around tailback, in CPUs.
    CpuLimit,
    /// Memory limit around tailback, in bytes.
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

/// What is said of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeState {
    /// Over pairs of runs it is worse by more than matters.
    Worse,
    /// Over pairs of runs it is better by more than matters.
    Better,
    /// These runs differ by more than matters; whether what is compared did that, or something else
    /// that changed between the runs, cannot be told.
    Differs,
    /// Nothing was shown; that is not the same as no difference.
    NoDifferenceShown,
    /// The records say nothing about each other.
    NotComparable,
}

impl ChangeState {
    /// The word, as it stands in the JSON.
    pub fn word(self) -> &'static str {
        match self {
            ChangeState::Worse => "worse",
            ChangeState::Better => "better",
            ChangeState::Differs => "differs",
            ChangeState::NoDifferenceShown => "no-difference-shown",
            ChangeState::NotComparable => "not-comparable",
        }
    }

    /// The exit code that scripts see; only what is shown to be worse fails.
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
    /// What is said of it, by the figures that are judged; only arms with the cause have it.
    pub state: Option<ChangeState>,
    /// Each figure that both sides have, by name.
    pub measures: BTreeMap<String, Difference>,
}

/// One figure of an arm on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The control that was subtracted in each block, by its id; absent where the figure stands as
    /// it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// Before. Its `trials` are what [`Change::basis`] counts: blocks, or pairs.
    pub before: Estimate,
    /// After.
    pub after: Estimate,
    /// After held against before: above zero it is higher.
    pub comparison: Comparison,
    /// What is said of it, where it is judged and lower is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ChangeState>,
    /// The margin of a judged figure: a difference of no more does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
}

impl Difference {
    /// How large it is: in multiples of its margin, where it has one.
    pub fn size(&self) -> f64 {
        let shift = self.comparison.shift.abs();
        self.margin.filter(|margin| *margin > 0.0).map_or(shift, |margin| shift / margin)
    }
}
