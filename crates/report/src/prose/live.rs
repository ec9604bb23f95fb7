//! The results of `tailback watch` in English. The sentences of a single stall are in its own
//! file (`crates/watch/src/findings/`). This file has the sentences that all findings share.

mod inside;
mod node;

use super::command;
use super::not_seen::no_programs;
pub use inside::{inside, problem};
use model::live::{
    Answer, AnswerState, Finding, GroupPart, Missing, NeighbourPart, NotMeasurable, Program, Scope,
    Sleeper, Source, Sure, Victim, Why,
};
use model::prose::figures::{figure, percent, plural};
use model::{Live, Meta, Unit};
pub use node::node;
use os::terminal::line as plain;
use watch::findings::find;
pub use watch::findings::words::{group_of, program, short_name};
use watch::{
    Loss, NOTICED_MS_PER_S, NOTICED_SHARE, Stolen, Summary, To, Together, sees_all, summary,
};

/// Finds the declaration of a scenario by its id.
pub type MetaOf = fn(&str) -> Option<&'static Meta>;

/// A finding in a few sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingText {
    /// The victim and its loss.
    pub loss: String,
    /// The culprit and the mechanism.
    pub cause: String,
    /// The programs that sleep until the victim wakes them, as a sentence. None if there are
    /// none.
    pub sleepers: Option<String>,
    /// The fixes, the most useful first.
    pub fixes: Vec<String>,
    /// The command that reproduces the finding.
    pub command: Option<String>,
}

/// The sentences of a finding.
pub fn finding(finding: &Finding, meta_of: MetaOf) -> FindingText {
    let since = match finding.since_s {
        None => String::new(),
        Some(at) if at < 0.05 => " since the start".to_owned(),
        Some(at) => format!(" since second {at:.0}"),
    };
    let run = finding.run.as_ref();
    let cause = find(&finding.stall).and_then(|stall| stall.cause(finding));
    FindingText {
        loss: format!(
            "{}{since}{}.{}{}",
            loses(finding),
            worst(finding),
            near(finding),
            sure(finding)
        ),
        cause: cause.unwrap_or_else(|| "This version of tailback does not know why.".to_owned()),
        sleepers: sleepers(finding),
        fixes: fixes(finding),
        command: run.and_then(|run| command::line(run, meta_of(&run.scenario))),
    }
}

/// A finding in one sentence: the victim, its loss and the culprit.
pub fn brief(finding: &Finding) -> String {
    let by = finding.culprits.first().filter(|culprit| **culprit != finding.victim);
    let by = by.map(|culprit| format!(" to {}", program(culprit))).unwrap_or_default();
    format!("{}{by}{}.", loses(finding), worst(finding))
}

/// A finding that has ended, in one sentence, with the total loss of all threads in seconds.
pub fn ended(finding: &Finding, lost_s: f64, lasted_s: f64) -> String {
    let (stall, victim) = (plain(&finding.stall), program(&finding.victim));
    let (victims, who) = match finding.other_victims {
        0 => (victim, "It"),
        others => (format!("{victim} and {}", plural(others.into(), "other program")), "They"),
    };
    format!(
        "Over: {stall} of {victims}. {who} lost {lost_s:.1} s in {lasted_s:.1} s{}.",
        worst(finding)
    )
}

fn loses(finding: &Finding) -> String {
    let cost = figure(finding.cost_ms_per_s, Unit::MillisecondsPerSecond);
    let victim = program(&finding.victim);
    match finding.other_victims {
        0 => format!("{victim} loses {cost}"),
        others => format!("{victim} and {} lose {cost}", plural(others.into(), "other program")),
    }
}

/// The longest wait, if single waits are measured.
fn worst(finding: &Finding) -> String {
    match finding.worst_ms {
        seen if seen > 0.0 => {
            let whose = match finding.other_victims {
                0 => "its longest wait".to_owned(),
                _ => format!("the longest wait of {}", plain(&finding.victim.name)),
            };
            format!("; {whose} was {}", figure(seen, Unit::Milliseconds))
        }
        _ => String::new(),
    }
}

/// A note that the loss is near the limit for a finding.
fn near(finding: &Finding) -> String {
    match finding.is_near_limit() {
        true => format!(
            " That is near the limit of {}.",
            figure(finding.limit_ms_per_s, Unit::MillisecondsPerSecond)
        ),
        false => String::new(),
    }
}

/// A note that the finding was derived from counters and not measured wait by wait.
fn sure(finding: &Finding) -> &'static str {
    match finding.sure {
        Sure::Measured => "",
        Sure::Likely => " This is likely: it follows from counters, not from single waits.",
    }
}

/// The programs that sleep until the victim wakes them. None if there are none.
pub(super) fn sleepers(finding: &Finding) -> Option<String> {
    let one = |one: &Sleeper| {
        let mostly = |ms: f64| ms > one.ms_per_s / 2.0;
        let place = match () {
            () if mostly(one.futex_ms_per_s) => " in locks or conditions (futex)",
            () if mostly(one.input_ms_per_s) => " for its messages (answers, or new work)",
            () => "",
        };
        let time = figure(one.ms_per_s, Unit::MillisecondsPerSecond);
        format!("{} {time}{place}", program(&one.program))
    };
    let all: Vec<String> = finding.sleepers.iter().map(one).collect();
    let told =
        || format!("While it waits, these programs sleep until it wakes them: {}.", all.join(", "));
    (!all.is_empty()).then(told)
}

/// The fixes of a finding as sentences.
fn fixes(finding: &Finding) -> Vec<String> {
    find(&finding.stall).map_or_else(Vec::new, |stall| stall.fixes(finding))
}

/// An account of where the time of a program went, the largest parts first, each with its reason.
pub fn account(victim: &Victim, over_ns: u64) -> String {
    let parts = &victim.parts;
    let mut all: Vec<(u64, String)> = Vec::new();
    let neighbour = |part: &NeighbourPart| {
        (part.ns, format!("behind {}{}", short_name(&part.program), short_why(part)))
    };
    all.extend(parts.neighbours.iter().map(neighbour));
    let quota = |part: &GroupPart| (part.ns, format!("quota of {}", group(part)));
    all.extend(parts.ancestors.iter().map(quota));
    let confined = parts.confined.iter().map(|part| {
        (part.ns, format!("confined to CPU {} while another was idle", plain(&part.cpus)))
    });
    all.extend(confined);
    let others = [
        (parts.own_quota_ns, "its own quota"),
        (parts.some_quota_ns, "a quota"),
        (parts.other_neighbours_ns, "behind further programs"),
        (parts.own_program_ns, "behind its own threads"),
        (parts.beside_idle_ns, "beside an idle CPU"),
        (parts.interrupts_ns, "interrupts"),
        (parts.hypervisor_ns, "hypervisor"),
        (parts.waking_ns, "own CPU idle"),
        (parts.not_told_apart_ns, "not told apart"),
        (victim.lock.foreign_ns, "readers of its memory map"),
        (own_lock_ns(victim), "its own threads at the lock of its memory map"),
        (victim.memory.ns, "standing still for memory"),
        (victim.stalled_ns(), "asleep behind stalled programs"),
    ];
    all.extend(others.map(|(ns, what)| (ns, what.to_owned())));
    let name = plain(&victim.program.name);
    let lost = listed(all, over_ns);
    let asleep = victim.asleep.iter().map(|one| (one.ns, short_name(&one.holder))).collect();
    let asleep = listed(asleep, over_ns);
    match (lost.is_empty(), asleep.is_empty()) {
        (true, true) => format!("{name} lost less than 0.1 ms/s to each cause"),
        (false, true) => format!("{name} lost, in ms/s: {lost}"),
        (true, false) => {
            format!("{name} was asleep while its waker stood ready, in ms/s: {asleep}")
        }
        (false, false) => {
            format!("{name} lost, in ms/s: {lost}; asleep while its waker stood ready: {asleep}")
        }
    }
}

/// Whether the account of a program is more than noise: it lost at least a millisecond a second,
/// or slept that long behind other programs.
pub fn is_worth_an_account(victim: &Victim, over_ns: u64) -> bool {
    let asleep = victim.asleep.iter().map(|one| one.ns).fold(0, u64::saturating_add);
    victim.lost_ns().max(asleep) >= over_ns / 1_000
}

/// Times with their causes, the largest first. Times that round to zero are left out.
fn listed(mut all: Vec<(u64, String)>, over_ns: u64) -> String {
    all.retain(|(ns, _)| *ns > over_ns / 10_000);
    all.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    let parts: Vec<String> =
        all.iter().map(|(ns, what)| format!("{} {what}", rate(*ns, over_ns))).collect();
    parts.join(", ")
}

/// A group whose quota held a program: its owner, or else its path.
pub fn group(part: &GroupPart) -> String {
    let named = part.workload.as_ref().and_then(watch::workload::sentence);
    named.unwrap_or_else(|| plain(&part.group))
}

fn short_why(part: &NeighbourPart) -> String {
    let name = part.policy.map(|policy| format!(", {}", policy.name())).unwrap_or_default();
    match &part.why {
        Why::RealTime(priority) => format!(" (real-time priority {priority}{name})"),
        Why::SamePriority(priority) => format!(" (the same real-time priority {priority}{name})"),
        Why::Deadline => " (deadline policy)".to_owned(),
        Why::Weight { victim, culprit } => {
            format!(" (weight {} against {})", culprit.weight, victim.weight)
        }
        Why::Shared(Some(_)) => " (shared between sessions)".to_owned(),
        Why::Shared(None) => " (shared)".to_owned(),
        Why::Unknown => String::new(),
    }
}

/// A note that the kernel's own count of the ready time differs from the sum of the parts. None
/// if they agree.
pub fn disagrees(victim: &Victim, over_ns: u64) -> Option<String> {
    let compared = victim.compared.filter(|compared| !compared.agrees(over_ns))?;
    let of = |ns| match rate(ns, over_ns).as_str() {
        "-" => "0".to_owned(),
        figure => figure.to_owned(),
    };
    Some(format!(
        "{}: the kernel's own count (schedstat) differs: {} ms/s against {} here, of the threads \
         that were compared.",
        plain(&victim.program.name),
        of(compared.kernel_ns),
        of(compared.parts_ns)
    ))
}

/// The time that a program waited for the lock of its memory map while its own threads held it,
/// in nanoseconds.
pub fn own_lock_ns(victim: &Victim) -> u64 {
    victim.lock.ns.saturating_sub(victim.lock.foreign_ns)
}

/// The column headings of a table of programs, without the first and the last column.
pub const COLUMNS: [&str; 7] = ["all", "quota", "above", "others", "own", "lock", "rest"];

/// The loss of a program by [`COLUMNS`]. The first value is the sum of the others.
pub fn columns(victim: &Victim) -> [u64; COLUMNS.len()] {
    let parts = &victim.parts;
    let above = parts.ancestors.iter().map(|part| part.ns).fold(0, u64::saturating_add);
    let rest = [parts.some_quota_ns, parts.rest_ns(), victim.memory.ns, victim.stalled_ns()];
    [
        victim.lost_ns(),
        parts.own_quota_ns,
        above,
        parts.neighbours_ns(),
        parts.own_program_ns,
        victim.lock.ns,
        rest.into_iter().fold(0, u64::saturating_add),
    ]
}

/// A time as milliseconds a second, for a table.
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

/// The answers that were measured, each in a few words. Stalls that cost nothing are listed
/// together at the end. Empty if nothing was measured.
pub fn measured<'a>(answers: impl Iterator<Item = &'a Answer>) -> String {
    let (nothing, some): (Vec<&Answer>, Vec<&Answer>) = answers.partition(|one| is_nothing(one));
    let mut all: Vec<String> = some.into_iter().filter_map(measured_one).collect();
    if !nothing.is_empty() {
        let names: Vec<String> = nothing.iter().map(|one| stall_name(&one.stall)).collect();
        all.push(format!("nothing is lost to {}", names.join(", ")));
    }
    all.join("; ")
}

fn is_nothing(answer: &Answer) -> bool {
    matches!(answer.state, AnswerState::NotHitting { most_ms_per_s: 0.0, .. })
}

fn measured_one(answer: &Answer) -> Option<String> {
    let name = stall_name(&answer.stall);
    match &answer.state {
        AnswerState::Hitting => Some(format!("{name}: hitting")),
        AnswerState::NotHitting { most_ms_per_s, finding_at_ms_per_s } => {
            let (most, limit) = (*most_ms_per_s, *finding_at_ms_per_s);
            let (answer, which) = match most {
                most if most >= limit => ("no", "above the limit of"),
                most if most * 2.0 >= limit => ("near", "limit"),
                _ => ("no", "limit"),
            };
            let but = if most >= limit { ", but another condition is not met" } else { "" };
            let most = figure(most, Unit::MillisecondsPerSecond);
            Some(format!("{name}: {answer}, {most} ({which} {}{but})", figure(limit, Unit::Count)))
        }
        AnswerState::NotMeasurable(_) => None,
    }
}

/// Why a stall cannot be measured, and how to make it measurable.
pub fn not_measurable(why: &NotMeasurable) -> String {
    match why {
        NotMeasurable::Missing(why) => missing(why),
        NotMeasurable::NoNode => "no Erlang node runs here".to_owned(),
        NotMeasurable::NotInside => {
            "only the node itself can tell; name the node: --node NAME".to_owned()
        }
        NotMeasurable::NoAnswer => "the node that was asked does not answer".to_owned(),
        NotMeasurable::WhoseQuota => {
            "a quota throttles programs, but the group of that quota is not known, or was not \
             measured yet"
                .to_owned()
        }
        NotMeasurable::TableFull => {
            "a table of tailback's programs in the kernel was full, so not all was counted"
                .to_owned()
        }
        NotMeasurable::TooShort(seconds) => format!("this needs {seconds} s; watch for longer"),
        NotMeasurable::NoPasses => {
            "without the symbol erts_thr_prgr__ in the VM, native code that yields looks like \
             native code that does not yield"
                .to_owned()
        }
        NotMeasurable::NodeLacksCpu => {
            "threads of a node waited for a CPU or for memory, and meanwhile its schedulers look \
             as if native code held them"
                .to_owned()
        }
        NotMeasurable::MoreNodes => "more Erlang nodes run here than tailback examines".to_owned(),
        NotMeasurable::MailboxesUnread => {
            "not all mailboxes of a node were read, or not all long ones were sampled: the watch \
             was too short, or the node has too many processes or too many long mailboxes"
                .to_owned()
        }
    }
}

/// Why a source is missing, and how to get it.
pub fn missing(why: &Missing) -> String {
    match why {
        Missing::NoPrograms(why) => return no_programs(why),
        Missing::NoLockTracepoints => {
            "this kernel has no tracepoints of the mmap lock; Linux 5.11 and later have them"
        }
        Missing::NoSymbols => {
            "/proc/kallsyms hides the kernel's addresses; set kernel.kptr_restrict to 1"
        }
        Missing::NoSamples => {
            "this kernel does not let programs sample what others run (perf_event_open)"
        }
        Missing::NoPressure => "pressure stall information is off; boot the kernel with psi=1",
        Missing::NoCalls => "this kernel does not tell in which system call a program sleeps; Linux 5.15 and later do",
        Missing::NoReclaimTracepoints => "this kernel has no tracepoints of direct reclaim",
        Missing::NoGroupMoves => {
            "this kernel does not tell which programs sleep while they move processes between \
             control groups; Linux 5.15 and later do"
        }
        Missing::NoJournal => {
            "this kernel does not tell which programs sleep for the journal of a file system \
             (jbd2), and for whose handle; Linux 5.15 and later do"
        }
        Missing::NoThrottledTime => "this kernel does not count the throttled time of a run queue",
        Missing::NoGroups => "the cpu controller is not mounted; mount cgroup2",
        Missing::NoMemoryGroups => "cgroup v2 has no memory controller; v1 has no memory.high",
        Missing::PidNamespace => {
            "/proc shows only this container, so their PIDs, groups and weights are not known; run \
             tailback outside, or with docker run --pid=host"
        }
        Missing::CgroupNamespace => {
            "they are hidden here, so time lost to their quotas is assigned to no group; run \
             tailback outside, or mount /sys/fs/cgroup of the host into the container"
        }
        Missing::OwnGroupNotFound => {
            "they are mounted, but this process was not found in any of them (more than 512 groups \
             may be beside its own), so time lost to their quotas is assigned to no group; run \
             tailback outside"
        }
    }
    .to_owned()
}

/// The scope of the watch. Inside a container the default scope is that container.
pub fn looked_at(live: &Live) -> String {
    let is_container = live.sources.iter().any(|one| one.source == Source::OutsidePrograms);
    match is_container && live.scope == Scope::default() {
        true => "this container".to_owned(),
        false => scope(&live.scope),
    }
}

/// The scope that the user asked for.
pub fn scope(scope: &Scope) -> String {
    let pids: Vec<String> = scope.pids.iter().map(u32::to_string).collect();
    let pids = (!pids.is_empty()).then(|| format!("pid {}", pids.join(", ")));
    let group = scope.cgroup.as_ref().map(|group| format!("group {}", plain(group)));
    let comm = scope.comm.as_ref().map(|comm| format!("programs named {}", plain(comm)));
    let parts: Vec<String> = [pids, group, comm].into_iter().flatten().collect();
    if parts.is_empty() { "the whole machine".to_owned() } else { parts.join(", ") }
}

/// The name of a source, for sentences about a missing source.
pub fn source(source: Source) -> &'static str {
    match source {
        Source::Scheduler => "who waited for a CPU, and who ran instead",
        Source::MmapLock => "who reads whose memory map",
        Source::MappingLock => "who reads a single mapping of another program",
        Source::Throttled => "how long a quota held each thread",
        Source::Reclaim => "who frees memory itself",
        Source::GroupMoves => "who moves processes between control groups",
        Source::Journal => "who waits for the journal of a file system",
        Source::Calls => "in which system call programs sleep",
        Source::Samples => "who spins",
        Source::Schedstat => "/proc/PID/schedstat",
        Source::CpuStat => "cpu.stat",
        Source::MemoryEvents => "memory.events",
        Source::Pressure => "/proc/pressure",
        Source::Steal => "steal time",
        Source::OutsidePrograms => "programs outside this container",
        Source::GroupsAbove => "groups above this container",
    }
}

/// The last line: what to fix first. Without a finding: the program with the largest loss, and
/// its cause.
pub fn conclusion(live: &Live) -> String {
    last_line(&summary(live), live)
}

/// The summary of a watch as one or two sentences. The second one says that other losses may not
/// have been seen.
pub fn last_line(summary: &Summary, live: &Live) -> String {
    let is_of_all = matches!(summary, Summary::Near(_) | Summary::Together(_) | Summary::Stolen(_));
    match is_of_all && !sees_all(live) {
        true => format!("{} Not everything could be measured here.", first_sentence(summary, live)),
        false => first_sentence(summary, live),
    }
}

fn first_sentence(summary: &Summary, live: &Live) -> String {
    match summary {
        Summary::NothingMeasured => "No stall could be measured here.".to_owned(),
        Summary::PartlyMeasured => format!(
            "No program was seen to lose both {} and {} of its time, but not everything could be \
             measured here.",
            figure(NOTICED_MS_PER_S, Unit::MillisecondsPerSecond),
            percent(NOTICED_SHARE),
        ),
        Summary::Stolen(Stolen { ms_per_s, share }) => format!(
            "No finding, but the hypervisor takes {}: {} of the CPU time that programs want. Look for \
             the reason on the host.",
            figure(*ms_per_s, Unit::MillisecondsPerSecond),
            percent(*share),
        ),
        Summary::NoFigures => {
            format!("No figures for {}: it did not run, or does not exist.", scope(&live.scope))
        }
        Summary::Finding => live.findings.first().map_or_else(String::new, fix_first),
        Summary::FindingBeside(loss) => {
            let first = live.findings.first().map_or_else(String::new, fix_first);
            format!("{first} {}", larger_loss(loss))
        }
        Summary::Loses(loss) => loses_without_finding(loss),
        Summary::Together(Together { ms_per_s, share, most }) => format!(
            "No program loses much, but all together lose {}: {} of the time that they want. {} loses \
             most: {}, {}.",
            figure(*ms_per_s, Unit::MillisecondsPerSecond),
            percent(*share),
            program(&most.program),
            figure(most.ms_per_s, Unit::MillisecondsPerSecond),
            to(most)
        ),
        Summary::Near(loss) => format!(
            "No program loses much, but {} is near the limit: it loses {} (limits {} and {} of its \
             time), {}.",
            program(&loss.program),
            figure(loss.ms_per_s, Unit::MillisecondsPerSecond),
            figure(NOTICED_MS_PER_S, Unit::Count),
            percent(NOTICED_SHARE),
            to(loss)
        ),
        Summary::AllWell(most) => {
            let most = most.as_ref().map_or_else(String::new, |loss| {
                let most = figure(loss.ms_per_s, Unit::MillisecondsPerSecond);
                format!("; the largest loss is {most}, of {}", program(&loss.program))
            });
            format!(
                "All well: no program loses both {} and {} of its time{most}.",
                figure(NOTICED_MS_PER_S, Unit::MillisecondsPerSecond),
                percent(NOTICED_SHARE),
            )
        }
    }
}

fn fix_first(first: &Finding) -> String {
    let fix = fixes(first).into_iter().next().unwrap_or_default();
    let (stall, victim) = (stall_name(&first.stall), program(&first.victim));
    format!("Fix this first: {stall} of {victim}. {fix}").trim_end().to_owned()
}

/// A loss without a finding that is larger than the losses with one.
pub fn larger_loss(loss: &Loss) -> String {
    let (victim, rate) = (program(&loss.program), Unit::MillisecondsPerSecond);
    let lost = figure(loss.ms_per_s, rate);
    format!("A larger loss has no finding: {victim} loses {lost}, {}.", to(loss))
}

/// A loss without a finding.
fn loses_without_finding(loss: &Loss) -> String {
    let victim = program(&loss.program);
    let rate = |ms: f64| figure(ms, Unit::MillisecondsPerSecond);
    let is_near = loss.ms_per_s < 2.0 * NOTICED_MS_PER_S;
    let (lost, limit) = (rate(loss.ms_per_s), rate(NOTICED_MS_PER_S));
    let in_all = match is_near {
        true => format!(" In all it loses {lost}, near the limit of {limit}."),
        false => String::new(),
    };
    let near = if is_near { format!(" (near the limit of {limit})") } else { String::new() };
    match &loss.to {
        To::Neighbour(other, Why::Shared(nice)) => format!(
            "Busy, shared evenly: {victim} waits {} for {}.{}{in_all}",
            rate(loss.part_ms_per_s),
            of_part(other, loss),
            void_nice(*nice),
        ),
        To::OwnThreads => format!(
            "Busy: the threads of {victim} wait {} for each other; more of them are ready than \
             have a CPU.{in_all}",
            rate(loss.part_ms_per_s)
        ),
        _ => format!("No finding, but {victim} loses {lost}{near}, {}.", to(loss)),
    }
}

/// That nice values, the victim's first, have no effect between two sessions.
fn void_nice(nice: Option<(i32, i32)>) -> String {
    nice.map_or_else(String::new, |(victims, others)| {
        format!(
            " The nice values ({others}, the victim's {victims}) have no effect between their \
             sessions (autogroup)."
        )
    })
}

/// Whose part it is.
fn of_part(most: &Program, loss: &Loss) -> String {
    let others = if loss.and_others { " and others" } else { "" };
    format!("{}{others}", program(most))
}

/// The cause of the largest part of a loss.
fn to(loss: &Loss) -> String {
    let most = figure(loss.part_ms_per_s, Unit::MillisecondsPerSecond);
    match &loss.to {
        To::Neighbour(other, _) => format!("{most} of it while {} ran", of_part(other, loss)),
        To::OwnThreads => format!("{most} of it to its own threads"),
        To::Quota => format!("{most} of it to a quota"),
        To::Confined => format!("{most} of it confined to busy CPUs while another CPU was idle"),
        To::BesideIdle => format!("{most} of it beside an idle CPU"),
        To::Interrupts => format!("{most} of it to interrupts"),
        To::Hypervisor => format!("{most} of it to the hypervisor"),
        To::Waking => {
            format!("{most} of it while its own CPU was idle: being woken, or core scheduling")
        }
        To::MmapLock => format!("{most} of it to readers of its memory map"),
        To::OwnMmapLock => {
            format!("{most} of it at the lock of its memory map, held by its own threads")
        }
        To::Memory => format!("{most} of it standing still for memory"),
        To::AsleepBehind(other) => {
            let is = if loss.and_others { "are" } else { "is" };
            format!(
                "{most} of it asleep behind {}, which {is} kept from running",
                of_part(other, loss)
            )
        }
        To::NotToldApart => "and the reason is not known".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::live::{Opaque, Parts, RealTimePolicy};

    #[test]
    fn an_account_names_a_real_time_policy_that_is_known() {
        let account = |why: Why, policy| {
            let behind = NeighbourPart { ns: 400_000_000, why, policy, ..Default::default() };
            let parts = Parts { neighbours: vec![behind], ..Parts::default() };
            account(&Victim { parts, ..Victim::default() }, 1_000_000_000)
        };
        let above = account(Why::RealTime(50), Some(RealTimePolicy::Fifo));
        assert!(above.ends_with(" (real-time priority 50, SCHED_FIFO)"), "{above}");
        let same = account(Why::SamePriority(50), Some(RealTimePolicy::RoundRobin));
        assert!(same.ends_with(" (the same real-time priority 50, SCHED_RR)"), "{same}");
        let unknown = account(Why::RealTime(50), None);
        assert!(unknown.ends_with(" (real-time priority 50)"), "{unknown}");
    }

    #[test]
    fn a_finding_of_a_newer_version_is_shown_as_far_as_it_goes() {
        let strange = Finding {
            stall: "new\u{1b}[2J".to_owned(),
            facts: Opaque::of(&[1, 2]),
            cost_ms_per_s: 5.0,
            ..Finding::default()
        };
        let text = finding(&strange, |_| None);
        assert!(text.loss.ends_with(" loses 5 ms/s."), "{text:?}");
        assert!(text.cause.contains("does not know") && text.fixes.is_empty(), "{text:?}");
        let live = Live { findings: vec![strange], ..Live::default() };
        assert!(!conclusion(&live).contains('\u{1b}'));
    }

    #[test]
    fn what_holds_for_all_programs_says_whether_all_was_measured() {
        let missing = Some(Missing::NoCalls);
        let less = Live {
            sources: vec![model::live::SourceUse { source: Source::Calls, missing }],
            ..Live::default()
        };
        let stolen = Summary::Stolen(Stolen { ms_per_s: 1_000.0, share: 0.5 });
        let adds = |live: &Live| last_line(&stolen, live).ends_with(" could be measured here.");
        assert!(adds(&less) && !adds(&Live::default()));
        assert!(!last_line(&Summary::NothingMeasured, &less).contains("Not everything"));
    }

    #[test]
    fn an_incident_that_ended_is_told_of_all_its_victims() {
        let of = |other_victims| {
            let stall = "cpu-quota".to_owned();
            ended(&Finding { stall, other_victims, ..Finding::default() }, 39.94, 22.0)
        };
        assert!(of(0).ends_with(". It lost 39.9 s in 22.0 s."), "{}", of(0));
        assert!(of(2).ends_with(" and 2 other programs. They lost 39.9 s in 22.0 s."), "{}", of(2));
    }
}
