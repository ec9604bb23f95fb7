//! From sums to parts that add up.

use crate::sums::{Key, Sums};
use crate::tick::MachineTick;
use model::live::{GroupPart, LockWaits, NeighbourPart, Parts, Program, Victim, VictimThread};

/// Neighbours that are named.
const NAMED: usize = 3;

/// Threads that are listed of a program.
const THREADS: usize = 8;

/// A program as it is shown.
pub fn program(key: &Key, pid: u32, processes: usize) -> Program {
    Program {
        name: key.name.clone(),
        group: key.group.clone(),
        pid,
        processes: u32::try_from(processes).unwrap_or(u32::MAX),
    }
}

/// The program of these sums.
pub fn program_of(key: &Key, sums: &Sums) -> Program {
    program(key, sums.worst_pid(), sums.pids.len())
}

/// What a program lost, in parts.
pub fn victim(key: &Key, sums: &Sums, machine: &MachineTick) -> Victim {
    Victim {
        program: program_of(key, sums),
        ran_ns: sums.all.ran_ns,
        parts: parts(key, sums, machine),
        lock: LockWaits {
            ns: sums.all.lock_ns,
            foreign_ns: sums.all.foreign_ns,
            waits: sums.all.lock_waits,
            worst_ns: sums.all.lock_worst_ns,
        },
        threads: threads(sums),
    }
}

/// Where the ready time of a program went; the parts always add up to it.
pub fn parts(key: &Key, sums: &Sums, machine: &MachineTick) -> Parts {
    let all = &sums.all;
    let mut left = all.ready_ns;
    let mut take = |wanted: u64| {
        let taken = wanted.min(left);
        left -= taken;
        taken
    };
    let mut parts = Parts {
        ready_ns: all.ready_ns,
        waits: all.waits,
        worst_ns: all.worst_ns,
        ..Parts::default()
    };
    for (group, ns) in &sums.quota {
        match group {
            None => parts.some_quota_ns += take(*ns),
            Some(group) if Some(group) == key.group.as_ref() => parts.own_quota_ns += take(*ns),
            Some(group) => {
                let part = GroupPart { group: group.clone(), ns: take(*ns) };
                parts.ancestors.push(part);
            }
        }
    }
    let others = take(all.others_ns);
    let own = take(all.own_ns);
    parts.waking_ns = take(all.idle_ns);
    parts.not_told_apart_ns = left;
    // The hypervisor takes a CPU from the thread that runs there, so its part is in the time of the
    // threads that ran.
    let stolen = stolen_share(machine);
    let kept = |ns: u64| ns - of(stolen, ns);
    parts.hypervisor_ns = of(stolen, others) + of(stolen, own);
    parts.own_program_ns = kept(own);
    share_among_neighbours(&mut parts, key, sums, kept(others));
    parts
}

/// A share of a time.
fn of(share: f64, ns: u64) -> u64 {
    // Below 2^53 ns, which are a hundred days, this is exact enough.
    ((ns as f64 * share) as u64).min(ns)
}

/// The share of the wanted CPU time that the hypervisor had.
fn stolen_share(machine: &MachineTick) -> f64 {
    let (Some(steal), Some(busy)) = (machine.steal_ns, machine.busy_ns) else { return 0.0 };
    let wanted = steal.saturating_add(busy);
    if wanted == 0 { 0.0 } else { steal as f64 / wanted as f64 }
}

/// Names the programs that ran. Their known times are scaled down where they exceed the time to
/// share.
fn share_among_neighbours(parts: &mut Parts, key: &Key, sums: &Sums, ns: u64) {
    let known: u64 = sums.neighbours.values().map(|(ns, _)| *ns).sum();
    let scale = if known > ns { ns as f64 / known as f64 } else { 1.0 };
    let mut all: Vec<(&Key, u64, u64)> =
        sums.neighbours.iter().map(|(who, (ns, worst))| (who, of(scale, *ns), *worst)).collect();
    // By name too, so that the same figures always give the same list.
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let mut left = ns;
    for (who, ns, worst_ns) in all {
        if who == key {
            parts.own_program_ns += ns;
            left -= ns;
        } else if parts.neighbours.len() < NAMED && ns > 0 {
            parts.neighbours.push(NeighbourPart { program: program(who, 0, 0), ns, worst_ns });
            left -= ns;
        }
    }
    parts.other_neighbours_ns = left;
}

fn threads(sums: &Sums) -> Vec<VictimThread> {
    let mut all: Vec<VictimThread> = sums
        .threads
        .values()
        .map(|thread| VictimThread {
            tid: thread.tid,
            name: thread.name.clone(),
            ran_ns: thread.ran_ns,
            ready_ns: thread.ready_ns,
            throttled_ns: thread.throttled_ns.iter().fold(0, |all, ns| all.saturating_add(*ns)),
            worst_ns: thread.worst_ns,
            foreign_ns: thread.foreign_ns,
        })
        .collect();
    all.sort_by_key(|t| (std::cmp::Reverse(t.ready_ns.saturating_add(t.foreign_ns)), t.tid));
    all.truncate(THREADS);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::key;
    use probe::live::{PairCounts, ThreadCounts};
    use proptest::prelude::*;

    fn sums(all: ThreadCounts) -> Sums {
        let mut sums = Sums::default();
        sums.thread(&all);
        sums
    }

    #[test]
    fn time_without_a_known_cause_has_a_part_of_its_own() {
        let all = ThreadCounts { ready_ns: 100, others_ns: 60, rest_ns: 10, ..Default::default() };
        let parts = parts(&key("a"), &sums(all), &MachineTick::default());
        assert_eq!((parts.other_neighbours_ns, parts.not_told_apart_ns), (60, 40));
        assert_eq!(parts.sum_ns(), 100);
    }

    #[test]
    fn three_neighbours_are_named_and_the_rest_is_together() {
        let all = ThreadCounts { ready_ns: 100, others_ns: 100, ..Default::default() };
        let mut sums = sums(all);
        for (name, ns) in [("b", 40), ("c", 30), ("d", 10), ("e", 5), ("a", 7)] {
            sums.behind(key(name), &PairCounts { ns, worst_ns: ns, ..Default::default() });
        }
        let parts = parts(&key("a"), &sums, &MachineTick::default());
        let named: Vec<(&str, u64)> =
            parts.neighbours.iter().map(|n| (n.program.name.as_str(), n.ns)).collect();
        assert_eq!(named, [("b", 40), ("c", 30), ("d", 10)]);
        assert_eq!((parts.own_program_ns, parts.other_neighbours_ns), (7, 13));
        assert_eq!(parts.sum_ns(), 100);
    }

    #[test]
    fn each_quota_has_its_own_part() {
        let all = ThreadCounts { ready_ns: 100, ..Default::default() };
        let mut sums = sums(all);
        sums.quota = [(Some("/a/b".into()), 20), (Some("/a".into()), 30), (None, 5)].into();
        let own = Key { group: Some("/a/b".into()), ..key("a") };
        let parts = parts(&own, &sums, &MachineTick::default());
        assert_eq!((parts.own_quota_ns, parts.some_quota_ns), (20, 5));
        assert_eq!(parts.ancestors, [GroupPart { group: "/a".into(), ns: 30 }]);
        assert_eq!((parts.quota_ns(), parts.sum_ns()), (55, 100));
    }

    #[test]
    fn the_hypervisors_part_is_that_of_the_time_that_was_wanted() {
        let all = ThreadCounts { ready_ns: 100, others_ns: 80, own_ns: 20, ..Default::default() };
        let machine =
            MachineTick { steal_ns: Some(10), busy_ns: Some(90), ..MachineTick::default() };
        let parts = parts(&key("a"), &sums(all), &machine);
        assert_eq!((parts.hypervisor_ns, parts.own_program_ns), (10, 18));
        assert_eq!(parts.sum_ns(), 100);
    }

    proptest! {
        #[test]
        fn parts_add_up_whatever_was_read(
            ready in 0u64..1 << 50,
            times in proptest::array::uniform4(0u64..1 << 50),
            quota in proptest::collection::vec((proptest::option::of("/[ab]"), 0u64..1 << 50), 0..4),
            pairs in proptest::collection::vec(("[a-e]", 0u64..1 << 50), 0..6),
            steal in proptest::option::of(0u64..1 << 50),
        ) {
            let [others, own, idle, rest] = times;
            let all = ThreadCounts {
                ready_ns: ready,
                others_ns: others,
                own_ns: own,
                idle_ns: idle,
                rest_ns: rest,
                ..ThreadCounts::default()
            };
            let mut sums = sums(all);
            sums.quota = quota.into_iter().collect();
            for (name, ns) in pairs {
                sums.behind(key(&name), &PairCounts { ns, ..PairCounts::default() });
            }
            let machine = MachineTick { steal_ns: steal, busy_ns: Some(7), ..Default::default() };
            let parts = parts(&Key { group: Some("/a".into()), ..key("a") }, &sums, &machine);
            prop_assert_eq!(parts.sum_ns(), ready);
        }
    }
}
