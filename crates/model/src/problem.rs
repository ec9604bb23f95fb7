//! What a run needed and did not have, what could not be used, and what broke: as data.
//!
//! The sentences are made where a record is shown. What a record holds as text is a name, a path or
//! the words of something that tailback did not write: the kernel's error, a node's term, what a
//! program printed. Only [`Reported`] holds a message of a part of tailback itself.

use crate::fact::Fact;
use crate::generator::GeneratorProblem;
use crate::group::GroupProblem;
use crate::reported::{Part, Reported, Trouble};
use serde::{Deserialize, Serialize};

/// What a run needs and did not have; what would grant it follows from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// More CPUs.
    Cpus {
        /// The fewest that will do.
        least: u32,
        /// Those that the process may use.
        allowed: u32,
    },
    /// A CPU quota for a group.
    Quota(GroupProblem),
    /// A limit of memory for a group.
    MemoryLimit(GroupProblem),
    /// The right to raise a priority.
    Priority {
        /// The nice value that was asked for.
        nice: i32,
    },
    /// A privilege that a part of the load has not.
    Privilege(Problem),
    /// Room under a limit on processes or memory.
    Limit(Problem),
    /// An Erlang on the PATH.
    Erl,
    /// An OTP that can be used.
    Otp(Problem),
    /// An OTP of a suite of Debian, which could not be fetched.
    Fetch {
        /// What went wrong.
        problem: Problem,
        /// Whether the disk is full.
        full: bool,
    },
    /// A folder for what is compiled: neither XDG_CACHE_HOME nor HOME is set.
    CacheFolder,
    /// An OTP that takes these emulator flags.
    Flags(RefusedFlags),
    /// The NIF of the Erlang application.
    NativeFunctions {
        /// The release of the OTP.
        otp: u32,
        /// The compiler's or the loader's error.
        error: String,
    },
    /// A strace.
    Strace {
        /// The kernel's error.
        error: String,
        /// Whether there is one that root does not run, since others could have put it there.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unsafe_program: bool,
    },
    /// What only the scenario knows.
    Scenario {
        /// What is missing.
        what: Fact,
        /// What would grant it.
        grant: Fact,
    },
    /// A sentence of an older record: what is missing, or what would grant it.
    Said(String),
}

/// What went wrong, or cannot be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Problem {
    /// What only the scenario knows.
    Scenario(Fact),
    /// A need is not met.
    Missing(Box<Need>),
    /// A control group.
    Group(GroupProblem),
    /// A load generator.
    Generator(GeneratorProblem),
    /// What another part reported.
    Reported(Reported),
    /// A value of a parameter, in the words of what reads the command line.
    Value {
        /// The message.
        message: String,
    },
    /// A CPU that was asked for.
    Cpu {
        /// The option that names it, such as `--cpu-load`.
        option: String,
        /// The CPU.
        cpu: u32,
        /// What is wrong with it.
        why: UnusableCpu,
    },
    /// More CPUs than there are to use.
    TooManyCpus {
        /// How many were asked for.
        asked: u32,
        /// How many the process may use.
        allowed: u32,
    },
    /// Emulator flags that an OTP does not take.
    Flags(RefusedFlags),
    /// The arms of a study.
    Arms(ArmsProblem),
    /// strace did not attach to the node in time.
    StraceLate,
    /// The CPUs of this machine, or those of the process, could not be read.
    CpusUnread,
    /// A message of a sort that is not due there; a bug, or somebody else's doing.
    WrongReport {
        /// The generator.
        role: String,
    },
    /// A file without a name, by which folder it is in.
    InFolder {
        /// The folder.
        folder: String,
        /// What is wrong with it.
        why: Box<Problem>,
    },
    /// Figures that cannot be read.
    Unreadable {
        /// The series, by its name.
        series: String,
        /// The error of what reads them.
        error: String,
    },
    /// In the words of an older record.
    Said(String),
}

/// What is wrong with the arms of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ArmsProblem {
    /// Settings that make several arms where one was wanted.
    Several {
        /// Their names.
        arms: Vec<String>,
    },
    /// An arm that cannot be had.
    NotHad {
        /// Its name.
        arm: String,
    },
    /// Two arms of one name.
    SameName {
        /// The name.
        arm: String,
    },
    /// Two combinations of a study's levels of one name.
    SameCombination {
        /// The name.
        arm: String,
    },
    /// A study of one combination.
    OneCombination,
    /// A study of which only the control can be had.
    OnlyControl {
        /// The first combination that was left out.
        arm: String,
        /// Why it was.
        why: Box<Problem>,
    },
    /// The control of a study cannot be had.
    ControlNotHad {
        /// Its name.
        arm: String,
        /// Why not.
        why: Box<Problem>,
    },
    /// A scenario made no control.
    NoControl,
    /// An arm of a record leaves a parameter open, or gives it several values.
    NotOneValue {
        /// The parameter's option.
        option: String,
    },
}

/// Why a CPU cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum UnusableCpu {
    /// There is none of that number.
    Absent {
        /// Those that there are.
        online: Vec<u32>,
    },
    /// The affinity mask or the cpuset of the process leaves it out.
    Forbidden {
        /// Those that the process may use.
        allowed: Vec<u32>,
    },
    /// The kernel lets no thread be put there.
    Refused {
        /// The kernel's error.
        error: String,
    },
}

/// Emulator flags that an OTP does not take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefusedFlags {
    /// The release of the OTP.
    pub otp: u32,
    /// The flags.
    pub flags: String,
    /// The VM's words.
    pub why: String,
}

impl From<ArmsProblem> for Problem {
    fn from(arms: ArmsProblem) -> Self {
        Problem::Arms(arms)
    }
}

impl Problem {
    /// What the kernel said of something.
    pub fn of_kernel(about: impl Into<String>, error: &std::io::Error) -> Self {
        Problem::Reported(Reported {
            by: Part::Kernel,
            trouble: Trouble::Failed,
            about: Some(about.into()),
            message: error.to_string(),
        })
    }

    /// A message of a part that names what it is about itself.
    pub fn reported(by: Part, trouble: Trouble, message: impl ToString) -> Self {
        Problem::Reported(Reported { by, trouble, about: None, message: message.to_string() })
    }
}
