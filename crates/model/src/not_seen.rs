//! Where evidence comes from, and which evidence is missing.

use crate::problem::Problem;
use serde::{Deserialize, Serialize};

/// What the programs in the kernel observe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sees {
    /// What the scheduler does to each thread.
    Scheduler,
    /// Which threads wait for the mmap lock, and which threads hold it.
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
    /// A program on the function that gives a group its quota back.
    QuotaReturn,
    /// The files of each thread in /proc.
    ThreadFiles,
    /// A source in the words of an older record.
    Said(String),
}

/// Why there are no programs in the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NoPrograms {
    /// This build has no such programs.
    NotBuilt,
    /// A capability is missing.
    Privilege,
    /// The kernel does not describe its own types (BTF).
    NoBtf {
        /// The file in which it would describe them.
        file: String,
    },
    /// The kernel is locked down.
    Lockdown {
        /// The lockdown mode.
        mode: String,
    },
    /// This process is in a PID namespace, but the programs see the PIDs of the machine.
    PidNamespace,
    /// The kernel refused the programs.
    Refused {
        /// The part that could not be loaded or attached.
        what: ProgramPart,
        /// The error of the kernel or of the library.
        why: String,
    },
    /// The tables of the programs could not be mapped.
    Tables,
    /// The thread that loads the programs ended.
    LoaderEnded,
}

/// The part of the programs that the kernel refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProgramPart {
    /// The programs themselves.
    Programs,
    /// One of their tables.
    Table,
    /// The kernel's description of its own types.
    Btf,
    /// The thread that loads the programs.
    Thread,
    /// The place where a program attaches, by its name.
    Hook(String),
    /// In the words of an older record.
    Said(String),
}

/// Evidence that only programs in the kernel can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OnlyPrograms {
    /// Which thread held which lock, and which threads ran instead.
    Holders,
    /// Calls of futex by the schedulers of a VM, and the sleep of these schedulers.
    VmSchedulers,
    /// Which threads a quota throttled.
    Throttled,
}

/// Evidence that is missing, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NotSeen {
    /// There are no programs in the kernel.
    NoPrograms(NoPrograms),
    /// Only programs in the kernel can see this, and there were none.
    OnlyPrograms(OnlyPrograms),
    /// When a group got its quota back: the kernel lets no program attach there.
    QuotaReturn,
    /// The kernel has no tracepoints for it.
    NoTracepoint(Sees),
    /// Its programs could not be attached.
    NotAttached {
        /// What these programs see.
        sees: Sees,
        /// The kernel's reason.
        why: String,
    },
    /// The tables of the programs could not be mapped.
    Tables,
    /// The ring buffer of events could not be created.
    Ring {
        /// The kernel's reason.
        why: String,
    },
    /// Threads that were not followed because other threads had their slots.
    Crowded {
        /// Look-ups that found the slot taken.
        lookups: u64,
    },
    /// The thread that reads from the programs failed.
    Listener,
    /// The trial with probes broke.
    TrialBroke {
        /// How it broke.
        why: Problem,
    },
    /// In the words of an older record.
    Said(String),
}
