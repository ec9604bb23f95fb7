//! Programs that have to free memory themselves before they get any (direct reclaim): because the
//! machine is short of it, or their group is at its limit.

use super::stall::{Seen, Stall};
use crate::parts::program_of;
use crate::sums::{Key, Sums, largest, ms};
use crate::window::Window;
use model::live::{AnswerState, Finding, Source};
use serde::{Deserialize, Serialize};

/// Spent freeing memory, in milliseconds a second: a tenth of a thread's time.
const LIMIT_MS_PER_S: f64 = 100.0;

/// And this share of the time that the program ran, freed memory, or was ready.
const SHARE: f64 = 0.1;

/// More than this share of the time counts as all of it.
const MOSTLY: f64 = 0.5;

/// The victim frees memory instead of working.
pub struct Reclaim;

/// For whom it frees memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Whether it does so mostly for the limit of its group.
    of_group: bool,
}

/// What fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    RaiseLimit,
    FreeMemory,
    ReclaimEarlier,
}

impl Stall for Reclaim {
    const ID: &'static str = "reclaim";
    const NAME: &'static str = "direct reclaim";
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        let is_much = |(_, sums): &(&Key, &Sums)| {
            let all = &sums.all;
            let wanted = all.ran_ns.saturating_add(all.ready_ns).max(all.reclaim_ns).max(1);
            window.rate(all.reclaim_ns) >= LIMIT_MS_PER_S
                && all.reclaim_ns as f64 / wanted as f64 >= SHARE
        };
        window.victims().filter(is_much).map(|one| finding(window, one)).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let lost = |(_, sums): (&Key, &Sums)| seen.window.rate(sums.all.reclaim_ns);
        let most = largest(seen.window.victims().map(lost));
        Some(seen.measured_by::<Self>(Source::Reclaim, most, LIMIT_MS_PER_S))
    }

    fn cause(_: &Finding, facts: &Facts) -> String {
        match facts.of_group {
            true => {
                "Its memory group is at its limit (memory.max, v1: memory.limit_in_bytes), so its \
                 threads free memory of the group themselves before they get any."
            }
            false => {
                "The machine is short of free memory, so its threads free some themselves before \
                 they get any."
            }
        }
        .to_owned()
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::RaiseLimit => "Raise the memory limit of its group.",
            Fix::FreeMemory => "Give the machine more memory, or run less on it.",
            Fix::ReclaimEarlier => {
                "Have the kernel free memory earlier in the background \
                 (vm.watermark_scale_factor, vm.min_free_kbytes)."
            }
        }
        .to_owned()
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        let of = |of_group| {
            let facts = Facts { of_group };
            let fixes = fixes(&facts);
            (facts, fixes)
        };
        vec![of(false), of(true)]
    }
}

fn fixes(facts: &Facts) -> Vec<Fix> {
    match facts.of_group {
        true => vec![Fix::RaiseLimit],
        false => vec![Fix::FreeMemory, Fix::ReclaimEarlier],
    }
}

fn finding(window: &Window, (key, sums): (&Key, &Sums)) -> Finding {
    let share = sums.all.group_reclaim_ns as f64 / sums.all.reclaim_ns.max(1) as f64;
    let facts = Facts { of_group: share > MOSTLY };
    Finding {
        victim: program_of(key, sums),
        cost_ms_per_s: window.rate(sums.all.reclaim_ns),
        worst_ms: ms(sums.all.reclaim_worst_ns),
        ..Reclaim::found(&facts, &fixes(&facts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, process, second, thread};

    #[test]
    fn a_program_that_frees_memory_itself_is_found_with_whose_limit_it_is() {
        let mut tick = second();
        process(&mut tick, 1, "web", None);
        let mut victim = thread(1, 500, 0);
        (victim.reclaim_ns, victim.group_reclaim_ns) = (300 * MS, 290 * MS);
        victim.reclaim_worst_ns = 40 * MS;
        tick.threads.push(victim);
        let all = Reclaim::find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.cost_ms_per_s, found.worst_ms), (300.0, 40.0));
        assert!(Reclaim::cause(found, &found.facts.read().unwrap()).contains("memory.max"));
        tick.threads[0].group_reclaim_ns = 0;
        let all = Reclaim::find(&Window::of([&tick]));
        assert!(Reclaim::cause(&all[0], &all[0].facts.read().unwrap()).contains("machine"));
        tick.threads[0].reclaim_ns = 90 * MS;
        assert!(Reclaim::find(&Window::of([&tick])).is_empty());
    }
}
