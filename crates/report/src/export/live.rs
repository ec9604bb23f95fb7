//! The result of `tailback watch` as gauges.

use super::family::{Family, Labels};
use super::names::Names;
use crate::prose::{live as words, plain};
use model::Live;
use model::live::{AnswerState, Node, ThreadRole, Victim};

/// Most programs with series of their own.
const PROGRAMS: usize = 20;

/// Most findings with series of their own.
const FINDINGS: usize = 20;

/// The gauges of a record of `tailback watch`.
pub(super) fn families(live: &Live, names: &mut Names) -> Vec<Family> {
    names.begin(0.0);
    let lost = live.victims.iter().take(PROGRAMS).flat_map(|one| lost(one, live, names)).collect();
    let nodes = live.nodes.iter().flat_map(|one| node(one, live, names)).collect();
    let found = findings(live, names);
    let groups = names.groups().into_iter().map(|labels| (labels, 1.0)).collect();
    vec![
        Family::gauge(
            "tailback_watch_lost_ms_per_second",
            "Time that all threads of a program lost, by part",
            once_each(lost),
        ),
        Family::gauge(
            "tailback_watch_finding_ms_per_second",
            "What a finding costs: its victim, all programs under a quota, or a group above \
             memory.high",
            once_each(found),
        ),
        Family::gauge(
            "tailback_watch_stall",
            "1 if there is a finding, 0 if there is none; absent where the stall cannot be measured",
            answers(live),
        ),
        Family::gauge(
            "tailback_watch_node_ms_per_second",
            "Time of the schedulers of an Erlang node, by activity",
            once_each(nodes),
        ),
        Family::gauge(
            "tailback_watch_cost_ms_per_second",
            "CPU time that tailback watch itself uses",
            cost(live),
        ),
        Family::gauge(
            "tailback_watch_lost_threads",
            "Threads that were not counted, for lack of room; a thread counts in each interval in \
             which it is missing",
            vec![(Vec::new(), live.cost.lost_threads as f64)],
        ),
        Family::gauge(
            "tailback_watch_group_info",
            "The workload of a group in the other figures; always 1",
            groups,
        ),
    ]
}

/// Adds up samples with the same labels. Here, programs of the same name and group in several
/// sessions are one program.
fn once_each(samples: Vec<(Labels, f64)>) -> Vec<(Labels, f64)> {
    let mut all: Vec<(Labels, f64)> = Vec::new();
    for (labels, value) in samples {
        match all.iter_mut().find(|(known, _)| *known == labels) {
            Some((_, sum)) => *sum += value,
            None => all.push((labels, value)),
        }
    }
    all
}

fn rate(ns: u64, live: &Live) -> f64 {
    ns as f64 / live.over_ns.max(1) as f64 * 1e3
}

/// The lost time of a program by part, in nanoseconds.
pub(super) fn parts(victim: &Victim) -> [(&'static str, u64); 14] {
    let parts = &victim.parts;
    let above = parts.ancestors.iter().map(|part| part.ns).fold(0, u64::saturating_add);
    [
        ("own-quota", parts.own_quota_ns),
        ("quota-above", above.saturating_add(parts.some_quota_ns)),
        ("neighbours", parts.neighbours_ns()),
        ("own-program", parts.own_program_ns),
        ("confined", parts.confined.as_ref().map_or(0, |part| part.ns)),
        ("beside-idle", parts.beside_idle_ns),
        ("interrupts", parts.interrupts_ns),
        ("hypervisor", parts.hypervisor_ns),
        ("waking", parts.waking_ns),
        ("not-told-apart", parts.not_told_apart_ns),
        ("foreign-lock", victim.lock.foreign_ns),
        ("own-lock", words::own_lock_ns(victim)),
        ("memory", victim.memory.ns),
        ("asleep-behind-stalled", victim.stalled_ns()),
    ]
}

fn lost(victim: &Victim, live: &Live, names: &mut Names) -> Vec<(Labels, f64)> {
    let program = names.program(&victim.program);
    let sample = |(part, ns): (&'static str, u64)| {
        let mut labels = program.clone();
        labels.push(("part", part.to_owned()));
        (labels, rate(ns, live))
    };
    parts(victim).into_iter().map(sample).collect()
}

fn findings(live: &Live, names: &mut Names) -> Vec<(Labels, f64)> {
    let all = live.findings.iter().take(FINDINGS);
    all.map(|finding| (names.finding(finding), finding.cost_ms_per_s)).collect()
}

/// The time of a node's schedulers by activity, in nanoseconds.
pub(super) fn did(node: &Node) -> [(&'static str, u64); 5] {
    let all = node.role(ThreadRole::Scheduler).copied().unwrap_or_default();
    [
        ("ran", all.ran_ns),
        ("spun", all.spun_ns),
        ("ready", all.ready_ns),
        ("throttled", all.throttled_ns),
        ("slept-in-calls", all.call_ns),
    ]
}

fn node(node: &Node, live: &Live, names: &mut Names) -> Vec<(Labels, f64)> {
    let own = names.node(node);
    let sample = |(did, ns): (&'static str, u64)| {
        let mut labels = own.clone();
        labels.push(("did", did.to_owned()));
        (labels, rate(ns, live))
    };
    did(node).into_iter().map(sample).collect()
}

/// The answer for each stall that could be measured: 1 if there is a finding, else 0.
pub(super) fn answers(live: &Live) -> Vec<(Labels, f64)> {
    let sample = |answer: &model::live::Answer| {
        let value = match answer.state {
            AnswerState::Hitting => 1.0,
            AnswerState::NotHitting { .. } => 0.0,
            AnswerState::NotMeasurable(_) => return None,
        };
        Some((vec![("stall", plain(&answer.stall))], value))
    };
    live.answers.iter().filter_map(sample).collect()
}

fn cost(live: &Live) -> Vec<(Labels, f64)> {
    let of = |of: &str, value: f64| (vec![("of", of.to_owned())], value);
    let programs = live.cost.programs_ms_per_s.map(|value| of("programs", value));
    std::iter::once(of("tool", live.cost.tool_ms_per_s)).chain(programs).collect()
}
