//! Where evidence comes from, and what of it could not be had.

use crate::problem::Problem;
use crate::said::data_or_said;
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
#[cfg_attr(feature = "schema", schemars(!remote))]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum EvidenceSource {
    /// Programs on tracepoints.
    Probe(Sees),
    /// A program where a group gets its quota back.
    QuotaReturn,
    /// The files of each thread in /proc.
    ThreadFiles,
    /// In the words of an older record.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(!skip, untagged))]
    Said(String),
}

data_or_said!(EvidenceSource);

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
#[cfg_attr(feature = "schema", schemars(!remote))]
#[serde(rename_all = "kebab-case", remote = "Self")]
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
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(!skip, untagged))]
    Said(String),
}

data_or_said!(ProgramPart);

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
#[cfg_attr(feature = "schema", schemars(!remote))]
#[serde(rename_all = "kebab-case", remote = "Self")]
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
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(!skip, untagged))]
    Said(String),
}

data_or_said!(NotSeen);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Evidence;

    #[test]
    fn a_refusal_of_an_older_record_is_read() {
        let text = r#"[{"refused":{"what":"the programs","why":"EPERM"}},
            {"refused":{"what":"btf","why":"EPERM"}}]"#;
        let read: Vec<NoPrograms> = serde_json::from_str(text).unwrap();
        let refused = |what| NoPrograms::Refused { what, why: "EPERM".to_owned() };
        let said = ProgramPart::Said("the programs".to_owned());
        assert_eq!(read, [refused(said), refused(ProgramPart::Btf)]);
    }

    #[test]
    fn sentences_of_older_records_are_kept_beside_data() {
        let text = r#"{"sources":["eBPF on tracepoints",{"probe":"futex"},"thread-files"],
            "missing":["kernel stacks: not in this kernel","tables",{"no-tracepoint":"mmap-lock"}],
            "lost_events":0,"waits_seen":0,"waits_ns":0}"#;
        let evidence: Evidence = serde_json::from_str(text).unwrap();
        assert_eq!(
            evidence.sources,
            [
                EvidenceSource::Said("eBPF on tracepoints".to_owned()),
                EvidenceSource::Probe(Sees::Futex),
                EvidenceSource::ThreadFiles
            ]
        );
        assert_eq!(
            evidence.missing,
            [
                NotSeen::Said("kernel stacks: not in this kernel".to_owned()),
                NotSeen::Tables,
                NotSeen::NoTracepoint(Sees::MmapLock)
            ]
        );
        let again = serde_json::from_str(&serde_json::to_string(&evidence).unwrap());
        assert_eq!(evidence, again.unwrap());
    }
}
