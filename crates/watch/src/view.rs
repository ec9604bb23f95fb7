//! Everything that follows from a window.

use crate::parts::victim;
use crate::since::Since;
use crate::tick::Tick;
use crate::window::Window;
use crate::{findings, nodes};
use model::Live;
use model::live::{
    Cost, Finding, Interval, MachineLoad, Program, Scope, SourceUse, Victim, Workload,
};
use std::collections::{BTreeSet, HashMap};

/// Most programs that are listed.
const VICTIMS: usize = 64;

/// Most programs that are kept of one interval.
const OF_INTERVAL: usize = 5;

/// A program that lost less than this share of the time is not listed.
const LEAST_SHARE: f64 = 0.0005;

/// What was seen in a window that began at this moment (RFC 3339, UTC).
pub fn live(
    window: &Window,
    since: &Since,
    scope: &Scope,
    sources: &[SourceUse],
    from: &str,
) -> Live {
    let mut findings = findings::all(window);
    since.note(&mut findings);
    let (victims, lost_ns) = victims(window);
    let mut live = Live {
        from: from.to_owned(),
        over_ns: window.over_ns,
        scope: scope.clone(),
        sources: sources.to_vec(),
        answers: findings::answers(window, &findings, sources),
        victims,
        nodes: nodes::all(window),
        inside: window.inside.iter().map(|(name, sums)| sums.inside(name)).collect(),
        findings,
        machine: machine(window, lost_ns),
        cost: cost(window),
        intervals: Vec::new(),
    };
    name(&mut live, &window.workloads);
    live
}

/// What programs lost in a window, without findings and answers.
pub fn losses(window: &Window) -> Live {
    let mut live = Live {
        over_ns: window.over_ns,
        victims: victims(window).0,
        nodes: nodes::all(window),
        cost: cost(window),
        ..Live::default()
    };
    name(&mut live, &window.workloads);
    live
}

/// Adds the workloads of the groups of each program and each finding.
fn name(live: &mut Live, workloads: &HashMap<String, Workload>) {
    for victim in &mut live.victims {
        for part in &mut victim.parts.ancestors {
            part.workload = workloads.get(&part.group).cloned();
        }
    }
    for finding in &mut live.findings {
        let programs = std::iter::once(&finding.victim).chain(&finding.culprits);
        let groups: BTreeSet<&str> =
            programs.filter_map(|one| one.group.as_deref()).flat_map(with_above).collect();
        let known = groups.into_iter().filter_map(|group| workloads.get_key_value(group));
        finding.workloads = known.map(|(group, one)| (group.clone(), one.clone())).collect();
    }
    for program in programs(live) {
        program.workload = program.group.as_ref().and_then(|group| workloads.get(group)).cloned();
    }
}

/// A group and all groups above it.
fn with_above(group: &str) -> impl Iterator<Item = &str> {
    let ends = group.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    ends.map(|at| &group[..at]).chain([group])
}

/// Every program that is mentioned.
fn programs(live: &mut Live) -> impl Iterator<Item = &mut Program> {
    let nodes = live.nodes.iter_mut().map(|node| &mut node.program);
    let of_findings = live.findings.iter_mut().flat_map(of_finding);
    live.victims.iter_mut().flat_map(of_victim).chain(of_findings).chain(nodes)
}

fn of_victim(victim: &mut Victim) -> impl Iterator<Item = &mut Program> {
    let behind = victim.parts.neighbours.iter_mut().map(|part| &mut part.program);
    let holders = victim.asleep.iter_mut().map(|one| &mut one.holder);
    std::iter::once(&mut victim.program).chain(behind).chain(holders)
}

fn of_finding(finding: &mut Finding) -> impl Iterator<Item = &mut Program> {
    let sleepers = finding.sleepers.iter_mut().map(|sleeper| &mut sleeper.program);
    std::iter::once(&mut finding.victim).chain(&mut finding.culprits).chain(sleepers)
}

/// What a record keeps of an interval: the programs that lost most in it.
pub fn interval(tick: &Tick) -> Interval {
    let (mut victims, _) = victims(&Window::of([tick]));
    victims.truncate(OF_INTERVAL);
    victims.iter_mut().for_each(|victim| victim.threads.clear());
    Interval { over_ns: tick.over_ns, victims }
}

/// The programs that are listed, and what all programs lost together, in nanoseconds.
fn victims(window: &Window) -> (Vec<Victim>, u64) {
    let least = (window.over_ns as f64 * LEAST_SHARE) as u64;
    let mut lost_ns = window.dropped_ns;
    let mut all: Vec<Victim> = window
        .victims()
        .map(|(key, sums)| victim(key, sums, &window.machine, window.memory_ns(key, sums)))
        .inspect(|victim| lost_ns = lost_ns.saturating_add(victim.lost_ns()))
        // Programs that the user named are listed even if they lost nothing.
        .filter(|victim| {
            let asleep = victim.asleep.first().map_or(0, |one| one.ns);
            victim.lost_ns().max(asleep) > least || window.asked && victim.ran_ns > 0
        })
        .collect();
    all.sort_by_key(|victim| std::cmp::Reverse(victim.lost_ns()));
    all.truncate(VICTIMS);
    (all, lost_ns)
}

fn machine(window: &Window, lost_ns: u64) -> MachineLoad {
    let seconds = window.seconds();
    let a_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    MachineLoad {
        cpus: window.machine.cpus,
        busy_ns: window.machine.busy_ns,
        steal_ns: window.machine.steal_ns,
        lost_ns: Some(lost_ns),
        cpu_pressure: window.machine.pressure_ns.map(|ns| window.rate(ns) / 1e3),
        switches_per_s: window.machine.switches.map(a_second),
    }
}

fn cost(window: &Window) -> Cost {
    let spent = &window.spent;
    let programs = spent.programs_ns.filter(|(_, over)| *over > 0);
    Cost {
        tool_ms_per_s: window.rate(spent.tool_ns),
        programs_ms_per_s: programs.map(|(ns, over)| ns as f64 / over as f64 * 1e3),
        memory_bytes: spent.memory_bytes,
        table_bytes: spent.table_bytes,
        lost_threads: spent.lost_threads,
        unnamed_ns: window.unnamed_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{pair, process, second, thread};
    use model::live::{AsleepBehind, GroupPart, NeighbourPart, Node, Parts, Sleeper};

    #[test]
    fn everything_with_a_group_says_whose_it_is() {
        let (own, above) = ("/system.slice/web.service", "/system.slice");
        let program = || Program { group: Some(own.to_owned()), ..Program::default() };
        let part = |group: &str| GroupPart { group: group.to_owned(), ..GroupPart::default() };
        let neighbour = NeighbourPart { program: program(), ..NeighbourPart::default() };
        let asleep = AsleepBehind { holder: program(), ..AsleepBehind::default() };
        let victim = Victim {
            program: program(),
            parts: Parts {
                ancestors: vec![part(above)],
                neighbours: vec![neighbour],
                ..Parts::default()
            },
            asleep: vec![asleep],
            ..Victim::default()
        };
        let finding = Finding {
            victim: program(),
            culprits: vec![program()],
            sleepers: vec![Sleeper { program: program(), ..Sleeper::default() }],
            ..Finding::default()
        };
        let node = Node { program: program(), ..Node::default() };
        let (victims, findings, nodes) = (vec![victim], vec![finding], vec![node]);
        let mut live = Live { victims, findings, nodes, ..Live::default() };
        let workload = |group| (String::from(group), crate::workload::workload(group).unwrap());
        name(&mut live, &HashMap::from([workload(own), workload(above)]));
        // Wherever there is a group, its workload is beside it.
        let text = serde_json::to_string(&live).unwrap();
        let count = |part: &str| text.matches(part).count();
        assert_eq!((count("\"group\":"), count("\"workload\":")), (8, 8), "{text}");
        assert_eq!(live.findings[0].workloads.keys().collect::<Vec<_>>(), [above, own]);
    }

    #[test]
    fn programs_are_listed_by_what_they_lost() {
        let mut tick = second();
        for (pid, lost) in [(1, 20), (2, 300), (3, 0)] {
            process(&mut tick, pid, &format!("p{pid}"), None);
            tick.threads.push(thread(pid, 5, lost));
        }
        tick.threads[1].others_ns = 300_000_000;
        tick.pairs.push(pair(2, 1, "p1", 250));
        let live = live(
            &Window::of([&tick]),
            &Since::default(),
            &Scope::default(),
            &[],
            "2026-11-22T10:00:00Z",
        );
        let names: Vec<&str> = live.victims.iter().map(|v| v.program.name.as_str()).collect();
        assert_eq!(names, ["p2", "p1"]);
        let parts = &live.victims[0].parts;
        assert_eq!((parts.neighbours[0].ns, parts.other_neighbours_ns), (250_000_000, 50_000_000));
        assert_eq!(live.over_ns, 1_000_000_000);
        let interval = interval(&tick);
        let names = interval.victims.iter().map(|v| v.program.name.as_str());
        assert_eq!(
            (names.collect::<Vec<_>>(), interval.over_ns),
            (vec!["p2", "p1"], 1_000_000_000)
        );
        assert!(interval.victims.iter().all(|victim| victim.threads.is_empty()));
    }
}
