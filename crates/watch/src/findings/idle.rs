//! Programs that are ready on one CPU while another that they may use is idle.

use crate::limits::{BESIDE_IDLE_MS_PER_S, BESIDE_IDLE_SHARE, BESIDE_IDLE_WORST_MS};
use crate::parts::program_of;
use crate::sums::{Key, Sums, largest, ms};
use crate::window::Window;
use model::live::{BesideIdle, Finding, FindingKind, LiveFix, Sure};

pub fn find(window: &Window) -> Vec<Finding> {
    held_up(window)
        .filter(|(_, sums)| window.rate(sums.all.beside_idle_ns) >= BESIDE_IDLE_MS_PER_S)
        .map(|(key, sums)| Finding {
            kind: FindingKind::BesideIdle(BesideIdle { share: share(sums).min(1.0) }),
            victim: program_of(key, sums),
            culprits: Vec::new(),
            cost_ms_per_s: window.rate(sums.all.beside_idle_ns),
            worst_ms: ms(sums.all.worst_ns),
            since_s: 0.0,
            sure: Sure::Measured,
            fixes: vec![LiveFix::Balance],
            run: None,
        })
        .collect()
}

/// The most that anybody loses in this way, in milliseconds a second.
pub fn most(window: &Window) -> f64 {
    largest(held_up(window).map(|(_, sums)| window.rate(sums.all.beside_idle_ns)))
}

/// Programs that waited long, and mostly so.
fn held_up(window: &Window) -> impl Iterator<Item = (&Key, &Sums)> {
    window
        .victims()
        .filter(|(_, sums)| ms(sums.all.worst_ns) >= BESIDE_IDLE_WORST_MS)
        .filter(|(_, sums)| share(sums) >= BESIDE_IDLE_SHARE)
}

/// Of the time in which it was ready and no quota held it.
fn share(sums: &Sums) -> f64 {
    let held = sums.quota.values().copied().fold(0, u64::saturating_add);
    let free = sums.all.ready_ns.saturating_sub(held);
    sums.all.beside_idle_ns as f64 / free.max(1) as f64
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
        victim.beside_idle_ns = 350 * MS;
        tick.threads.push(victim);
        let all = find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.cost_ms_per_s, found.worst_ms), (350.0, 100.0));
        tick.threads[0].beside_idle_ns = 90 * MS;
        assert!(find(&Window::of([&tick])).is_empty());
        tick.threads[0].beside_idle_ns = 350 * MS;
        tick.threads[0].worst_ns = 2 * MS;
        assert!(find(&Window::of([&tick])).is_empty());
    }
}
