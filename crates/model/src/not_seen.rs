//! Where evidence comes from, and what of it could not be had.

use crate::problem::Problem;
use serde::{Deserialize, Serialize};

/// What programs in the kernel look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sees {
    /// What the scheduler does to each thread.
    Scheduler,
    /// Who waits for and who holds the mmap lock.
    MmapLock,
    /// Calls of futex, and sleep in calls that wait for input.
    Futex,
}

/// Where evidence comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceSource {
    /// Programs on tracepoints.
    Probe(Sees),
    /// A program where a group gets its quota back.
    QuotaReturn,
    /// The files of each thread in /proc.
    ThreadFiles,
    /// In the words of an older record.
    Said(String),
}

/// Why there are no programs in the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NoPrograms {
    /// This build has none.
    NotBuilt,
    /// A capability is missing.
    Privilege,
    /// The kernel does not describe itself.
    NoBtf {
        /// The file that it would do so in.
        file: String,
    },
    /// The kernel is locked down.
    Lockdown {
        /// How.
        mode: String,
    },
    /// This process is in a PID namespace, and the programs see the PIDs of the machine.
    PidNamespace,
    /// The kernel refused the programs.
    Refused {
        /// What was to be loaded or attached.
        what: ProgramPart,
        /// The kernel's or the library's reason.
        why: String,
    },
    /// Their tables could not be mapped.
    Tables,
    /// The thread that loads them ended.
    LoaderEnded,
}

/// What of the programs the kernel refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProgramPart {
    /// The programs themselves.
    Programs,
    /// One of their tables.
    Table,
    /// What the kernel says of its own types.
    Btf,
    /// The thread that loads them.
    Thread,
    /// Where a program attaches, by its name.
    Hook(String),
    /// In the words of an older record.
    Said(String),
}

/// What nothing but programs in the kernel sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OnlyPrograms {
    /// Who held what, and who ran instead.
    Holders,
    /// What the schedulers of a VM did in futex, and their sleep.
    VmSchedulers,
    /// Whom a quota kept off a CPU.
    Throttled,
}

/// Evidence that could not be had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NotSeen {
    /// There are no programs in the kernel.
    NoPrograms(NoPrograms),
    /// Only programs in the kernel see it, and there were none.
    OnlyPrograms(OnlyPrograms),
    /// When a group got its quota back: the kernel lets no program attach there.
    QuotaReturn,
    /// The kernel has no tracepoints for it.
    NoTracepoint(Sees),
    /// Its programs could not be attached.
    NotAttached {
        /// What they see.
        sees: Sees,
        /// The kernel's reason.
        why: String,
    },
    /// The tables of the programs could not be mapped.
    Tables,
    /// The ring of events could not be had.
    Ring {
        /// The kernel's reason.
        why: String,
    },
    /// Threads that were not followed, since others had their slots.
    Crowded {
        /// Look-ups that found a slot taken.
        lookups: u64,
    },
    /// The thread that listened to the programs broke.
    Listener,
    /// The trial with probes broke.
    TrialBroke {
        /// How.
        why: Problem,
    },
    /// In the words of an older record.
    Said(String),
}
