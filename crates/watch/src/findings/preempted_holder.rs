//! Programs whose threads spin while other threads of theirs have no CPU.
//!
//! Which thread holds the lock cannot be seen from outside; the wasted CPU time can. This is what
//! the preempted holder of a lock looks like.

use super::stall::{LEAST_SAMPLES, Seen, Stall};
use super::words;
use crate::parts::{parts, program_of, threads};
use crate::sums::{Key, Sums, largest, ms};
use crate::tick::Spot;
use crate::window::Window;
use model::Unit;
use model::live::{AnswerState, Finding, Source, Sure, VictimThread};
use model::prose::figures::{figure, percent};
use model::suggestion::{Command, Run};
use os::terminal::line as plain;
use scenarios::params::Params;
use scenarios::preempted_holder::{META, PreemptedHolderParams};
use serde::{Deserialize, Serialize};

/// CPU time at instructions of busy waiting, and time in which threads of the same program were
/// runnable behind each other. Both are in milliseconds a second: a tenth of a CPU. A lock that
/// spins for some microseconds gives only a few samples.
const LIMIT_MS_PER_S: f64 = 100.0;

/// Samples a second of each CPU that is busy.
const SAMPLES_PER_S: f64 = 49.0;

/// And at least this share of the program's samples. A program of many threads that computes and
/// spins now and then is not held up by that.
const SHARE: f64 = 0.2;

/// The schedulers of an Erlang VM spin by design; they wait for work and not for a lock. The
/// scenario `busy-wait` is about them.
const WAITS_FOR_WORK: &str = "beam.smp";

/// Threads of the victim spin while others of its threads have no CPU.
pub struct PreemptedHolder;

/// How much they spin, and where.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// CPU time at instructions of busy waiting, in milliseconds a second.
    spun_ms_per_s: f64,
    /// That time as a share of the program's CPU time, by samples.
    share: f64,
    /// Number of threads that were seen to spin.
    threads: u32,
    /// Time in which threads were runnable while others of the program ran, in milliseconds a
    /// second.
    behind_own_ms_per_s: f64,
    /// The thread that waited longest behind others of its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    victim_thread: Option<VictimThread>,
    /// Where they spin; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spot: Option<Spot>,
}

/// What fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    StopSpinning,
    /// No more threads than CPUs.
    ThreadsAsCpus,
}

impl Stall for PreemptedHolder {
    const ID: &'static str = META.id;
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        let is_much = |(_, _, loss): &(&Key, &Sums, Loss)| {
            loss.share >= SHARE && loss.spun.min(loss.behind_own) >= LIMIT_MS_PER_S
        };
        let found = losses(window).filter(is_much);
        found.map(|(key, sums, loss)| finding(window, key, sums, &loss)).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let most = most(seen.window);
        let state = seen.measured_by::<Self>(Source::Samples, most, LIMIT_MS_PER_S);
        // At the limit, there have to be enough samples to tell.
        let needs_s = LEAST_SAMPLES as f64 / (SAMPLES_PER_S * LIMIT_MS_PER_S / 1e3);
        Some(seen.unless_too_short(needs_s, state))
    }

    fn cause(_: &Finding, facts: &Facts) -> String {
        let place = facts.spot.as_ref().map_or_else(String::new, |spot| match &spot.function {
            Some(function) => format!(" in {}", plain(function)),
            None => format!(" at {:#x}", spot.address),
        });
        let most = facts.victim_thread.as_ref().map_or_else(String::new, |thread| {
            format!(", most of all {} ({})", plain(&thread.name), thread.tid)
        });
        format!(
            "{} of its threads spun{place}, which took {} of its CPU time. Meanwhile its other \
             threads were ready without a CPU for {}{most}. Which thread holds the lock is not \
             visible from outside.",
            facts.threads,
            percent(facts.share),
            figure(facts.behind_own_ms_per_s, Unit::MillisecondsPerSecond),
        )
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::StopSpinning => words::STOP_SPINNING.to_owned(),
            Fix::ThreadsAsCpus => "Run no more threads than there are CPUs.".to_owned(),
        }
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        let thread = VictimThread { tid: 9, name: "worker".to_owned(), ..VictimThread::default() };
        let spot = |function: Option<&str>| Spot {
            address: 0x1234,
            function: function.map(str::to_owned),
        };
        let facts = Facts {
            spun_ms_per_s: 1000.0,
            share: 0.5,
            threads: 4,
            behind_own_ms_per_s: 1600.0,
            victim_thread: Some(thread),
            spot: Some(spot(Some("s_lock"))),
        };
        let unnamed = Facts { threads: 1, spot: Some(spot(None)), ..facts.clone() };
        let bare = Facts { victim_thread: None, spot: None, ..facts.clone() };
        let of = |facts: Facts| (facts, vec![Fix::StopSpinning, Fix::ThreadsAsCpus]);
        [facts, unnamed, bare].map(of).into()
    }
}

/// The most that any program loses in this way, in milliseconds a second: the smaller of both
/// times.
fn most(window: &Window) -> f64 {
    largest(losses(window).map(|(_, _, loss)| loss.spun.min(loss.behind_own)))
}

/// What a program loses; times in milliseconds a second.
struct Loss {
    spun: f64,
    share: f64,
    behind_own: f64,
}

fn losses(window: &Window) -> impl Iterator<Item = (&Key, &Sums, Loss)> {
    window.victims().filter_map(|(key, sums)| Some((key, sums, loss(window, key, sums)?)))
}

fn loss(window: &Window, key: &Key, sums: &Sums) -> Option<Loss> {
    let all = &sums.all;
    if all.samples < LEAST_SAMPLES || key.name == WAITS_FOR_WORK {
        return None;
    }
    let share = all.spins as f64 / all.samples as f64;
    // Of a confined program, a part of that time counts as confined.
    let spared = sums.confined_own_ns.min(all.own_ns);
    let own = parts(key, sums, &window.machine).own_program_ns.saturating_add(spared);
    let behind_own = window.rate(own);
    Some(Loss { spun: window.rate(all.ran_ns) * share, share, behind_own })
}

fn finding(window: &Window, key: &Key, sums: &Sums, loss: &Loss) -> Finding {
    let threads = sums.threads.values().filter(|thread| thread.spins > 0).count();
    let facts = Facts {
        spun_ms_per_s: loss.spun,
        share: loss.share,
        threads: u32::try_from(threads).unwrap_or(u32::MAX),
        behind_own_ms_per_s: loss.behind_own,
        victim_thread: victim_thread(sums),
        spot: sums.spot.clone(),
    };
    Finding {
        victim: program_of(key, sums),
        culprits: vec![program_of(key, sums)],
        cost_ms_per_s: loss.spun,
        worst_ms: ms(sums.all.worst_ns),
        sure: Sure::Likely,
        run: Some(run(sums, window.machine.cpus)),
        ..PreemptedHolder::found(&facts, &[Fix::StopSpinning, Fix::ThreadsAsCpus])
    }
}

/// The thread that was runnable without a CPU for longest.
fn victim_thread(sums: &Sums) -> Option<VictimThread> {
    threads(sums).into_iter().max_by_key(|thread| (thread.ready_ns, std::cmp::Reverse(thread.tid)))
}

/// The same in the lab: as many threads, on as many CPUs as the scenario uses.
fn run(sums: &Sums, cpus: u32) -> Run {
    let usual = PreemptedHolderParams::default();
    let busy = sums.threads.values().filter(|thread| thread.ran_ns > 0).count();
    let threads = u32::try_from(busy).unwrap_or(u32::MAX).clamp(2, 4_096);
    let params = PreemptedHolderParams { threads, on_cpus: cpus.clamp(1, 2), ..usual };
    Run { command: Command::Run, scenario: META.id.to_owned(), parameters: params.settings() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, process, second, thread};
    use crate::tick::Tick;

    /// Four threads of a program on two CPUs, each of which spun in `spins` of 24 samples
    /// and waited for `own_ms` behind the others.
    fn tick(name: &str, spins: u64, own_ms: u64) -> Tick {
        let mut tick = second();
        process(&mut tick, 7, name, None);
        for tid in 7..11 {
            let mut one = thread(7, 500, own_ms);
            (one.tid, one.samples, one.spins) = (tid, 24, spins);
            one.own_ns = own_ms * MS;
            tick.threads.push(one);
        }
        tick.threads[2].ready_ns += MS;
        tick.machine.cpus = 2;
        tick.spots.insert(7, Spot { address: 0x1234, function: Some("s_lock".into()) });
        tick
    }

    #[test]
    fn threads_that_spin_while_others_have_no_cpu_are_a_finding() {
        let all = PreemptedHolder::find(&Window::of([&tick("db", 12, 400)]));
        let [found] = &all[..] else { panic!("{all:?}") };
        let facts: Facts = found.facts.read().unwrap();
        assert_eq!((facts.spun_ms_per_s, facts.share, facts.threads), (1000.0, 0.5, 4));
        assert_eq!(facts.behind_own_ms_per_s, 1600.0);
        assert_eq!(facts.victim_thread.as_ref().unwrap().tid, 9);
        assert_eq!(facts.spot.as_ref().unwrap().function.as_deref(), Some("s_lock"));
        assert_eq!((found.victim.name.as_str(), found.culprits.len()), ("db", 1));
        assert_eq!(found.run.as_ref().unwrap().parameters.0["threads"].to_string(), "4");
    }

    #[test]
    fn a_confined_program_is_found_as_well() {
        let mut confined = tick("db", 12, 400);
        confined.processes.get_mut(&7).unwrap().confined = Some(vec![0, 1]);
        confined.idle_shares = vec![0.0, 0.0, 1.0];
        let all = PreemptedHolder::find(&Window::of([&confined]));
        let facts: Facts = all[0].facts.read().unwrap();
        assert_eq!(facts.behind_own_ms_per_s, 1600.0);
    }

    #[test]
    fn neither_alone_is_one() {
        // A pool that computes on more threads than CPUs; threads that spin and all have a CPU; a
        // program that spins now and then; an Erlang VM.
        for (name, spins, own_ms) in
            [("sort", 0, 400), ("db", 20, 0), ("db", 2, 400), ("beam.smp", 12, 400)]
        {
            let window = Window::of([&tick(name, spins, own_ms)]);
            assert!(PreemptedHolder::find(&window).is_empty(), "{name} {spins} {own_ms}");
        }
        assert_eq!(most(&Window::of([&tick("db", 12, 10)])), 40.0);
    }

    #[test]
    fn few_samples_say_nothing() {
        let mut tick = tick("db", 12, 400);
        tick.threads.iter_mut().for_each(|one| (one.samples, one.spins) = (4, 4));
        assert!(PreemptedHolder::find(&Window::of([&tick])).is_empty());
    }
}
