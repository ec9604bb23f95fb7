//! Sentences of what the quota of a group did.

use super::phrases::{call, ms};
use model::estimate::number;
use model::evidence::{QuotaEvidence, Task};
use std::collections::HashMap;

/// Who used the quota, and who was caught by it.
pub(super) fn cause(quota: &QuotaEvidence) -> Option<String> {
    let user = quota.threads.iter().max_by_key(|thread| thread.used_ns)?;
    let most = quota.threads.iter().max_by_key(|thread| thread.caught_ns)?;
    let caught = most.caught_ns.map_or_else(String::new, |ns| {
        format!(", and {} was caught by it for {}", call(&most.task), ms(ns))
    });
    let used: u64 = quota.threads.iter().map(|thread| thread.used_ns).sum();
    let share = 100.0 * user.used_ns as f64 / used.max(1) as f64;
    Some(format!(
        "{} used {} of CPU, {share:.0}% of what the group used; the quota throttled the group in {} \
         periods{caught}",
        call(&user.task),
        ms(user.used_ns),
        quota.throttles
    ))
}

/// `the quota held the group off a CPU 13 times, for 900 ms in all, at most 93 ms at a time; in 8 of
/// them scheduler 7 ran when it was used up`.
pub(super) fn stretches(quota: &QuotaEvidence) -> Option<String> {
    let lengths = || quota.timeline.iter().map(|stretch| stretch.until_ms - stretch.from_ms);
    let longest = lengths().reduce(f64::max)?;
    let counted =
        quota.throttled_ns.map_or_else(String::new, |ns| format!(" (cpu.stat says {})", ms(ns)));
    let mut by: HashMap<u32, (usize, &Task)> = HashMap::new();
    for task in quota.timeline.iter().filter_map(|stretch| stretch.by.as_ref()) {
        by.entry(task.tid).or_insert((0, task)).0 += 1;
    }
    let most = by.values().max_by_key(|(times, task)| (*times, std::cmp::Reverse(task.tid)));
    let who = most.map_or_else(String::new, |(times, task)| {
        format!("; in {times} of them {} ran when it was used up", call(task))
    });
    let many = quota.timeline.len();
    let times = if many == 1 { "once".to_owned() } else { format!("{many} times") };
    Some(format!(
        "the quota held the group off a CPU {times}, for {} ms in all{counted}, at most {} ms at a \
         time{who}",
        number(lengths().sum()),
        number(longest)
    ))
}
