//! What a run needed and did not have, what could not be used, and what broke, as data.
//!
//! The sentences are made when a record is shown. The text in a record is a name, a path or the
//! words of another program: the kernel's error, a node's term, the output of a program. Only
//! [`Reported`] holds a message of a part of tailback itself.

use crate::fact::Fact;
use crate::generator::GeneratorProblem;
use crate::group::GroupProblem;
use crate::reported::{Part, Reported, Trouble};
use serde::{Deserialize, Serialize};

/// Something that a run needs and did not have. The way to get it follows from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// More CPUs.
    Cpus {
        /// The least number of CPUs that is enough.
        least: u32,
        /// The number of CPUs that the process may use.
        allowed: u32,
    },
    /// A CPU quota for a group.
    Quota(GroupProblem),
    /// A memory limit for a group.
    MemoryLimit(GroupProblem),
    /// The right to raise a priority.
    Priority {
        /// The nice value that was requested.
        nice: i32,
    },
    /// A privilege that a part of the load lacks.
    Privilege(Problem),
    /// Room below a limit on processes or memory.
    Limit(Problem),
    /// An Erlang on the PATH.
    Erl,
    /// An OTP that can be used.
    Otp(Problem),
    /// An OTP of a Debian suite, which could not be fetched.
    Fetch {
        /// What went wrong.
        problem: Problem,
        /// Whether the disk is full.
        full: bool,
    },
    /// A folder for compiled files: neither XDG_CACHE_HOME nor HOME is set.
    CacheFolder,
    /// An OTP that accepts these emulator flags.
    Flags(RefusedFlags),
    /// The NIF of the Erlang application.
    NativeFunctions {
        /// The release of the OTP.
        otp: u32,
        /// The compiler's or the loader's error.
        error: String,
    },
    /// The program strace.
    Strace {
        /// The kernel's error.
        error: String,
        /// Whether there is one that root does not run, because other users could have put it
        /// there.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unsafe_program: bool,
    },
    /// A need that only the scenario knows.
    Scenario {
        /// What is missing.
        what: Fact,
        /// How to get it.
        grant: Fact,
    },
    /// A sentence of an older record: what is missing, or how to get it.
    Said(String),
}

/// What went wrong, or what cannot be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Problem {
    /// A problem that only the scenario knows.
    Scenario(Fact),
    /// A need is not met.
    Missing(Box<Need>),
    /// A control group.
    Group(GroupProblem),
    /// A load generator.
    Generator(GeneratorProblem),
    /// A problem that another part reported.
    Reported(Reported),
    /// A wrong value of a parameter, in the words of the command-line parser.
    Value {
        /// The message.
        message: String,
    },
    /// A CPU that was requested cannot be used.
    Cpu {
        /// The option that names it, such as `--cpu-load`.
        option: String,
        /// The CPU.
        cpu: u32,
        /// What is wrong with it.
        why: UnusableCpu,
    },
    /// More CPUs were requested than can be used.
    TooManyCpus {
        /// How many were requested.
        asked: u32,
        /// How many the process may use.
        allowed: u32,
    },
    /// Emulator flags that an OTP does not accept.
    Flags(RefusedFlags),
    /// The arms of a study.
    Arms(ArmsProblem),
    /// strace did not attach to the node in time.
    StraceLate,
    /// The CPUs of this machine, or the CPUs of the process, could not be read.
    CpusUnread,
    /// A message that is not expected at this point: a bug, or interference from outside.
    WrongReport {
        /// The generator.
        role: String,
    },
    /// A file that has no name of its own, named by its folder.
    InFolder {
        /// The folder.
        folder: String,
        /// What is wrong with it.
        why: Box<Problem>,
    },
    /// Figures that cannot be read.
    Unreadable {
        /// The name of the series.
        series: String,
        /// The error of the parser.
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
    /// Settings that make several arms, but one arm is needed.
    Several {
        /// Their names.
        arms: Vec<String>,
    },
    /// An arm that cannot be run.
    NotHad {
        /// Its name.
        arm: String,
    },
    /// Two arms have the same name.
    SameName {
        /// The name.
        arm: String,
    },
    /// Two combinations of a study's levels have the same name.
    SameCombination {
        /// The name.
        arm: String,
    },
    /// A study has only one combination.
    OneCombination,
    /// Only the control of a study can be run.
    OnlyControl {
        /// The first combination that was left out.
        arm: String,
        /// Why it was left out.
        why: Box<Problem>,
    },
    /// The control of a study cannot be run.
    ControlNotHad {
        /// Its name.
        arm: String,
        /// Why it cannot be run.
        why: Box<Problem>,
    },
    /// A scenario made no control.
    NoControl,
    /// An arm of a record gives a parameter no value, or several values.
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
    /// There is no CPU with that number.
    Absent {
        /// The CPUs that exist.
        online: Vec<u32>,
    },
    /// The affinity mask or the cpuset of the process leaves it out.
    Forbidden {
        /// The CPUs that the process may use.
        allowed: Vec<u32>,
    },
    /// The kernel does not let threads be bound to it.
    Refused {
        /// The kernel's error.
        error: String,
    },
}

/// Emulator flags that an OTP does not accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefusedFlags {
    /// The release of the OTP.
    pub otp: u32,
    /// The flags.
    pub flags: String,
    /// The words of the VM.
    pub why: String,
}

impl From<ArmsProblem> for Problem {
    fn from(arms: ArmsProblem) -> Self {
        Problem::Arms(arms)
    }
}

impl Problem {
    /// An error of the kernel about `about`.
    pub fn of_kernel(about: impl Into<String>, error: &std::io::Error) -> Self {
        Problem::Reported(Reported {
            by: Part::Kernel,
            trouble: Trouble::Failed,
            about: Some(about.into()),
            message: error.to_string(),
        })
    }

    /// A message of a part. The message itself names what it is about.
    pub fn reported(by: Part, trouble: Trouble, message: impl ToString) -> Self {
        Problem::Reported(Reported { by, trouble, about: None, message: message.to_string() })
    }
}
