//! All that follows from a window.

use crate::parts::victim;
use crate::since::Since;
use crate::tick::Tick;
use crate::window::Window;
use crate::{findings, nodes};
use model::Live;
use model::live::{Cost, Interval, MachineLoad, Scope, SourceUse, Victim};

/// Programs that are listed.
const VICTIMS: usize = 64;

/// Programs that are kept of one interval.
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
    Live {
        from: from.to_owned(),
        over_ns: window.over_ns,
        scope: scope.clone(),
        sources: sources.to_vec(),
        answers: findings::answers(window, &findings, sources),
        victims: victims(window),
        nodes: nodes::all(window),
        inside: window.inside.iter().map(|(name, sums)| sums.inside(name)).collect(),
        findings,
        machine: machine(window),
        cost: cost(window),
        intervals: Vec::new(),
    }
}

/// What a record keeps of an interval: the programs that lost most in it.
pub fn interval(tick: &Tick) -> Interval {
    let mut victims = victims(&Window::of([tick]));
    victims.truncate(OF_INTERVAL);
    victims.iter_mut().for_each(|victim| victim.threads.clear());
    Interval { over_ns: tick.over_ns, victims }
}

fn victims(window: &Window) -> Vec<Victim> {
    let least = (window.over_ns as f64 * LEAST_SHARE) as u64;
    let mut all: Vec<Victim> = window
        .victims()
        .map(|(key, sums)| victim(key, sums, &window.machine, window.memory_ns(key, sums)))
        // Programs that were named are listed even if they lost nothing.
        .filter(|victim| {
            let asleep = victim.asleep.first().map_or(0, |one| one.ns);
            victim.lost_ns().max(asleep) > least || window.asked && victim.ran_ns > 0
        })
        .collect();
    all.sort_by_key(|victim| std::cmp::Reverse(victim.lost_ns()));
    all.truncate(VICTIMS);
    all
}

fn machine(window: &Window) -> MachineLoad {
    let seconds = window.seconds();
    let a_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    MachineLoad {
        cpus: window.machine.cpus,
        busy_ns: window.machine.busy_ns,
        steal_ns: window.machine.steal_ns,
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
