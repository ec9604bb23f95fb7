//! Programs that are runnable on one CPU while another CPU that they may use is idle.

use super::stall::{Seen, Stall};
use crate::parts::program_of;
use crate::sums::{Key, Sums, largest, ms};
use crate::window::Window;
use model::live::{AnswerState, Finding, Source};
use model::prose::figures::percent;
use serde::{Deserialize, Serialize};

/// Runnable while another allowed CPU was idle, in milliseconds a second: a tenth of a thread's
/// time. Waking a thread on an idle CPU takes microseconds, and pulling one over takes less than
/// a tick.
const LIMIT_MS_PER_S: f64 = 100.0;

/// And the longest single wait is at least this, in milliseconds: more than two ticks at 250 Hz.
const WORST_MS: f64 = 10.0;

/// And at least this share of the time in which it was runnable and not throttled.
const SHARE: f64 = 0.5;

/// The victim is runnable on a busy CPU while another CPU that it may use is idle.
pub struct BesideIdle;

/// How much of its waiting time this is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Share of the time in which it was runnable and not throttled.
    share: f64,
}

/// What fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    Balance,
}

impl Stall for BesideIdle {
    const ID: &'static str = "beside-idle";
    const NAME: &'static str = "beside an idle CPU";
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    const STANDS_READY: bool = true;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        held_up(window)
            .filter(|(_, sums)| window.rate(beside_ns(sums)) >= LIMIT_MS_PER_S)
            .map(|(key, sums)| Finding {
                victim: program_of(key, sums),
                cost_ms_per_s: window.rate(beside_ns(sums)),
                worst_ms: ms(sums.all.beside_worst_ns),
                ..Self::found(&Facts { share: share(sums).min(1.0) }, &[Fix::Balance])
            })
            .collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let most = most(seen.window);
        Some(seen.measured_by::<Self>(Source::Scheduler, most, LIMIT_MS_PER_S))
    }

    fn cause(_: &Finding, facts: &Facts) -> String {
        format!(
            "For {} of the time that it waited for a CPU, another CPU that it may use was idle.",
            percent(facts.share)
        )
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::Balance => "Check CPU affinities, cpusets and isolated CPUs.".to_owned(),
        }
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        vec![(Facts { share: 0.8 }, vec![Fix::Balance])]
    }
}

/// The most that any program loses in this way, in milliseconds a second, before any other limit.
fn most(window: &Window) -> f64 {
    largest(window.victims().map(|(_, sums)| window.rate(beside_ns(sums))))
}

/// Programs that waited long in this way, and mostly in this way.
fn held_up(window: &Window) -> impl Iterator<Item = (&Key, &Sums)> {
    window
        .victims()
        .filter(|(_, sums)| ms(sums.all.beside_worst_ns) >= WORST_MS)
        .filter(|(_, sums)| share(sums) >= SHARE)
}

/// Share of the time in which the program was runnable and not throttled.
fn share(sums: &Sums) -> f64 {
    let held = sums.quota.values().copied().fold(0, u64::saturating_add);
    let free = sums.all.ready_ns.saturating_sub(held);
    beside_ns(sums) as f64 / free.max(1) as f64
}

/// How long the program was runnable on a busy CPU beside an idle one: at most the time behind
/// threads. In the other time its own CPU was idle too, for example because a hypervisor did not
/// run it, and another CPU is no better.
fn beside_ns(sums: &Sums) -> u64 {
    let behind_threads = sums.all.others_ns.saturating_add(sums.all.own_ns);
    sums.all.beside_idle_ns.min(behind_threads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, process, second, thread};

    #[test]
    fn ready_work_beside_an_idle_cpu_is_found() {
        let mut tick = second();
        process(&mut tick, 1, "web", None);
        let mut victim = thread(1, 300, 400);
        (victim.beside_idle_ns, victim.beside_worst_ns) = (350 * MS, 80 * MS);
        victim.others_ns = 400 * MS;
        tick.threads.push(victim);
        let all = BesideIdle::find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.cost_ms_per_s, found.worst_ms), (350.0, 80.0));
        tick.threads[0].beside_idle_ns = 90 * MS;
        assert!(BesideIdle::find(&Window::of([&tick])).is_empty());
        tick.threads[0].beside_idle_ns = 350 * MS;
        tick.threads[0].beside_worst_ns = 2 * MS;
        assert!(BesideIdle::find(&Window::of([&tick])).is_empty());
        // Its own CPU was idle too.
        tick.threads[0].beside_worst_ns = 80 * MS;
        (tick.threads[0].others_ns, tick.threads[0].idle_ns) = (10 * MS, 390 * MS);
        assert!(BesideIdle::find(&Window::of([&tick])).is_empty());
        assert_eq!(most(&Window::of([&tick])), 10.0);
    }
}
