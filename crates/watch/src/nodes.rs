//! Figures of an Erlang node, whether or not anything holds it up.

use crate::node::{NodeProcess, NodeSums};
use crate::parts;
use crate::sums::{GroupSums, Key, QUOTA_LIMIT_MS_PER_S};
use crate::window::Window;
use model::live::{Code, CodeTime, Node, Place, Program, RoleTime, ThreadRole};
use probe::live::Sampled;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Most nodes that are listed, and most places of each.
const NODES: usize = 16;
const PLACES: usize = 6;

/// If no flag sets the number of online schedulers, a scheduler that ran for less than this, in
/// milliseconds a second, does not count as online. A scheduler that is not online never runs.
const RAN_MS_PER_S: f64 = 0.1;

/// The smallest quota that throttles a node for long, or else the smallest that it has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound<'a> {
    /// The group.
    pub group: &'a str,
    /// The quota, in CPUs.
    pub cpus: f64,
    /// Its period, in microseconds.
    pub period_us: u64,
    /// Share of its periods in which it was throttled, under this quota.
    pub throttled_periods: f64,
    /// The CPUs that it lacked in these periods.
    pub lacked_cpus: f64,
    /// CPU time that all programs of the group used, in milliseconds a second; 0 if it is not
    /// counted.
    pub used_ms_per_s: f64,
    /// Whether it had another quota before.
    pub changed: bool,
}

/// A program's group and the groups above it, as far as they have a quota.
fn limited<'a>(window: &'a Window, key: &Key) -> impl Iterator<Item = (&'a String, &'a GroupSums)> {
    let own = key.group.as_ref();
    let above = own.and_then(|own| window.lineages.get(own)).into_iter().flatten();
    let above = above.filter_map(move |group| window.groups.get_key_value(group));
    own.and_then(|own| window.groups.get_key_value(own)).into_iter().chain(above)
}

/// The smallest quota of a program's group and the groups above it. Those that throttle it for long
/// come before those that do not.
pub fn bound<'a>(window: &'a Window, key: &Key) -> Option<Bound<'a>> {
    let quotas = window.programs.get(key).map(|sums| &sums.quota);
    let held = |group: &String| quotas.and_then(|all| all.get(&Some(group.clone()))).copied();
    let is_loose = |group: &String| window.rate(held(group).unwrap_or(0)) < QUOTA_LIMIT_MS_PER_S;
    let binds = limited(window, key).min_by(|(one, a), (other, b)| {
        let least = a.limit.cpus().total_cmp(&b.limit.cpus());
        is_loose(one).cmp(&is_loose(other)).then(least)
    });
    binds.map(|(group, counted)| Bound {
        group,
        cpus: counted.limit.cpus(),
        period_us: counted.limit.period_us,
        throttled_periods: counted.throttled_periods(),
        lacked_cpus: counted.lacked_cpus(),
        used_ms_per_s: counted.used_ms_per_s().unwrap_or(0.0),
        changed: counted.changed,
    })
}

/// Number of online schedulers: the number that the node reports, or that a flag sets, or those
/// that ran. Those that ran count too if a flag sets only a maximum, and the VM may find fewer CPUs
/// than that. There are no more of them than threads of schedulers. If tailback asks a node, its
/// questions may run on each scheduler.
pub fn online(window: &Window, process: NodeProcess, node: &NodeSums) -> u32 {
    let reported = named_inside(window, process).and_then(|name| window.inside.get(name)?.online());
    let there = node.facts.threads.get(&ThreadRole::Scheduler).copied().unwrap_or(0);
    if let Some(reported) = reported.filter(|count| *count > 0) {
        return reported.min(there.max(1));
    }
    let line = &node.facts.line;
    match line.online {
        Some(maximum) if line.online_is_maximum && exceeds_cpus(window, process, maximum) => {
            ran(node).min(maximum).max(1)
        }
        Some(chosen) => chosen.min(there.max(1)),
        None => ran(node),
    }
}

/// Whether a number of schedulers is larger than the number of CPUs of the machine, of the CPUs
/// that the node may use, or of the CPUs in the smallest quota of its group and the groups above,
/// whether or not it throttles: newer VMs know their quota. One scheduler is always online.
fn exceeds_cpus(window: &Window, process: NodeProcess, number: u32) -> bool {
    let key = window.nodes.get(&process).map(|(key, _)| key);
    let quotas = key.into_iter().flat_map(|key| limited(window, key));
    let quotas = quotas.map(|(_, counted)| counted.limit.cpus());
    let own = key.and_then(|key| window.programs.get(key)?.confined.as_ref());
    let own = own.map(|(cpus, ..)| cpus.len() as f64);
    let all = f64::from(window.machine.cpus);
    let least = quotas.chain(own).fold(all, f64::min);
    f64::from(number) > least.max(1.0)
}

/// Number of schedulers that ran.
fn ran(node: &NodeSums) -> u32 {
    let least = (node.over_ns as f64 * RAN_MS_PER_S / 1e3) as u64;
    let ran = node.schedulers.values().filter(|one| one.ran_ns.saturating_add(one.call_ns) > least);
    u32::try_from(ran.count()).unwrap_or(u32::MAX)
}

/// The program of a node.
pub fn program(key: &Key, pid: u32) -> Program {
    parts::program(key, pid, 1)
}

/// The program of the node with this name, and its process, if it is one of the nodes that are seen
/// from outside. If the node is not on this machine, its program has only the name.
pub fn node_named(window: &Window, name: &str) -> (Program, Option<NodeProcess>) {
    let found = process_named(window, name);
    let found = found.and_then(|process| window.nodes.get_key_value(&process));
    match found.filter(|(_, (_, node))| may_be(node, name)) {
        Some((process, (key, _))) => (program(key, process.pid), Some(*process)),
        None => {
            let elsewhere = Program { name: name.to_owned(), processes: 1, ..Program::default() };
            (elsewhere, None)
        }
    }
}

/// The process of the node with this name: the one that the node reports, unless another node
/// reports the same one. In containers, ids of processes repeat. If several nodes had that id one
/// after the other, the last one answers.
fn process_named(window: &Window, name: &str) -> Option<NodeProcess> {
    let pid = window.inside.get(name)?.os_pid()?;
    let same = window.inside.values().filter(|inside| inside.os_pid() == Some(pid)).count();
    if same != 1 {
        return None;
    }
    let with_id = NodeProcess { pid, started: 0 }..=NodeProcess { pid, started: u64::MAX };
    window.nodes.range(with_id).next_back().map(|(process, _)| *process)
}

/// Whether a node may have this name, by its command line. RabbitMQ takes its name once it is up,
/// so its command line has none.
fn may_be(node: &NodeSums, name: &str) -> bool {
    let short = node.facts.line.name.as_deref().and_then(|name| name.split('@').next());
    short.is_none_or(|short| name.split('@').next() == Some(short))
}

/// All nodes, those with the most CPU time first.
pub fn all(window: &Window) -> Vec<Node> {
    let mut all: Vec<Node> =
        window.nodes.iter().map(|(of, (key, sums))| node(window, *of, key, sums)).collect();
    all.sort_by_key(|node| Reverse(node.roles.iter().map(|role| role.ran_ns).sum::<u64>()));
    all.truncate(NODES);
    all
}

fn node(window: &Window, process: NodeProcess, key: &Key, sums: &NodeSums) -> Node {
    let bound = bound(window, key);
    Node {
        program: program(key, process.pid),
        name: sums.facts.line.name.clone().or_else(|| named_inside(window, process).cloned()),
        schedulers: sums.facts.threads.get(&ThreadRole::Scheduler).copied().unwrap_or(0),
        online: online(window, process, sums),
        set_by_flag: sums.facts.sets_online(),
        configured: sums.facts.line.configured,
        roles: roles(sums),
        code: code(sums),
        quota_cpus: bound.map(|bound| bound.cpus),
        throttled_periods: bound.map(|bound| bound.throttled_periods),
    }
}

/// The name under which the node of this process was asked.
fn named_inside(window: &Window, process: NodeProcess) -> Option<&String> {
    let (_, node) = window.nodes.get(&process)?;
    let is_it = |name: &&String| process_named(window, name) == Some(process) && may_be(node, name);
    window.inside.keys().find(is_it)
}

fn roles(sums: &NodeSums) -> Vec<RoleTime> {
    let of = |(role, gained): (&ThreadRole, &RoleTime)| {
        let (samples, spins) = sums.spins(|of| of == *role);
        let spun = if samples > 0 { spins as f64 / samples as f64 } else { 0.0 };
        RoleTime {
            threads: sums.facts.threads.get(role).copied().unwrap_or(gained.ran),
            spun_ns: (gained.ran_ns as f64 * spun) as u64,
            ..*gained
        }
    };
    sums.roles.iter().map(of).collect()
}

/// Where the CPU time of normal schedulers went, without the functions in which they slept.
fn code(sums: &NodeSums) -> Vec<CodeTime> {
    let mut places: BTreeMap<Place, u64> = BTreeMap::new();
    let running = sums
        .samples
        .iter()
        .filter(|(seen, _)| seen.role == ThreadRole::Scheduler && seen.what != Sampled::Asleep);
    for (seen, count) in running {
        let spins = seen.what == Sampled::Spinning && seen.place.code == Code::Unknown;
        let code = if spins { Code::Waiting } else { seen.place.code };
        let place = Place { code, symbol: None, ..seen.place.clone() };
        *places.entry(place).or_default() += count;
    }
    let all: u64 = places.values().sum();
    let share = |count: u64| count as f64 / all.max(1) as f64;
    let mut all: Vec<CodeTime> =
        places.into_iter().map(|(place, count)| CodeTime { place, share: share(count) }).collect();
    all.sort_by(|a, b| b.share.total_cmp(&a.share));
    all.truncate(PLACES);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inside::InsideTick;
    use crate::testing::{MS, group, node, process, second, thread};
    use crate::tick::{GroupTick, Tick};

    /// A second of a node in the group /a/b, which has this quota in each 100 ms, below the group
    /// /a, which throttles it.
    fn below_a_group_that_throttles(own_ms: u64, above: GroupTick) -> Tick {
        let mut tick = second();
        process(&mut tick, 7, "beam.smp", Some("/a/b"));
        tick.lineages.insert("/a/b".into(), vec!["/a/b".into(), "/a".into()]);
        tick.groups.extend([group("/a/b", own_ms, 500, (0, 0)), above]);
        tick
    }

    #[test]
    fn the_least_quota_that_throttles_binds_and_online_are_those_that_ran() {
        let mut tick = below_a_group_that_throttles(200, group("/a", 50, 500, (5, 100)));
        let mut one = node(7, 4);
        one.facts.line.online = None;
        for (number, scheduler) in &mut one.schedulers {
            scheduler.ran_ns = if *number < 3 { 5 * MS } else { 0 };
        }
        tick.nodes.push(one);
        let listed = all(&Window::of([&tick]));
        assert_eq!((listed[0].schedulers, listed[0].online, listed[0].set_by_flag), (4, 2, false));
        assert_eq!((listed[0].quota_cpus, listed[0].throttled_periods), (Some(0.5), Some(0.5)));
        // The larger one throttles it.
        let mut held = thread(7, 10, 300);
        held.throttled_ns[0] = 300 * MS;
        tick.threads.push(held);
        assert_eq!(all(&Window::of([&tick]))[0].quota_cpus, Some(2.0));
    }

    #[test]
    fn a_flag_that_sets_a_maximum_counts_if_there_are_cpus_for_all() {
        let online = |maximum: u32, quota_ms: u64, confined: Option<Vec<u32>>| {
            let mut tick = second();
            tick.machine.cpus = 4;
            process(&mut tick, 7, "beam.smp", Some("/a"));
            tick.processes.get_mut(&7).unwrap().confined = confined;
            tick.threads.push(thread(7, 10, 0));
            tick.groups.push(group("/a", quota_ms, 100, (0, 0)));
            let mut one = node(7, 8);
            one.facts.line.online = Some(maximum);
            one.facts.line.online_is_maximum = true;
            for (number, scheduler) in &mut one.schedulers {
                scheduler.ran_ns = if *number < 3 { 5 * MS } else { 0 };
            }
            tick.nodes.push(one);
            let listed = all(&Window::of([&tick]));
            (listed[0].online, listed[0].set_by_flag)
        };
        assert_eq!(online(4, 400, None), (4, true));
        assert_eq!(online(4, 200, None), (2, true), "the VM may know its quota");
        assert_eq!(online(8, 800, None), (2, true), "more than the machine has CPUs");
        assert_eq!(online(4, 400, Some(vec![0, 1])), (2, true), "more than it may use CPUs");
        assert_eq!(online(1, 50, Some(vec![0])), (1, true), "one is always online");
    }

    #[test]
    fn a_smaller_quota_than_the_one_that_throttles_counts_for_a_maximum_too() {
        let online = |own_ms: u64, above_ms: u64| {
            let above = group("/a", above_ms, 400, (5, 300));
            let mut tick = below_a_group_that_throttles(own_ms, above);
            tick.machine.cpus = 8;
            // The quota of the group above throttles it.
            let mut held = thread(7, 10, 300);
            held.throttled_ns[1] = 300 * MS;
            tick.threads.push(held);
            let mut one = node(7, 4);
            one.facts.line.online_is_maximum = true;
            for (number, scheduler) in &mut one.schedulers {
                scheduler.ran_ns = if *number < 3 { 5 * MS } else { 0 };
            }
            tick.nodes.push(one);
            let listed = all(&Window::of([&tick]));
            (listed[0].quota_cpus, listed[0].online)
        };
        assert_eq!(online(200, 400), (Some(4.0), 2), "the VM may know its own quota");
        assert_eq!(online(800, 400), (Some(4.0), 4));
        assert_eq!(online(800, 200), (Some(2.0), 2));
    }

    #[test]
    fn a_node_without_a_name_has_the_one_by_which_it_was_asked() {
        let mut tick = second();
        process(&mut tick, 7, "beam.smp", None);
        let mut one = node(7, 1);
        one.facts.line.name = None;
        tick.nodes.push(one);
        assert_eq!(all(&Window::of([&tick]))[0].name, None);
        tick.inside.push(InsideTick { name: "rabbit@web".into(), look: look_at(7, true) });
        let window = Window::of([&tick]);
        assert_eq!(all(&window)[0].name.as_deref(), Some("rabbit@web"));
        assert_eq!(node_named(&window, "rabbit@web").0.name, "beam.smp");
        assert_eq!(node_named(&window, "other@web").0.name, "other@web");
        // Another node in a container may report the same process.
        tick.inside.push(InsideTick { name: "other@web".into(), look: look_at(7, true) });
        let window = Window::of([&tick]);
        assert_eq!(all(&window)[0].name, None);
        assert_eq!(node_named(&window, "rabbit@web").0.name, "rabbit@web");
        // On another machine, it is another process.
        tick.inside.truncate(1);
        tick.inside[0].look.is_here = false;
        let window = Window::of([&tick]);
        assert_eq!(all(&window)[0].name, None);
        assert_eq!(node_named(&window, "rabbit@web").0.name, "rabbit@web");
    }

    #[test]
    fn a_node_that_is_started_anew_with_the_same_process_id_is_another_one() {
        let one_of = |schedulers: u32, started: u64| {
            let mut tick = second();
            process(&mut tick, 7, "beam.smp", None);
            let mut one = node(7, schedulers);
            one.started = started;
            one.facts.line.name = None;
            tick.nodes.push(one);
            tick
        };
        let before = one_of(4, 100);
        let mut after = one_of(2, 900);
        after.inside.push(InsideTick { name: "rabbit@web".into(), look: look_at(7, true) });
        let listed = all(&Window::of([&before, &after]));
        let of = |node: &Node| (node.schedulers, node.roles[0].ran_ns / MS, node.name.clone());
        let wanted = [(4, 40, None), (2, 20, Some("rabbit@web".to_owned()))];
        assert_eq!(listed.iter().map(of).collect::<Vec<_>>(), wanted);
    }

    /// An answer of a node in this process, with one scheduler online.
    fn look_at(pid: u32, is_here: bool) -> dist::Look {
        let inside = dist::Inside { os_pid: Some(pid), online: 1, ..dist::Inside::default() };
        let state = dist::State::Answering;
        dist::Look { state, inside: Some(inside), is_here, ..dist::Look::default() }
    }

    #[test]
    fn a_node_that_is_asked_reports_which_schedulers_are_online() {
        let mut tick = second();
        process(&mut tick, 7, "beam.smp", None);
        let mut one = node(7, 4);
        one.facts.line.online = None;
        tick.nodes.push(one);
        assert_eq!(all(&Window::of([&tick]))[0].online, 4);
        tick.inside.push(InsideTick { name: "web@host".into(), look: look_at(7, true) });
        assert_eq!(all(&Window::of([&tick]))[0].online, 1);
        let said = tick.inside[0].look.inside.as_mut().unwrap();
        said.online = 4_000_000_000;
        assert_eq!(all(&Window::of([&tick]))[0].online, 4, "it has no more threads");
    }
}
