//! What of the evidence is told: the cause, and what else was seen.

use super::{memory, quota, vm};
use model::evidence::{Evidence, ThreadEvidence};
use model::explanation::{Cause, Delay, Seen};
use std::collections::BTreeSet;

/// Threads whose delay is told, the worst of each part.
const DELAYED: usize = 3;

/// A shorter delay is not told, in nanoseconds.
const LEAST_DELAY_NS: u64 = 1_000_000;

/// The cause: what the schedulers of a VM did, or a limit of memory, or the worst wait, or what the
/// quota did, or who was longest without a CPU.
pub(super) fn cause(evidence: &Evidence) -> Option<Cause> {
    if let Some(cause) = vm::cause(evidence) {
        return Some(cause);
    }
    // It names the group behind the waits, which have no holder.
    if let Some(of_group) = memory::cause(evidence) {
        return Some(Cause::Memory(of_group));
    }
    // A wait names the victim; what a quota did to its holder stands in it.
    if !evidence.waits.is_empty() {
        return Some(Cause::LongestWait);
    }
    if let Some(of_group) = &evidence.quota {
        return quota::cause(of_group).map(Cause::Quota);
    }
    let worst = evidence.threads.iter().max_by_key(|thread| thread.runnable_ns)?;
    (worst.runnable_ns > 0).then(|| Cause::NoCpu(delay(worst)))
}

/// What was seen beside the cause.
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
    // Of a VM the sums are told already, so the worst of its threads is enough.
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
