//! What the quota of a group did to the group's threads.

use crate::event::Event;
use crate::files::LISTED;
use crate::parts::Parts;
use crate::to_model::ms_after;
use model::evidence::{QuotaEvidence, QuotaShare, ThreadEvidence, Throttle};
use model::not_seen::EvidenceSource;

/// Most throttled stretches that are listed: the first ones. If there are as many, the sentence
/// about them says that later ones are missing (`report/src/prose/explanation.rs`).
const STRETCHES: usize = 400;

/// Most throttled stretches that are stored until the end; how long a holder of a lock was
/// throttled comes from these.
const REMEMBERED: usize = 100_000;

/// Which threads used the quota, and which were throttled: at most `LISTED` of them, those that
/// were throttled longest and those that used most. How often the group was throttled
/// comes from the group's own counters.
pub fn shares(threads: &[ThreadEvidence], source: EvidenceSource) -> QuotaEvidence {
    let mut shares: Vec<QuotaShare> = threads
        .iter()
        .map(|thread| QuotaShare {
            task: thread.task.clone(),
            used_ns: thread.running_ns,
            caught_ns: thread.throttled_ns,
        })
        .filter(|share| share.used_ns > 0 || share.caught_ns > Some(0))
        .collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.caught_ns.max(Some(share.used_ns))));
    shares.truncate(LISTED);
    let timeline = Vec::new();
    QuotaEvidence { source, throttles: 0, throttled_ns: None, threads: shares, timeline }
}

/// Stores a throttled stretch, unless `REMEMBERED` are stored already.
pub fn remember(stretches: &mut Vec<Event>, event: Event) {
    if stretches.len() < REMEMBERED {
        stretches.push(event);
    }
}

/// When the group was throttled on each CPU: the first `STRETCHES`.
pub fn timeline(mut stretches: Vec<Event>, parts: &Parts, zero: u64) -> Vec<Throttle> {
    stretches.sort_by_key(|event| event.from);
    stretches.truncate(STRETCHES);
    stretches
        .into_iter()
        .map(|event| Throttle {
            cpu: event.cpu,
            from_ms: ms_after(zero, event.from),
            until_ms: ms_after(zero, event.to),
            by: (event.tid != 0).then(|| parts.task(&event)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventKind;
    use crate::history::tests::ran;

    #[test]
    fn a_stretch_says_where_and_who_used_the_quota_up() {
        let event = Event { kind: EventKind::Throttled, ..ran(7, 1, 0, 3_000_000, 9_000_000) };
        let later = Event { to: 19_000_000, ..ran(8, 1, 0, 4_000_000, 9_000_000) };
        let mut stretches = Vec::new();
        (0..STRETCHES).for_each(|_| remember(&mut stretches, later.clone()));
        remember(&mut stretches, event);
        assert_eq!(stretches.len(), STRETCHES + 1, "more are stored than listed");
        let timeline = timeline(stretches, &Parts::default(), 1_000_000);
        assert_eq!(timeline.len(), STRETCHES);
        let Throttle { cpu, from_ms, until_ms, by } = &timeline[0];
        assert_eq!((*cpu, *from_ms, *until_ms), (1, 2.0, 8.0));
        assert_eq!(by.as_ref().map(|task| task.tid), Some(7));
    }

    #[test]
    fn threads_that_neither_used_nor_wanted_quota_are_left_out() {
        let thread = |running_ns, throttled_ns| ThreadEvidence {
            running_ns,
            throttled_ns: Some(throttled_ns),
            ..ThreadEvidence::default()
        };
        let quota =
            shares(&[thread(0, 0), thread(5, 0), thread(1, 9)], EvidenceSource::ThreadFiles);
        let all: Vec<_> = quota.threads.iter().map(|one| (one.used_ns, one.caught_ns)).collect();
        assert_eq!(all, [(1, Some(9)), (5, Some(0))]);
    }
}
