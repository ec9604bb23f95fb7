//! What `tailback watch` sees, as gauges: a bounded number of series, whatever runs on the machine.

use super::family::{Family, Labels, write};
use crate::ReportError;
use crate::prose::plain;
use model::Live;
use model::live::{AnswerState, Node, Program, Role, Victim};

/// Programs that have series of their own.
const PROGRAMS: usize = 20;

/// Findings that have.
const FINDINGS: usize = 20;

/// The gauges of what was seen last.
///
/// # Errors
/// If the text cannot be written.
pub fn live_metrics(live: &Live) -> Result<String, ReportError> {
    write(families(live))
}

pub(super) fn families(live: &Live) -> Vec<Family> {
    vec![
        Family {
            name: "tailback_watch_lost_ms_per_second",
            help: "Time that a program lost, by part, all its threads together",
            samples: once_each(
                live.victims.iter().take(PROGRAMS).flat_map(|v| parts(v, live)).collect(),
            ),
        },
        Family {
            name: "tailback_watch_finding_ms_per_second",
            help: "What a finding costs its victim",
            samples: once_each(findings(live)),
        },
        Family {
            name: "tailback_watch_stall",
            help: "1 where a stall is there, 0 where it was measured and is not; absent where it cannot be measured",
            samples: answers(live),
        },
        Family {
            name: "tailback_watch_node_ms_per_second",
            help: "What the schedulers of an Erlang node did",
            samples: once_each(live.nodes.iter().flat_map(|one| node(one, live)).collect()),
        },
        Family {
            name: "tailback_watch_cost_ms_per_second",
            help: "CPU time of watching itself",
            samples: cost(live),
        },
        Family {
            name: "tailback_watch_lost_threads",
            help: "Threads that were not counted since the table was full",
            samples: vec![(Vec::new(), live.cost.lost_threads as f64)],
        },
    ]
}

/// Adds up what has the same labels: programs of one name and group in several sessions are one
/// here.
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

fn of_program(program: &Program) -> Labels {
    vec![
        ("program", plain(&program.name)),
        ("group", plain(program.group.as_deref().unwrap_or("/"))),
    ]
}

fn rate(ns: u64, live: &Live) -> f64 {
    ns as f64 / live.over_ns.max(1) as f64 * 1e3
}

fn parts(victim: &Victim, live: &Live) -> Vec<(Labels, f64)> {
    let parts = &victim.parts;
    let above = parts.ancestors.iter().map(|part| part.ns).fold(0, u64::saturating_add);
    let all = [
        ("own-quota", parts.own_quota_ns),
        ("quota-above", above.saturating_add(parts.some_quota_ns)),
        ("neighbours", parts.neighbours_ns()),
        ("own-program", parts.own_program_ns),
        ("hypervisor", parts.hypervisor_ns),
        ("waking", parts.waking_ns),
        ("not-told-apart", parts.not_told_apart_ns),
        ("foreign-lock", victim.lock.foreign_ns),
    ];
    let sample = |(part, ns): (&'static str, u64)| {
        let mut labels = of_program(&victim.program);
        labels.push(("part", part.to_owned()));
        (labels, rate(ns, live))
    };
    all.into_iter().map(sample).collect()
}

fn findings(live: &Live) -> Vec<(Labels, f64)> {
    let sample = |finding: &model::live::Finding| {
        let mut labels = of_program(&finding.victim);
        labels.push(("stall", finding.kind.stall().to_owned()));
        let culprit = finding.culprits.first().map_or_else(String::new, |one| plain(&one.name));
        labels.push(("culprit", culprit));
        (labels, finding.cost_ms_per_s)
    };
    live.findings.iter().take(FINDINGS).map(sample).collect()
}

fn node(node: &Node, live: &Live) -> Vec<(Labels, f64)> {
    let all = node.role(Role::Scheduler).copied().unwrap_or_default();
    let did = [
        ("ran", all.ran_ns),
        ("spun", all.spun_ns),
        ("ready", all.ready_ns),
        ("throttled", all.throttled_ns),
        ("slept-in-calls", all.call_ns),
    ];
    let sample = |(did, ns): (&'static str, u64)| {
        let mut labels = of_program(&node.program);
        labels.push(("node", plain(node.name.as_deref().unwrap_or(""))));
        labels.push(("did", did.to_owned()));
        (labels, rate(ns, live))
    };
    did.into_iter().map(sample).collect()
}

fn answers(live: &Live) -> Vec<(Labels, f64)> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::live::Parts;

    #[test]
    fn series_are_bounded_and_names_cannot_break_out_of_them() {
        let victim = |number: usize| Victim {
            program: Program { name: format!("a\"}} 1\nevil{number}"), ..Program::default() },
            parts: Parts { ready_ns: 5, not_told_apart_ns: 5, ..Parts::default() },
            ..Victim::default()
        };
        let live = Live { over_ns: 1, victims: (0..99).map(victim).collect(), ..Live::default() };
        let text = live_metrics(&live).unwrap();
        assert!(text.lines().all(|l| l.starts_with("# ") || l.starts_with("tailback_")), "{text}");
        assert_eq!(text.matches("part=\"waking\"").count(), PROGRAMS);
        assert!(text.ends_with("# EOF\n"));
    }
}
