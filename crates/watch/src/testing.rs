//! Programs and intervals for tests.

use crate::node::{NodeTick, SchedulerTick, Seen};
use crate::sums::Key;
use crate::tick::{GroupTick, Job, Process, Tick};
use host::cgroup::{Limit, Usage};
use model::live::{Place, RoleTime, ThreadRole};
use probe::live::{PairCounts, ReaderCounts, Sampled, ThreadCounts};

/// A millisecond.
pub const MS: u64 = 1_000_000;

/// A program of the root group.
pub fn key(name: &str) -> Key {
    Key { name: name.to_owned(), ..Key::default() }
}

/// A second in which nothing happened.
pub fn second() -> Tick {
    Tick { over_ns: 1000 * MS, whole_machine: true, ..Tick::default() }
}

/// Adds a process. Without a group, it has a session of its own.
pub fn process(tick: &mut Tick, pid: u32, name: &str, group: Option<&str>) {
    let process = Process {
        name: name.to_owned(),
        group: group.map(str::to_owned),
        job: group.map_or(Job::Session(pid), |group| Job::Group(group.to_owned())),
        in_scope: true,
        ..Process::default()
    };
    tick.processes.insert(pid, process);
}

/// What the only thread of a process gained.
pub fn thread(pid: u32, ran_ms: u64, ready_ms: u64) -> ThreadCounts {
    ThreadCounts {
        tid: pid,
        pid,
        name: format!("t{pid}"),
        session: pid,
        ran_ns: ran_ms * MS,
        ready_ns: ready_ms * MS,
        waits: 10,
        worst_ns: ready_ms * MS / 4,
        ..ThreadCounts::default()
    }
}

/// One process ran while another was runnable.
pub fn pair(victim: u32, culprit: u32, name: &str, ms: u64) -> PairCounts {
    PairCounts {
        victim,
        culprit,
        name: name.to_owned(),
        ns: ms * MS,
        worst_ns: ms * MS / 4,
        waits: 4,
        session: culprit,
        ..PairCounts::default()
    }
}

/// A reader of a memory map.
pub fn reader(reader: u32, target: u32, file: &str, ms: u64) -> ReaderCounts {
    ReaderCounts {
        reader,
        tid: reader,
        target,
        file: file.to_owned(),
        name: format!("r{reader}"),
        holds: 100,
        ns: ms * MS,
        worst_ns: 5 * MS,
        ..ReaderCounts::default()
    }
}

/// A group with this quota per 100 ms, and how often and how long it was throttled.
pub fn group(name: &str, quota_ms: u64, used_ms: u64, throttled: (u64, u64)) -> GroupTick {
    GroupTick {
        group: name.to_owned(),
        limit: Limit { quota_us: quota_ms * 1000, period_us: 100_000 },
        gained: Usage {
            usage_ns: Some(used_ms * MS),
            nr_periods: Some(10),
            nr_throttled: Some(throttled.0),
            throttled_ns: Some(throttled.1 * MS),
            ..Usage::ZERO
        },
    }
}

/// A node with this many schedulers, all of them online, which ran for a while.
pub fn node(pid: u32, schedulers: u32) -> NodeTick {
    let mut node = NodeTick { pid, ..NodeTick::default() };
    node.facts.threads.insert(ThreadRole::Scheduler, schedulers);
    node.facts.line.online = Some(schedulers);
    node.facts.line.name = Some("web".to_owned());
    node.facts.counts_passes = true;
    for number in 1..=schedulers {
        node.schedulers
            .insert(number, SchedulerTick { ran_ns: 10 * MS, ..SchedulerTick::default() });
    }
    let ran_ns = u64::from(schedulers) * 10 * MS;
    let all = RoleTime { ran: schedulers, ran_ns, ..RoleTime::default() };
    node.roles.insert(ThreadRole::Scheduler, all);
    node
}

/// A program in `/a/b`, which the quota of the group at that level throttles for this time.
pub fn held_by_quota(level: usize, held_ms: u64) -> Tick {
    let mut tick = second();
    process(&mut tick, 1, "web", Some("/a/b"));
    tick.lineages.insert("/a/b".into(), vec!["/a/b".into(), "/a".into(), "/".into()]);
    let mut victim = thread(1, 500, held_ms + 10);
    victim.throttled_ns[level] = held_ms * MS;
    tick.threads.push(victim);
    tick.machine.switches = Some(1000);
    tick
}

/// A node of eight schedulers in a group of half a CPU. Of its 100 samples, `spins` spin.
pub fn node_under_quota(spins: u64, change: impl Fn(&mut NodeTick)) -> Tick {
    let mut tick = second();
    process(&mut tick, 7, "beam.smp", Some("/a"));
    tick.lineages.insert("/a".into(), vec!["/a".into()]);
    tick.groups.push(group("/a", 50, 500, (9, 700)));
    let mut one = node(7, 8);
    let schedulers = one.roles.entry(ThreadRole::Scheduler).or_default();
    (schedulers.ran_ns, schedulers.throttled_ns) = (500 * MS, 700 * MS);
    let place = Place::default();
    let role = ThreadRole::Scheduler;
    let seen = |what| Seen { role, number: 1, what, place: place.clone(), call: None };
    one.samples.insert(seen(Sampled::Spinning), spins);
    one.samples.insert(seen(Sampled::Running), 100 - spins);
    change(&mut one);
    tick.nodes.push(one);
    tick
}

/// A second in which the quota of a group throttled two programs. The first one lost more.
pub fn throttled(programs: [&str; 2]) -> Tick {
    let mut tick = second();
    for (pid, held_ms, name) in [(7, 500, programs[0]), (8, 400, programs[1])] {
        process(&mut tick, pid, name, Some("/a"));
        let mut one = thread(pid, 100, held_ms);
        one.throttled_ns[0] = held_ms * 1_000_000;
        tick.threads.push(one);
    }
    tick.lineages.insert("/a".into(), vec!["/a".into()]);
    tick.groups.push(group("/a", 50, 400, (1, 900)));
    tick
}
