//! Native code that holds schedulers of an Erlang node: asleep in a call in which the VM itself
//! never sleeps, or computing for long without the system calls that a scheduler makes all the
//! time.

use crate::limits::{NATIVE_MS_PER_S, NATIVE_WORST_MS};
use crate::node::{NodeSums, SchedulerTick, Seen};
use crate::nodes::{online, program};
use crate::sums::{Key, largest, ms};
use crate::window::Window;
use model::live::{
    Code, Finding, FindingKind, LiveFix, NativeCall, NodeFlag, NodeFlags, Role, Sure,
};
use model::suggestion::{Command, Run};
use probe::live::Sampled;
use scenarios::blocking_nif::{BlockingNifParams, META, Mode};
use scenarios::params::{Auto, Params};

/// Time between two samples of what runs, in nanoseconds.
const SAMPLE_NS: u64 = 1_000_000_000 / 49;

/// How native code holds a scheduler, in milliseconds a second, the longest in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Held {
    sleeps: f64,
    sleeps_worst: f64,
    computes: f64,
    computes_worst: f64,
}

impl Held {
    fn counts(&self, sleeps: bool) -> bool {
        let (cost, worst) = self.of(sleeps);
        cost >= NATIVE_MS_PER_S && worst >= NATIVE_WORST_MS
    }

    fn of(&self, sleeps: bool) -> (f64, f64) {
        match sleeps {
            true => (self.sleeps, self.sleeps_worst),
            false => (self.computes, self.computes_worst),
        }
    }
}

pub fn find(window: &Window) -> Vec<Finding> {
    let of = |(pid, (key, node)): (&u32, &(Key, NodeSums))| {
        let held = all_held(node);
        [true, false]
            .into_iter()
            .filter_map(move |sleeps| finding((*pid, key, node), &held, sleeps))
            .collect::<Vec<_>>()
    };
    window.nodes.iter().flat_map(of).collect()
}

/// The most that one scheduler loses, in milliseconds a second.
pub fn most(window: &Window) -> f64 {
    let held = window.nodes.values().flat_map(|(_, node)| all_held(node));
    let long = held.map(|(_, held)| {
        largest(
            [true, false]
                .into_iter()
                .map(|sleeps| held.of(sleeps))
                .filter(|(_, worst)| *worst >= NATIVE_WORST_MS)
                .map(|(cost, _)| cost),
        )
    });
    largest(long)
}

fn all_held(node: &NodeSums) -> Vec<(u32, Held)> {
    let held = |(number, gained): (&u32, &SchedulerTick)| (*number, held(node, *number, gained));
    node.schedulers.iter().map(held).collect()
}

fn held(node: &NodeSums, number: u32, gained: &SchedulerTick) -> Held {
    let rate = |ns: u64, over: u64| if over == 0 { 0.0 } else { ns as f64 / over as f64 * 1e3 };
    // A call that has not come to its end yet shows in the samples alone.
    let silent = |seen: &&Seen| seen.number == number && seen.what == Sampled::Silent;
    let all = node.samples.iter().filter(|(seen, _)| silent(seen));
    let sampled_ns = all.map(|(_, count)| count.saturating_mul(SAMPLE_NS)).sum::<u64>();
    let computes = rate(gained.silent_ns.max(sampled_ns), node.calls_seen_ns).min(1e3);
    // A scheduler whose processes set no timers and do no IO makes no calls in the VM's own code.
    let of_library = |(seen, _): &(&Seen, &u64)| silent(seen) && seen.place.code == Code::Library;
    let library_ns = node.samples.iter().filter(of_library).map(|(_, count)| count * SAMPLE_NS);
    let is_library = sampled_ns > 0 && library_ns.sum::<u64>() >= sampled_ns / 2;
    let computes = if is_library { computes } else { 0.0 };
    // Of a call that has not come to its end two samples in a row show that it is a long one.
    let is_long = gained.silent_worst_ns == 0 && sampled_ns > 2 * SAMPLE_NS;
    let worst = if is_long { ms(SAMPLE_NS) } else { 0.0 };
    Held {
        sleeps: rate(gained.call_ns, node.over_ns),
        sleeps_worst: ms(gained.call_worst_ns),
        computes,
        computes_worst: ms(gained.silent_worst_ns).max(worst),
    }
}

fn finding(
    (pid, key, node): (u32, &Key, &NodeSums),
    all: &[(u32, Held)],
    sleeps: bool,
) -> Option<Finding> {
    let held: Vec<&(u32, Held)> = all.iter().filter(|(_, held)| held.counts(sleeps)).collect();
    if held.is_empty() {
        return None;
    }
    let numbers: Vec<u32> = held.iter().map(|(number, _)| *number).collect();
    let wanted = if sleeps { Sampled::Asleep } else { Sampled::Silent };
    let samples = node.samples.iter().filter(|(seen, _)| {
        seen.role == Role::Scheduler && seen.what == wanted && numbers.contains(&seen.number)
    });
    // A library says more than the VM, which a word of the stack may lead to by chance.
    let seen = samples.max_by_key(|(seen, count)| (seen.place.code == Code::Library, **count));
    let seen = seen.map(|(seen, _)| seen.clone());
    let seconds = node.over_ns as f64 / 1e9;
    let calls: u64 = node.schedulers.values().map(|one| one.calls).sum();
    let facts = NativeCall {
        node: node.facts.name.clone(),
        sleeps,
        place: seen.as_ref().map(|seen| seen.place.clone()).unwrap_or_default(),
        call: seen.and_then(|seen| seen.call),
        held: u32::try_from(held.len()).unwrap_or(u32::MAX),
        online: online(node),
        calls_per_s: (sleeps && seconds > 0.0).then(|| calls as f64 / seconds),
        others_asleep: others_asleep(node, &numbers),
    };
    Some(Finding {
        victim: program(key, pid),
        culprits: Vec::new(),
        cost_ms_per_s: held.iter().map(|(_, held)| held.of(sleeps).0).sum(),
        worst_ms: largest(held.iter().map(|(_, held)| held.of(sleeps).1)),
        since_s: 0.0,
        sure: if sleeps { Sure::Measured } else { Sure::Likely },
        fixes: fixes(node, &facts),
        run: Some(run(&facts)),
        kind: FindingKind::NativeCall(facts),
    })
}

/// The share of the time in which the schedulers that are not held slept.
fn others_asleep(node: &NodeSums, held: &[u32]) -> Option<f64> {
    let others = online(node).saturating_sub(u32::try_from(held.len()).unwrap_or(u32::MAX));
    if others == 0 || node.over_ns == 0 {
        return None;
    }
    let free = node.schedulers.iter().filter(|(number, _)| !held.contains(number));
    let ran: u64 = free.map(|(_, one)| one.ran_ns).sum();
    let whole = f64::from(others) * node.over_ns as f64;
    Some((1.0 - ran as f64 / whole).clamp(0.0, 1.0))
}

fn fixes(node: &NodeSums, facts: &NativeCall) -> Vec<LiveFix> {
    let mut all = vec![LiveFix::DirtyScheduler];
    // Work may wait behind the held one while others sleep: the VM can be told to look for it.
    if facts.others_asleep.is_some_and(|share| share > 0.5) {
        let flags = vec![NodeFlag::ForcedWakeup(10)];
        let configured = node.facts.configured;
        all.push(LiveFix::Flags(NodeFlags { flags, configured }));
    }
    all
}

/// The same in the lab: as many schedulers, a native function that sleeps or computes.
fn run(facts: &NativeCall) -> Run {
    let params = BlockingNifParams {
        mode: if facts.sleeps { Mode::NifSleep } else { Mode::NifBusy },
        schedulers: Auto::Is(facts.online.clamp(1, 1024)),
        ..BlockingNifParams::default()
    };
    Run { command: Command::Run, scenario: META.id.to_owned(), parameters: params.settings() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, node, process, second};
    use model::live::Place;

    fn found(change: impl Fn(&mut crate::node::NodeTick)) -> Vec<Finding> {
        let mut tick = second();
        process(&mut tick, 7, "beam.smp", None);
        let mut one = node(7, 2);
        change(&mut one);
        tick.nodes.push(one);
        find(&Window::of([&tick]))
    }

    fn seen(what: Sampled, place: Place) -> Seen {
        Seen { role: Role::Scheduler, number: 1, what, place, call: None }
    }

    #[test]
    fn a_scheduler_that_sleeps_in_a_library_is_found_with_its_function() {
        let place =
            Place { code: Code::Library, file: Some("nap.so".into()), symbol: Some("nap".into()) };
        let all = found(|node| {
            let one = node.schedulers.get_mut(&1).unwrap();
            (one.call_ns, one.calls, one.call_worst_ns) = (900 * MS, 30, 30 * MS);
            node.samples.insert(seen(Sampled::Asleep, place.clone()), 30);
            node.samples
                .insert(seen(Sampled::Asleep, Place { code: Code::Vm, ..Place::default() }), 40);
        });
        let [found] = &all[..] else { panic!("{all:?}") };
        let FindingKind::NativeCall(facts) = &found.kind else { panic!() };
        assert_eq!((&facts.place, facts.held, facts.online), (&place, 1, 2));
        assert_eq!((found.cost_ms_per_s, found.worst_ms), (900.0, 30.0));
        assert!(found.fixes.len() == 2, "the other scheduler slept: {:?}", found.fixes);
    }

    #[test]
    fn a_scheduler_that_computes_without_a_call_is_found_while_calls_are_seen() {
        let silent = |node: &mut crate::node::NodeTick| {
            let one = node.schedulers.get_mut(&1).unwrap();
            (one.ran_ns, one.silent_ns, one.silent_worst_ns) = (950 * MS, 900 * MS, 40 * MS);
        };
        assert!(found(silent).is_empty(), "calls were not seen");
        let stands_in = |code| {
            found(|node| {
                silent(node);
                node.calls_seen = true;
                let place = Place { code, ..Place::default() };
                node.samples.insert(seen(Sampled::Silent, place), 20);
            })
        };
        let all = stands_in(Code::Library);
        let FindingKind::NativeCall(facts) = &all[0].kind else { panic!() };
        assert!(!facts.sleeps && facts.place.code == Code::Library);
        assert!(stands_in(Code::Vm).is_empty(), "processes without timers and IO");
    }

    #[test]
    fn short_calls_and_seldom_ones_are_none() {
        let sleeps = |call_ms: u64, worst_ms: u64| {
            found(|node| {
                let one = node.schedulers.get_mut(&1).unwrap();
                (one.call_ns, one.call_worst_ns) = (call_ms * MS, worst_ms * MS);
            })
        };
        assert!(sleeps(500, 2).is_empty() && sleeps(40, 40).is_empty());
        assert_eq!(sleeps(500, 9).len(), 1);
    }
}
