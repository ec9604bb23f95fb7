//! Splits sums into parts that add up.

use crate::sums::{Key, Sums, ThreadSums, held_up_ns};
use crate::tick::{Job, MachineTick};
use crate::why::by_policy;
use model::live::{
    AsleepBehind, ConfinedPart, GroupPart, LockWaits, MemoryWaits, NeighbourPart, Parts, Program,
    Victim, VictimThread, Why,
};
use probe::live::{Slept, is_outside};

/// Most neighbours that are named.
const NAMED: usize = 3;

/// Most threads of a program that are listed.
const THREADS: usize = 8;

/// A program as it is shown.
pub fn program(key: &Key, pid: u32, processes: usize) -> Program {
    Program {
        name: key.name.clone(),
        group: key.group.clone(),
        workload: None,
        pid: if is_outside(pid) { 0 } else { pid },
        processes: u32::try_from(processes).unwrap_or(u32::MAX),
        outside: matches!(key.job, Job::Outside(_)),
    }
}

/// The program of these sums.
pub fn program_of(key: &Key, sums: &Sums) -> Program {
    program(key, sums.worst_pid(), sums.pids.len())
}

/// What a program lost, in parts. `memory_ns` is what it lost to memory.
pub fn victim(key: &Key, sums: &Sums, machine: &MachineTick, memory_ns: u64) -> Victim {
    let (asleep, other_stalled_ns) = asleep(sums);
    Victim {
        program: program_of(key, sums),
        ran_ns: sums.all.ran_ns,
        parts: parts(key, sums, machine),
        lock: LockWaits {
            ns: sums.all.lock_ns,
            foreign_ns: sums.foreign_ns(),
            waits: sums.all.lock_waits,
            worst_ns: sums.all.lock_worst_ns,
            own_worst_ns: sums.all.own_lock_worst_ns,
        },
        memory: memory(sums, memory_ns),
        asleep,
        other_stalled_ns,
        compared: sums.compared,
        threads: threads(sums),
    }
}

/// Where the runnable time of a program went. Each nanosecond is in one part, so the parts add
/// up.
pub fn parts(key: &Key, sums: &Sums, machine: &MachineTick) -> Parts {
    let all = &sums.all;
    let mut left = Left(all.ready_ns);
    let mut parts = Parts {
        ready_ns: all.ready_ns,
        waits: all.waits,
        worst_ns: all.worst_ns,
        ..Parts::default()
    };
    for (group, ns) in &sums.quota {
        match group {
            None => parts.some_quota_ns += left.spend(*ns),
            Some(group) if Some(group) == key.group.as_ref() => {
                parts.own_quota_ns += left.spend(*ns);
            }
            Some(group) => {
                let ns = left.spend(*ns);
                let part = GroupPart { group: group.clone(), workload: None, ns };
                parts.ancestors.push(part);
            }
        }
    }
    let mut others = left.spend(all.others_ns);
    let mut own = left.spend(all.own_ns);
    parts.waking_ns = left.spend(all.idle_ns);
    parts.not_told_apart_ns = left.0;
    // Steal and interrupts take a CPU from the thread that runs there. They are part of the time
    // of the threads that ran.
    for (taken_ns, part) in [
        (machine.steal_ns, &mut parts.hypervisor_ns),
        (machine.interrupts_ns, &mut parts.interrupts_ns),
    ] {
        let share = share_of_busy(taken_ns, machine);
        let (of_others, of_own) = (of(share, others), of(share, own));
        *part = of_others + of_own;
        (others, own) = (others - of_others, own - of_own);
    }
    let confined_own = sums.confined_own_ns.min(own);
    parts.own_program_ns = own - confined_own;
    share_out(&mut parts, key, sums, Left(others), confined_own);
    parts
}

/// Time that is not in any part yet.
struct Left(u64);

impl Left {
    fn spend(&mut self, wanted: u64) -> u64 {
        let taken = wanted.min(self.0);
        self.0 -= taken;
        taken
    }
}

/// A share of a time.
fn of(share: f64, ns: u64) -> u64 {
    // Below 2^53 ns, a hundred days, this is exact enough.
    ((ns as f64 * share) as u64).min(ns)
}

/// The share of the wanted CPU time that something took.
fn share_of_busy(taken_ns: Option<u64>, machine: &MachineTick) -> f64 {
    let (Some(taken), Some(busy)) = (taken_ns, machine.busy_ns) else { return 0.0 };
    let wanted = machine.steal_ns.unwrap_or(0).saturating_add(busy);
    if wanted == 0 { 0.0 } else { (taken as f64 / wanted as f64).min(1.0) }
}

/// Shares out the time behind other programs. A policy explains its part in any case. Of the
/// rest, an idle CPU explains what another CPU would have spared, and what remains is explained
/// by who ran. `confined_own` is what another CPU would have spared its threads behind each other.
fn share_out(parts: &mut Parts, key: &Key, sums: &Sums, mut left: Left, confined_own: u64) {
    let mut behind = behind(sums, left.0);
    behind.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(b.0)));
    let forced: u64 = behind.iter().filter(|one| is_forced(&one.3)).map(|one| one.2).sum();
    let mut fair = Left(left.0 - forced.min(left.0));
    if let Some((cpus, _, idle_share)) = &sums.confined {
        let ns = left.spend(fair.spend(sums.confined_ns)) + confined_own;
        let part = ConfinedPart { cpus: os::cpulist::format(cpus), ns, idle_share: *idle_share };
        parts.confined = Some(part).filter(|part| part.ns > 0);
    }
    parts.beside_idle_ns = left.spend(fair.spend(sums.all.beside_idle_ns));
    let fair_known: u64 = behind.iter().filter(|one| !is_forced(&one.3)).map(|one| one.2).sum();
    let scale = if fair_known > fair.0 { fair.0 as f64 / fair_known as f64 } else { 1.0 };
    for (who, worst_ns, ns, why) in behind {
        let ns = left.spend(if is_forced(&why) { ns } else { of(scale, ns) });
        if who == key {
            parts.own_program_ns += ns;
        } else if parts.neighbours.len() < NAMED && ns > 0 {
            let program = program(who, 0, 0);
            let known = sums.neighbours.get(who).filter(|one| !one.is_inherited);
            let policy = known.and_then(|one| one.policy).filter(|_| is_forced(&why));
            parts.neighbours.push(NeighbourPart { program, ns, worst_ns, why, policy });
        } else {
            parts.other_neighbours_ns += ns;
        }
    }
    parts.other_neighbours_ns += left.0;
}

fn is_forced(why: &Why) -> bool {
    matches!(why, Why::RealTime(_) | Why::SamePriority(_) | Why::Deadline)
}

/// Each program that ran, its worst single time, how long it ran, and why. A program that had the
/// CPU in two ways is listed twice. Known times are scaled down if they exceed the time to share.
fn behind(sums: &Sums, ns: u64) -> Vec<(&Key, u64, u64, Why)> {
    let known: u64 = sums.neighbours.values().map(|one| one.ns).fold(0, u64::saturating_add);
    let scale = if known > ns { ns as f64 / known as f64 } else { 1.0 };
    let mut all = Vec::new();
    for (who, one) in &sums.neighbours {
        let forced = one.forced_ns.min(one.ns);
        for (ns, why) in
            [(forced, by_policy(one.prio, one.victim_prio)), (one.ns - forced, one.why.clone())]
        {
            if ns > 0 {
                all.push((who, one.worst_ns, of(scale, ns), why));
            }
        }
    }
    all
}

/// Its waits for memory.
fn memory(sums: &Sums, ns: u64) -> MemoryWaits {
    let all = &sums.all;
    MemoryWaits {
        ns,
        reclaim_ns: all.reclaim_ns,
        compaction_ns: all.compaction_ns,
        worst_ns: all.memory_worst_ns,
    }
}

/// Whether sleep of this kind behind a holder is a stall: if a quota throttles the holder, and if
/// the holder has the lower priority. A quota that throttles the sleeper's own program is another
/// finding. Sleep for messages is no stall: nobody can see from outside whether a message is an
/// answer or new work. But processes of one name, of whatever session, pass locks on by messages,
/// as PostgreSQL does with the lock of a row. So a lower priority counts for them.
pub fn stalls(sleeper: &Key, holder: &Key, slept: Slept) -> (bool, bool) {
    let is_alike = sleeper.name == holder.name && sleeper.group == holder.group;
    match slept {
        // A sleeping kernel thread waits for work.
        _ if sleeper.job == Job::Kernel => (false, false),
        Slept::Futex => (sleeper != holder, true),
        Slept::Input => (false, is_alike),
        Slept::Journal | Slept::Otherwise => (false, false),
    }
}

/// How long a program was stalled in its sleep behind a holder, in nanoseconds.
pub fn stalled_ns(asleep: &AsleepBehind) -> u64 {
    asleep.by_quota_ns.max(asleep.inverted_ns).min(asleep.ns)
}

/// What a program lost, without the sleep until pages are read back: the window has that.
pub fn loss_ns(sums: &Sums) -> u64 {
    let awake = sums.all.ready_ns.saturating_add(held_up_ns(&sums.all));
    sums.asleep.values().map(stalled_ns).fold(awake, u64::saturating_add)
}

/// The programs whose threads were runnable while it slept, and how long it was stalled behind
/// those that are not listed. Those with their own reason come first, then those behind which it
/// slept longest.
fn asleep(sums: &Sums) -> (Vec<AsleepBehind>, u64) {
    let part = |(who, one): (&Key, &AsleepBehind)| AsleepBehind {
        holder: program(who, 0, 0),
        stalled_ns: stalled_ns(one),
        ..one.clone()
    };
    let mut all: Vec<(&Key, AsleepBehind)> =
        sums.asleep.iter().map(|one| (one.0, part(one))).collect();
    let order = |one: &AsleepBehind| (one.stalled_ns, one.ns);
    all.sort_by(|a, b| order(&b.1).cmp(&order(&a.1)).then_with(|| a.0.cmp(b.0)));
    let others = all.split_off(NAMED.min(all.len()));
    let other_ns = others.iter().map(|(_, one)| one.stalled_ns).fold(0, u64::saturating_add);
    (all.into_iter().map(|(_, one)| one).collect(), other_ns)
}

/// The threads that lost most, the largest loss first.
pub fn threads(sums: &Sums) -> Vec<VictimThread> {
    let lost = |thread: &ThreadSums| thread.ready_ns.saturating_add(thread.held_up_ns);
    let mut all: Vec<&ThreadSums> = sums.threads.values().collect();
    all.sort_by_key(|thread| (std::cmp::Reverse(lost(thread)), thread.tid));
    all.into_iter()
        .take(THREADS)
        .map(|thread| VictimThread {
            tid: thread.tid,
            name: thread.name.to_string(),
            ran_ns: thread.ran_ns,
            ready_ns: thread.ready_ns,
            throttled_ns: thread.throttled_ns,
            worst_ns: thread.worst_ns,
            foreign_ns: thread.foreign_ns,
            held_up_ns: thread.held_up_ns,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::key;
    use model::live::RealTimePolicy;
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
    fn three_holders_are_listed_and_the_rest_counts_too() {
        let mut sums = Sums::default();
        for (name, ns) in [("b", 40), ("c", 30), ("d", 10), ("e", 5), ("a", 7)] {
            let asleep = AsleepBehind { ns, inverted_ns: ns, ..AsleepBehind::default() };
            sums.asleep.insert(key(name), asleep);
        }
        let victim = victim(&key("v"), &sums, &MachineTick::default(), 0);
        let listed: Vec<u64> = victim.asleep.iter().map(|one| one.stalled_ns).collect();
        assert_eq!(listed, [40, 30, 10]);
        assert_eq!((victim.other_stalled_ns, victim.lost_ns()), (12, 92));
    }

    #[test]
    fn three_neighbours_are_named_and_the_rest_is_together() {
        let all = ThreadCounts { ready_ns: 100, others_ns: 100, ..Default::default() };
        let mut sums = sums(all);
        for (name, ns) in [("b", 40), ("c", 30), ("d", 10), ("e", 5), ("a", 7)] {
            sums.behind(
                key(name),
                &PairCounts { ns, worst_ns: ns, ..Default::default() },
                Why::default(),
                None,
            );
        }
        let parts = parts(&key("a"), &sums, &MachineTick::default());
        let named: Vec<(&str, u64)> =
            parts.neighbours.iter().map(|n| (n.program.name.as_str(), n.ns)).collect();
        assert_eq!(named, [("b", 40), ("c", 30), ("d", 10)]);
        assert_eq!((parts.own_program_ns, parts.other_neighbours_ns), (7, 13));
        assert_eq!(parts.sum_ns(), 100);
    }

    #[test]
    fn only_the_time_that_a_program_got_by_its_policy_has_that_policy() {
        let all = ThreadCounts { ready_ns: 100, others_ns: 100, ..Default::default() };
        let mut sums = sums(all);
        let pair = PairCounts { ns: 100, forced_ns: 60, prio: 49, ..Default::default() };
        sums.behind(key("b"), &pair, Why::Shared(None), Some(RealTimePolicy::Fifo));
        let parts = parts(&key("a"), &sums, &MachineTick::default());
        let named: Vec<_> = parts.neighbours.iter().map(|n| (n.ns, &n.why, n.policy)).collect();
        let by_policy = (60, &Why::RealTime(50), Some(RealTimePolicy::Fifo));
        assert_eq!(named, [by_policy, (40, &Why::Shared(None), None)]);
        // A lock passed on the priority, so the policy is that of another thread.
        sums.neighbours.get_mut(&key("b")).unwrap().is_inherited = true;
        let parts = super::parts(&key("a"), &sums, &MachineTick::default());
        assert!(parts.neighbours.iter().all(|one| one.policy.is_none()));
    }

    #[test]
    fn each_quota_has_its_own_part() {
        let all = ThreadCounts { ready_ns: 100, ..Default::default() };
        let mut sums = sums(all);
        sums.quota = [(Some("/a/b".into()), 20), (Some("/a".into()), 30), (None, 5)].into();
        let own = Key { group: Some("/a/b".into()), ..key("a") };
        let parts = parts(&own, &sums, &MachineTick::default());
        assert_eq!((parts.own_quota_ns, parts.some_quota_ns), (20, 5));
        assert_eq!(parts.ancestors, [GroupPart { group: "/a".into(), workload: None, ns: 30 }]);
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
                let pair = PairCounts { ns, forced_ns: ns / 3, ..PairCounts::default() };
                sums.behind(key(&name), &pair, Why::default(), None);
            }
            let machine = MachineTick { steal_ns: steal, busy_ns: Some(7), ..Default::default() };
            let parts = parts(&Key { group: Some("/a".into()), ..key("a") }, &sums, &machine);
            prop_assert_eq!(parts.sum_ns(), ready);
        }
    }
}
