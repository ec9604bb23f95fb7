//! Why one program had the CPU that another wanted: by policy, by weight, or by neither.
//!
//! The scheduler shares a CPU level by level, from the root group down. Two threads compete at
//! the level where their groups part. There are two groups, two sessions (autogroup) or two
//! threads at that level, or one of these beside another. So only the weights of two programs at
//! that level count. Threads of one session compete by their own weights.

use crate::tick::{Job, Process, Tick};
use model::live::{Weight, WeightOf, Why};
use std::collections::HashMap;

/// A weight counts as larger only if it is more than this many times the other.
const MORE: f64 = 1.1;

/// The weight of a thread that runs only if nobody else wants the CPU (`WEIGHT_IDLEPRIO`), and of
/// a group whose `cpu.idle` is 1.
pub const IDLE: u64 = host::IDLE_WEIGHT;

/// The weight of nice 0, and the factor between two nice values (`sched_prio_to_weight`).
const NICE_0: f64 = 1024.0;
const STEP: f64 = 1.25;

/// Kernel priorities below this one are real-time. The real-time priority is 99 minus that
/// number.
const REAL_TIME: i32 = 100;

/// The names of the kernel's threads for soft interrupts, one for each CPU, begin like this.
const SOFT_INTERRUPTS: &str = "ksoftirqd/";

/// The groups that bind a group, itself first; empty for the root group.
pub fn lineage_of<'a>(
    lineages: &'a HashMap<String, Vec<String>>,
    group: Option<&str>,
) -> &'a [String] {
    group.and_then(|group| lineages.get(group)).map_or(&[], Vec::as_slice)
}

/// The two groups at which two lineages part; None if the thread itself competes there.
pub fn part<'a>(one: &'a [String], other: &'a [String]) -> (Option<&'a str>, Option<&'a str>) {
    let from_top = |lineage: &'a [String]| {
        lineage.iter().rev().map(String::as_str).filter(|group| *group != "/")
    };
    let (mut one, mut other) = (from_top(one), from_top(other));
    loop {
        match (one.next(), other.next()) {
            (Some(one), Some(other)) if one == other => {}
            parted => return parted,
        }
    }
}

/// Why a culprit without a real-time policy ran.
pub fn by_weight(tick: &Tick, victim: &Process, culprit: &Process) -> Why {
    if tick.is_sched_ext {
        return Why::Unknown;
    }
    let of = |process: &Process| lineage_of(&tick.lineages, process.group.as_deref());
    let parted = part(of(victim), of(culprit));
    let is_within = parted == (None, None) && is_one_session(victim, culprit);
    let weigh = |process: &Process, group: Option<&str>| match is_within {
        true => Some(of_thread(process)),
        false => weight(tick, process, group),
    };
    let (Some(one), Some(other)) = (weigh(victim, parted.0), weigh(culprit, parted.1)) else {
        return Why::Unknown;
    };
    if other.weight as f64 > one.weight as f64 * MORE {
        return Why::Weight { victim: one, culprit: other };
    }
    // The work of such a thread comes from others, and most soft interrupts run outside of it.
    if culprit.job == Job::Kernel && culprit.name.starts_with(SOFT_INTERRUPTS) {
        return Why::Unknown;
    }
    let is_void = matches!((&one.of, &other.of), (WeightOf::Session(_), WeightOf::Session(_)));
    let nice = (victim.nice, culprit.nice);
    Why::Shared((is_void && nice.0 != nice.1).then_some(nice))
}

/// The weight of a process at the level where groups part.
fn weight(tick: &Tick, process: &Process, group: Option<&str>) -> Option<Weight> {
    Some(match (group, process.session_nice) {
        (Some(group), _) => {
            Weight { weight: *tick.weights.get(group)?, of: WeightOf::Group(group.to_owned()) }
        }
        (None, Some(nice)) => Weight { weight: of_nice(nice), of: WeightOf::Session(nice) },
        (None, None) => of_thread(process),
    })
}

/// The weight of a process's own threads.
fn of_thread(process: &Process) -> Weight {
    match process.is_idle {
        true => Weight { weight: IDLE, of: WeightOf::IdlePolicy },
        false => Weight { weight: of_nice(process.nice), of: WeightOf::Nice(process.nice) },
    }
}

/// Whether two processes belong to the same session.
fn is_one_session(one: &Process, other: &Process) -> bool {
    matches!(one.job, Job::Session(_)) && one.job == other.job
}

fn of_nice(nice: i32) -> u64 {
    (NICE_0 / STEP.powi(nice.clamp(-20, 19))).round() as u64
}

/// The weights of the holder and of the sleeper behind it, if the holder's is the lower one. None
/// if only nice values of threads say so: the programs in the kernel compare those, and the
/// priorities of other policies.
pub fn inverted(tick: &Tick, holder: &Process, sleeper: &Process) -> Option<(Weight, Weight)> {
    match by_weight(tick, holder, sleeper) {
        Why::Weight { victim, culprit } if !matches!(victim.of, WeightOf::Nice(_)) => {
            Some((victim, culprit))
        }
        _ => None,
    }
}

/// Why a culprit with this kernel priority ran. Its policy puts it above all programs without
/// one; a victim may have the same priority.
pub fn by_policy(prio: i32, victim: i32) -> Why {
    match real_time_priority(prio) {
        Some(priority) if prio == victim => Why::SamePriority(priority),
        Some(priority) => Why::RealTime(priority),
        None => Why::Deadline,
    }
}

/// Whether a culprit that ran at kernel priority `prio` owed that to a lock, which passed on the
/// priority of a thread that waits for it (priority inheritance). With `normal`, the priority of
/// its own policy, the victim would have got the CPU.
pub fn is_inherited(prio: i32, normal: i32, victim: i32) -> bool {
    prio < normal && (normal >= REAL_TIME || normal > victim)
}

/// The real-time priority with this kernel priority; None if that is one of another policy.
pub fn real_time_priority(prio: i32) -> Option<u32> {
    (0..REAL_TIME).contains(&prio).then(|| (REAL_TIME - 1 - prio).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{process, second};

    fn groups() -> Tick {
        let mut tick = second();
        for (group, lineage) in [
            ("/a/x", vec!["/a/x", "/a", "/"]),
            ("/a/y", vec!["/a/y", "/a", "/"]),
            ("/b", vec!["/b", "/"]),
        ] {
            let lineage = lineage.into_iter().map(str::to_owned).collect();
            tick.lineages.insert(group.to_owned(), lineage);
        }
        tick.weights = [("/a/x", 1024), ("/a/y", 2048), ("/a", 4096), ("/b", 1024)]
            .map(|(group, weight)| (group.to_owned(), weight))
            .into();
        for (pid, group) in [(1, "/a/x"), (2, "/a/y"), (3, "/b"), (4, "/b")] {
            process(&mut tick, pid, "p", Some(group));
        }
        process(&mut tick, 5, "p", None);
        process(&mut tick, 6, "p", None);
        tick
    }

    fn why(tick: &Tick, victim: u32, culprit: u32) -> Why {
        by_weight(tick, &tick.processes[&victim], &tick.processes[&culprit])
    }

    fn group(name: &str, weight: u64) -> Weight {
        Weight { weight, of: WeightOf::Group(name.to_owned()) }
    }

    #[test]
    fn two_compete_at_the_level_where_their_groups_part() {
        let tick = groups();
        let below = Why::Weight { victim: group("/a/x", 1024), culprit: group("/a/y", 2048) };
        assert_eq!(why(&tick, 1, 2), below);
        assert_eq!(why(&tick, 2, 1), Why::Shared(None));
        let above = Why::Weight { victim: group("/b", 1024), culprit: group("/a", 4096) };
        assert_eq!(why(&tick, 3, 1), above);
        // A thread of the root group competes with a group.
        let nice = Weight { weight: 1024, of: WeightOf::Nice(0) };
        assert_eq!(why(&tick, 5, 1), Why::Weight { victim: nice, culprit: group("/a", 4096) });
        let mut unread = groups();
        unread.weights.clear();
        assert_eq!(why(&unread, 1, 2), Why::Unknown);
        let other = Tick { is_sched_ext: true, ..groups() };
        assert_eq!(why(&other, 1, 2), Why::Unknown);
    }

    #[test]
    fn nice_counts_in_one_group_and_not_between_sessions() {
        let mut tick = groups();
        tick.processes.get_mut(&3).unwrap().nice = 19;
        let of = |nice, weight| Weight { weight, of: WeightOf::Nice(nice) };
        assert_eq!(why(&tick, 3, 4), Why::Weight { victim: of(19, 15), culprit: of(0, 1024) });
        assert_eq!(why(&tick, 4, 3), Why::Shared(None));
        for (pid, nice) in [(5, -15), (6, 0)] {
            let process = tick.processes.get_mut(&pid).unwrap();
            (process.nice, process.session_nice) = (nice, Some(0));
        }
        assert_eq!(why(&tick, 5, 6), Why::Shared(Some((-15, 0))));
        tick.processes.get_mut(&6).unwrap().session_nice = Some(-5);
        let of = |nice, weight| Weight { weight, of: WeightOf::Session(nice) };
        assert_eq!(why(&tick, 5, 6), Why::Weight { victim: of(0, 1024), culprit: of(-5, 3125) });
    }

    #[test]
    fn nice_counts_within_one_session() {
        let mut tick = groups();
        for (pid, nice) in [(5, 10), (6, 0)] {
            let process = tick.processes.get_mut(&pid).unwrap();
            process.job = Job::Session(5);
            process.nice = nice;
            process.session_nice = Some(0);
        }
        let of = |nice, weight| Weight { weight, of: WeightOf::Nice(nice) };
        assert_eq!(why(&tick, 5, 6), Why::Weight { victim: of(10, 110), culprit: of(0, 1024) });
        assert_eq!(why(&tick, 6, 5), Why::Shared(None));
        // Beside a group, the session competes as a whole.
        let session = Weight { weight: 1024, of: WeightOf::Session(0) };
        assert_eq!(why(&tick, 5, 1), Why::Weight { victim: session, culprit: group("/a", 4096) });
        // A holder that runs only if nobody else wants the CPU keeps the others asleep.
        tick.processes.get_mut(&6).unwrap().is_idle = true;
        let holder = Weight { weight: IDLE, of: WeightOf::IdlePolicy };
        let behind = inverted(&tick, &tick.processes[&6], &tick.processes[&5]);
        assert_eq!(behind, Some((holder, of(10, 110))));
    }

    #[test]
    fn an_idle_policy_weighs_least_where_threads_compete() {
        let mut tick = groups();
        tick.processes.get_mut(&3).unwrap().is_idle = true;
        let idle = Weight { weight: IDLE, of: WeightOf::IdlePolicy };
        let usual = Weight { weight: 1024, of: WeightOf::Nice(0) };
        assert_eq!(why(&tick, 3, 4), Why::Weight { victim: idle.clone(), culprit: usual.clone() });
        assert_eq!(why(&tick, 4, 3), Why::Shared(None));
        let behind =
            |holder, sleeper| inverted(&tick, &tick.processes[&holder], &tick.processes[&sleeper]);
        assert_eq!((behind(3, 4), behind(4, 3)), (Some((idle, usual)), None));
        // A session has its own weight, whatever the policy of its threads.
        let mut tick = groups();
        for pid in [5, 6] {
            tick.processes.get_mut(&pid).unwrap().session_nice = Some(0);
        }
        tick.processes.get_mut(&5).unwrap().is_idle = true;
        assert_eq!(why(&tick, 5, 6), Why::Shared(None));
    }

    #[test]
    fn a_holder_of_less_weight_is_one_where_groups_or_sessions_part() {
        let mut tick = groups();
        let behind = |tick: &Tick, holder, sleeper| {
            inverted(tick, &tick.processes[&holder], &tick.processes[&sleeper])
        };
        let groups = (group("/a/x", 1024), group("/a/y", 2048));
        assert_eq!((behind(&tick, 1, 2), behind(&tick, 2, 1)), (Some(groups), None));
        // Nice values of threads are compared elsewhere, when the sleeper is woken.
        tick.processes.get_mut(&3).unwrap().nice = 19;
        assert_eq!(behind(&tick, 3, 4), None);
    }

    #[test]
    fn soft_interrupts_share_nothing_evenly() {
        let mut tick = groups();
        let named = |tick: &mut Tick, name: &str, job: Job| {
            let process = tick.processes.get_mut(&6).unwrap();
            process.name = name.to_owned();
            process.job = job;
        };
        named(&mut tick, "ksoftirqd/0", Job::Kernel);
        assert_eq!(why(&tick, 5, 6), Why::Unknown);
        // A weight is a reason for them too.
        tick.processes.get_mut(&5).unwrap().nice = 10;
        assert!(matches!(why(&tick, 5, 6), Why::Weight { .. }));
        tick.processes.get_mut(&5).unwrap().nice = 0;
        named(&mut tick, "kworker/0:1", Job::Kernel);
        assert_eq!(why(&tick, 5, 6), Why::Shared(None));
        // A program may call itself anything.
        named(&mut tick, "ksoftirqd/0", Job::Session(6));
        assert_eq!(why(&tick, 5, 6), Why::Shared(None));
    }

    #[test]
    fn the_kernels_priorities_are_told_as_users_set_them() {
        assert_eq!(by_policy(49, 120), Why::RealTime(50));
        assert_eq!(by_policy(98, 120), Why::RealTime(1));
        assert_eq!(by_policy(49, 49), Why::SamePriority(50));
        assert_eq!(by_policy(49, 50), Why::RealTime(50));
        assert_eq!(by_policy(-1, -1), Why::Deadline);
        let inherited = [(49, 120, 120), (49, 98, 120), (49, 98, 60), (49, 49, 49), (-1, 98, 98)]
            .map(|(prio, normal, victim)| is_inherited(prio, normal, victim));
        assert_eq!(inherited, [true, false, true, false, false]);
        let priorities = [0, 98, 99, -1, 100, 120].map(real_time_priority);
        assert_eq!(priorities, [Some(99), Some(1), Some(0), None, None, None]);
    }
}
