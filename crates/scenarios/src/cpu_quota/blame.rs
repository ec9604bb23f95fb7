//! Which thread used the quota, and which the throttle caught.

use super::trial::Played;
use model::Evidence;
use model::evidence::{QuotaEvidence, QuotaShare, ThreadEvidence};

/// Lays the throttle over the threads' time.
///
/// A thread is caught from the moment that it is runnable while the run queue of its group is
/// throttled. The end of the throttle has no tracepoint, so a thread that afterwards waits for others
/// on its CPU is told to have been caught until it ran.
pub(super) fn blame(mut evidence: Evidence, played: &Played) -> Evidence {
    if evidence.threads.iter().all(|thread| thread.throttled_ns.is_none()) {
        evidence.missing.push(
            "who was caught by the throttle: only programs in the kernel see which run queue is \
             throttled; build with the feature `bpf` and run as root"
                .to_owned(),
        );
        return evidence;
    }
    evidence.quota = Some(QuotaEvidence {
        source: "cpu.stat for the throttles; tracepoints of the scheduler for who was caught"
            .to_owned(),
        throttles: played.usage.nr_throttled.unwrap_or(0),
        throttled_ns: played.usage.throttled_ns,
        threads: evidence.threads.iter().map(share).collect(),
    });
    evidence
}

fn share(thread: &ThreadEvidence) -> QuotaShare {
    QuotaShare {
        task: thread.task.clone(),
        used_ns: thread.running_ns,
        caught_ns: thread.throttled_ns.unwrap_or(0),
    }
}
