//! Groups above their memory.high, and who sleeps for it.

use crate::limits::MEMORY_MS_PER_S;
use crate::sums::{MemorySums, largest};
use crate::window::Window;
use model::live::{Finding, FindingKind, LiveFix, MemoryFinding, Program, Sure};
use model::suggestion::{Command, Run};
use scenarios::memory_high::{META, MemoryHighParams};
use scenarios::params::{Params, Size};

/// Up to this part of the limit above it the kernel lets nobody sleep for 64 pages: 64 s times its
/// square are 10 ms.
const NOT_SLEPT: u64 = 80;

pub fn find(window: &Window) -> Vec<Finding> {
    window.memory.iter().filter_map(|(group, sums)| of_group(window, group, sums)).collect()
}

/// The most that any group stands still for its memory.high, in milliseconds a second.
pub fn most(window: &Window) -> f64 {
    let of = |sums: &MemorySums| if sums.high_events > 0 { sums.stalled_ns } else { 0 };
    largest(window.memory.values().map(|sums| window.rate(of(sums))))
}

/// Pressure counts reclaim that gets on, too. So a task has to have been seen asleep for the limit,
/// or the group has to be so far above it at the end as one that can be reclaimed is not.
fn of_group(window: &Window, group: &str, sums: &MemorySums) -> Option<Finding> {
    let stalled = window.rate(sums.stalled_ns);
    let above = sums.held_bytes > sums.high_bytes.saturating_add(sums.high_bytes / NOT_SLEPT);
    let is_one = sums.high_events > 0 && stalled >= MEMORY_MS_PER_S;
    if !is_one || !(sums.seen_asleep > 0 || above) {
        return None;
    }
    let in_scope = || sums.tasks.iter().filter(|(_, task)| task.in_scope);
    let (pid, victim) = in_scope().max_by_key(|(pid, task)| (task.asleep, task.bytes, **pid))?;
    let filler = sums.tasks.iter().max_by_key(|(pid, task)| (task.bytes, **pid));
    let program = |pid: u32, name: &str| Program {
        name: name.to_owned(),
        group: Some(group.to_owned()),
        pid,
        processes: 1,
    };
    let facts = MemoryFinding {
        group: group.to_owned(),
        high_bytes: sums.high_bytes,
        held_bytes: sums.held_bytes,
        high_events_per_s: sums.high_events as f64 / window.seconds().max(1e-9),
        stalled_ms_per_s: stalled,
        asleep: (sums.looks > 0).then(|| f64::from(sums.seen_asleep) / f64::from(sums.looks)),
    };
    Some(Finding {
        victim: program(*pid, &victim.name),
        culprits: filler.map(|(pid, task)| program(*pid, &task.name)).into_iter().collect(),
        cost_ms_per_s: stalled,
        worst_ms: 0.0,
        since_s: 0.0,
        sure: if sums.seen_asleep > 0 { Sure::Measured } else { Sure::Likely },
        fixes: vec![LiveFix::RaiseMemoryHigh, LiveFix::MemoryMax, LiveFix::Swap],
        run: run(&facts),
        kind: FindingKind::MemoryHigh(facts),
    })
}

/// The same in the lab: the same limit, and work that needs twice as much.
fn run(facts: &MemoryFinding) -> Option<Run> {
    let limit = facts.high_bytes.clamp(16 << 20, 1 << 39);
    let params = MemoryHighParams {
        limit: Size::bytes(limit),
        need: Size::bytes(limit.saturating_mul(2)),
        ..MemoryHighParams::default()
    };
    Some(Run { command: Command::Run, scenario: META.id.to_owned(), parameters: params.settings() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, second};
    use crate::tick::{MemoryTask, MemoryTick, Tick};
    use host::cgroup::MemoryUsage;

    /// A second in which a group was above its limit so often, and stood still for so long.
    fn tick(held_mib: u64, events: u64, stalled_ms: u64, sleeps: bool) -> Tick {
        let task = |pid, name: &str, mib: u64, sleeps| MemoryTask {
            pid,
            name: name.to_owned(),
            bytes: mib << 20,
            sleeps,
            in_scope: true,
        };
        let gained = MemoryUsage {
            current_bytes: Some(held_mib << 20),
            high_events: Some(events),
            some_ns: Some(stalled_ms * MS),
            ..MemoryUsage::default()
        };
        let tasks = vec![task(7, "cache", held_mib, false), task(8, "web", 1, sleeps)];
        let memory = vec![MemoryTick { group: "/a".into(), high_bytes: 32 << 20, gained, tasks }];
        Tick { memory, ..second() }
    }

    #[test]
    fn who_sleeps_is_the_victim_and_who_fills_the_group_the_culprit() {
        let all = find(&Window::of([&tick(34, 20, 900, true), &tick(35, 20, 980, true)]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.victim.name.as_str(), found.victim.pid), ("web", 8));
        assert_eq!((found.culprits[0].name.as_str(), found.culprits[0].pid), ("cache", 7));
        assert_eq!((found.cost_ms_per_s, found.sure), (940.0, Sure::Measured));
        let FindingKind::MemoryHigh(facts) = &found.kind else { panic!() };
        assert_eq!((facts.held_bytes, facts.high_events_per_s), (35 << 20, 20.0));
        assert_eq!(facts.asleep, Some(1.0));
        let parameters = &found.run.as_ref().unwrap().parameters.0;
        assert_eq!(parameters["limit"].to_string(), "32MiB");
        assert_eq!(parameters["need"].to_string(), "64MiB");
    }

    #[test]
    fn where_nobody_was_seen_asleep_a_group_above_its_limit_is_likely_it() {
        let found = find(&Window::of([&tick(34, 20, 900, false)]));
        assert_eq!((found[0].sure, found[0].victim.name.as_str()), (Sure::Likely, "cache"));
    }

    #[test]
    fn reclaim_that_gets_on_is_no_finding() {
        assert!(find(&Window::of([&tick(31, 20, 300, false)])).is_empty());
        let mut barely = tick(32, 20, 300, false);
        barely.memory[0].gained.current_bytes = Some((32 << 20) + (256 << 10));
        assert!(find(&Window::of([&barely])).is_empty(), "a batch of pages that is reclaimed next");
        assert!(find(&Window::of([&tick(34, 0, 900, false)])).is_empty(), "another limit");
        assert!(find(&Window::of([&tick(34, 20, 50, true)])).is_empty());
        assert_eq!(most(&Window::of([&tick(34, 20, 50, true)])), 50.0);
        assert_eq!(most(&Window::of([&tick(34, 0, 900, false)])), 0.0);
    }
}
