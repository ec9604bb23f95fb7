//! Native code that holds schedulers of an Erlang node. It sleeps in a call in which the VM
//! itself never sleeps for long, or it computes for long without returning to the VM. Sleeps in
//! calls that change the memory map are not counted: the VM makes them too. Code that yields
//! between slices does not count, however long its process computes: a scheduler passes a point
//! between two processes, and the VM counts these passes.

use super::stall::{self, Stall};
use super::words::{self, NativeFix};
use crate::node::{LONG_SILENCE_NS, NodeFacts, NodeProcess, NodeSums, SchedulerTick};
use crate::nodes::{online, program};
use crate::sums::{Key, MemoryTaskSums, largest, ms};
use crate::tick::MachineTick;
use crate::window::Window;
use model::Unit;
#[cfg(any(test, feature = "testing"))]
use model::live::Configured;
use model::live::{AnswerState, Code, Finding, NotMeasurable, Place, Sure, ThreadRole};
use model::prose::figures::{figure, percent};
use model::suggestion::{Command, Run};
use probe::live::Sampled;
use scenarios::blocking_nif::{BlockingNifParams, META, Mode};
use scenarios::params::{Auto, Params};
use serde::{Deserialize, Serialize};

/// Time for which native code holds a scheduler, in milliseconds a second: a tenth of its time. A
/// call should end within a millisecond, but a long call now and then is no stall.
const LIMIT_MS_PER_S: f64 = 100.0;

/// And the longest single call is at least this, in milliseconds. It takes this long to see that
/// a scheduler does not come back.
const WORST_MS: f64 = LONG_SILENCE_NS as f64 / 1e6;

/// If the other schedulers slept for more than this share of the time, work may wait behind the
/// held scheduler.
const OTHERS_ASLEEP: f64 = 0.5;

/// How long native code holds a scheduler, in milliseconds a second; the longest call in
/// milliseconds. While another scheduler lacks a CPU, the VM counts no pass. So, in each interval,
/// the time of the other scheduler that lacked one for longest is taken off what a scheduler
/// computes. So is what a hypervisor took, on average, from the other scheduler that ran for
/// longest.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Held {
    sleeps: f64,
    sleeps_worst: f64,
    /// What `sleeps` would be if the node had lost no time to memory.
    sleeps_at_most: f64,
    computes: f64,
    computes_worst: f64,
    /// What `computes` would be if no other scheduler of the node had lacked a CPU.
    computes_at_most: f64,
    /// Whether the node lost time to memory, so that any of its sleeps may be one for memory.
    lacks_memory: bool,
}

impl Held {
    fn counts(&self, sleeps: bool) -> bool {
        let (cost, worst) = self.of(sleeps);
        cost >= LIMIT_MS_PER_S && worst >= WORST_MS
    }

    /// Whether it cannot be said if native code sleeps or computes for too long.
    fn is_unclear(&self) -> bool {
        let at_most = [(true, self.sleeps_at_most), (false, self.computes_at_most)];
        at_most.into_iter().any(|(sleeps, cost)| {
            let (_, worst) = self.of(sleeps);
            cost >= LIMIT_MS_PER_S && worst >= WORST_MS && !self.counts(sleeps)
        })
    }

    fn of(&self, sleeps: bool) -> (f64, f64) {
        match sleeps {
            true => (self.sleeps, self.sleeps_worst),
            false => (self.computes, self.computes_worst),
        }
    }
}

/// Native code holds schedulers of an Erlang node.
pub struct BlockingNif;

/// A node in a window: its process, its program and its sums.
pub type OfNode<'a> = (&'a NodeProcess, &'a (Key, NodeSums));

/// Which code holds them, and how.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Name of the node, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// Whether the code sleeps; otherwise it computes.
    sleeps: bool,
    /// Where the code is.
    place: Place,
    /// The system call that it sleeps in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<u32>,
    /// Number of schedulers that are held.
    held: u32,
    /// Number of schedulers online.
    online: u32,
    /// Calls a second on the held schedulers; absent if they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calls_per_s: Option<f64>,
    /// Share of the time in which the other online schedulers slept; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    others_asleep: Option<f64>,
}

impl Stall for BlockingNif {
    const ID: &'static str = META.id;
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    type Facts = Facts;
    type Fix = NativeFix;

    fn find(window: &Window) -> Vec<Finding> {
        let of = |of_node: OfNode| {
            let held = all_held(window, of_node);
            let (process, (_, node)) = of_node;
            let online = online(window, *process, node);
            let one = |sleeps| finding(of_node, (held.as_slice(), online), sleeps);
            [true, false].into_iter().filter_map(one).collect::<Vec<_>>()
        };
        window.nodes.iter().flat_map(of).collect()
    }

    fn answer(seen: &stall::Seen) -> Option<AnswerState> {
        let window = seen.window;
        let state = seen.measured_of_nodes::<Self>(most(window), LIMIT_MS_PER_S);
        let shows_no_passes = window.nodes.values().any(|(_, node)| !node.facts.counts_passes);
        let unclear = window.nodes.iter().any(|node| is_unclear(window, node));
        match state {
            AnswerState::NotHitting { .. } if shows_no_passes => {
                Some(AnswerState::NotMeasurable(NotMeasurable::NoPasses))
            }
            AnswerState::NotHitting { .. } if unclear => {
                Some(AnswerState::NotMeasurable(NotMeasurable::NodeLacksCpu))
            }
            state => Some(state),
        }
    }

    fn cause(_: &Finding, facts: &Facts) -> String {
        let how = match (facts.sleeps, facts.call) {
            (true, Some(call)) => format!("sleeps there in system call {call}"),
            (true, None) => "sleeps there".to_owned(),
            (false, _) => "computes there without returning to the VM".to_owned(),
        };
        let mut text = format!(
            "Native code holds {} of {} schedulers{}: {} {how}.",
            facts.held,
            facts.online,
            words::of_node(facts.node.as_deref()),
            words::place(&facts.place),
        );
        if let Some(calls) = facts.calls_per_s {
            text.push_str(&format!(" It is called {} times a second.", figure(calls, Unit::Count)));
        }
        if let Some(asleep) = facts.others_asleep.filter(|share| *share > OTHERS_ASLEEP) {
            text.push_str(&format!(
                " The other schedulers slept for {} of the time, so work may wait behind it.",
                percent(asleep)
            ));
        }
        text
    }

    fn fix(fix: &NativeFix) -> String {
        fix.sentence()
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<NativeFix>)> {
        let place = |symbol: Option<&str>| Place {
            code: Code::Library,
            file: Some("crypto.so".to_owned()),
            symbol: symbol.map(str::to_owned),
        };
        let sleeps = Facts {
            node: Some("web@host".to_owned()),
            sleeps: true,
            place: place(Some("hash_update")),
            call: Some(35),
            held: 1,
            online: 2,
            calls_per_s: Some(30.0),
            others_asleep: Some(0.9),
        };
        let unnamed = Facts { node: None, call: None, place: Place::default(), ..sleeps.clone() };
        let computes = Facts {
            sleeps: false,
            place: place(None),
            calls_per_s: None,
            others_asleep: None,
            ..sleeps.clone()
        };
        let mut node = NodeFacts::default();
        node.line.configured = Configured::RabbitMq;
        let of = |facts: Facts| (facts.clone(), fixes(&facts, &node));
        [sleeps, unnamed, computes].map(of).into()
    }
}

/// The most that one scheduler loses, in milliseconds a second, before any other limit.
fn most(window: &Window) -> f64 {
    let held = window.nodes.iter().flat_map(|node| all_held(window, node));
    largest(held.map(|(_, held)| held.sleeps.max(held.computes)))
}

/// Whether native code that holds a scheduler of this node may not be seen: its VM does not show
/// its passes, none of its schedulers was followed, others lacked a CPU, or its sleeps may be for
/// memory.
pub fn is_hidden(window: &Window, node: OfNode) -> bool {
    let (_, (_, sums)) = node;
    !sums.facts.counts_passes || sums.schedulers.is_empty() || is_unclear(window, node)
}

fn is_unclear(window: &Window, node: OfNode) -> bool {
    all_held(window, node).iter().any(|(_, held)| held.is_unclear())
}

fn all_held(window: &Window, (process, (key, node)): OfNode) -> Vec<(u32, Held)> {
    let lacks_memory = lacks_memory(window, process.pid, key);
    let stolen = stolen_share(&window.machine);
    let held = |(number, gained): (&u32, &SchedulerTick)| {
        (*number, held(node, (*number, gained), lacks_memory, stolen))
    };
    node.schedulers.iter().map(held).collect()
}

/// The share of the wanted CPU time of the machine that a hypervisor took. It counts as CPU time of
/// the threads from which it was taken.
fn stolen_share(machine: &MachineTick) -> f64 {
    let (Some(stolen_ns), Some(busy_ns)) = (machine.steal_ns, machine.busy_ns) else { return 0.0 };
    stolen_ns as f64 / stolen_ns.saturating_add(busy_ns).max(1) as f64
}

/// Whether threads of a node lose time to memory. Any of their calls may then end with such a
/// sleep.
fn lacks_memory(window: &Window, pid: u32, key: &Key) -> bool {
    let lost_ns = window.programs.get(key).map_or(0, |sums| window.memory_ns(key, sums));
    let slept = |task: &MemoryTaskSums| task.asleep > 0;
    let mut groups = window.memory.values();
    window.rate(lost_ns) >= LIMIT_MS_PER_S
        || groups.any(|group| group.tasks.get(&pid).is_some_and(slept))
}

/// Whether a library is on the stack in at least half of the samples of a scheduler that does this.
fn is_in_library(node: &NodeSums, number: u32, what: Sampled) -> bool {
    let wanted = node.samples.iter().filter(|(seen, _)| {
        seen.role == ThreadRole::Scheduler && seen.number == number && seen.what == what
    });
    let (all, library) = wanted.fold((0_u64, 0_u64), |(all, library), (seen, count)| {
        let is_library = seen.place.code == Code::Library;
        (all + count, library + if is_library { *count } else { 0 })
    });
    all > 0 && library >= all.div_ceil(2)
}

fn held(
    node: &NodeSums,
    (number, gained): (u32, &SchedulerTick),
    lacks_memory: bool,
    stolen_share: f64,
) -> Held {
    let rate = |ns: u64, over: u64| if over == 0 { 0.0 } else { ns as f64 / over as f64 * 1e3 };
    let asleep = rate(gained.call_ns, node.over_ns);
    let may_be_memory = lacks_memory && !is_in_library(node, number, Sampled::Asleep);
    // The VM's own code may take long too, for example to collect much garbage.
    let is_library = is_in_library(node, number, Sampled::Silent);
    let computes = |ns| if is_library { rate(ns, node.passes_seen_ns).min(1e3) } else { 0.0 };
    let unpassed_ns = node.others_unpassed_ns.get(&number).copied().unwrap_or(0);
    let others = node.schedulers.iter().filter(|(other, _)| **other != number);
    let others_ran_ns = others.map(|(_, one)| one.ran_ns).max().unwrap_or(0);
    let stolen = rate(others_ran_ns, node.over_ns) * stolen_share;
    Held {
        sleeps: if may_be_memory { 0.0 } else { asleep },
        sleeps_worst: ms(gained.call_worst_ns),
        sleeps_at_most: asleep,
        computes: (computes(gained.silent_ns.saturating_sub(unpassed_ns)) - stolen).max(0.0),
        computes_worst: ms(gained.silent_worst_ns),
        computes_at_most: computes(gained.silent_ns),
        lacks_memory,
    }
}

fn finding(
    (process, (key, node)): OfNode,
    (all, online): (&[(u32, Held)], u32),
    sleeps: bool,
) -> Option<Finding> {
    let held: Vec<&(u32, Held)> = all.iter().filter(|(_, held)| held.counts(sleeps)).collect();
    if held.is_empty() {
        return None;
    }
    let numbers: Vec<u32> = held.iter().map(|(number, _)| *number).collect();
    let wanted = if sleeps { Sampled::Asleep } else { Sampled::Silent };
    let samples = node.samples.iter().filter(|(seen, _)| {
        seen.role == ThreadRole::Scheduler && seen.what == wanted && numbers.contains(&seen.number)
    });
    // A library is better evidence than the VM: any word of the stack may point to the VM by
    // chance.
    let seen = samples.max_by_key(|(seen, count)| (seen.place.code == Code::Library, **count));
    let seen = seen.map(|(seen, _)| seen.clone());
    let is_library = seen.as_ref().is_some_and(|seen| seen.place.code == Code::Library);
    // A library on the stack does not show that the sleep is not one for memory.
    let lacks_memory = held.iter().any(|(_, held)| held.lacks_memory);
    let seconds = node.over_ns as f64 / 1e9;
    let of_held = node.schedulers.iter().filter(|(number, _)| numbers.contains(number));
    let calls = of_held.map(|(_, one)| one.calls).fold(0, u64::saturating_add);
    let facts = Facts {
        node: node.facts.line.name.clone(),
        sleeps,
        place: seen.as_ref().map(|seen| seen.place.clone()).unwrap_or_default(),
        call: seen.and_then(|seen| seen.call),
        held: u32::try_from(held.len()).unwrap_or(u32::MAX),
        online,
        calls_per_s: (sleeps && seconds > 0.0).then(|| calls as f64 / seconds),
        others_asleep: others_asleep(node, online, &numbers),
    };
    Some(Finding {
        victim: program(key, process.pid),
        cost_ms_per_s: held.iter().map(|(_, held)| held.of(sleeps).0).sum(),
        worst_ms: largest(held.iter().map(|(_, held)| held.of(sleeps).1)),
        sure: if sleeps && is_library && !lacks_memory { Sure::Measured } else { Sure::Likely },
        run: Some(run(&facts)),
        ..BlockingNif::found(&facts, &fixes(&facts, &node.facts))
    })
}

/// The share of the time in which the schedulers that are not held slept. A scheduler that lacks a
/// CPU does not sleep.
fn others_asleep(node: &NodeSums, online: u32, held: &[u32]) -> Option<f64> {
    let others = online.saturating_sub(u32::try_from(held.len()).unwrap_or(u32::MAX));
    if others == 0 || node.over_ns == 0 {
        return None;
    }
    let free = node.schedulers.iter().filter(|(number, _)| !held.contains(number));
    let awake = free.map(|(_, one)| one.ran_ns.saturating_add(one.ready_ns));
    let awake = awake.fold(0, u64::saturating_add);
    let whole = f64::from(others) * node.over_ns as f64;
    Some((1.0 - awake as f64 / whole).clamp(0.0, 1.0))
}

fn fixes(facts: &Facts, node: &NodeFacts) -> Vec<NativeFix> {
    NativeFix::all(facts.others_asleep.is_some_and(|share| share > OTHERS_ASLEEP), node)
}

/// The same in the lab: as many schedulers, a native function that sleeps or computes.
fn run(facts: &Facts) -> Run {
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
    use crate::node::{NodeTick, Seen};
    use crate::testing::{MS, node, process, second, thread};
    use crate::tick::Tick;

    fn found(change: impl Fn(&mut NodeTick)) -> Vec<Finding> {
        let mut tick = second();
        process(&mut tick, 7, "beam.smp", None);
        let mut one = node(7, 2);
        change(&mut one);
        tick.nodes.push(one);
        BlockingNif::find(&Window::of([&tick]))
    }

    fn seen(what: Sampled, place: Place) -> Seen {
        Seen { role: ThreadRole::Scheduler, number: 1, what, place, call: None }
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
        let facts: Facts = found.facts.read().unwrap();
        assert_eq!((&facts.place, facts.held, facts.online), (&place, 1, 2));
        assert_eq!((found.cost_ms_per_s, found.worst_ms), (900.0, 30.0));
        let fixes: Vec<NativeFix> = found.fixes.read().unwrap();
        assert!(fixes.len() == 2, "the other scheduler slept: {fixes:?}");
    }

    #[test]
    fn short_calls_of_a_free_scheduler_are_not_those_of_the_native_code() {
        let all = found(|node| {
            let held = node.schedulers.get_mut(&1).unwrap();
            held.call_ns = 900 * MS;
            held.calls = 30;
            held.call_worst_ns = 30 * MS;
            let free = node.schedulers.get_mut(&2).unwrap();
            free.call_ns = 5 * MS;
            free.calls = 5_000;
        });
        let facts: Facts = all[0].facts.read().unwrap();
        assert_eq!((facts.held, facts.calls_per_s), (1, Some(30.0)));
    }

    #[test]
    fn another_scheduler_that_lacks_a_cpu_does_not_sleep() {
        let of = |ready_ms: u64| {
            let all = found(|node| {
                let held = node.schedulers.get_mut(&1).unwrap();
                held.call_ns = 900 * MS;
                held.call_worst_ns = 30 * MS;
                let other = node.schedulers.get_mut(&2).unwrap();
                other.ran_ns = 250 * MS;
                other.ready_ns = ready_ms * MS;
            });
            let facts: Facts = all[0].facts.read().unwrap();
            let fixes: Vec<NativeFix> = all[0].fixes.read().unwrap();
            (facts.others_asleep, fixes.len())
        };
        assert_eq!(of(0), (Some(0.75), 2));
        assert_eq!(of(500), (Some(0.25), 1));
    }

    #[test]
    fn a_scheduler_that_does_not_come_back_is_found_while_passes_are_seen() {
        let silent = |node: &mut crate::node::NodeTick| {
            let one = node.schedulers.get_mut(&1).unwrap();
            (one.ran_ns, one.silent_ns, one.silent_worst_ns) = (950 * MS, 900 * MS, 40 * MS);
        };
        assert!(found(silent).is_empty(), "passes were not seen");
        let stands_in = |code| {
            found(|node| {
                silent(node);
                node.passes_seen = true;
                let place = Place { code, ..Place::default() };
                node.samples.insert(seen(Sampled::Silent, place), 20);
            })
        };
        let all = stands_in(Code::Library);
        let facts: Facts = all[0].facts.read().unwrap();
        assert!(!facts.sleeps && facts.place.code == Code::Library);
        assert!(stands_in(Code::Vm).is_empty(), "garbage is collected");
    }

    #[test]
    fn a_library_is_not_blamed_while_another_scheduler_lacks_a_cpu() {
        let answer = |unpassed_ms| {
            let mut tick = second();
            process(&mut tick, 7, "beam.smp", None);
            let mut one = node(7, 16);
            one.passes_seen = true;
            for scheduler in one.schedulers.values_mut() {
                scheduler.unpassed_ns = unpassed_ms * MS;
            }
            let busy = one.schedulers.get_mut(&1).unwrap();
            busy.silent_ns = 400 * MS;
            busy.silent_worst_ns = 20 * MS;
            busy.unpassed_ns = 0;
            answer_of(tick, one)
        };
        // Fifteen others lack one at the same time.
        assert_eq!(answer(100), (AnswerState::Hitting, Some(300.0)));
        let unclear = AnswerState::NotMeasurable(NotMeasurable::NodeLacksCpu);
        assert_eq!(answer(350), (unclear, None));
    }

    #[test]
    fn others_that_lack_a_cpu_in_turn_are_all_taken_off() {
        let turn = |waits: u32| {
            let mut tick = second();
            process(&mut tick, 7, "beam.smp", None);
            let mut one = node(7, 3);
            one.passes_seen = true;
            let busy = one.schedulers.get_mut(&1).unwrap();
            busy.silent_ns = 400 * MS;
            busy.silent_worst_ns = 20 * MS;
            one.schedulers.get_mut(&waits).unwrap().unpassed_ns = 350 * MS;
            let place = Place { code: Code::Library, ..Place::default() };
            one.samples.insert(seen(Sampled::Silent, place), 20);
            tick.nodes.push(one);
            tick
        };
        let window = Window::of([&turn(2), &turn(3)]);
        assert_eq!((BlockingNif::find(&window), most(&window)), (Vec::new(), 50.0));
        assert!(window.nodes.iter().all(|node| is_unclear(&window, node)));
    }

    /// The answer about a node with a library on the stack of a silent scheduler, and the cost of
    /// the finding.
    fn answer_of(mut tick: Tick, mut node: NodeTick) -> (AnswerState, Option<f64>) {
        let place = Place { code: Code::Library, ..Place::default() };
        node.samples.insert(seen(Sampled::Silent, place), 20);
        tick.nodes.push(node);
        let window = Window::of([&tick]);
        let findings = BlockingNif::find(&window);
        let seen = stall::Seen { window: &window, findings: &findings, sources: &[] };
        (BlockingNif::answer(&seen).unwrap(), findings.first().map(|one| one.cost_ms_per_s))
    }

    #[test]
    fn a_library_is_not_blamed_while_a_hypervisor_takes_the_cpu_of_another_scheduler() {
        let answer = |stolen_ms: u64| {
            let mut tick = second();
            process(&mut tick, 7, "beam.smp", None);
            tick.machine.steal_ns = Some(stolen_ms * MS);
            tick.machine.busy_ns = Some((2000 - stolen_ms) * MS);
            let mut one = node(7, 2);
            one.passes_seen = true;
            one.schedulers.get_mut(&2).unwrap().ran_ns = 1000 * MS;
            let busy = one.schedulers.get_mut(&1).unwrap();
            busy.silent_ns = 400 * MS;
            busy.silent_worst_ns = 20 * MS;
            answer_of(tick, one)
        };
        assert_eq!(answer(0), (AnswerState::Hitting, Some(400.0)));
        // A quarter of the CPU time was taken.
        assert_eq!(answer(500), (AnswerState::Hitting, Some(150.0)));
        let unclear = AnswerState::NotMeasurable(NotMeasurable::NodeLacksCpu);
        assert_eq!(answer(1000), (unclear, None));
    }

    #[test]
    fn sleeps_that_may_be_for_memory_need_a_library_on_half_of_the_stacks() {
        let answer = |lost_ms: u64, of_library: u64| {
            let mut tick = second();
            process(&mut tick, 7, "beam.smp", None);
            let mut lost = thread(7, 10, 0);
            lost.memory_ns = lost_ms * MS;
            tick.threads.push(lost);
            let mut one = node(7, 2);
            let sleeper = one.schedulers.get_mut(&1).unwrap();
            sleeper.call_ns = 400 * MS;
            sleeper.call_worst_ns = 30 * MS;
            for (code, count) in [(Code::Library, of_library), (Code::Vm, 10 - of_library)] {
                if count > 0 {
                    let place = Place { code, ..Place::default() };
                    one.samples.insert(seen(Sampled::Asleep, place), count);
                }
            }
            tick.nodes.push(one);
            let window = Window::of([&tick]);
            let findings = BlockingNif::find(&window);
            let seen = stall::Seen { window: &window, findings: &findings, sources: &[] };
            let found = findings.first().map(|one| (one.cost_ms_per_s, one.sure));
            (BlockingNif::answer(&seen).unwrap(), found)
        };
        let hits = |sure| (AnswerState::Hitting, Some((400.0, sure)));
        assert_eq!(answer(0, 0), hits(Sure::Likely));
        assert_eq!(answer(0, 1), hits(Sure::Measured));
        assert_eq!(answer(400, 5), hits(Sure::Likely));
        let unclear = || AnswerState::NotMeasurable(NotMeasurable::NodeLacksCpu);
        assert_eq!(answer(400, 4), (unclear(), None));
        assert_eq!(answer(400, 0), (unclear(), None));
    }

    #[test]
    fn native_code_is_hidden_where_no_scheduler_is_followed_or_others_lack_a_cpu() {
        let hides = |change: fn(&mut crate::node::NodeTick)| {
            let mut tick = second();
            process(&mut tick, 7, "beam.smp", None);
            let mut one = node(7, 2);
            change(&mut one);
            tick.nodes.push(one);
            let window = Window::of([&tick]);
            window.nodes.iter().any(|node| is_hidden(&window, node))
        };
        assert!(!hides(|_| ()));
        assert!(hides(|node| node.facts.counts_passes = false));
        assert!(hides(|node| node.schedulers.clear()));
        assert!(hides(|node| {
            node.passes_seen = true;
            let busy = node.schedulers.get_mut(&1).unwrap();
            busy.silent_ns = 400 * MS;
            busy.silent_worst_ns = 20 * MS;
            node.schedulers.get_mut(&2).unwrap().unpassed_ns = 400 * MS;
            let place = Place { code: Code::Library, ..Place::default() };
            node.samples.insert(seen(Sampled::Silent, place), 20);
        }));
    }

    #[test]
    fn a_vm_that_does_not_show_its_passes_is_not_said_to_be_well() {
        let answer = |counts_passes| {
            let mut tick = second();
            process(&mut tick, 7, "beam.smp", None);
            tick.nodes.push(node(7, 2));
            tick.nodes[0].facts.counts_passes = counts_passes;
            let window = Window::of([&tick]);
            BlockingNif::answer(&stall::Seen { window: &window, findings: &[], sources: &[] })
        };
        assert!(matches!(answer(true), Some(AnswerState::NotHitting { .. })));
        let hidden = AnswerState::NotMeasurable(NotMeasurable::NoPasses);
        assert_eq!(answer(false), Some(hidden));
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
