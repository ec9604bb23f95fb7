//! Gathers events as they come, and keeps the worst waits with what is known of them.

use crate::event::{Event, Kind};
use crate::history::History;
use crate::join::{Joined, join};
use crate::parts::Parts;
use crate::suspects::{self, Stacks};
use crate::words;
use model::evidence::{Evidence, Wait};
use std::collections::HashMap;

/// Waits that are kept.
const WAITS: usize = 16;

/// Waits that are joined at most; beyond them only the longest so far are.
const JOINS: u64 = 20_000;

/// What was gathered.
#[derive(Debug, Default)]
pub struct Gatherer {
    history: History,
    worst: Vec<Kept>,
    /// Whose address space it is, by its address.
    spaces: HashMap<u64, u32>,
    total: crate::join::Split,
    covered: u64,
    joins: u64,
    seen: u64,
    seen_ns: u64,
    /// When the load was released; what ended before is not counted.
    zero: u64,
}

/// A wait that is kept, with its stack and its moments.
#[derive(Debug)]
struct Kept {
    wait: Wait,
    took: u64,
}

impl Gatherer {
    /// Says when the load was released.
    pub fn release(&mut self, zero: u64) {
        self.zero = zero;
    }

    /// Says whose an address space is.
    pub fn space(&mut self, space: u64, pid: u32) {
        self.spaces.insert(space, pid);
    }

    /// Takes an event.
    pub fn take(&mut self, event: Event, parts: &Parts, stacks: &dyn Stacks) {
        match event.kind {
            Kind::Held | Kind::Ran => self.history.add(event),
            Kind::Waited | Kind::Slept => {
                if self.zero > 0 && event.to > self.zero {
                    let from = event.from.max(self.zero);
                    self.weigh(&Event { from, ..event }, parts, stacks);
                }
            }
        }
    }

    fn weigh(&mut self, event: &Event, parts: &Parts, stacks: &dyn Stacks) {
        let took = event.to - event.from;
        self.seen += 1;
        self.seen_ns += took;
        let is_long = self.worst.len() < WAITS || self.worst.last().is_some_and(|w| w.took < took);
        if self.joins >= JOINS && !is_long {
            return;
        }
        self.joins += 1;
        let name = |event: &Event| parts.call(event);
        let joined = match event.kind {
            Kind::Slept => suspects::join(event, &self.history, parts, stacks),
            _ => join(event, &self.history, &name),
        };
        self.add_up(&joined);
        if is_long {
            self.keep(&joined, parts, stacks);
        }
    }

    fn add_up(&mut self, joined: &Joined) {
        self.covered += joined.covered;
        self.total.running += joined.split.running;
        self.total.preempted += joined.split.preempted;
        self.total.blocked += joined.split.blocked;
        for (name, (threads, ns)) in &joined.split.behind {
            let (all, sum) = self.total.behind.entry(name.clone()).or_default();
            all.extend(threads);
            *sum += ns;
        }
    }

    fn keep(&mut self, joined: &Joined, parts: &Parts, stacks: &dyn Stacks) {
        let took = joined.wait.to - joined.wait.from;
        let owner = self.spaces.get(&joined.wait.space).copied();
        let stack = joined.wait.stack.map(|stack| stacks.names(stack)).unwrap_or_default();
        let mut wait = words::wait(joined, parts, resource(&joined.wait, owner, &stack), self.zero);
        wait.stack = stack;
        if self.worst.first().is_none_or(|worst| worst.took < took) {
            // Only the worst has its moments told.
            if let Some(before) = self.worst.first_mut() {
                before.wait.timeline.clear();
            }
            wait.timeline = words::timeline(joined, parts, &self.history, self.zero);
        }
        let at = self.worst.partition_point(|kept| kept.took >= took);
        self.worst.insert(at, Kept { wait, took });
        self.worst.truncate(WAITS);
    }

    /// Puts what was gathered into evidence.
    pub fn finish(self, evidence: &mut Evidence) {
        evidence.lost_events += self.history.forgotten;
        evidence.waits_seen = self.seen;
        evidence.waits_ns = self.seen_ns;
        evidence.split = (self.seen > 0).then(|| words::split(self.covered, &self.total));
        evidence.waits = self.worst.into_iter().map(|kept| kept.wait).collect();
    }
}

/// What was waited for.
fn resource(wait: &Event, owner: Option<u32>, stack: &[String]) -> String {
    if wait.space != 0 {
        let owner = owner.unwrap_or(wait.pid);
        return format!("mmap lock of pid {owner}");
    }
    let pid = wait.pid;
    match stack.iter().find_map(|name| suspects::place(name)) {
        Some(what) => format!("{what} of pid {pid}"),
        None => "a sleep in the kernel".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::ran;
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
        let parts = parts();
        for i in 0..50u64 {
            let from = 2000 + i * 1000;
            let hold = Event { kind: Kind::Held, space: 5, ..ran(7, 1, from, from, from + 10 + i) };
            let wait = Event { kind: Kind::Waited, space: 5, ..ran(1, 0, from, from, from + 20 + i) };
            gatherer.take(hold, &parts, &NoStacks);
            gatherer.take(wait, &parts, &NoStacks);
        }
        let mut evidence = Evidence::default();
        gatherer.finish(&mut evidence);
        assert_eq!(evidence.waits_seen, 50);
        assert_eq!(evidence.waits.len(), WAITS);
        assert!(evidence.waits.windows(2).all(|pair| pair[0].took_ns >= pair[1].took_ns));
        assert_eq!(evidence.waits[0].took_ns, 69);
        let timelines = evidence.waits.iter().filter(|wait| !wait.timeline.is_empty()).count();
        assert_eq!(timelines, 1);
        assert_eq!(evidence.waits[0].holders[0].task.part.as_deref(), Some("scanner"));
        assert_eq!(evidence.waits[0].resource, "mmap lock of pid 1");
        let split = evidence.split.unwrap();
        assert_eq!(split.covered_ns, (10..60).sum::<u64>());
        assert!(split.running_ns + split.preempted_ns + split.blocked_ns <= split.covered_ns);
    }

    #[test]
    fn a_wait_counts_from_the_release_on() {
        let mut gatherer = Gatherer::default();
        let wait = |from, to| Event { kind: Kind::Waited, space: 5, ..ran(1, 0, from, from, to) };
        gatherer.take(wait(10, 90), &parts(), &NoStacks);
        gatherer.release(100);
        gatherer.take(wait(20, 95), &parts(), &NoStacks);
        gatherer.take(wait(50, 150), &parts(), &NoStacks);
        let mut evidence = Evidence::default();
        gatherer.finish(&mut evidence);
        assert_eq!((evidence.waits_seen, evidence.waits_ns), (1, 50));
    }
}
