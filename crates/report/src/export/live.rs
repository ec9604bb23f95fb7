//! What `tailback watch` sees, as gauges: a bounded number of series, whatever runs on the machine.

use super::family::{Family, Labels, write};
use super::names::Names;
use crate::prose::{live as words, plain};
use model::Live;
use model::live::{AnswerState, Node, Role, Victim};
use std::time::Duration;

/// Programs that have series of their own.
const PROGRAMS: usize = 20;

/// Findings that have.
const FINDINGS: usize = 20;

/// The last line of a text of gauges.
const END: &str = "# EOF\n";

/// The gauges of what was seen last, without the end, which [`ending`] gives. Names beyond the
/// bounds of `names` are added up as one.
pub fn figures(live: &Live, names: &mut Names) -> String {
    let mut all = families(live, names);
    all.push(Family {
        name: "tailback_watch_folded_names",
        help: "Names that are added up as other, since there is a limit of names",
        samples: vec![(Vec::new(), names.folded() as f64)],
    });
    let mut text = write(all);
    text.truncate(text.strip_suffix(END).map_or(text.len(), str::len));
    text
}

/// The end of the gauges: how old they are now.
pub fn ending(age: Duration) -> String {
    write(vec![Family {
        name: "tailback_watch_age_seconds",
        help: "Time since these figures were read; it grows while watch hangs",
        samples: vec![(Vec::new(), age.as_millis() as f64 / 1e3)],
    }])
}

pub(super) fn families(live: &Live, names: &mut Names) -> Vec<Family> {
    names.begin();
    let mut all = vec![
        Family {
            name: "tailback_watch_lost_ms_per_second",
            help: "Time that all threads of a program lost, by part",
            samples: once_each(
                live.victims.iter().take(PROGRAMS).flat_map(|v| parts(v, live, names)).collect(),
            ),
        },
        Family {
            name: "tailback_watch_finding_ms_per_second",
            help: "What a finding costs its victim",
            samples: once_each(findings(live, names)),
        },
        Family {
            name: "tailback_watch_stall",
            help: "1 if there is a finding, 0 if there is none; absent where the stall cannot be measured",
            samples: answers(live),
        },
        Family {
            name: "tailback_watch_node_ms_per_second",
            help: "Time of the schedulers of an Erlang node, by what they did",
            samples: once_each(live.nodes.iter().flat_map(|one| node(one, live, names)).collect()),
        },
        Family {
            name: "tailback_watch_cost_ms_per_second",
            help: "CPU time of watching itself",
            samples: cost(live),
        },
        Family {
            name: "tailback_watch_lost_threads",
            help: "Threads that were not counted because the table was full",
            samples: vec![(Vec::new(), live.cost.lost_threads as f64)],
        },
    ];
    all.push(Family {
        name: "tailback_watch_group_info",
        help: "Whose a group of the other figures is; always 1",
        samples: names.groups().into_iter().map(|labels| (labels, 1.0)).collect(),
    });
    all
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

fn rate(ns: u64, live: &Live) -> f64 {
    ns as f64 / live.over_ns.max(1) as f64 * 1e3
}

fn parts(victim: &Victim, live: &Live, names: &mut Names) -> Vec<(Labels, f64)> {
    let parts = &victim.parts;
    let above = parts.ancestors.iter().map(|part| part.ns).fold(0, u64::saturating_add);
    let all = [
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
    ];
    let program = names.program(&victim.program);
    let sample = |(part, ns): (&'static str, u64)| {
        let mut labels = program.clone();
        labels.push(("part", part.to_owned()));
        (labels, rate(ns, live))
    };
    all.into_iter().map(sample).collect()
}

fn findings(live: &Live, names: &mut Names) -> Vec<(Labels, f64)> {
    let all = live.findings.iter().take(FINDINGS);
    all.map(|finding| (names.finding(finding), finding.cost_ms_per_s)).collect()
}

fn node(node: &Node, live: &Live, names: &mut Names) -> Vec<(Labels, f64)> {
    let all = node.role(Role::Scheduler).copied().unwrap_or_default();
    let did = [
        ("ran", all.ran_ns),
        ("spun", all.spun_ns),
        ("ready", all.ready_ns),
        ("throttled", all.throttled_ns),
        ("slept-in-calls", all.call_ns),
    ];
    let own = names.node(node);
    let sample = |(did, ns): (&'static str, u64)| {
        let mut labels = own.clone();
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
    use model::live::{Parts, Program};
    use std::collections::BTreeSet;

    fn live(name: impl Fn(usize) -> String) -> Live {
        let victim = |number: usize| Victim {
            program: Program { name: name(number), ..Program::default() },
            parts: Parts { ready_ns: 5, not_told_apart_ns: 5, ..Parts::default() },
            ..Victim::default()
        };
        Live { over_ns: 1, victims: (0..99).map(victim).collect(), ..Live::default() }
    }

    fn text(live: &Live, names: &mut Names) -> String {
        figures(live, names) + &ending(Duration::from_millis(1_500))
    }

    #[test]
    fn series_are_bounded_and_names_cannot_break_out_of_them() {
        let live = live(|number| format!("a\"}} 1\nevil{number}"));
        let text = text(&live, &mut Names::bounded());
        assert!(text.lines().all(|l| l.starts_with("# ") || l.starts_with("tailback_")), "{text}");
        assert_eq!(text.matches("part=\"waking\"").count(), PROGRAMS);
        assert!(text.ends_with(END) && text.matches(END).count() == 1, "{text}");
        assert!(text.contains("\ntailback_watch_age_seconds{} 1.5\n"), "{text}");
    }

    #[test]
    fn programs_that_rename_themselves_make_no_endless_series() {
        let (mut names, mut series) = (Names::bounded(), BTreeSet::new());
        let mut last = String::new();
        for scrape in 0..200 {
            last = text(&live(|number| format!("eve{scrape}-{number}")), &mut names);
            let samples = last.lines().filter(|line| !line.starts_with('#'));
            series.extend(
                samples.filter_map(|line| line.rsplit_once(' ')).map(|(one, _)| one.to_owned()),
            );
        }
        assert!(series.len() < 1_600, "{}", series.len());
        // All of them are still there, added up.
        let rest = r#"tailback_watch_lost_ms_per_second{program="other",group="/",part="not-told-apart"} 100000.0"#;
        assert!(
            last.contains(rest) && last.contains("tailback_watch_folded_names{} 20.0"),
            "{last}"
        );
        let shown_once = text(&live(|number| format!("a{number}")), &mut Names::unbounded());
        assert!(!shown_once.contains("\"other\""), "{shown_once}");
    }
}
