//! Collects events as they come. Keeps the worst waits with what is known about them.

use crate::event::{Event, EventKind};
use crate::history::History;
use crate::join::{Joined, Split, join};
use crate::parts::Parts;
use crate::quota;
use crate::suspects::{self, Stacks};
use crate::to_model;
use model::evidence::{Evidence, Resource, Wait};
use std::collections::{HashMap, HashSet};

/// Most waits that are kept for the record.
const WAITS: usize = 16;

/// Most waits that are joined, the longest first; the others are only counted.
const JOINS: usize = 2000;

/// Most waits that are stored until the end.
const REMEMBERED: usize = 100_000;

/// The collected events. Taking an event is cheap, since the listener must keep up beside the
/// load that it watches; the joins are made at the end.
#[derive(Debug, Default)]
pub struct Gatherer {
    history: History,
    waits: Vec<Event>,
    throttled: Vec<Event>,
    /// The process that owns an address space, by the address of the space.
    spaces: HashMap<u64, u32>,
    seen: u64,
    seen_ns: u64,
    /// When the load was released; events that ended before are not counted.
    zero: u64,
    /// When the trial ended. Events that began later are not counted.
    end: Option<u64>,
    /// Events that were in progress when the trial ended, and ended before the programs were
    /// detached: what they are, their thread and their beginning.
    ended_late: HashSet<(EventKind, u32, u64)>,
    /// Waits shorter than this are not counted, in nanoseconds.
    threshold: u64,
}

/// The sums over all waits.
#[derive(Debug, Default)]
struct Total {
    ways: Split,
    covered: u64,
    own: u64,
}

impl Gatherer {
    /// A gatherer that ignores waits shorter than `threshold` nanoseconds.
    pub fn new(threshold: u64) -> Self {
        Gatherer { threshold, ..Gatherer::default() }
    }

    /// Sets the moment when the load was released.
    pub fn release(&mut self, zero: u64) {
        self.zero = zero;
    }

    /// Sets the owner of an address space.
    pub fn space(&mut self, space: u64, pid: u32) {
        self.spaces.insert(space, pid);
    }

    /// Sets the moment when the trial ended. The programs send events until they are detached, so
    /// what they send of the time after it is cut off.
    pub fn end(&mut self, end: u64) {
        self.end = Some(end);
    }

    /// Adds an event that the programs sent.
    pub fn add(&mut self, event: Event) {
        let Some(end) = self.end else { return self.keep(event) };
        if event.from >= end {
            return;
        }
        if event.to >= end {
            self.ended_late.insert((event.kind, event.tid, event.from));
        }
        self.keep(Event { to: event.to.min(end), ..event });
    }

    /// Adds an event that was in progress when the trial ended, after all that the programs sent.
    /// If it ended before they were detached, they have sent it too.
    pub fn add_in_progress(&mut self, event: Event) {
        if !self.ended_late.contains(&(event.kind, event.tid, event.from)) {
            self.keep(event);
        }
    }

    fn keep(&mut self, event: Event) {
        match event.kind {
            EventKind::Held | EventKind::Ran => self.history.add(event),
            EventKind::Waited | EventKind::Slept => self.take_wait(event),
            EventKind::Throttled if self.zero > 0 && event.to > self.zero => {
                let from = event.from.max(self.zero);
                quota::remember(&mut self.throttled, Event { from, ..event });
            }
            EventKind::Throttled => {}
        }
    }

    fn take_wait(&mut self, event: Event) {
        let from = event.from.max(self.zero);
        let took = event.to.saturating_sub(from);
        if self.zero == 0 || took < self.threshold.max(1) {
            return;
        }
        self.seen += 1;
        self.seen_ns += took;
        if self.waits.len() < REMEMBERED {
            self.waits.push(Event { from, ..event });
        }
    }

    /// Joins the waits, and writes the result into `evidence`.
    pub fn finish(mut self, parts: &Parts, stacks: &dyn Stacks, evidence: &mut Evidence) {
        self.throttled.sort_by_key(|event| (event.cpu, event.to));
        let mut waits = std::mem::take(&mut self.waits);
        waits.sort_by_key(|wait| std::cmp::Reverse(wait.to - wait.from));
        waits.truncate(JOINS);
        let mut total = Total::default();
        for (index, wait) in waits.iter().enumerate() {
            let joined = self.join(wait, parts, stacks);
            total.add(&joined);
            if index < WAITS {
                let mut kept = self.words(&joined, parts, stacks);
                if index == 0 {
                    kept.timeline = to_model::timeline(&joined, parts, &self.history, self.zero);
                }
                evidence.waits.push(kept);
            }
        }
        if let Some(of_group) = &mut evidence.quota {
            of_group.timeline =
                quota::timeline(std::mem::take(&mut self.throttled), parts, self.zero);
        }
        evidence.lost_events += self.history.forgotten;
        evidence.waits_seen = self.seen;
        evidence.waits_ns = self.seen_ns;
        evidence.split =
            (self.seen > 0).then(|| to_model::split(total.covered, total.own, &total.ways, parts));
    }

    fn join(&self, wait: &Event, parts: &Parts, stacks: &dyn Stacks) -> Joined {
        match wait.kind {
            EventKind::Slept => suspects::join(wait, &self.history, parts, stacks),
            _ => join(wait, &self.history, &|event| parts.call(event)),
        }
    }

    fn words(&self, joined: &Joined, parts: &Parts, stacks: &dyn Stacks) -> Wait {
        let owner = self.spaces.get(&joined.wait.space).copied();
        let stack = joined.wait.stack.map(|stack| stacks.names(stack)).unwrap_or_default();
        let resource = resource(&joined.wait, owner, &stack);
        Wait { stack, ..to_model::wait(joined, parts, resource, &self.throttled, self.zero) }
    }
}

impl Total {
    fn add(&mut self, joined: &Joined) {
        self.covered += joined.covered;
        self.own += joined.own;
        self.ways.running += joined.split.running;
        self.ways.preempted += joined.split.preempted;
        self.ways.blocked += joined.split.blocked;
        for (name, (threads, ns)) in &joined.split.behind {
            let (all, sum) = self.ways.behind.entry(name.clone()).or_default();
            all.extend(threads);
            *sum += ns;
        }
    }
}

/// The resource that the thread waited for.
fn resource(wait: &Event, owner: Option<u32>, stack: &[String]) -> Resource {
    let pid = wait.pid;
    if wait.space != 0 {
        return Resource::MmapLock { pid: owner.unwrap_or(pid) };
    }
    suspects::resource(stack, pid).unwrap_or(Resource::Sleep)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::ran;
    use crate::span::Stretch;
    use crate::watched::{Role, Watched};

    struct NoStacks;

    impl Stacks for NoStacks {
        fn names(&self, _: u32) -> Vec<String> {
            Vec::new()
        }
    }

    fn parts() -> Parts {
        let mut parts = Parts::default();
        parts.add(&Watched::new(1, "mapper", Role::Victim));
        parts.add(&Watched::new(7, "scanner", Role::Suspect));
        parts.add(&Watched::new(100, "spinner", Role::Bystander));
        parts
    }

    #[test]
    fn the_worst_waits_are_kept_and_only_the_worst_has_its_timeline() {
        let mut gatherer = Gatherer::default();
        gatherer.release(1000);
        for i in 0..50u64 {
            let from = 2000 + i * 1000;
            let hold =
                Event { kind: EventKind::Held, space: 5, ..ran(7, 1, from, from, from + 10 + i) };
            let wait =
                Event { kind: EventKind::Waited, space: 5, ..ran(1, 0, from, from, from + 20 + i) };
            gatherer.add(hold);
            gatherer.add(wait);
        }
        let mut evidence = Evidence::default();
        gatherer.finish(&parts(), &NoStacks, &mut evidence);
        assert_eq!(evidence.waits_seen, 50);
        assert_eq!(evidence.waits.len(), WAITS);
        assert!(evidence.waits.windows(2).all(|pair| pair[0].took_ns >= pair[1].took_ns));
        assert_eq!(evidence.waits[0].took_ns, 69);
        let timelines = evidence.waits.iter().filter(|wait| !wait.timeline.is_empty()).count();
        assert_eq!(timelines, 1);
        assert_eq!(evidence.waits[0].holders[0].task.part.as_deref(), Some("scanner"));
        assert_eq!(evidence.waits[0].resource, Resource::MmapLock { pid: 1 });
        let split = evidence.split.unwrap();
        assert_eq!(split.covered_ns, (10..60).sum::<u64>());
        assert!(split.running_ns + split.preempted_ns + split.blocked_ns <= split.covered_ns);
    }

    #[test]
    fn a_wait_counts_from_the_release_on() {
        let mut gatherer = Gatherer::default();
        let wait =
            |from, to| Event { kind: EventKind::Waited, space: 5, ..ran(1, 0, from, from, to) };
        gatherer.add(wait(10, 90));
        gatherer.release(100);
        gatherer.add(wait(20, 95));
        gatherer.add(wait(50, 150));
        let mut evidence = Evidence::default();
        gatherer.finish(&parts(), &NoStacks, &mut evidence);
        assert_eq!((evidence.waits_seen, evidence.waits_ns), (1, 50));
    }

    #[test]
    fn a_wait_in_progress_at_the_end_counts_once_and_until_then() {
        let wait = |tid, from, to| {
            let kind = EventKind::Waited;
            Event { kind, space: 5, ..ran(tid, 0, from, from, to) }
        };
        let counted = |sent: &[Event], in_progress: &[Event]| {
            let mut gatherer = Gatherer::default();
            gatherer.release(100);
            gatherer.end(200);
            sent.iter().for_each(|event| gatherer.add(event.clone()));
            in_progress.iter().for_each(|event| gatherer.add_in_progress(event.clone()));
            let mut evidence = Evidence::default();
            gatherer.finish(&parts(), &NoStacks, &mut evidence);
            (evidence.waits_seen, evidence.waits_ns)
        };
        assert_eq!(counted(&[], &[wait(1, 150, 200)]), (1, 50));
        // It ends before the programs are detached.
        assert_eq!(counted(&[wait(1, 150, 230)], &[wait(1, 150, 200)]), (1, 50));
        assert_eq!(counted(&[wait(1, 150, 200)], &[wait(1, 150, 200)]), (1, 50));
        // Another wait, of the same thread or of another one.
        assert_eq!(counted(&[wait(1, 110, 120)], &[wait(1, 150, 200)]), (2, 60));
        assert_eq!(counted(&[wait(2, 150, 230)], &[wait(1, 150, 200)]), (2, 100));
        // It begins after the end.
        assert_eq!(counted(&[wait(1, 200, 230), wait(1, 210, 230)], &[]), (0, 0));
    }

    #[test]
    fn a_hold_in_progress_at_the_end_is_known_once() {
        let mut gatherer = Gatherer::default();
        gatherer.release(100);
        gatherer.end(200);
        let on_cpu = |to| ran(100, 1, 120, 120, to);
        gatherer.add(Event { kind: EventKind::Held, space: 5, ..ran(7, 1, 110, 120, 230) });
        gatherer.add(on_cpu(230));
        gatherer.add_in_progress(on_cpu(200));
        let when = Stretch::new(100, 300);
        assert_eq!(gatherer.history.others_on(1, 7, when).map(|ran| ran.to).sum::<u64>(), 200);
        assert_eq!(gatherer.history.holds(5, when).map(|held| held.to).sum::<u64>(), 200);
    }
}
