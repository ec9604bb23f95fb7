//! The quota of a group in the evidence of a trial: what its own counters say, beside what was seen of
//! its threads.

use host::cgroup::Usage;
use model::Evidence;

/// Lays what the group's counters gained over what was seen of its threads.
///
/// A thread is caught while it is runnable on a CPU off which the quota holds its group. Where the
/// kernel lets nobody look at the end of that, it ends when a thread of the group runs there again.
pub(crate) fn lay_over(evidence: &mut Evidence, gained: &Usage) {
    if evidence.quota.is_none() {
        evidence.missing.push(
            "who was caught by the throttle: only programs in the kernel see which run queue is \
             throttled; build with the feature `bpf` and run as root"
                .to_owned(),
        );
    }
    let Evidence { quota, threads, .. } = evidence;
    let quota = quota.get_or_insert_with(|| {
        probe::quota::shares(threads, "/proc/PID/task/TID/schedstat for what threads used")
    });
    quota.source = format!("cpu.stat for how often the group was throttled; {}", quota.source);
    quota.throttles = gained.nr_throttled.unwrap_or(0);
    quota.throttled_ns = gained.throttled_ns;
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::evidence::QuotaEvidence;

    #[test]
    fn the_counters_of_the_group_stand_beside_its_threads() {
        let quota = QuotaEvidence {
            source: "probe".to_owned(),
            throttles: 0,
            throttled_ns: None,
            threads: Vec::new(),
            timeline: Vec::new(),
        };
        let gained = Usage { nr_throttled: Some(7), ..Usage::default() };
        let mut seen = Evidence { quota: Some(quota), ..Evidence::default() };
        lay_over(&mut seen, &gained);
        let quota = seen.quota.unwrap();
        assert_eq!(quota.throttles, 7);
        assert!(quota.source.contains("cpu.stat") && quota.source.contains("probe"));
        let mut unseen = Evidence::default();
        lay_over(&mut unseen, &gained);
        assert_eq!(unseen.quota.unwrap().throttles, 7);
        assert!(unseen.missing[0].contains("caught"));
    }
}
