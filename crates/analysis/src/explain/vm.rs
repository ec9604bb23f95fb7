//! What the schedulers of an Erlang VM did.

use super::times::{ns, sum};
use model::evidence::part::{SCHEDULER, is_scheduler};
use model::evidence::{Evidence, QuotaEvidence, ThreadEvidence, VmEvidence, figure};
use model::explanation::{
    Busiest, Cause, IdleScheduler, Mostly, SchedulersRan, SchedulersThrottled, SchedulersUneven,
    Seen, Spun, Work,
};

/// A smaller share of the CPU time of the schedulers is not worth reporting.
const WORTH: f64 = 0.05;

/// A shorter delay of all schedulers together is not reported, in milliseconds.
const LEAST_DELAY_MS: f64 = 1.0;

/// What held up the schedulers, or that nothing did.
pub(super) fn cause(evidence: &Evidence) -> Option<Cause> {
    let vm = evidence.vm.as_ref()?;
    let ran = of(vm, figure::RAN)?;
    let delayed = of(vm, figure::DELAYED).unwrap_or(0.0);
    let elsewhere = of(vm, figure::SLEPT_ELSEWHERE).unwrap_or(0.0);
    let work = work(vm, ran);
    if let Some(quota) = evidence.quota.as_ref().filter(|quota| quota.throttles > 0) {
        return Some(Cause::SchedulersThrottled(throttled(vm, work, quota)));
    }
    if elsewhere > ran + delayed {
        return uneven(&evidence.threads, vm).map(Cause::SchedulersUneven);
    }
    let busiest = busiest(&evidence.threads);
    Some(Cause::SchedulersRan(SchedulersRan { work, delayed_ns: ns(delayed), busiest }))
}

/// The CPU time of all schedulers, and the part of it without work. `ran` is in milliseconds.
fn work(vm: &VmEvidence, ran: f64) -> Work {
    let spun = vm.figure(figure::SPUN).filter(|spun| spun.value > WORTH * ran);
    Work {
        watched_ns: vm.watched_ns,
        schedulers: vm.schedulers,
        ran_ns: ns(ran),
        spun: spun.map(|spun| Spun {
            ns: ns(spun.value),
            at_least: spun.at_least,
            percent: 100.0 * spun.value / ran.max(1e-6),
        }),
    }
}

fn throttled(vm: &VmEvidence, work: Work, quota: &QuotaEvidence) -> SchedulersThrottled {
    SchedulersThrottled {
        work,
        throttled_periods: quota.throttles,
        throttled_ns: of(vm, figure::CAUGHT).map(ns),
    }
}

/// The scheduler that ran most, and whether its time was work or waiting for a CPU.
fn busiest(threads: &[ThreadEvidence]) -> Option<Busiest> {
    let of_scheduler =
        |thread: &&ThreadEvidence| thread.task.part.as_deref().is_some_and(is_scheduler);
    let most = threads.iter().filter(of_scheduler).max_by_key(|thread| thread.running_ns)?;
    let mostly = if most.runnable_ns > most.running_ns {
        Mostly::Waiting
    } else if most.runnable_ns > most.running_ns / 10 {
        Mostly::Work
    } else {
        Mostly::WorkAlone
    };
    Some(Busiest {
        task: most.task.clone(),
        ran_ns: most.running_ns,
        runnable_ns: most.runnable_ns,
        mostly,
    })
}

/// The normal scheduler that worked most and the normal scheduler that worked least.
fn uneven(threads: &[ThreadEvidence], vm: &VmEvidence) -> Option<SchedulersUneven> {
    let schedulers =
        || threads.iter().filter(|thread| thread.task.part.as_deref() == Some(SCHEDULER));
    let most = schedulers().max_by_key(|thread| at_work(thread))?;
    let least = schedulers().min_by_key(|thread| at_work(thread))?;
    let idle = || IdleScheduler {
        task: least.task.clone(),
        ran_ns: least.running_ns,
        idle_ns: slept_idle(least),
    };
    Some(SchedulersUneven {
        watched_ns: vm.watched_ns,
        most: most.task.clone(),
        most_ran_ns: most.running_ns,
        most_native_ns: slept_elsewhere(most),
        least: (least.task.tid != most.task.tid).then(idle),
    })
}

fn slept_elsewhere(thread: &ThreadEvidence) -> u64 {
    thread.slept_elsewhere_ns().unwrap_or(0)
}

/// Time asleep in the way in which a scheduler without work sleeps.
fn slept_idle(thread: &ThreadEvidence) -> u64 {
    sum([thread.futex_slept_ns, thread.poll_slept_ns].into_iter().flatten())
}

fn at_work(thread: &ThreadEvidence) -> u64 {
    sum([thread.running_ns, thread.runnable_ns, slept_elsewhere(thread)].into_iter())
}

/// Observations besides the cause.
pub(super) fn beside(vm: &VmEvidence) -> Vec<Seen> {
    let seconds = (vm.watched_ns as f64 / 1e9).max(1e-3);
    let futex = of(vm, figure::FUTEX_CALLS).map(|calls| Seen::Futex {
        calls: calls.max(0.0).round() as u64,
        per_second: calls / seconds,
        ns: of(vm, figure::FUTEX_TIME).map_or(0, ns),
    });
    let delayed = of(vm, figure::DELAYED).filter(|delayed| *delayed >= LEAST_DELAY_MS);
    let delayed = delayed.map(|delayed| Seen::SchedulersDelayed {
        ns: ns(delayed),
        longest_ns: of(vm, figure::LONGEST_DELAY).map(ns),
        throttled_ns: of(vm, figure::CAUGHT).map(ns),
    });
    futex.into_iter().chain(delayed).collect()
}

fn of(vm: &VmEvidence, name: &str) -> Option<f64> {
    vm.figure(name).map(|measure| measure.value)
}
