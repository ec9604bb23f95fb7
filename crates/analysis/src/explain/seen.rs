//! Selects what to report from the evidence: the cause, and other observations.

use super::{memory, quota, vm};
use model::evidence::{Evidence, ThreadEvidence};
use model::explanation::{Cause, Delay, Seen};
use std::collections::BTreeSet;

/// Number of threads whose delay is reported: the worst thread of each part.
const DELAYED: usize = 3;

/// A shorter delay is not reported, in nanoseconds.
const LEAST_DELAY_NS: u64 = 1_000_000;

/// The cause, by the first of these that applies: the schedulers of a VM, a memory limit, the
/// longest wait, the quota, or the thread with the longest time without a CPU.
pub(super) fn cause(evidence: &Evidence) -> Option<Cause> {
    if let Some(cause) = vm::cause(evidence) {
        return Some(cause);
    }
    // It names the group behind the waits, because these waits have no holder.
    if let Some(of_group) = memory::cause(evidence) {
        return Some(Cause::Memory(of_group));
    }
    // A wait names the victim. It also has the throttling of the holder.
    if !evidence.waits.is_empty() {
        return Some(Cause::LongestWait);
    }
    if let Some(of_group) = &evidence.quota {
        return quota::cause(of_group).map(Cause::Quota);
    }
    let worst = evidence.threads.iter().max_by_key(|thread| thread.runnable_ns)?;
    (worst.runnable_ns > 0).then(|| Cause::NoCpu(delay(worst)))
}

/// Observations besides the cause.
pub(super) fn beside(evidence: &Evidence) -> Vec<Seen> {
    let mut seen: Vec<Seen> = evidence.vm.iter().flat_map(vm::beside).collect();
    seen.extend(evidence.quota.as_ref().and_then(quota::throttles));
    if evidence.waits_seen > 1 {
        seen.push(Seen::Waits { count: evidence.waits_seen, ns: evidence.waits_ns });
    }
    let behind = evidence.split.as_ref().map(|split| split.behind.clone()).unwrap_or_default();
    if !behind.is_empty() {
        seen.push(Seen::RanMeanwhile { behind });
    }
    let mut threads: Vec<&ThreadEvidence> = evidence.threads.iter().collect();
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.runnable_ns));
    threads.retain(|thread| thread.runnable_ns >= LEAST_DELAY_NS);
    let mut parts: BTreeSet<&str> = BTreeSet::new();
    threads.retain(|thread| thread.task.part.as_deref().is_none_or(|part| parts.insert(part)));
    // The sums of a VM are already reported, so the worst of its threads is enough.
    threads.truncate(if evidence.vm.is_some() { 1 } else { DELAYED });
    seen.extend(threads.into_iter().map(|thread| Seen::NoCpu(delay(thread))));
    seen
}

fn delay(thread: &ThreadEvidence) -> Delay {
    Delay {
        task: thread.task.clone(),
        running_ns: thread.running_ns,
        runnable_ns: thread.runnable_ns,
        longest_ns: Some(thread.longest_runnable_ns).filter(|longest| *longest > 0),
        behind: thread.behind.clone(),
    }
}
