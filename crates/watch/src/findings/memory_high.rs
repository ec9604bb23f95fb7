//! Groups above their memory.high, and the processes that sleep for it.

use super::stall::{Seen, Stall};
use super::words;
use crate::sums::{MemorySums, largest};
use crate::window::Window;
use model::Unit;
use model::live::{AnswerState, Finding, Program, Source, Sure};
use model::prose::figures::{figure, percent};
use model::suggestion::{Command, Run};
use scenarios::memory_high::{META, MemoryHighParams};
use scenarios::params::{Params, Size};
use serde::{Deserialize, Serialize};

/// Time stalled for memory in a group above its memory.high, in milliseconds a second: a tenth of
/// the time. The kernel makes a task sleep there for 10 ms and more at a time; reclaim that
/// succeeds takes less.
const LIMIT_MS_PER_S: f64 = 100.0;

/// The kernel makes no task sleep for 64 pages while the group is above its limit by at most one
/// part in this many of the limit. The sleep would be 64 s times the square of that part: 10 ms.
const NOT_SLEPT: u64 = 80;

/// More than this share of a group's memory is most of it.
const MOST: f64 = 0.5;

/// The victim's group is above memory.high, so the kernel makes it sleep.
pub struct MemoryHigh;

/// The group and its limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The group.
    group: String,
    /// Its memory.high, in bytes.
    high_bytes: u64,
    /// Memory that it held at the end, in bytes.
    held_bytes: u64,
    /// How often a second the group was found above the limit.
    high_events_per_s: f64,
    /// Time in which at least one of its tasks was stalled for memory, in milliseconds a second,
    /// according to memory.pressure.
    stalled_ms_per_s: f64,
    /// Share of the looks at its tasks that saw one asleep for the limit; absent without any
    /// look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asleep: Option<f64>,
}

/// What fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    RaiseMemoryHigh,
    MemoryMax,
    Swap,
}

/// All fixes, for every case.
const FIXES: [Fix; 3] = [Fix::RaiseMemoryHigh, Fix::MemoryMax, Fix::Swap];

impl Stall for MemoryHigh {
    const ID: &'static str = META.id;
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        window.memory.iter().filter_map(|(group, sums)| of_group(window, group, sums)).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let most = most(seen.window);
        Some(seen.measured_by::<Self>(Source::MemoryEvents, most, LIMIT_MS_PER_S))
    }

    fn cause(finding: &Finding, facts: &Facts) -> String {
        let most = match finding.culprits.is_empty() {
            true => String::new(),
            false => format!(", most of it in {}", words::culprit(finding)),
        };
        let asleep = facts.asleep.filter(|share| *share > 0.0);
        let asleep = asleep.map(|share| {
            let share = percent(share);
            format!(" In {share} of the samples at least one thread slept for that reason.")
        });
        format!(
            "{} holds {} of memory{most}. Its memory.high is {}. The group went above this limit {} \
             times a second, so the kernel made its threads sleep.{}",
            words::its_group(&facts.group, finding),
            figure(facts.held_bytes as f64, Unit::Bytes),
            figure(facts.high_bytes as f64, Unit::Bytes),
            figure(facts.high_events_per_s, Unit::Count),
            asleep.unwrap_or_default(),
        )
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::RaiseMemoryHigh => "Raise memory.high above what the work needs.",
            Fix::MemoryMax => {
                "Use memory.max instead, if the work may be killed and is then started again."
            }
            Fix::Swap => "Let the group swap (memory.swap.max), to zram for example.",
        }
        .to_owned()
    }

    fn whole_group(facts: &Facts) -> Option<&str> {
        Some(&facts.group)
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        let facts = Facts {
            group: "/app".to_owned(),
            high_bytes: 32 << 20,
            held_bytes: 35 << 20,
            high_events_per_s: 20.0,
            stalled_ms_per_s: 940.0,
            asleep: Some(0.75),
        };
        let not_asleep = Facts { asleep: None, ..facts.clone() };
        [facts, not_asleep].map(|facts| (facts, FIXES.to_vec())).into()
    }
}

/// The most that any group is stalled for its memory.high, in milliseconds a second.
fn most(window: &Window) -> f64 {
    let of = |sums: &MemorySums| if sums.high_events > 0 { sums.stalled_ns } else { 0 };
    largest(window.memory.values().map(|sums| window.rate(of(sums))))
}

/// Pressure also counts reclaim that succeeds. So a task must have been seen asleep for the limit,
/// or the group must be above it at the end by more than a reclaimable group could be.
fn of_group(window: &Window, group: &str, sums: &MemorySums) -> Option<Finding> {
    let stalled = window.rate(sums.stalled_ns);
    let above = sums.held_bytes > sums.high_bytes.saturating_add(sums.high_bytes / NOT_SLEPT);
    let is_one = sums.high_events > 0 && stalled >= LIMIT_MS_PER_S;
    if !is_one || !(sums.seen_asleep > 0 || above) {
        return None;
    }
    let in_scope = || sums.tasks.iter().filter(|(_, task)| task.in_scope);
    let (pid, victim) = in_scope().max_by_key(|(pid, task)| (task.asleep, task.bytes, **pid))?;
    let is_most = |bytes: u64| bytes as f64 > sums.held_bytes as f64 * MOST;
    let filler = sums.tasks.iter().max_by_key(|(pid, task)| (task.bytes, **pid));
    let filler = filler.filter(|(_, task)| is_most(task.bytes));
    let program = |pid: u32, name: &str| Program {
        name: name.to_owned(),
        group: Some(group.to_owned()),
        pid,
        processes: 1,
        ..Program::default()
    };
    let facts = Facts {
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
        sure: if sums.seen_asleep > 0 { Sure::Measured } else { Sure::Likely },
        run: run(&facts),
        ..MemoryHigh::found(&facts, &FIXES)
    })
}

/// The same in the lab: the same limit, and work that needs twice as much.
fn run(facts: &Facts) -> Option<Run> {
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

    /// A second in which a group was above its limit this often, and was stalled for this long.
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
        let all =
            MemoryHigh::find(&Window::of([&tick(34, 20, 900, true), &tick(35, 20, 980, true)]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.victim.name.as_str(), found.victim.pid), ("web", 8));
        assert_eq!((found.culprits[0].name.as_str(), found.culprits[0].pid), ("cache", 7));
        assert_eq!((found.cost_ms_per_s, found.sure), (940.0, Sure::Measured));
        let facts: Facts = found.facts.read().unwrap();
        assert_eq!((facts.held_bytes, facts.high_events_per_s), (35 << 20, 20.0));
        assert_eq!(facts.asleep, Some(1.0));
        // Of many that are alike, none holds most.
        let mut many = tick(35, 20, 980, true);
        many.memory[0].tasks[0].bytes = 1 << 20;
        let found_many = MemoryHigh::find(&Window::of([&many]));
        assert!(found_many[0].culprits.is_empty());
        let said = MemoryHigh::cause(&found_many[0], &facts);
        assert!(said.contains("holds 35 MiB of memory. Its"), "{said}");
        let parameters = &found.run.as_ref().unwrap().parameters.0;
        assert_eq!(parameters["limit"].to_string(), "32MiB");
        assert_eq!(parameters["need"].to_string(), "64MiB");
    }

    #[test]
    fn where_nobody_was_seen_asleep_a_group_above_its_limit_is_likely_it() {
        let found = MemoryHigh::find(&Window::of([&tick(34, 20, 900, false)]));
        assert_eq!((found[0].sure, found[0].victim.name.as_str()), (Sure::Likely, "cache"));
    }

    #[test]
    fn reclaim_that_gets_on_is_no_finding() {
        assert!(MemoryHigh::find(&Window::of([&tick(31, 20, 300, false)])).is_empty());
        let mut barely = tick(32, 20, 300, false);
        barely.memory[0].gained.current_bytes = Some((32 << 20) + (256 << 10));
        assert!(
            MemoryHigh::find(&Window::of([&barely])).is_empty(),
            "a batch of pages that is reclaimed next"
        );
        assert!(
            MemoryHigh::find(&Window::of([&tick(34, 0, 900, false)])).is_empty(),
            "another limit"
        );
        assert!(MemoryHigh::find(&Window::of([&tick(34, 20, 50, true)])).is_empty());
        assert_eq!(most(&Window::of([&tick(34, 20, 50, true)])), 50.0);
        assert_eq!(most(&Window::of([&tick(34, 0, 900, false)])), 0.0);
    }
}
