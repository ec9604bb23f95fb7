//! Programs that sleep in a lock (futex) while the thread that wakes them is runnable but has no
//! CPU. A condition variable looks like a lock.
//!
//! This is a finding only if that thread, the holder, has its own reason not to run: either a quota
//! throttles it, or it has a higher nice value or a lower weight than the thread that waits, or a
//! lower priority than such a thread with a real-time policy (priority inversion). If both threads
//! only share a busy machine, the wait follows from the machine's load alone.
//!
//! A thread that waits for a message sleeps too. The message is an answer that it needs, or new
//! work. A server whose client is throttled sleeps between two requests, and loses nothing. From
//! outside the two look alike. So the finding about the quota names who sleeps for its messages,
//! and there is no finding about the sleeper. Processes of one name in one group pass locks on by
//! messages. So between these an inversion counts for messages too, but not if it is one by a
//! real-time policy: what such a thread gets by messages is mostly work.

use super::stall::{Seen, Stall};
use super::words;
use crate::parts::{program, program_of, stalled_ns, stalls};
use crate::sums::{Key, Sums, largest, ms};
use crate::tick::Job;
use crate::window::Window;
use model::live::{AnswerState, AsleepBehind as Slept, Finding, Source, Weight, WeightOf};
use model::prose::figures::percent;
use model::suggestion::{Command, Run};
use probe::live::Slept as SleptIn;
use scenarios::held_mutex::{Cause, HeldMutexParams, META};
use scenarios::params::Params;
use serde::{Deserialize, Serialize};

/// Time asleep behind such a thread, in milliseconds a second: a tenth of a thread's time.
pub const LIMIT_MS_PER_S: f64 = 100.0;

/// And the longest single sleep is at least this, in milliseconds: more than two ticks at 250 Hz.
const WORST_MS: f64 = 10.0;

/// A cause or a place with more than this share counts as that of the whole time.
const MOSTLY: f64 = 0.5;

/// The victim sleeps while the thread that has to wake it is runnable.
pub struct AsleepBehind;

/// Where the victim sleeps, and what keeps the other thread from running.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Where it sleeps.
    sleeps: Sleeps,
    /// Share of the time in locks, or for messages of an alike program, in which a quota throttled
    /// the other thread.
    by_quota: f64,
    /// Share of that time in which the other thread had the lower priority: the higher nice value,
    /// the lower weight, or a lower priority than a sleeper with a real-time or deadline policy.
    inverted: f64,
    /// Share of that time in which the sleeper had such a policy, and the other thread the lower
    /// priority.
    #[serde(default)]
    by_policy: f64,
    /// The weights of the other thread and of the sleeper, at the level where their groups or
    /// sessions part. Present only if the other's weight is the lower one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weights: Option<(Weight, Weight)>,
    /// Share of that time in which further threads slept between the two, at least: it is measured
    /// together with sleep that does not count.
    through_others: f64,
}

/// Where a program sleeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sleeps {
    /// In a lock or a condition (futex).
    #[default]
    Lock,
    /// For a message of another process of its name.
    Input,
}

/// What fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    RaiseQuota,
    SameNice,
    /// The same nice value for two sessions, which autogroup weighs separately. The number is a
    /// process of the other session.
    SameNiceOfSessions(u32),
    SameWeight,
    /// The usual policy for the other program.
    UsualPolicy,
    Inherit,
}

impl Stall for AsleepBehind {
    const ID: &'static str = "asleep-behind";
    const SCENARIO: &'static str = META.id;
    const NAME: &'static str = "asleep behind a stalled program";
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        let cost = |one: &Found| window.rate(stalled_ns(one.3));
        let all = held_up(window).filter(|one| cost(one) >= LIMIT_MS_PER_S);
        all.map(|found| finding(window, found)).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let of = |(_, sums): (&Key, &Sums)| {
            largest(sums.asleep.values().map(|one| seen.window.rate(stalled_ns(one))))
        };
        let most = largest(seen.window.victims().map(of));
        let state = seen.measured_by::<Self>(Source::Scheduler, most, LIMIT_MS_PER_S);
        Some(seen.unless_missing(Source::Calls, state))
    }

    fn cause(finding: &Finding, facts: &Facts) -> String {
        let by = words::culprit(finding);
        let sleeps = match facts.sleeps {
            Sleeps::Lock => {
                "It sleeps in a futex (a lock, or a condition variable at which it may wait for \
                 work)"
            }
            Sleeps::Input => "It sleeps for a pipe, a socket or another process",
        };
        let time = percent(facts.inverted);
        let why = match &facts.weights {
            _ if is_by_quota(facts) => "a quota throttles it".to_owned(),
            _ if is_by_policy(facts) => format!(
                "the sleeper has a real-time or deadline policy, and that thread has none or a \
                 lower priority (for {} of that time)",
                percent(facts.by_policy)
            ),
            Some((other, own)) => format!(
                "the scheduler gives it less weight (for {time} of that time): {}, the sleeper {}",
                words::weight(other),
                words::weight(own)
            ),
            None => format!("it has the higher nice value (for {time} of that time)"),
        };
        let through = match facts.through_others > MOSTLY {
            true => " Other threads sleep in the chain between the two.",
            false => "",
        };
        format!(
            "{sleeps} until a thread of {by} wakes it. That thread is ready but does not run: \
             {why}.{through}"
        )
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::SameNiceOfSessions(pid) => {
                return format!(
                    "Give both threads the same nice value; with autogroup, their sessions too: \
                     echo 0 >/proc/{pid}/autogroup"
                );
            }
            Fix::RaiseQuota => "Raise the quota of the other program.",
            Fix::SameWeight => {
                "Give both the same weight where their groups part (cpu.weight, v1: cpu.shares, \
                 cpu.idle; a unit: CPUWeight=; a pod: its CPU request; a session: \
                 /proc/PID/autogroup)."
            }
            Fix::UsualPolicy => {
                "Give the other program the usual policy (chrt --all-tasks --other --pid 0 PID)."
            }
            Fix::SameNice => "Give both threads the same nice value.",
            Fix::Inherit => {
                "Keep less work under the lock. If the waiting thread has a real-time policy, let \
                 the lock pass its priority on to the holder (PTHREAD_PRIO_INHERIT)."
            }
        }
        .to_owned()
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        let of = |sleeps, by_quota, through_others| {
            let facts = Facts { sleeps, by_quota, through_others, ..Facts::default() };
            let facts = Facts { inverted: 0.9, ..facts };
            let fixes = fixes(&facts, (sleeps == Sleeps::Input).then_some(42));
            (facts, fixes)
        };
        let by_policy = Facts { inverted: 0.9, by_policy: 0.9, ..Facts::default() };
        let fixes_by_policy = fixes(&by_policy, None);
        let weighed = |of: WeightOf| {
            let other = Weight { weight: 102, of };
            let own = Weight { weight: 1024, of: WeightOf::Group("/web".to_owned()) };
            let weights = Some((other, own));
            let facts = Facts { inverted: 0.9, sleeps: Sleeps::Lock, weights, ..Facts::default() };
            let fixes = fixes(&facts, None);
            (facts, fixes)
        };
        vec![
            weighed(WeightOf::Group("/batch".to_owned())),
            weighed(WeightOf::IdlePolicy),
            weighed(WeightOf::Session(10)),
            of(Sleeps::Lock, 0.0, 0.0),
            of(Sleeps::Lock, 0.9, 0.9),
            of(Sleeps::Input, 0.0, 0.0),
            (by_policy, fixes_by_policy),
        ]
    }
}

/// Whether a quota explains most of the sleep, or more of it than weights do.
fn is_by_quota(facts: &Facts) -> bool {
    facts.by_quota > MOSTLY || facts.by_quota > facts.inverted
}

/// Whether the real-time or deadline policy of the sleeper explains more of the sleep than weights
/// do. Such a thread runs before all others, so weights do not matter beside it.
fn is_by_policy(facts: &Facts) -> bool {
    facts.by_policy > facts.inverted * MOSTLY
}

/// The fixes. For two sessions, `other_session` is a process of the other session.
fn fixes(facts: &Facts, other_session: Option<u32>) -> Vec<Fix> {
    if is_by_quota(facts) {
        return vec![Fix::RaiseQuota];
    }
    if is_by_policy(facts) {
        return vec![Fix::Inherit];
    }
    let same = match facts.weights.as_ref().map(|(other, _)| &other.of) {
        // Such a holder hardly runs beside others, however little it does under the lock.
        Some(WeightOf::IdlePolicy) => return vec![Fix::UsualPolicy],
        Some(_) => Fix::SameWeight,
        None => other_session.map_or(Fix::SameNice, Fix::SameNiceOfSessions),
    };
    vec![same, Fix::Inherit]
}

/// A program, and the program behind which it sleeps.
type Found<'a> = (&'a Key, &'a Sums, &'a Key, &'a Slept);

fn held_up(window: &Window) -> impl Iterator<Item = Found<'_>> {
    window.victims().filter_map(|(key, sums)| {
        let long = sums.asleep.iter().filter(|(_, asleep)| ms(asleep.stalled_worst_ns) >= WORST_MS);
        let worst =
            long.max_by(|a, b| stalled_ns(a.1).cmp(&stalled_ns(b.1)).then_with(|| b.0.cmp(a.0)));
        worst.map(|(who, asleep)| (key, sums, who, asleep))
    })
}

fn finding(window: &Window, (key, sums, who, asleep): Found) -> Finding {
    // Only for some programs messages count.
    let counts_input = stalls(key, who, SleptIn::Input).1;
    let is_input = counts_input && asleep.input_ns > asleep.futex_ns;
    let input_ns = if counts_input { asleep.input_ns } else { 0 };
    let counted_ns = asleep.futex_ns.saturating_add(input_ns).max(1);
    let not_counted_ns = asleep.ns.saturating_sub(counted_ns);
    let share = |ns: u64| (ns as f64 / counted_ns as f64).min(1.0);
    let facts = Facts {
        sleeps: if is_input { Sleeps::Input } else { Sleeps::Lock },
        by_quota: share(asleep.by_quota_ns),
        inverted: share(asleep.inverted_ns),
        by_policy: share(asleep.by_policy_ns),
        weights: asleep.weights.clone(),
        through_others: share(asleep.through_others_ns.saturating_sub(not_counted_ns)),
    };
    let culprit = window.programs.get(who).map(|sums| program_of(who, sums));
    let parted =
        matches!((&key.job, &who.job), (Job::Session(one), Job::Session(other)) if one != other);
    let other_session =
        culprit.as_ref().map(|culprit| culprit.pid).filter(|pid| parted && *pid > 0);
    let fixes = fixes(&facts, other_session);
    Finding {
        victim: program_of(key, sums),
        culprits: vec![culprit.unwrap_or_else(|| program(who, 0, 1))],
        cost_ms_per_s: window.rate(stalled_ns(asleep)),
        worst_ms: ms(asleep.stalled_worst_ns),
        run: run(&facts),
        ..AsleepBehind::found(&facts, &fixes)
    }
}

/// A stall of this kind in the lab. None if the victim does not sleep in a lock, or if its policy
/// or weights of groups or sessions are the cause.
fn run(facts: &Facts) -> Option<Run> {
    let by = match facts.weights.as_ref().map(|(other, _)| &other.of) {
        _ if is_by_quota(facts) => Cause::Quota,
        _ if is_by_policy(facts) => return None,
        Some(WeightOf::IdlePolicy) => Cause::Idle,
        Some(_) => return None,
        None => Cause::Nice,
    };
    let params = HeldMutexParams { by, ..HeldMutexParams::default() };
    let (command, scenario) = (Command::Run, META.id.to_owned());
    let run = Run { command, scenario, parameters: params.settings() };
    (facts.sleeps == Sleeps::Lock).then_some(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_quota_explains_more_of_than_weights_do_is_the_quotas() {
        let of =
            |by_quota, inverted| fixes(&Facts { by_quota, inverted, ..Facts::default() }, None);
        let facts = Facts { by_quota: 0.4, sleeps: Sleeps::Lock, ..Facts::default() };
        assert_eq!(run(&facts).unwrap().parameters.0["by"].to_string(), "quota");
        assert_eq!(of(0.4, 0.0), [Fix::RaiseQuota]);
        assert_eq!(of(0.6, 0.9), [Fix::RaiseQuota]);
        assert_eq!(of(0.3, 0.6), [Fix::SameNice, Fix::Inherit]);
    }

    use crate::testing::{MS, process, second, thread};
    use crate::tick::Tick;
    use probe::live::{ChainCounts, ChainKey};

    fn tick(key: ChainKey) -> Tick {
        let mut tick = second();
        process(&mut tick, 1, "web", None);
        process(&mut tick, 2, "db", Some("/small"));
        tick.threads = vec![thread(1, 100, 0), thread(2, 100, 400)];
        let key = ChainKey { sleeper: 1, holder: 2, steps: 1, ..key };
        let name = "db".to_owned();
        tick.chains = vec![ChainCounts { key, name, ns: 400 * MS, wakes: 9, worst_ns: 90 * MS }];
        tick
    }

    fn found(key: ChainKey) -> Vec<Finding> {
        AsleepBehind::find(&Window::of([&tick(key)]))
    }

    #[test]
    fn who_sleeps_in_the_lock_of_a_throttled_program_is_a_victim() {
        let lock = ChainKey { slept: SleptIn::Futex, by_quota: true, ..ChainKey::default() };
        let all = found(lock);
        let [one] = &all[..] else { panic!("{all:?}") };
        assert_eq!((one.victim.name.as_str(), one.culprits[0].name.as_str()), ("web", "db"));
        assert_eq!((one.cost_ms_per_s, one.worst_ms), (400.0, 90.0));
    }

    #[test]
    fn who_sleeps_for_messages_of_a_throttled_program_may_wait_for_work() {
        let input = ChainKey { slept: SleptIn::Input, by_quota: true, ..ChainKey::default() };
        assert!(found(input).is_empty());
        // Nor does it count if the sleeper also waits in a lock of that program.
        let mut both = tick(ChainKey { slept: SleptIn::Futex, ..input });
        both.chains.push(ChainCounts { key: input, ns: 300 * MS, ..both.chains[0].clone() });
        both.chains[1].key.sleeper = 1;
        both.chains[1].key.holder = 2;
        both.chains[1].worst_ns = 200 * MS;
        let one = &AsleepBehind::find(&Window::of([&both]))[0];
        assert_eq!((one.cost_ms_per_s, one.worst_ms), (400.0, 90.0));
        assert_eq!(one.facts.read::<Facts>().unwrap().by_quota, 1.0);
        // A single time in the lock is too short.
        both.chains[0].worst_ns = 5 * MS;
        assert!(AsleepBehind::find(&Window::of([&both])).is_empty());
    }

    #[test]
    fn other_threads_are_in_the_chain_only_if_they_slept_in_what_counts() {
        let through_others = |in_lock: u8, for_messages: u8| {
            let lock = ChainKey { slept: SleptIn::Futex, by_quota: true, ..ChainKey::default() };
            let mut both = tick(lock);
            let mut messages = ChainCounts { ns: 300 * MS, ..both.chains[0].clone() };
            messages.key.slept = SleptIn::Input;
            messages.key.steps = for_messages;
            both.chains[0].key.steps = in_lock;
            both.chains.push(messages);
            let all = AsleepBehind::find(&Window::of([&both]));
            let [one] = &all[..] else { panic!("{all:?}") };
            one.facts.read::<Facts>().unwrap().through_others
        };
        assert_eq!([through_others(1, 1), through_others(1, 2)], [0.0, 0.0]);
        // It slept 400 ms in the lock and 300 ms for messages, and 400 ms through other threads.
        assert_eq!([through_others(2, 1), through_others(2, 2)], [0.25, 1.0]);
    }

    #[test]
    fn a_thread_of_the_kernel_waits_for_work() {
        let mut tick =
            tick(ChainKey { slept: SleptIn::Futex, by_quota: true, ..ChainKey::default() });
        assert_eq!(AsleepBehind::find(&Window::of([&tick])).len(), 1);
        tick.processes.get_mut(&1).unwrap().job = Job::Kernel;
        assert!(AsleepBehind::find(&Window::of([&tick])).is_empty());
    }

    #[test]
    fn the_quota_of_the_sleepers_own_program_is_another_finding() {
        let key = ChainKey { slept: SleptIn::Futex, by_quota: true, ..ChainKey::default() };
        let mut own = tick(key);
        own.chains[0].key.holder = 1;
        assert!(AsleepBehind::find(&Window::of([&own])).is_empty());
    }

    #[test]
    fn what_does_not_count_is_not_the_cause() {
        let lock = ChainKey { slept: SleptIn::Futex, inverted: true, ..ChainKey::default() };
        let mut own = tick(lock);
        own.chains[0].key.holder = 1;
        let mut throttled = own.chains[0].clone();
        throttled.key = ChainKey { by_quota: true, inverted: false, ..throttled.key };
        throttled.ns *= 2;
        own.chains.push(throttled);
        let all = AsleepBehind::find(&Window::of([&own]));
        let [one] = &all[..] else { panic!("{all:?}") };
        assert_eq!(one.fixes.read::<Vec<Fix>>().unwrap(), [Fix::SameNice, Fix::Inherit]);
    }

    #[test]
    fn a_lock_held_at_a_lower_priority_is_found_and_waiting_for_work_is_not() {
        let lock = ChainKey { slept: SleptIn::Futex, inverted: true, ..ChainKey::default() };
        assert_eq!(found(lock).len(), 1);
        assert!(found(ChainKey { inverted: false, ..lock }).is_empty());
        assert!(found(ChainKey { slept: SleptIn::Input, ..lock }).is_empty());
    }

    #[test]
    fn a_lock_that_keeps_a_real_time_thread_waiting_is_reported_with_that_policy() {
        let nice = ChainKey { slept: SleptIn::Futex, inverted: true, ..ChainKey::default() };
        let policy = ChainKey { by_policy: true, ..nice };
        let policy_fixes_and_run = |tick: &Tick| {
            let all = AsleepBehind::find(&Window::of([tick]));
            let [one] = &all[..] else { panic!("{all:?}") };
            let cause = AsleepBehind::cause(one, &one.facts.read().unwrap());
            let names_policy = cause.contains("the sleeper has a real-time or deadline policy");
            (names_policy, one.fixes.read::<Vec<Fix>>().unwrap(), one.run.is_some())
        };
        assert_eq!(
            policy_fixes_and_run(&tick(nice)),
            (false, vec![Fix::SameNice, Fix::Inherit], true)
        );
        assert_eq!(policy_fixes_and_run(&tick(policy)), (true, vec![Fix::Inherit], false));
        // Weights do not matter beside such a policy.
        let mut light = tick(policy);
        light.lineages.insert("/small".into(), vec!["/small".into(), "/".into()]);
        light.weights.insert("/small".into(), 102);
        assert!(policy_fixes_and_run(&light).0);
        // A larger part is inverted by nice values.
        let mut both = tick(policy);
        let longer = ChainKey { by_policy: false, ..both.chains[0].key };
        both.chains.push(ChainCounts { key: longer, ns: 500 * MS, ..both.chains[0].clone() });
        assert!(!policy_fixes_and_run(&both).0);
        // What it gets by messages is work.
        let message = ChainKey { slept: SleptIn::Input, ..policy };
        let mut own = tick(message);
        own.chains[0].key.holder = 1;
        assert!(AsleepBehind::find(&Window::of([&own])).is_empty());
    }

    #[test]
    fn the_lab_has_the_same_for_locks_alone() {
        let by = |key: ChainKey| {
            let run = found(key)[0].run.clone()?;
            assert_eq!(run.scenario, "held-mutex");
            run.parameters.0.get("by").map(ToString::to_string)
        };
        let quota = ChainKey { slept: SleptIn::Futex, by_quota: true, ..ChainKey::default() };
        assert_eq!(by(quota).as_deref(), Some("quota"));
        let nice = ChainKey { slept: SleptIn::Futex, inverted: true, ..ChainKey::default() };
        assert_eq!(by(nice).as_deref(), Some("nice"));
        let of = |of| {
            let weight = |weight| Weight { weight, of: WeightOf::Nice(0) };
            let weights = Some((Weight { weight: 3, of }, weight(1024)));
            run(&Facts { sleeps: Sleeps::Lock, weights, ..Facts::default() })
        };
        let idle = of(WeightOf::IdlePolicy).unwrap().parameters;
        assert_eq!(idle.0["by"].to_string(), "idle");
        assert_eq!(of(WeightOf::Group("/small".to_owned())), None);
    }

    #[test]
    fn a_lock_held_by_a_group_of_less_weight_is_found() {
        let mut light = tick(ChainKey { slept: SleptIn::Futex, ..ChainKey::default() });
        assert!(AsleepBehind::find(&Window::of([&light])).is_empty());
        light.lineages.insert("/small".into(), vec!["/small".into(), "/".into()]);
        light.weights.insert("/small".into(), 102);
        let all = AsleepBehind::find(&Window::of([&light]));
        let [one] = &all[..] else { panic!("{all:?}") };
        let facts: Facts = one.facts.read().unwrap();
        let cause = AsleepBehind::cause(one, &facts);
        assert!(cause.contains("102 (group /small), the sleeper 1024 (nice 0)"), "{cause}");
        assert_eq!(one.fixes.read::<Vec<Fix>>().unwrap(), [Fix::SameWeight, Fix::Inherit]);
    }

    #[test]
    fn processes_of_one_program_pass_on_a_lock_by_messages() {
        let key = ChainKey { slept: SleptIn::Input, inverted: true, ..ChainKey::default() };
        let mut own = tick(key);
        own.chains[0].key.holder = 1;
        assert_eq!(AsleepBehind::find(&Window::of([&own])).len(), 1);
        own.chains[0].key.slept = SleptIn::Otherwise;
        assert!(AsleepBehind::find(&Window::of([&own])).is_empty(), "as for a child");
    }
}
