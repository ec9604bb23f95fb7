//! Programs that have the CPU of others which have nothing to do with them.

use crate::limits::{NEIGHBOUR_MS_PER_S, NEIGHBOUR_SHARE};
use crate::parts::{program, program_of};
use crate::sums::{Key, Sums, largest, ms};
use crate::tick::Job;
use crate::window::Window;
use model::live::{Finding, FindingKind, LiveFix, NeighbourFinding, Sure};

pub fn find(window: &Window) -> Vec<Finding> {
    let is_much = |found: &Found| window.rate(found.ns) >= NEIGHBOUR_MS_PER_S;
    let all: Vec<Found> = held_up(window).filter(is_much).collect();
    // Of two that compete the one is the victim that gets less of what it wants.
    let loses_less = |one: &&Found| {
        !all.iter().any(|other| {
            other.victim == one.culprit && other.culprit == one.victim && other.share > one.share
        })
    };
    all.iter().filter(loses_less).map(|found| found.finding(window)).collect()
}

/// The most that anybody loses in this way, in milliseconds a second.
pub fn most(window: &Window) -> f64 {
    largest(held_up(window).map(|found| window.rate(found.ns)))
}

/// Programs that lose a part of what they want that they would notice.
fn held_up(window: &Window) -> impl Iterator<Item = Found<'_>> {
    window.victims().filter_map(|(key, sums)| worst(window, key, sums))
}

/// A victim with the program of another job that takes most from it.
struct Found<'a> {
    victim: &'a Key,
    sums: &'a Sums,
    culprit: &'a Key,
    ns: u64,
    worst_ns: u64,
    /// Of the time that the victim wanted a CPU.
    share: f64,
}

fn worst<'a>(window: &'a Window, key: &'a Key, sums: &'a Sums) -> Option<Found<'a>> {
    let wanted = sums.all.ran_ns.saturating_add(sums.all.ready_ns);
    let strangers =
        sums.neighbours.iter().filter(|(other, _)| is_stranger(window, key, sums, other));
    let (culprit, (ns, worst_ns)) =
        strangers.max_by(|a, b| a.1.cmp(b.1).then_with(|| b.0.cmp(a.0)))?;
    let share = *ns as f64 / wanted.max(1) as f64;
    (share >= NEIGHBOUR_SHARE).then_some(Found {
        victim: key,
        sums,
        culprit,
        ns: *ns,
        worst_ns: *worst_ns,
        share,
    })
}

/// Whether two programs have nothing to do with each other: neither belongs to the other's job, and
/// neither wakes the other, as a server and its clients do.
fn is_stranger(window: &Window, key: &Key, sums: &Sums, other: &Key) -> bool {
    let known = |job: &Job| !matches!(job, Job::Unknown | Job::Kernel);
    if key.job == other.job || !known(&key.job) || !known(&other.job) {
        return false;
    }
    // One program in several groups or sessions that waits for its like.
    if key.name == other.name && key.group == other.group {
        return false;
    }
    let woken = window.programs.get(other).is_some_and(|other| other.wakers.contains(&key.job));
    !woken && !sums.wakers.contains(&other.job)
}

impl Found<'_> {
    fn finding(&self, window: &Window) -> Finding {
        let culprit = window.programs.get(self.culprit);
        let facts = NeighbourFinding {
            victim_ran_ms_per_s: window.rate(self.sums.all.ran_ns),
            culprit_ran_ms_per_s: window.rate(culprit.map_or(0, |sums| sums.all.ran_ns)),
            nice: culprit.map(|culprit| (self.sums.nice, culprit.nice)),
        };
        let named = culprit.map(|sums| program_of(self.culprit, sums));
        Finding {
            kind: FindingKind::Neighbour(facts),
            victim: program_of(self.victim, self.sums),
            culprits: vec![named.unwrap_or_else(|| program(self.culprit, 0, 1))],
            cost_ms_per_s: window.rate(self.ns),
            worst_ms: ms(self.worst_ns),
            since_s: 0.0,
            sure: Sure::Measured,
            fixes: vec![LiveFix::Separate, LiveFix::Weigh],
            // A neighbour is no scenario of its own: there is nothing to reproduce but the load.
            run: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{pair, process, second, thread};
    use crate::tick::Tick;

    fn tick(lost_ms: u64) -> Tick {
        let mut tick = second();
        process(&mut tick, 1, "web", None);
        process(&mut tick, 2, "backup", None);
        tick.threads = vec![thread(1, 400, lost_ms), thread(2, 900, 20)];
        tick.threads[0].others_ns = tick.threads[0].ready_ns;
        tick.pairs = vec![pair(1, 2, "backup", lost_ms)];
        tick
    }

    #[test]
    fn another_jobs_program_is_a_neighbour() {
        let all = find(&Window::of([&tick(300)]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!(
            (found.victim.name.as_str(), found.culprits[0].name.as_str()),
            ("web", "backup")
        );
        assert_eq!(found.cost_ms_per_s, 300.0);
        assert!(find(&Window::of([&tick(50)])).is_empty());
    }

    #[test]
    fn one_job_competes_with_itself_without_a_finding() {
        let mut tick = tick(300);
        for process in tick.processes.values_mut() {
            process.job = Job::Session(9);
        }
        assert!(find(&Window::of([&tick])).is_empty());
    }

    #[test]
    fn a_server_and_its_client_are_no_strangers() {
        let mut tick = tick(300);
        tick.threads[1].waker = 1;
        assert!(find(&Window::of([&tick])).is_empty());
        tick.threads[1].waker = 0;
        tick.threads[0].waker = 2;
        assert!(find(&Window::of([&tick])).is_empty());
    }

    #[test]
    fn of_two_that_compete_the_one_that_gets_less_is_the_victim() {
        let mut tick = tick(300);
        tick.pairs.push(pair(2, 1, "web", 250));
        tick.threads[1].ready_ns = 250_000_000;
        tick.threads[1].others_ns = 250_000_000;
        let found = find(&Window::of([&tick]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].victim.name, "web");
    }

    #[test]
    fn the_kernels_threads_are_nobodys_neighbour() {
        let mut tick = tick(300);
        tick.processes.get_mut(&2).unwrap().job = Job::Kernel;
        assert!(find(&Window::of([&tick])).is_empty());
    }
}
