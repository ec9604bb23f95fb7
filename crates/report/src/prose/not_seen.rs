//! The sources of evidence, and the evidence that is missing, each with a way to get it.

use super::plain;
use super::problem::problem;
use model::Meta;
use model::explanation::MissingEvidence;
use model::not_seen::{EvidenceSource, NoPrograms, NotSeen, OnlyPrograms, ProgramPart, Sees};
use model::prose::figures::plural;
use model::prose::sentence::ended;

/// A source of evidence.
pub fn source(source: &EvidenceSource) -> String {
    match source {
        EvidenceSource::Probe(sees) => format!("eBPF on tracepoints: {}.", watched(*sees)),
        EvidenceSource::QuotaReturn => {
            "eBPF on unthrottle_cfs_rq: when a group got quota again.".to_owned()
        }
        EvidenceSource::ThreadFiles => {
            "/proc/PID/task/TID/schedstat and status: time on a CPU, and time waiting for a CPU."
                .to_owned()
        }
        EvidenceSource::Said(source) => ended(&plain(source)),
    }
}

/// Evidence that was not available.
pub fn missing(missing: &MissingEvidence, meta: Option<&Meta>) -> String {
    let none = match missing {
        MissingEvidence::NotSeen(why) => return ended(&not_seen(why, meta)),
        MissingEvidence::NoProbe => {
            "the study was run with --no-probe; run it again without this flag"
        }
        MissingEvidence::NothingRun => "nothing was run",
        MissingEvidence::NotAffected => "no arm was affected, so no trial with probes was run",
        MissingEvidence::NotProbed => "the record has no trial with probes",
    };
    format!("evidence: {none}.")
}

fn not_seen(missing: &NotSeen, meta: Option<&Meta>) -> String {
    match missing {
        NotSeen::NoPrograms(why) => no_programs(why),
        NotSeen::OnlyPrograms(what) => only_programs(*what).to_owned(),
        NotSeen::QuotaReturn => {
            "when a group got quota again: this kernel lets no program attach to \
             unthrottle_cfs_rq (fentry), so a throttle counts as ended when a thread of the \
             group runs there again"
                .to_owned()
        }
        NotSeen::NoTracepoint(sees) => {
            format!("{}: this kernel has no tracepoint for this; {}", watched(*sees), since(*sees))
        }
        NotSeen::NotAttached { sees, why } => {
            format!("{}: {}; {}", watched(*sees), plain(why), since(*sees))
        }
        NotSeen::Tables => "the tables of the programs could not be mapped".to_owned(),
        NotSeen::Ring { why } => format!("waits: the ring of events: {}", plain(why)),
        NotSeen::Crowded { lookups } => format!(
            "threads: {} found the slot of a thread taken by another thread, so some threads were \
             not followed; watch fewer threads",
            plural(*lookups, "look-up")
        ),
        NotSeen::Listener => "eBPF: the thread that read its events failed".to_owned(),
        NotSeen::TrialBroke { why } => {
            format!("the trial with probes broke: {}; run it again", problem(why, meta))
        }
        NotSeen::Said(why) => plain(why),
    }
}

/// Why there are no programs in the kernel, and how to get them.
pub fn no_programs(why: &NoPrograms) -> String {
    match why {
        NoPrograms::NotBuilt => {
            "eBPF: this tailback was built without it; build with the feature `bpf`".to_owned()
        }
        NoPrograms::Privilege => "eBPF: this process has neither CAP_SYS_ADMIN nor CAP_BPF with \
                                  CAP_PERFMON; run as root, or setcap \
                                  cap_bpf,cap_perfmon,cap_syslog+ep on the binary"
            .to_owned(),
        NoPrograms::NoBtf { file } => format!(
            "eBPF: {}: missing, so fields of kernel structures cannot be found; boot a kernel with \
             CONFIG_DEBUG_INFO_BTF=y",
            plain(file)
        ),
        NoPrograms::Lockdown { mode } => format!(
            "eBPF: the kernel is locked down ({}) and lets no program read its memory; boot with \
             lockdown=none or lockdown=integrity",
            plain(mode)
        ),
        NoPrograms::PidNamespace => "eBPF: this process is in a PID namespace, as in a container, \
                                     and the programs see the PIDs of the machine; run it outside, \
                                     or with docker run --pid=host"
            .to_owned(),
        NoPrograms::Refused { what, why } => {
            let what = program_part(what);
            format!("eBPF: the kernel refused {what}: {}; dmesg may say more", plain(why))
        }
        NoPrograms::Tables => "eBPF: the tables of the programs could not be mapped".to_owned(),
        NoPrograms::LoaderEnded => {
            "eBPF: the thread that loads the programs ended; run it again".to_owned()
        }
    }
}

fn program_part(part: &ProgramPart) -> String {
    match part {
        ProgramPart::Programs => "the programs".to_owned(),
        ProgramPart::Table => "a table of the programs".to_owned(),
        ProgramPart::Btf => "access to its type information (BTF)".to_owned(),
        ProgramPart::Thread => "a thread to load the programs".to_owned(),
        ProgramPart::Hook(name) | ProgramPart::Said(name) => plain(name),
    }
}

fn only_programs(what: OnlyPrograms) -> &'static str {
    match what {
        OnlyPrograms::Holders => "who held what, and who ran instead: only eBPF programs see that",
        OnlyPrograms::VmSchedulers => {
            "calls of futex and the time in them, the longest wait for a CPU and time asleep of \
             each scheduler: only eBPF programs see them"
        }
        OnlyPrograms::Throttled => {
            "which threads the quota kept off a CPU: only eBPF programs see which run queue is \
             throttled; build with the feature `bpf` and run as root"
        }
    }
}

fn watched(sees: Sees) -> &'static str {
    match sees {
        Sees::Scheduler => "what the scheduler did to each thread",
        Sees::MmapLock => "who waited for and who held the mmap lock",
        Sees::Futex => "calls of futex, and sleep in calls that wait for input",
    }
}

/// The kernels that can measure this.
fn since(sees: Sees) -> &'static str {
    match sees {
        Sees::Scheduler | Sees::Futex => "Linux 5.10 and later with tracepoints have it",
        Sees::MmapLock => "Linux 5.11 and later have it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_or_a_record_says_is_made_fit_to_be_shown() {
        let what = ProgramPart::Hook("x".to_owned());
        let refused = NoPrograms::Refused { what, why: "\u{1b}[2J".to_owned() };
        for why in [
            NotSeen::NoPrograms(refused),
            NotSeen::Said("stacks\u{1b}[2J".to_owned()),
            NotSeen::NotAttached { sees: Sees::Futex, why: "no\u{1b}[2J".to_owned() },
        ] {
            let sentence = missing(&MissingEvidence::NotSeen(why), None);
            assert!(sentence.ends_with('.') && !sentence.contains('\u{1b}'), "{sentence}");
        }
        let said = EvidenceSource::Said("eBPF on tracepoints".to_owned());
        assert_eq!(source(&said), "eBPF on tracepoints.");
    }
}
