//! What `tailback watch` found, in English.

mod inside;
mod node;

use super::command;
use super::not_seen::no_programs;
pub use inside::inside;
use model::live::{
    Answer, AnswerState, Finding, FindingKind, ForeignReaders, LiveFix, LiveRuntime, MemoryFinding,
    Missing, NeighbourFinding, NotMeasurable, Program, QuotaCause, QuotaFinding, Scope, Source,
    SpinFinding, Whose, stall,
};
use model::prose::figures::{figure, percent, plural};
use model::{Live, Meta, Unit};
pub use node::node;
use os::terminal::line as plain;

/// What finds the declaration of a scenario by its id.
pub type MetaOf = fn(&str) -> Option<&'static Meta>;

/// A finding in a few sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Who loses how much.
    pub loss: String,
    /// By whom, and how.
    pub cause: String,
    /// What fixes it.
    pub fix: String,
    /// The run that reproduces it.
    pub command: Option<String>,
}

/// Puts a finding into words.
pub fn finding(finding: &Finding, meta_of: MetaOf) -> Said {
    let since = match finding.since_s {
        at if at < 0.05 => "since the start".to_owned(),
        at => format!("since second {at:.0}"),
    };
    let loss = format!(
        "{} loses {}{}, {since}.",
        program(&finding.victim),
        figure(finding.cost_ms_per_s, Unit::MillisecondsPerSecond),
        worst(finding),
    );
    let run = finding.run.as_ref();
    Said {
        loss,
        cause: cause(finding),
        fix: finding.fixes.first().map_or_else(String::new, fix),
        command: run.and_then(|run| command::line(run, meta_of(&run.scenario))),
    }
}

/// A finding in one sentence: who loses how much, and by whom.
pub fn brief(finding: &Finding) -> String {
    let by = finding.culprits.first().filter(|culprit| **culprit != finding.victim);
    let by = by.map(|culprit| format!(" to {}", program(culprit))).unwrap_or_default();
    format!(
        "{} loses {}{by}{}.",
        program(&finding.victim),
        figure(finding.cost_ms_per_s, Unit::MillisecondsPerSecond),
        worst(finding),
    )
}

/// The worst wait, where single waits are seen.
fn worst(finding: &Finding) -> String {
    match finding.worst_ms {
        seen if seen > 0.0 => format!(", the worst wait {}", figure(seen, Unit::Milliseconds)),
        _ => String::new(),
    }
}

/// A program: `postgres (pid 7)`, `cc1 (12 processes, /build)`.
pub fn program(program: &Program) -> String {
    let which = match (program.pid, program.processes) {
        (_, many) if many > 1 => format!("{many} processes"),
        (0, _) => String::new(),
        (pid, _) => format!("pid {pid}"),
    };
    let group = program.group.as_deref().map(plain).unwrap_or_default();
    let inside: Vec<&str> =
        [which.as_str(), group.as_str()].into_iter().filter(|part| !part.is_empty()).collect();
    match inside.as_slice() {
        [] => plain(&program.name),
        parts => format!("{} ({})", plain(&program.name), parts.join(", ")),
    }
}

fn cause(finding: &Finding) -> String {
    let by = finding.culprits.first().map_or_else(|| "somebody".to_owned(), program);
    match &finding.kind {
        FindingKind::ForeignReaders(facts) => foreign(facts, &by),
        FindingKind::Quota(facts) => quota(facts, &by),
        FindingKind::Neighbour(facts) => neighbour(facts, &by),
        FindingKind::MemoryHigh(facts) => memory_high(facts, &by),
        FindingKind::BesideIdle(facts) => format!(
            "Of its time ready without a CPU {} passed while another CPU that it may use was idle.",
            percent(facts.share)
        ),
        FindingKind::Spinning(facts) => spinning(facts),
        FindingKind::NativeCall(facts) => node::native(facts),
        FindingKind::BusyWait(facts) => node::busy_wait(facts),
        FindingKind::MoreSchedulers(facts) => node::more_schedulers(facts),
        FindingKind::MailboxFlood(facts) => inside::flood(facts),
        FindingKind::UnevenQueues(facts) => inside::uneven(facts),
    }
}

fn spinning(facts: &SpinFinding) -> String {
    let place = facts.spot.as_ref().map_or_else(String::new, |spot| match &spot.function {
        Some(function) => format!(" in {}", plain(function)),
        None => format!(" at {:#x}", spot.address),
    });
    let held_up = facts.held_up.as_ref().map_or_else(String::new, |thread| {
        format!(", most of all {} ({})", plain(&thread.name), thread.tid)
    });
    format!(
        "{} of it waited actively{place}, for {} of its CPU time, while others were ready behind them \
         for {}{held_up}. Which of them had what the others waited for is not seen.",
        plural(facts.threads.into(), "thread"),
        percent(facts.share),
        figure(facts.behind_own_ms_per_s, Unit::MillisecondsPerSecond),
    )
}

fn foreign(facts: &ForeignReaders, by: &str) -> String {
    let what = match (&facts.file, facts.call) {
        (Some(file), _) => format!("its {}", plain(file)),
        (None, Some(call)) => format!("its memory by system call {call}"),
        (None, None) => "a file of /proc about its memory".to_owned(),
    };
    let mut text = format!(
        "{by} reads {what}: {} holds a second, {} under its lock, the longest {}.",
        figure(facts.holds_per_s, Unit::Count),
        figure(facts.held_ms_per_s, Unit::MillisecondsPerSecond),
        figure(facts.worst_hold_ms, Unit::Milliseconds),
    );
    if facts.preempted >= 0.05 {
        text.push_str(&format!(
            " For {} of that the reader had no CPU itself.",
            percent(facts.preempted)
        ));
    }
    if facts.throttled >= 0.05 {
        text.push_str(&format!(" For {} of that it was throttled.", percent(facts.throttled)));
    }
    text
}

fn quota(facts: &QuotaFinding, by: &str) -> String {
    let whose = match facts.whose {
        Whose::Own => "the quota of its group",
        Whose::Ancestor => "the quota of a group above it,",
        Whose::NotKnown => "a quota: its own or one above it,",
    };
    let mut text = format!(
        "Held by {whose} {} ({} in {}): throttled in {} of the periods.",
        plain(&facts.group),
        time(facts.quota_us),
        time(facts.period_us),
        percent(facts.throttled_periods),
    );
    let used = facts.used.map(|used| format!(", {} of what it allows", percent(used)));
    let used = used.unwrap_or_default();
    let threads = plural(facts.threads.into(), "thread");
    text.push_str(&match facts.cause {
        QuotaCause::UsedUp => format!(" {by} used it up with {threads}{used}."),
        QuotaCause::Spun(share) => format!(
            " {by} used it up with {threads}{used}; {} of that CPU time was active waiting.",
            percent(share)
        ),
        QuotaCause::Runtime(runtime) => format!(
            " {by} used it up early in the period with {threads}{used}: {} has more of them at work at \
             once than it allows.",
            runtime_name(runtime)
        ),
        QuotaCause::UnderQuota => format!(" Yet {threads} had used less than it gives{used}."),
    });
    text
}

fn neighbour(facts: &NeighbourFinding, by: &str) -> String {
    format!(
        "{by} ran on its CPU meanwhile: it had {} of CPU time, the victim {}.",
        figure(facts.culprit_ran_ms_per_s, Unit::MillisecondsPerSecond),
        figure(facts.victim_ran_ms_per_s, Unit::MillisecondsPerSecond),
    )
}

fn memory_high(facts: &MemoryFinding, by: &str) -> String {
    let asleep = facts.asleep.filter(|share| *share > 0.0);
    let asleep = asleep.map(|share| {
        format!(" In {} of the looks a thread of it slept in the kernel for that.", percent(share))
    });
    format!(
        "Its group {} holds {}, its memory.high is {}; {by} holds most of it. It was found above {} \
         times a second, and the kernel let it sleep.{}",
        plain(&facts.group),
        figure(facts.held_bytes as f64, Unit::Bytes),
        figure(facts.high_bytes as f64, Unit::Bytes),
        figure(facts.high_events_per_s, Unit::Count),
        asleep.unwrap_or_default(),
    )
}

fn time(us: u64) -> String {
    match us {
        us if us.is_multiple_of(1000) => format!("{} ms", us / 1000),
        us => format!("{us} us"),
    }
}

/// A time as milliseconds a second, as it stands in a table.
pub fn rate(ns: u64, over_ns: u64) -> String {
    match ns as f64 / over_ns.max(1) as f64 * 1e3 {
        zero if zero < 0.05 => "-".to_owned(),
        small if small < 9.95 => format!("{small:.1}"),
        large => format!("{large:.0}"),
    }
}

/// A runtime in a sentence.
fn runtime_name(runtime: LiveRuntime) -> &'static str {
    match runtime {
        LiveRuntime::Jvm => "the JVM",
        LiveRuntime::Node => "Node.js",
        LiveRuntime::Go => "Go",
        LiveRuntime::Beam => "the BEAM",
    }
}

/// The setting by which a runtime is told its number of CPUs.
fn told(runtime: LiveRuntime, cpus: u32) -> String {
    match runtime {
        LiveRuntime::Jvm => format!("-XX:ActiveProcessorCount={cpus}"),
        LiveRuntime::Node => format!("UV_THREADPOOL_SIZE={cpus}"),
        LiveRuntime::Go => format!("GOMAXPROCS={cpus}"),
        LiveRuntime::Beam => format!("+S {cpus}:{cpus} +SDcpu {cpus}:{cpus}"),
    }
}

/// A fix as a sentence.
pub fn fix(fix: &LiveFix) -> String {
    match fix {
        LiveFix::ReadLess => {
            "Have the reader leave that file alone; status and statm take no such lock.".to_owned()
        }
        LiveFix::ReadSeldom => "Have it read less often.".to_owned(),
        LiveFix::RaiseReader => {
            "Do not run the reader at a low priority: it is preempted with the lock.".to_owned()
        }
        LiveFix::UnthrottleReader => {
            "Take the quota off the reader: it is throttled with the lock.".to_owned()
        }
        LiveFix::NewerKernel(version) => format!("Use Linux {} or newer.", plain(version)),
        LiveFix::RaiseQuota(cpus) => format!("Raise the quota to {cpus:.1} CPUs or more."),
        LiveFix::Burst => {
            "Let unused quota be carried over (cpu.max.burst, cpu.cfs_burst_us).".to_owned()
        }
        LiveFix::FewerThreads => "Run no more threads than CPUs of quota.".to_owned(),
        LiveFix::TellRuntime(runtime, cpus) => format!(
            "Tell {} how many CPUs its quota comes to: {}.",
            runtime_name(*runtime),
            told(*runtime, *cpus)
        ),
        LiveFix::StopSpinning => "Have its threads sleep where they wait actively.".to_owned(),
        LiveFix::ThreadsAsCpus => "Run no more threads than CPUs.".to_owned(),
        LiveFix::Separate => "Give the two CPUs of their own (cpuset, taskset).".to_owned(),
        LiveFix::Weigh => "Weigh them against each other (cpu.weight, nice).".to_owned(),
        LiveFix::RaiseMemoryHigh => "Raise memory.high above what the work needs.".to_owned(),
        LiveFix::MemoryMax => {
            "Limit it by memory.max instead, so that it is killed and started again.".to_owned()
        }
        LiveFix::Swap => "Let the group swap (memory.swap.max), to zram for example.".to_owned(),
        LiveFix::Balance => "Look at affinities, cpusets and isolated CPUs.".to_owned(),
        LiveFix::DirtyScheduler => {
            "Run that function on a dirty scheduler, or in slices that yield.".to_owned()
        }
        LiveFix::Flags(flags) => node::flags(flags),
        LiveFix::Dam => "Put a dam before it, so that senders wait: docs/dam.md.".to_owned(),
        LiveFix::OtherReceiver => {
            "Have a process make that call that gets no other messages.".to_owned()
        }
    }
}

/// The name of a stall in a line of answers.
pub fn stall_name(id: &str) -> String {
    match id {
        stall::NEIGHBOUR => "neighbour".to_owned(),
        stall::BESIDE_IDLE => "idle CPU beside".to_owned(),
        stall::MORE_SCHEDULERS => "more schedulers than quota".to_owned(),
        stall::UNEVEN_QUEUES => "uneven run queues".to_owned(),
        id => plain(id),
    }
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
        NotMeasurable::LockInProgram => {
            "no tracepoint shows a lock inside a program; tailback run tries it".to_owned()
        }
        NotMeasurable::NoNode => "no Erlang node runs here".to_owned(),
        NotMeasurable::NotInside => {
            "it does not show from outside; name the node: --node NAME".to_owned()
        }
        NotMeasurable::NoAnswer => "the node that was asked does not answer".to_owned(),
    }
}

/// Why a source could not be had, and what would give it.
pub fn missing(why: &Missing) -> String {
    match why {
        Missing::NoPrograms(why) => no_programs(why),
        Missing::NoLockTracepoints => {
            "this kernel has no tracepoints of the lock; Linux 5.11 has them".to_owned()
        }
        Missing::NoSymbols => {
            "/proc/kallsyms hides the kernel's addresses; set kernel.kptr_restrict to 1".to_owned()
        }
        Missing::NoSamples => {
            "this kernel lets no program sample what others execute (perf_event_open)".to_owned()
        }
        Missing::NoThrottledTime => "this kernel counts no throttled time of a queue".to_owned(),
        Missing::NoGroups => {
            "no hierarchy of the cpu controller is mounted; mount cgroup2".to_owned()
        }
        Missing::NoMemoryGroups => {
            "no memory controller of cgroup v2, and v1 has no memory.high".to_owned()
        }
    }
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
        Source::Scheduler => "who waited for a CPU behind whom",
        Source::MmapLock => "who reads whose memory map",
        Source::MappingLock => "who reads a single mapping of whom",
        Source::Throttled => "how long a quota held each thread",
        Source::Samples => "who waits actively",
        Source::Schedstat => "/proc/PID/schedstat",
        Source::CpuStat => "cpu.stat",
        Source::MemoryEvents => "memory.events",
        Source::Pressure => "/proc/pressure",
        Source::Steal => "steal time",
    }
}

/// The last line: all well, or what first.
pub fn conclusion(live: &Live, measured: bool) -> String {
    // Processes that are named by number are known to be there: one that sleeps is well.
    let by_name = live.scope.pids.is_empty() && live.scope != Scope::default();
    let unseen = by_name && live.victims.is_empty();
    match live.findings.first() {
        Some(first) => format!(
            "First: {}, {}. {}",
            stall_name(first.kind.stall()),
            program(&first.victim),
            first.fixes.first().map_or_else(String::new, fix)
        ),
        None if measured && unseen => format!(
            "Nothing is said of {}: it did not run meanwhile, or there is no such program.",
            scope(&live.scope)
        ),
        None if measured => "All well: nothing that was measured holds anybody up.".to_owned(),
        None => "Nothing could be measured here.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_named_as_one_asks_for_them() {
        let of = |pid, processes, group: Option<&str>| {
            program(&Program {
                name: "web".into(),
                group: group.map(str::to_owned),
                pid,
                processes,
            })
        };
        assert_eq!(of(7, 1, None), "web (pid 7)");
        assert_eq!(of(7, 3, Some("/a")), "web (3 processes, /a)");
        assert_eq!(of(0, 0, None), "web");
    }

    #[test]
    fn a_name_cannot_steer_a_terminal() {
        let hostile = Program { name: "\u{1b}[2J".into(), ..Program::default() };
        assert!(!program(&hostile).contains('\u{1b}'));
    }
}
