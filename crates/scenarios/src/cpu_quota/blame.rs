//! Which thread used the quota, and which the throttle caught.

use super::trial::Played;
use model::Evidence;
use model::evidence::{QuotaEvidence, QuotaShare, ThreadEvidence};

/// Lays the throttle over the threads' time.
///
/// Whether a run queue is throttled cannot be seen from a tracepoint. What can be seen is a thread
/// that is runnable while its CPU runs nobody, which nothing but a throttle makes last; a wake-up of
/// an idle CPU takes some microseconds. Where others ran on the CPU, a thread may have been caught
/// for longer than is told.
pub(super) fn blame(mut evidence: Evidence, played: &Played) -> Evidence {
    let seen = evidence.threads.iter().any(|thread| !thread.behind.is_empty());
    if !seen {
        evidence.missing.push(
            "who was caught by the throttle: only programs in the kernel see who was runnable on an \
             idle CPU; build with the feature `bpf` and run as root"
                .to_owned(),
        );
        return evidence;
    }
    evidence.quota = Some(QuotaEvidence {
        source: "cpu.stat for the throttles; tracepoints of the scheduler for who was runnable while \
                 its CPU ran nobody"
            .to_owned(),
        throttles: played.usage.nr_throttled.unwrap_or(0),
        throttled_ns: played.usage.throttled_ns,
        threads: evidence.threads.iter().map(share).collect(),
    });
    evidence
}

fn share(thread: &ThreadEvidence) -> QuotaShare {
    let idle = thread.behind.iter().find(|behind| behind.name == probe::IDLE);
    QuotaShare {
        task: thread.task.clone(),
        used_ns: thread.running_ns,
        caught_ns: idle.map_or(0, |behind| behind.ns),
    }
}
