//! Sentences of what the schedulers of an Erlang VM did.

use super::phrases::{call, ms};
use model::Measure;
use model::estimate::number;
use model::evidence::{Evidence, QuotaEvidence, ThreadEvidence, VmEvidence, figure};

/// Less of what the schedulers ran is not worth a word.
const WORTH: f64 = 0.05;

/// What held the schedulers up, or that nothing did.
pub(super) fn cause(evidence: &Evidence) -> Option<String> {
    let vm = evidence.vm.as_ref()?;
    let ran = of(vm, figure::RAN)?;
    let delayed = of(vm, figure::DELAYED).unwrap_or(0.0);
    let elsewhere = of(vm, figure::SLEPT_ELSEWHERE).unwrap_or(0.0);
    if let Some(quota) = evidence.quota.as_ref().filter(|quota| quota.throttles > 0) {
        return Some(throttled(vm, quota));
    }
    if elsewhere > ran + delayed {
        return uneven(&evidence.threads, vm);
    }
    Some(format!("{}{}", worked(vm), busiest(&evidence.threads)))
}

/// `in 2,000 ms 8 schedulers ran 900 ms in all and waited 12 ms for a CPU`.
fn worked(vm: &VmEvidence) -> String {
    let spun = spun(vm).map_or_else(String::new, |spun| format!(", of which they spun {spun}"));
    format!(
        "in {} {} ran {} in all{spun}, and waited {} for a CPU",
        ms(vm.watched_ns),
        crowd(vm),
        milliseconds(vm, figure::RAN),
        milliseconds(vm, figure::DELAYED)
    )
}

fn throttled(vm: &VmEvidence, quota: &QuotaEvidence) -> String {
    let spun = match spun(vm) {
        Some(spun) => format!("spun {spun} of the {} of CPU that they used", ran(vm)),
        None => format!("used {} of CPU", ran(vm)),
    };
    let caught = of(vm, figure::CAUGHT).map_or_else(String::new, |caught| {
        format!(", and they stood caught by it for {} of thread time", time(caught))
    });
    format!(
        "in {} {} {spun}; the quota throttled the group in {} periods{caught}",
        ms(vm.watched_ns),
        crowd(vm),
        quota.throttles
    )
}

/// The scheduler that ran most, and whether that was its work or a wait for the machine.
fn busiest(threads: &[ThreadEvidence]) -> String {
    let of_scheduler = |thread: &&ThreadEvidence| {
        thread.task.part.as_deref().is_some_and(|part| part.ends_with("scheduler"))
    };
    let Some(most) = threads.iter().filter(of_scheduler).max_by_key(|thread| thread.running_ns)
    else {
        return String::new();
    };
    let what = if most.runnable_ns > most.running_ns {
        "it stood runnable without a CPU for longer than it ran"
    } else if most.runnable_ns > most.running_ns / 10 {
        "more of it was CPU work in the VM than waiting for the machine"
    } else {
        "the machine hardly kept it waiting, so its time is CPU work in the VM"
    };
    format!(
        "; {} ran most, {}, and waited {}: {what}",
        call(&most.task),
        ms(most.running_ns),
        ms(most.runnable_ns)
    )
}

/// Who was at work while who slept: of the normal schedulers the one that worked most and the one that
/// worked least.
fn uneven(threads: &[ThreadEvidence], vm: &VmEvidence) -> Option<String> {
    let schedulers =
        || threads.iter().filter(|thread| thread.task.part.as_deref() == Some("scheduler"));
    let most = schedulers().max_by_key(|thread| at_work(thread))?;
    let least = schedulers().min_by_key(|thread| at_work(thread))?;
    let mut text = format!(
        "in {} {} ran {} and slept {} in native code",
        ms(vm.watched_ns),
        call(&most.task),
        ms(most.running_ns),
        ms(slept_elsewhere(most))
    );
    if least.task.tid != most.task.tid {
        text.push_str(&format!(
            "; meanwhile {} ran {} and slept {} as a scheduler without work does",
            call(&least.task),
            ms(least.running_ns),
            ms(slept_idle(least))
        ));
    }
    Some(text)
}

fn slept_elsewhere(thread: &ThreadEvidence) -> u64 {
    thread.slept_elsewhere_ns().unwrap_or(0)
}

/// Asleep as a scheduler without work sleeps.
fn slept_idle(thread: &ThreadEvidence) -> u64 {
    thread.futex_slept_ns.unwrap_or(0) + thread.poll_slept_ns.unwrap_or(0)
}

fn at_work(thread: &ThreadEvidence) -> u64 {
    thread.running_ns + thread.runnable_ns + slept_elsewhere(thread)
}

/// Sentences beside the cause.
pub(super) fn evidence(vm: &VmEvidence) -> Vec<String> {
    let seconds = (vm.watched_ns as f64 / 1e9).max(1e-3);
    let futex = of(vm, figure::FUTEX_CALLS).map(|calls| {
        format!(
            "the schedulers made {} calls of futex, {} a second, and were in them for {}",
            number(calls),
            number(calls / seconds),
            milliseconds(vm, figure::FUTEX_TIME)
        )
    });
    let delay = of(vm, figure::DELAYED).filter(|delayed| *delayed >= 1.0).map(|delayed| {
        let longest = of(vm, figure::LONGEST_DELAY)
            .map_or_else(String::new, |longest| format!(", at most {} at a time", time(longest)));
        let caught = of(vm, figure::CAUGHT)
            .map_or_else(String::new, |caught| format!("; {} of it by the quota", time(caught)));
        format!("they stood runnable without a CPU for {}{longest}{caught}", time(delayed))
    });
    futex.into_iter().chain(delay).collect()
}

/// What was spun, with its share of the CPU time; none where it is little or not known.
fn spun(vm: &VmEvidence) -> Option<String> {
    let Measure { value, at_least, .. } = *vm.figure(figure::SPUN)?;
    let ran = of(vm, figure::RAN)?;
    let bound = if at_least { "at least " } else { "" };
    let percent = 100.0 * value / ran.max(1e-6);
    (value > WORTH * ran).then(|| format!("{bound}{} ({percent:.0}%)", time(value)))
}

fn ran(vm: &VmEvidence) -> String {
    milliseconds(vm, figure::RAN)
}

/// Scheduler threads of every sort.
fn crowd(vm: &VmEvidence) -> String {
    match vm.schedulers {
        1 => "1 scheduler".to_owned(),
        schedulers => format!("{schedulers} schedulers"),
    }
}

fn of(vm: &VmEvidence, name: &str) -> Option<f64> {
    vm.figure(name).map(|measure| measure.value)
}

fn milliseconds(vm: &VmEvidence, name: &str) -> String {
    time(of(vm, name).unwrap_or(0.0))
}

fn time(ms: f64) -> String {
    format!("{} ms", number(ms))
}
