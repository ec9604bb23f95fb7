//! Programs whose threads wait actively while others of them have no CPU.
//!
//! Who of them holds what the others wait for cannot be seen from outside. That they burn the CPUs
//! which the others want is, and it is what a preempted holder of a lock looks like.

use crate::limits::{SPIN_MS_PER_S, SPIN_SHARE, SPUN_SAMPLES};
use crate::parts::{parts, program_of, victim};
use crate::sums::{Key, Sums, largest, ms};
use crate::window::Window;
use model::live::{Finding, FindingKind, LiveFix, SpinFinding, Sure, VictimThread};
use model::suggestion::{Command, Run};
use scenarios::params::Params;
use scenarios::preempted_holder::{META, PreemptedHolderParams};

/// The schedulers of an Erlang VM wait actively by design, for work and for no lock; the scenario
/// `busy-wait` is about them.
const WAITS_FOR_WORK: &str = "beam.smp";

pub fn find(window: &Window) -> Vec<Finding> {
    let is_much = |(_, _, loss): &(&Key, &Sums, Loss)| {
        loss.share >= SPIN_SHARE && loss.spun.min(loss.behind_own) >= SPIN_MS_PER_S
    };
    let found = losses(window).filter(is_much);
    found.map(|(key, sums, loss)| finding(window, key, sums, &loss)).collect()
}

/// The most that any program spends so, in milliseconds a second, of both times the lesser.
pub fn most(window: &Window) -> f64 {
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
    if all.samples < SPUN_SAMPLES || key.name == WAITS_FOR_WORK {
        return None;
    }
    let share = all.spins as f64 / all.samples as f64;
    let behind_own = window.rate(parts(key, sums, &window.machine).own_program_ns);
    Some(Loss { spun: window.rate(all.ran_ns) * share, share, behind_own })
}

fn finding(window: &Window, key: &Key, sums: &Sums, loss: &Loss) -> Finding {
    let threads = sums.threads.values().filter(|thread| thread.spins > 0).count();
    let facts = SpinFinding {
        spun_ms_per_s: loss.spun,
        share: loss.share,
        threads: u32::try_from(threads).unwrap_or(u32::MAX),
        behind_own_ms_per_s: loss.behind_own,
        held_up: held_up(key, sums, window),
        spot: sums.spot.clone(),
    };
    Finding {
        victim: program_of(key, sums),
        culprits: vec![program_of(key, sums)],
        cost_ms_per_s: loss.spun,
        worst_ms: ms(sums.all.worst_ns),
        since_s: 0.0,
        sure: Sure::Likely,
        fixes: vec![LiveFix::StopSpinning, LiveFix::ThreadsAsCpus],
        run: Some(run(sums, window.machine.cpus)),
        kind: FindingKind::Spinning(facts),
    }
}

/// The thread that was ready longest without a CPU.
fn held_up(key: &Key, sums: &Sums, window: &Window) -> Option<VictimThread> {
    let threads = victim(key, sums, &window.machine).threads;
    threads.into_iter().max_by_key(|thread| (thread.ready_ns, std::cmp::Reverse(thread.tid)))
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
    use model::live::Spot;

    /// Four threads of a program on two CPUs, of which each spun in so many of 24 samples and
    /// waited for so long behind the others.
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
        let all = find(&Window::of([&tick("db", 12, 400)]));
        let [found] = &all[..] else { panic!("{all:?}") };
        let FindingKind::Spinning(facts) = &found.kind else { panic!() };
        assert_eq!((facts.spun_ms_per_s, facts.share, facts.threads), (1000.0, 0.5, 4));
        assert_eq!(facts.behind_own_ms_per_s, 1600.0);
        assert_eq!(facts.held_up.as_ref().unwrap().tid, 9);
        assert_eq!(facts.spot.as_ref().unwrap().function.as_deref(), Some("s_lock"));
        assert_eq!((found.victim.name.as_str(), found.culprits.len()), ("db", 1));
        assert_eq!(found.run.as_ref().unwrap().parameters.0["threads"].to_string(), "4");
    }

    #[test]
    fn neither_alone_is_one() {
        // A pool that computes on more threads than CPUs; threads that spin and all have a CPU; a
        // program that spins now and then; an Erlang VM.
        for (name, spins, own_ms) in
            [("sort", 0, 400), ("db", 20, 0), ("db", 2, 400), ("beam.smp", 12, 400)]
        {
            let window = Window::of([&tick(name, spins, own_ms)]);
            assert!(find(&window).is_empty(), "{name} {spins} {own_ms}");
        }
        assert_eq!(most(&Window::of([&tick("db", 12, 10)])), 40.0);
    }

    #[test]
    fn few_samples_say_nothing() {
        let mut tick = tick("db", 12, 400);
        tick.threads.iter_mut().for_each(|one| (one.samples, one.spins) = (4, 4));
        assert!(find(&Window::of([&tick])).is_empty());
    }
}
