//! Every sentence of `tailback watch` with sample facts, for proofreading.

use super::live::{
    brief, finding, inside, last_line, looked_at, measured, missing, node, not_measurable, problem,
    scope, sleepers, source, stall_name,
};
use model::Live;
use model::live::{
    BusyLink, Code, CodeTime, Finding, Inside, Mailbox, Micro, Missing, Node, NodeFigures,
    NodeMemory, NodeProblem, NotMeasurable, Place, Program, RoleTime, Scope, Sleeper, Source,
    SourceUse, ThreadRole, Why, Workload,
};
use std::collections::{BTreeMap, BTreeSet};
use watch::workload::sentence;
use watch::{Loss, Stolen, Summary, To, Together};

/// All sentences, one per line.
pub fn samples() -> Vec<String> {
    [findings(), groups(), answers(), about_sources(), scopes(), nodes(), problems()].concat()
}

fn findings() -> Vec<String> {
    let mut all = Vec::new();
    let samples = watch::findings::samples();
    let of_quota = samples.iter().find(|one| one.stall == "cpu-quota");
    let others = of_quota.map(|one| Finding { other_victims: 2, ..one.clone() });
    for one in samples.into_iter().chain(others) {
        let (name, text) = (stall_name(&one.stall), finding(&one, |_| None));
        let new = [vec![text.loss, brief(&one), text.cause], text.fixes].concat();
        for line in new.into_iter().map(|line| format!("{name}: {line}")) {
            if !all.contains(&line) {
                all.push(line);
            }
        }
    }
    all.extend(sleepers(&with_sleepers()).map(|line| format!("every finding: {line}")));
    all
}

/// Workloads, and the sentences of findings that name such a group.
fn groups() -> Vec<String> {
    let workloads = watch::workload::samples();
    let mut all: Vec<String> =
        workloads.iter().filter_map(sentence).map(|line| format!("workload: {line}")).collect();
    all.dedup();
    let known: BTreeMap<String, Workload> =
        ["/app", "/a", "/a/b"].map(|group| (group.to_owned(), workloads[3].clone())).into();
    for one in watch::findings::samples() {
        let named = Finding { workloads: known.clone(), ..one.clone() };
        let [cause, before] = [&named, &one].map(|one| finding(one, |_| None).cause);
        // The other sentences do not name a group.
        let first = cause.split_inclusive(". ").next().unwrap_or_default().trim_end();
        let line = format!("{}: {first}", stall_name(&one.stall));
        if cause != before && !all.contains(&line) {
            all.push(line);
        }
    }
    let victim = Program {
        name: "postgres".to_owned(),
        pid: 7,
        workload: workloads.get(3).cloned(),
        ..Program::default()
    };
    all.push(format!("every finding: {}", brief(&Finding { victim, ..Finding::default() })));
    all
}

/// A finding with sleepers behind its victim, in every kind of sleep.
fn with_sleepers() -> Finding {
    let of = |name: &str, futex_ms_per_s, input_ms_per_s| {
        let program = Program { name: name.to_owned(), pid: 7, ..Program::default() };
        Sleeper { program, ms_per_s: 550.0, futex_ms_per_s, input_ms_per_s }
    };
    let sleepers = vec![of("web", 550.0, 0.0), of("app", 0.0, 550.0), of("log", 0.0, 0.0)];
    Finding { sleepers, ..Finding::default() }
}

fn answers() -> Vec<String> {
    let all = watch::findings::answer_samples();
    let why = [
        NotMeasurable::NoNode,
        NotMeasurable::NotInside,
        NotMeasurable::NoAnswer,
        NotMeasurable::WhoseQuota,
        NotMeasurable::TableFull,
        NotMeasurable::TooShort(5),
        NotMeasurable::NoPasses,
        NotMeasurable::NodeLacksCpu,
        NotMeasurable::MoreNodes,
        NotMeasurable::MailboxesUnread,
    ];
    let why = why.iter().map(|why| format!("Not measurable here: {}", not_measurable(why)));
    all.chunks(1)
        .map(|one| measured(one.iter()))
        .filter(|line| !line.is_empty())
        .chain(why)
        .collect()
}

fn about_sources() -> Vec<String> {
    let all = [
        (Source::Scheduler, None),
        (Source::MmapLock, Some(Missing::NoLockTracepoints)),
        (Source::MappingLock, Some(Missing::NoSymbols)),
        (Source::Throttled, Some(Missing::NoThrottledTime)),
        (Source::Calls, Some(Missing::NoCalls)),
        (Source::Samples, Some(Missing::NoSamples)),
        (Source::Schedstat, None),
        (Source::CpuStat, Some(Missing::NoGroups)),
        (Source::MemoryEvents, Some(Missing::NoMemoryGroups)),
        (Source::Pressure, None),
        (Source::Steal, None),
        (Source::Reclaim, Some(Missing::NoReclaimTracepoints)),
        (Source::GroupMoves, Some(Missing::NoGroupMoves)),
        (Source::Journal, Some(Missing::NoJournal)),
        (Source::Pressure, Some(Missing::NoPressure)),
        (Source::OutsidePrograms, Some(Missing::PidNamespace)),
        (Source::GroupsAbove, Some(Missing::CgroupNamespace)),
        (Source::GroupsAbove, Some(Missing::OwnGroupNotFound)),
    ];
    let line = |(one, why): &(Source, Option<Missing>)| {
        let state = why.as_ref().map_or_else(|| "read".to_owned(), missing);
        format!("Source: {}: {state}", source(*one))
    };
    all.iter().map(line).collect()
}

fn scopes() -> Vec<String> {
    let by_pid = Scope { pids: vec![7, 8], ..Scope::default() };
    let by_name =
        Scope { cgroup: Some("/app".to_owned()), comm: Some("web".to_owned()), ..Scope::default() };
    let all = [Scope::default(), by_pid, by_name.clone()];
    let watched = all.iter().map(|one| format!("watch: {}", scope(one)));
    let outer = SourceUse { source: Source::OutsidePrograms, missing: None };
    let container = Live { sources: vec![outer], ..Live::default() };
    let watched = watched.chain([format!("watch: {}", looked_at(&container))]);
    let found = Live { findings: watch::findings::samples(), ..Live::default() };
    let unseen = Live { scope: by_name, ..Live::default() };
    let stolen = Summary::Stolen(Stolen { ms_per_s: 1_000.0, share: 0.5 });
    let own = [Summary::NothingMeasured, Summary::PartlyMeasured, Summary::AllWell(None), stolen];
    let own = own.map(|one| last_line(&one, &found));
    let ends = [last_line(&Summary::Finding, &found), last_line(&Summary::NoFigures, &unseen)];
    let of_losses = losses().into_iter().flat_map(|loss| {
        let all = [Summary::Loses(loss.clone()), Summary::Near(loss.clone())];
        let together = Together { ms_per_s: 4_950.0, share: 0.55, most: loss.clone() };
        let more = [
            Summary::Together(together),
            Summary::AllWell(Some(loss.clone())),
            Summary::FindingBeside(loss),
        ];
        all.into_iter().chain(more)
    });
    let losses = of_losses.map(|one| last_line(&one, &Live::default()));
    let ends = own.into_iter().chain(ends).chain(losses);
    let ends = ends.map(|last| format!("last line: {last}")).collect::<BTreeSet<_>>();
    watched.chain(ends).collect()
}

/// A loss for each possible cause.
fn losses() -> Vec<Loss> {
    let of = |name: &str| Program { name: name.to_owned(), pid: 7, ..Program::default() };
    let all = [
        To::Neighbour(of("stress-ng"), Why::Shared(None)),
        To::Neighbour(of("stress-ng"), Why::Shared(Some((0, -15)))),
        To::Neighbour(of("stress-ng"), Why::Unknown),
        To::OwnThreads,
        To::Quota,
        To::Confined,
        To::BesideIdle,
        To::Interrupts,
        To::Hypervisor,
        To::Waking,
        To::MmapLock,
        To::OwnMmapLock,
        To::Memory,
        To::AsleepBehind(of("postgres")),
        To::NotToldApart,
    ];
    let loss = |to| Loss {
        program: of("web"),
        ms_per_s: 80.5,
        to,
        and_others: false,
        part_ms_per_s: 60.5,
    };
    let large = Loss { ms_per_s: 280.5, ..loss(To::Quota) };
    let several = [
        To::Neighbour(of("stress-ng"), Why::Shared(None)),
        To::Neighbour(of("stress-ng"), Why::Unknown),
        To::AsleepBehind(of("postgres")),
    ]
    .map(|to| Loss { and_others: true, ..loss(to) });
    all.map(loss).into_iter().chain([large]).chain(several).collect()
}

fn nodes() -> Vec<String> {
    let second = 1_000_000_000;
    let role = |role, ran_ns| RoleTime {
        role,
        threads: 4,
        ran: 2,
        ran_ns,
        spun_ns: ran_ns / 4,
        call_ns: ran_ns / 8,
        ..RoleTime::default()
    };
    let places = [Code::Erlang, Code::Vm, Code::Waiting, Code::Unknown]
        .map(|code| CodeTime { place: Place { code, ..Place::default() }, share: 0.25 });
    let named = Node {
        program: Program { pid: 7, ..Program::default() },
        name: Some("web@host".to_owned()),
        schedulers: 4,
        online: 2,
        roles: vec![
            role(ThreadRole::Scheduler, 800_000_000),
            role(ThreadRole::DirtyCpu, 40_000_000),
        ],
        code: places.into(),
        quota_cpus: Some(0.5),
        throttled_periods: Some(0.9),
        ..Node::default()
    };
    let unnamed = Node { name: None, quota_cpus: None, code: Vec::new(), ..named.clone() };
    let mut all = [named, unnamed].map(|one| node(&one, second)).to_vec();
    let figures = Some(figures());
    let answers = Inside { name: "web@host".to_owned(), problem: None, figures };
    all.push(inside(&answers));
    all.push(inside(&Inside { problem: Some(NodeProblem::Silent(3_000)), ..answers }));
    all
}

fn figures() -> NodeFigures {
    let shares = [("emulator".to_owned(), 0.7), ("sleep".to_owned(), 0.3)];
    let name = "logger".to_owned();
    let mailbox =
        Mailbox { name, process: "<0.90.0>".to_owned(), length: 900, ..Mailbox::default() };
    NodeFigures {
        otp: "30".to_owned(),
        is_untried: true,
        age_ms: 200.0,
        took_ms: 4.0,
        answers: 9,
        online: 2,
        processes: 120,
        used: vec![0.99, 0.05],
        run_queue: 3.5,
        even: 0.5,
        micro: vec![Micro { threads: "scheduler".to_owned(), shares: shares.into() }],
        links: vec![BusyLink { node: "db@host".to_owned(), waiting: 0.3, bytes: 4 << 20 }],
        memory: NodeMemory { total: 80 << 20, processes: 30 << 20, binary: 9 << 20, ets: 5 << 20 },
        mailboxes: vec![mailbox],
        ..NodeFigures::default()
    }
}

fn problems() -> Vec<String> {
    let why = || "No such file or directory".to_owned();
    let all = [
        NodeProblem::Connecting,
        NodeProblem::Host(why()),
        NodeProblem::NoEpmd(why()),
        NodeProblem::NotThere,
        NodeProblem::Connect(why()),
        NodeProblem::Elsewhere("10.0.0.7".to_owned()),
        NodeProblem::ForeignPort { port_user: 1000, cookie_user: 100 },
        NodeProblem::UnknownOwner(why()),
        NodeProblem::OtherName("db@host".to_owned()),
        NodeProblem::WrongCookie,
        NodeProblem::Tls,
        NodeProblem::Refused("not_allowed".to_owned()),
        NodeProblem::NoProcess("system_limit".to_owned()),
        NodeProblem::NoProcess("badarg".to_owned()),
        NodeProblem::Release("24".to_owned()),
        NodeProblem::Silent(3_000),
        NodeProblem::Nonsense("a word".to_owned()),
        NodeProblem::Memory(128),
        NodeProblem::Ended,
    ];
    all.iter().map(|one| format!("Inside web@host: {}", problem(one))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_a_sentence_for_every_stall_and_no_line_is_there_twice() {
        let all = samples();
        for stall in ["mmap-lock", "memory-high", "uneven run queues"] {
            assert!(all.iter().any(|line| line.starts_with(stall)), "{stall}");
        }
        let mut once = all.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), all.len());
    }
}
