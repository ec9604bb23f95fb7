//! What `tailback watch` found, in English. The sentences of a single stall stand in its own file
//! (`crates/watch/src/findings/`); here stand those that every finding has.

mod inside;
mod node;

use super::command;
use super::not_seen::no_programs;
pub use inside::{inside, problem};
use model::live::{Answer, AnswerState, Finding, Missing, NotMeasurable, Scope, Source};
use model::prose::figures::figure;
use model::{Live, Meta, Unit};
pub use node::node;
use os::terminal::line as plain;
use watch::findings::find;
use watch::findings::words::program;

/// What finds the declaration of a scenario by its id.
pub type MetaOf = fn(&str) -> Option<&'static Meta>;

/// A finding in a few sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingText {
    /// Who loses how much.
    pub loss: String,
    /// By whom, and how.
    pub cause: String,
    /// What fixes it, the most useful first.
    pub fixes: Vec<String>,
    /// The run that reproduces it.
    pub command: Option<String>,
}

/// The sentences of a finding.
pub fn finding(finding: &Finding, meta_of: MetaOf) -> FindingText {
    let since = match finding.since_s {
        at if at < 0.05 => "since the start".to_owned(),
        at => format!("since second {at:.0}"),
    };
    let run = finding.run.as_ref();
    let cause = find(&finding.stall).and_then(|stall| stall.cause(finding));
    FindingText {
        loss: format!("{} {since}{}.", loses(finding), worst(finding)),
        cause: cause.unwrap_or_else(|| "This version of tailback does not know why.".to_owned()),
        fixes: fixes(finding),
        command: run.and_then(|run| command::line(run, meta_of(&run.scenario))),
    }
}

/// A finding in one sentence: who loses how much, and by whom.
pub fn brief(finding: &Finding) -> String {
    let by = finding.culprits.first().filter(|culprit| **culprit != finding.victim);
    let by = by.map(|culprit| format!(" to {}", program(culprit))).unwrap_or_default();
    format!("{}{by}{}.", loses(finding), worst(finding))
}

fn loses(finding: &Finding) -> String {
    let cost = figure(finding.cost_ms_per_s, Unit::MillisecondsPerSecond);
    format!("{} loses {cost}", program(&finding.victim))
}

/// The worst wait, where single waits are seen.
fn worst(finding: &Finding) -> String {
    match finding.worst_ms {
        seen if seen > 0.0 => {
            format!("; its longest wait was {}", figure(seen, Unit::Milliseconds))
        }
        _ => String::new(),
    }
}

/// The fixes of a finding as sentences.
fn fixes(finding: &Finding) -> Vec<String> {
    find(&finding.stall).map_or_else(Vec::new, |stall| stall.fixes(finding))
}

/// A time as milliseconds a second, as it stands in a table.
pub fn rate(ns: u64, over_ns: u64) -> String {
    match ns as f64 / over_ns.max(1) as f64 * 1e3 {
        zero if zero < 0.05 => "-".to_owned(),
        small if small < 9.95 => format!("{small:.1}"),
        large => format!("{large:.0}"),
    }
}

/// The name of a stall in a line of answers.
pub fn stall_name(id: &str) -> String {
    find(id).map_or_else(|| plain(id), |stall| stall.name.to_owned())
}

/// An answer that was measured, in a few words.
pub fn measured(answer: &Answer) -> Option<String> {
    let name = stall_name(&answer.stall);
    match &answer.state {
        AnswerState::Hitting => Some(format!("{name}: hitting")),
        AnswerState::NotHitting { most_ms_per_s, finding_at_ms_per_s } => Some(format!(
            "{name}: no, {} (limit {})",
            figure(*most_ms_per_s, Unit::MillisecondsPerSecond),
            figure(*finding_at_ms_per_s, Unit::Count)
        )),
        AnswerState::NotMeasurable(_) => None,
    }
}

/// Why a stall cannot be measured, and what would make it so.
pub fn not_measurable(why: &NotMeasurable) -> String {
    match why {
        NotMeasurable::Missing(why) => missing(why),
        NotMeasurable::NoNode => "no Erlang node runs here".to_owned(),
        NotMeasurable::NotInside => {
            "only the node itself can tell; name the node: --node NAME".to_owned()
        }
        NotMeasurable::NoAnswer => "the node that was asked does not answer".to_owned(),
    }
}

/// Why a source is missing, and what would give it.
pub fn missing(why: &Missing) -> String {
    match why {
        Missing::NoPrograms(why) => return no_programs(why),
        Missing::NoLockTracepoints => {
            "this kernel has no tracepoints of the mmap lock; Linux 5.11 has them"
        }
        Missing::NoSymbols => {
            "/proc/kallsyms hides the kernel's addresses; set kernel.kptr_restrict to 1"
        }
        Missing::NoSamples => {
            "this kernel does not let programs sample what others run (perf_event_open)"
        }
        Missing::NoThrottledTime => "this kernel does not count the throttled time of a run queue",
        Missing::NoGroups => "the cpu controller is not mounted; mount cgroup2",
        Missing::NoMemoryGroups => "cgroup v2 has no memory controller; v1 has no memory.high",
    }
    .to_owned()
}

/// What was looked at.
pub fn scope(scope: &Scope) -> String {
    let pids: Vec<String> = scope.pids.iter().map(u32::to_string).collect();
    let pids = (!pids.is_empty()).then(|| format!("pid {}", pids.join(", ")));
    let group = scope.cgroup.as_ref().map(|group| format!("group {}", plain(group)));
    let comm = scope.comm.as_ref().map(|comm| format!("programs named {}", plain(comm)));
    let parts: Vec<String> = [pids, group, comm].into_iter().flatten().collect();
    if parts.is_empty() { "the whole machine".to_owned() } else { parts.join(", ") }
}

/// A source, as it is named where it is missing.
pub fn source(source: Source) -> &'static str {
    match source {
        Source::Scheduler => "who waited for a CPU, and who ran instead",
        Source::MmapLock => "who reads whose memory map",
        Source::MappingLock => "who reads a single mapping of another program",
        Source::Throttled => "how long a quota held each thread",
        Source::Samples => "who spins",
        Source::Schedstat => "/proc/PID/schedstat",
        Source::CpuStat => "cpu.stat",
        Source::MemoryEvents => "memory.events",
        Source::Pressure => "/proc/pressure",
        Source::Steal => "steal time",
    }
}

/// The last line: all well, or what to fix first.
pub fn conclusion(live: &Live, measured: bool) -> String {
    // Processes that are named by number are known to be there: one that sleeps is well.
    let by_name = live.scope.pids.is_empty() && live.scope != Scope::default();
    let unseen = by_name && live.victims.is_empty();
    match live.findings.first() {
        Some(first) => {
            let fix = fixes(first).into_iter().next().unwrap_or_default();
            let (stall, victim) = (stall_name(&first.stall), program(&first.victim));
            format!("Fix this first: {stall} of {victim}. {fix}").trim_end().to_owned()
        }
        None if measured && unseen => {
            format!("No figures for {}: it did not run, or does not exist.", scope(&live.scope))
        }
        None if measured => "All well: nothing that was measured holds any program up.".to_owned(),
        None => "Nothing could be measured here.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::live::Opaque;

    #[test]
    fn a_finding_of_a_newer_version_is_shown_as_far_as_it_goes() {
        let strange = Finding {
            stall: "new\u{1b}[2J".to_owned(),
            facts: Opaque::of(&[1, 2]),
            cost_ms_per_s: 5.0,
            ..Finding::default()
        };
        let text = finding(&strange, |_| None);
        assert!(text.loss.ends_with(" loses 5 ms/s since the start."), "{text:?}");
        assert!(text.cause.contains("does not know") && text.fixes.is_empty(), "{text:?}");
        let live = Live { findings: vec![strange], ..Live::default() };
        assert!(!conclusion(&live, true).contains('\u{1b}'));
    }
}
