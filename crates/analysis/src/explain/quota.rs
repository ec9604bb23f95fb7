//! What the quota of a group did.

use super::times::{ns, sum};
use model::evidence::{QuotaEvidence, Task};
use model::explanation::{QuotaCause, Seen, Throttled, UsedUp};
use std::collections::HashMap;

/// The thread that used most of the quota, and the thread that it throttled.
pub(super) fn cause(quota: &QuotaEvidence) -> Option<QuotaCause> {
    let user = quota.threads.iter().max_by_key(|thread| thread.used_ns)?;
    let worst = quota.threads.iter().max_by_key(|thread| thread.caught_ns)?;
    let used = sum(quota.threads.iter().map(|thread| thread.used_ns));
    Some(QuotaCause {
        task: user.task.clone(),
        used_ns: user.used_ns,
        percent: 100.0 * user.used_ns as f64 / used.max(1) as f64,
        throttled_periods: quota.throttles,
        worst: worst
            .caught_ns
            .map(|throttled_ns| Throttled { task: worst.task.clone(), throttled_ns }),
    })
}

/// How often the quota throttled the group on a CPU, and which thread ran when it was used up. The
/// record lists a limited number of times, the first ones; the rest is not known.
pub(super) fn throttles(quota: &QuotaEvidence) -> Option<Seen> {
    let lengths = || quota.timeline.iter().map(|stretch| stretch.until_ms - stretch.from_ms);
    let longest = lengths().reduce(f64::max)?;
    let mut by: HashMap<u32, (usize, &Task)> = HashMap::new();
    for task in quota.timeline.iter().filter_map(|stretch| stretch.by.as_ref()) {
        by.entry(task.tid).or_insert((0, task)).0 += 1;
    }
    let most = by.into_values().max_by_key(|(times, task)| (*times, std::cmp::Reverse(task.tid)));
    Some(Seen::Throttles {
        times: quota.timeline.len(),
        ns: ns(lengths().sum()),
        counted_ns: quota.throttled_ns,
        longest_ns: ns(longest),
        used_up_by: most.map(|(times, task)| UsedUp { task: task.clone(), times }),
    })
}
