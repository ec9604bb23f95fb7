//! Turns joined events into the types of a record.

use crate::event::Event;
use crate::history::{Doing, History};
use crate::join::{BehindWhom, Held, Joined, Split as Ways};
use crate::parts::Parts;
use crate::span::{Stretch, union_ns};
use model::evidence::{Behind, Holder, Resource, Span, Split, Wait};

/// Most holders of a wait that are listed.
const HOLDERS: usize = 12;

/// Most names that are listed for what ran instead of a thread.
const BEHIND: usize = 6;

/// Most spans of a timeline.
const SPANS: usize = 300;

/// Most holders in a timeline.
const TIMELINE_HOLDERS: usize = 4;

/// What ran meanwhile, longest first.
pub fn behind(whom: &BehindWhom, parts: &Parts) -> Vec<Behind> {
    let mut all: Vec<Behind> = whom
        .iter()
        .map(|(name, (threads, ns))| Behind {
            name: name.clone(),
            kind: parts.kind_of(name),
            threads: u32::try_from(threads.len()).unwrap_or(u32::MAX),
            ns: *ns,
        })
        .collect();
    all.sort_by_key(|behind| std::cmp::Reverse(behind.ns));
    all.truncate(BEHIND);
    all
}

/// The time of the waits by what the holders did.
pub fn split(covered: u64, own: u64, ways: &Ways, parts: &Parts) -> Split {
    Split {
        covered_ns: covered,
        own_ns: own,
        running_ns: ways.running,
        preempted_ns: ways.preempted,
        blocked_ns: ways.blocked,
        behind: behind(&ways.behind, parts),
    }
}

/// The word for the mode in which the lock of an address space is taken.
pub fn mode(write: bool) -> String {
    if write { "write" } else { "read" }.to_owned()
}

/// Converts a wait to its form in a record; `zero` is when the load was released.
///
/// `throttled` says when a quota kept the watched group off each CPU; it is ordered by CPU, and for
/// each CPU by time.
pub fn wait(
    joined: &Joined,
    parts: &Parts,
    resource: Resource,
    throttled: &[Event],
    zero: u64,
) -> Wait {
    let wait = &joined.wait;
    Wait {
        at_ms: ms_after(zero, wait.from),
        took_ns: wait.to - wait.from,
        waiter: parts.task(wait),
        resource,
        mode: (wait.space != 0).then(|| mode(wait.write)),
        stack: Vec::new(),
        holders: joined
            .holders
            .iter()
            .take(HOLDERS)
            .map(|held| holder(held, parts, throttled))
            .collect(),
        covered_ns: joined.covered,
        split: Some(split(joined.covered, joined.own, &joined.split, parts)),
        timeline: Vec::new(),
    }
}

fn holder(held: &Held, parts: &Parts, throttled: &[Event]) -> Holder {
    Holder {
        task: parts.task(&held.who),
        mode: mode(held.who.write),
        overlap_ns: held.overlap(),
        running_ns: held.spent(Doing::Running),
        preempted_ns: held.spent(Doing::Runnable),
        blocked_ns: held.spent(Doing::Blocked),
        throttled_ns: Some(throttled_ns(held, throttled)).filter(|ns| *ns > 0),
        cpu: held.waited_for(),
        behind: behind(&held.behind, parts),
    }
}

/// How long a holder was runnable while its group was throttled on that CPU.
fn throttled_ns(held: &Held, throttled: &[Event]) -> u64 {
    let runnable = held.did.iter().filter(|did| did.doing == Doing::Runnable);
    let both = runnable.flat_map(|did| {
        let at = (did.cpu, did.when.from);
        let first = throttled.partition_point(|event| (event.cpu, event.to) <= at);
        throttled[first..]
            .iter()
            .take_while(|event| event.cpu == did.cpu && event.from < did.when.to)
            .filter_map(|event| Stretch::new(event.from, event.to).meet(did.when))
    });
    union_ns(both.collect())
}

/// What happened during a wait, in spans of time.
pub fn timeline(joined: &Joined, parts: &Parts, history: &History, zero: u64) -> Vec<Span> {
    let span = |task, state: &str, cpu, when: Stretch| Span {
        task,
        state: state.to_owned(),
        cpu,
        from_ms: ms_after(zero, when.from),
        until_ms: ms_after(zero, when.to),
    };
    let whole = Stretch::new(joined.wait.from, joined.wait.to);
    let mut spans = vec![span(parts.task(&joined.wait), "waiting", None, whole)];
    for held in joined.holders.iter().take(TIMELINE_HOLDERS) {
        let task = || parts.task(&held.who);
        spans.extend(held.when.iter().map(|when| span(task(), "holding", None, *when)));
        spans.extend(held.did.iter().map(|did| {
            let cpu = (did.doing != Doing::Blocked).then_some(did.cpu);
            span(task(), state(did.doing), cpu, did.when)
        }));
    }
    if let Some(cpu) = joined.holders.first().and_then(Held::waited_for) {
        let shown: Vec<u32> =
            joined.holders.iter().take(TIMELINE_HOLDERS).map(|held| held.who.tid).collect();
        for ran in history.others_on(cpu, joined.wait.tid, whole) {
            let when = Stretch::new(ran.from, ran.to).meet(whole);
            if let Some(when) = when.filter(|_| !shown.contains(&ran.tid)) {
                spans.push(span(parts.task(ran), "running", Some(cpu), when));
            }
        }
    }
    // The wait itself stays, also if more spans than that began before it.
    spans[1..].sort_by(|a, b| a.from_ms.total_cmp(&b.from_ms));
    spans.truncate(SPANS);
    spans.sort_by(|a, b| a.from_ms.total_cmp(&b.from_ms));
    spans
}

fn state(doing: Doing) -> &'static str {
    match doing {
        Doing::Running => "running",
        Doing::Runnable => "preempted",
        Doing::Blocked => "blocked",
    }
}

/// Milliseconds from `zero` to `at`; negative if `at` is earlier.
pub(crate) fn ms_after(zero: u64, at: u64) -> f64 {
    (at as f64 - zero as f64) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventKind;
    use crate::history::Segment;
    use crate::history::tests::ran;

    const MS: u64 = 1_000_000;

    fn wait_until(to: u64, holders: Vec<Held>) -> Joined {
        let wait = Event { kind: EventKind::Waited, space: 5, ..ran(1, 0, 0, 0, to) };
        Joined { wait, holders, covered: 0, own: 0, split: Ways::default() }
    }

    fn held(did: Vec<Segment>) -> Held {
        let who = Event { kind: EventKind::Held, space: 5, ..ran(7, 1, 0, 0, 9) };
        let when = did.iter().map(|did| did.when).collect();
        Held { who, when, did, behind: BehindWhom::new() }
    }

    fn runnable(cpu: u32, from: u64, to: u64) -> Segment {
        Segment { doing: Doing::Runnable, when: Stretch::new(from, to), cpu }
    }

    #[test]
    fn a_timeline_that_is_too_long_is_cut_at_its_end() {
        let of_first = held((0..300).map(|i| runnable(1, 2 * i * MS, (2 * i + 1) * MS)).collect());
        let late = Event { tid: 8, ..of_first.who.clone() };
        let of_second = Held { who: late, ..held(vec![runnable(1, 5 * MS, 6 * MS)]) };
        let joined = wait_until(900 * MS, vec![of_first, of_second]);
        let spans = timeline(&joined, &Parts::default(), &History::default(), 0);
        assert_eq!(spans.len(), SPANS);
        assert!(spans.windows(2).all(|pair| pair[0].from_ms <= pair[1].from_ms));
        assert!(spans.iter().any(|span| span.state == "waiting"));
        assert!(spans.iter().any(|span| span.task.tid == 8), "it began early");
    }

    #[test]
    fn a_holder_is_throttled_only_on_the_cpu_that_it_waited_for() {
        let throttled =
            |cpu, from, to| Event { kind: EventKind::Throttled, ..ran(9, cpu, from, from, to) };
        let all = [throttled(0, 0, 90), throttled(1, 0, 10), throttled(1, 20, 35)];
        assert_eq!(throttled_ns(&held(vec![runnable(1, 5, 30)]), &all), 15);
        assert_eq!(throttled_ns(&held(vec![runnable(1, 10, 20)]), &all), 0);
        assert_eq!(throttled_ns(&held(vec![runnable(2, 5, 30)]), &all), 0);
    }
}
