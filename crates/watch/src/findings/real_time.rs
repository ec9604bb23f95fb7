//! Programs whose real-time or deadline policy gives them the CPU of any other program. Also of a
//! program with the same priority: of two, the one that runs keeps the CPU.

use super::stall::{Seen, Stall};
use super::words;
use crate::parts::{program, program_of};
use crate::sums::{Behind, Key, Sums, largest, ms};
use crate::tick::Job;
use crate::why::by_policy;
use crate::window::Window;
use model::live::{AnswerState, Finding, RealTimePolicy, Source, Why};
use probe::live::is_outside;
use serde::{Deserialize, Serialize};

/// Time behind such a program, in milliseconds a second: a tenth of a thread's time. Work that
/// suits a real-time policy takes some percent.
pub const LIMIT_MS_PER_S: f64 = 100.0;

/// The highest real-time priority.
const HIGHEST: u32 = 99;

/// And at least this share of the time in which the victim wanted a CPU.
const SHARE: f64 = 0.1;

/// A program takes the victim's CPU because of its policy.
pub struct RealTime;

/// The policy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Real-time with its priority, or deadline.
    policy: Why,
    /// Which real-time policy; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    real_time: Option<RealTimePolicy>,
    /// Whether its priority is that of a thread that waits for a lock, and not its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_inherited: bool,
}

/// What fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    /// Give this process the usual policy.
    Demote(u32),
    /// Give this process, the victim, a higher priority than this.
    Raise(u32, u32),
    Separate,
}

impl Stall for RealTime {
    const ID: &'static str = "real-time";
    const NAME: &'static str = "real-time policy";
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    const STANDS_READY: bool = true;
    const NAMES_WHO_RAN: bool = true;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        let all = held_up(window).filter(|found| window.rate(found.1.2) >= LIMIT_MS_PER_S);
        all.map(|found| finding(window, found)).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let all = seen.window.victims().filter_map(|(_, sums)| worst(sums));
        let most = largest(all.map(|found| seen.window.rate(found.2)));
        Some(seen.measured_by::<Self>(Source::Scheduler, most, LIMIT_MS_PER_S))
    }

    fn cause(finding: &Finding, facts: &Facts) -> String {
        let culprit = words::culprit(finding);
        let why = words::why(&facts.policy, facts.real_time);
        let inherited = match facts.is_inherited {
            true => {
                " Its own policy does not give it that: it holds a lock, which passes on the \
                 priority of a thread that waits for the lock."
            }
            false => "",
        };
        format!("{culprit} ran on the victim's CPU.{why}{inherited}")
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::Demote(pid) => {
                format!(
                    "Give process {pid} the usual policy (chrt --all-tasks --other --pid 0 {pid}), or \
                     less work."
                )
            }
            Fix::Raise(pid, priority) => format!(
                "If the work of process {pid} matters more, give it a priority above {priority} (chrt)."
            ),
            Fix::Separate => "Give each of the two its own CPUs (cpuset, taskset).".to_owned(),
        }
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        let of = |policy: Why, real_time| {
            let fixes = fixes(&policy, 8, 7);
            (Facts { policy, real_time, is_inherited: false }, fixes)
        };
        let inherited = Facts { policy: Why::RealTime(50), is_inherited: true, real_time: None };
        let (fifo, round_robin) = (Some(RealTimePolicy::Fifo), Some(RealTimePolicy::RoundRobin));
        vec![
            of(Why::RealTime(50), None),
            of(Why::RealTime(50), fifo),
            of(Why::SamePriority(50), None),
            of(Why::SamePriority(50), fifo),
            of(Why::SamePriority(50), round_robin),
            of(Why::Deadline, None),
            (inherited, fixes(&Why::RealTime(50), 0, 7)),
        ]
    }
}

type Worst<'a> = (&'a Key, &'a Behind, u64);

/// The program that had its CPU by a policy for longest, and for how long.
fn worst(sums: &Sums) -> Option<Worst<'_>> {
    let all = sums.neighbours.iter().map(|(who, behind)| (who, behind, behind.forced_ns));
    all.filter(|one| one.2 > 0).max_by(|a, b| a.2.cmp(&b.2).then_with(|| b.0.cmp(a.0)))
}

fn held_up(window: &Window) -> impl Iterator<Item = ((&Key, &Sums), Worst<'_>)> {
    window.victims().filter_map(|(key, sums)| {
        let found = worst(sums)?;
        let wanted = sums.all.ran_ns.saturating_add(sums.all.ready_ns).max(1);
        (found.2 as f64 / wanted as f64 >= SHARE).then_some(((key, sums), found))
    })
}

fn finding(window: &Window, ((key, sums), (who, behind, ns)): ((&Key, &Sums), Worst)) -> Finding {
    let culprit = window.programs.get(who).map(|sums| program_of(who, sums));
    let culprit = culprit.unwrap_or_else(|| program(who, 0, 1));
    let victim = program_of(key, sums);
    let policy = by_policy(behind.prio, behind.victim_prio);
    let is_inherited = behind.is_inherited;
    // The policy of a kernel thread is the kernel's own. Of several processes of the culprit, the
    // one that is shown lost most, which seldom is the one with the policy.
    let is_own = who.job != Job::Kernel && !is_inherited && !is_outside(behind.forced_by);
    let demotes = if is_own { behind.forced_by } else { 0 };
    let fixes = fixes(&policy, demotes, victim.pid);
    let real_time = behind.policy.filter(|_| !is_inherited);
    Finding {
        victim,
        cost_ms_per_s: window.rate(ns),
        worst_ms: ms(behind.worst_ns),
        culprits: vec![culprit],
        ..RealTime::found(&Facts { policy, real_time, is_inherited }, &fixes)
    }
}

/// The fixes. For a process whose number is not known (0), only those that need no number. The
/// culprit's number is 0 also if another policy of it would change nothing.
fn fixes(policy: &Why, culprit: u32, victim: u32) -> Vec<Fix> {
    let demote = (culprit != 0).then_some(Fix::Demote(culprit));
    let raise = match policy {
        Why::SamePriority(priority) if victim != 0 && *priority < HIGHEST => {
            Some(Fix::Raise(victim, *priority))
        }
        _ => None,
    };
    demote.into_iter().chain(raise).chain([Fix::Separate]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, pair, process, second, thread};
    use crate::tick::Tick;

    /// A program of the same session runs because of its policy for this long.
    fn tick(forced_ms: u64) -> Tick {
        let mut tick = second();
        process(&mut tick, 1, "web", None);
        process(&mut tick, 2, "hog", None);
        let job = tick.processes[&1].job.clone();
        tick.processes.get_mut(&2).unwrap().job = job;
        tick.threads = vec![thread(1, 400, 400), thread(2, 400, 0)];
        tick.threads[0].others_ns = 400 * MS;
        let mut pair = pair(1, 2, "hog", 400);
        (pair.forced_ns, pair.prio) = (forced_ms * MS, 49);
        tick.pairs = vec![pair];
        tick
    }

    #[test]
    fn a_policy_is_a_cause_also_within_one_job() {
        let all = RealTime::find(&Window::of([&tick(400)]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.cost_ms_per_s, found.culprits[0].name.as_str()), (400.0, "hog"));
        let facts: Facts = found.facts.read().unwrap();
        assert!(RealTime::cause(found, &facts).contains("priority 50"));
        assert!(RealTime::find(&Window::of([&tick(90)])).is_empty());
        assert!(RealTime::find(&Window::of([&tick(0)])).is_empty());
    }

    #[test]
    fn the_process_with_the_policy_is_to_change_and_not_another_one_of_its_program() {
        let mut tick = tick(400);
        process(&mut tick, 3, "hog", None);
        let job = tick.processes[&2].job.clone();
        tick.processes.get_mut(&3).unwrap().job = job;
        tick.threads.push(thread(3, 100, 500));
        let all = RealTime::find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.culprits[0].pid, found.culprits[0].processes), (3, 2));
        assert_eq!(found.fixes.read::<Vec<Fix>>().unwrap()[0], Fix::Demote(2));
    }

    #[test]
    fn the_policy_is_named_if_it_is_known() {
        let cause = |victim_prio: i32, policy: Option<RealTimePolicy>| {
            let mut tick = tick(400);
            tick.pairs[0].victim_prio = victim_prio;
            if let Some(policy) = policy {
                tick.policies.insert((2, 50), policy);
            }
            // Threads of another priority say nothing.
            tick.policies.insert((2, 10), RealTimePolicy::RoundRobin);
            let all = RealTime::find(&Window::of([&tick]));
            let [found] = &all[..] else { panic!("{all:?}") };
            RealTime::cause(found, &found.facts.read().unwrap())
        };
        let (fifo, round_robin) = (Some(RealTimePolicy::Fifo), Some(RealTimePolicy::RoundRobin));
        assert!(cause(120, fifo).contains("priority 50 (SCHED_FIFO), before"));
        assert!(cause(120, round_robin).contains("priority 50 (SCHED_RR), before"));
        assert!(cause(120, None).contains("priority 50, before"));
        assert!(cause(49, fifo).ends_with("it keeps the CPU until it sleeps (SCHED_FIFO)."));
        let taking_turns = cause(49, round_robin);
        assert!(taking_turns.contains("SCHED_RR") && !taking_turns.contains("SCHED_FIFO"));
        assert!(cause(49, None).contains("the one that has the CPU keeps it until it sleeps"));
    }

    #[test]
    fn a_priority_that_a_lock_passed_on_is_not_taken_for_the_culprits_own() {
        let mut tick = tick(400);
        tick.pairs[0].victim_prio = 120;
        let mut found = |normal_prio: i32| {
            tick.pairs[0].normal_prio = normal_prio;
            let all = RealTime::find(&Window::of([&tick]));
            let [found] = &all[..] else { panic!("{all:?}") };
            let cause = RealTime::cause(found, &found.facts.read().unwrap());
            (cause.contains("it holds a lock"), found.fixes.read::<Vec<Fix>>().unwrap())
        };
        assert_eq!(found(49), (false, vec![Fix::Demote(2), Fix::Separate]));
        assert_eq!(found(120), (true, vec![Fix::Separate]));
        // Its own priority is above the victim's too.
        assert_eq!(found(98), (false, vec![Fix::Demote(2), Fix::Separate]));
    }

    #[test]
    fn who_has_the_same_priority_may_be_given_a_higher_one() {
        let mut tick = tick(400);
        tick.pairs[0].victim_prio = 49;
        let all = RealTime::find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        let facts: Facts = found.facts.read().unwrap();
        assert_eq!(facts.policy, Why::SamePriority(50));
        let fixes: Vec<Fix> = found.fixes.read().unwrap();
        assert_eq!(fixes, [Fix::Demote(2), Fix::Raise(1, 50), Fix::Separate]);
    }
}
