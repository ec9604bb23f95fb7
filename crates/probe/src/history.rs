//! What threads did recently: a bounded memory of stretches on CPUs and of lock holds.

use crate::event::{Event, EventKind};
use crate::span::Stretch;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Most events that are kept; the oldest are dropped first.
pub const MOST: usize = 200_000;

/// What a thread did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// It was on a CPU.
    Running,
    /// It was runnable, and its CPU ran another thread.
    Runnable,
    /// It slept.
    Blocked,
}

/// A stretch of a thread's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// What the thread did.
    pub doing: Doing,
    /// When it did that.
    pub when: Stretch,
    /// The CPU that it ran on or waited for.
    pub cpu: u32,
}

/// Events, indexed by thread and by CPU.
#[derive(Debug, Default)]
pub struct History {
    order: VecDeque<Arc<Event>>,
    ran: HashMap<u32, VecDeque<Arc<Event>>>,
    on_cpu: HashMap<u32, VecDeque<Arc<Event>>>,
    held: HashMap<u64, VecDeque<Arc<Event>>>,
    /// Events that were dropped for newer ones.
    pub forgotten: u64,
}

impl History {
    /// Stores an event.
    pub fn add(&mut self, event: Event) {
        let event = Arc::new(event);
        match event.kind {
            EventKind::Ran => {
                self.ran.entry(event.tid).or_default().push_back(event.clone());
                self.on_cpu.entry(event.cpu).or_default().push_back(event.clone());
            }
            EventKind::Held => self.held.entry(event.space).or_default().push_back(event.clone()),
            EventKind::Waited | EventKind::Slept | EventKind::Throttled => return,
        }
        self.order.push_back(event);
        if self.order.len() > MOST {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.order.pop_front() else { return };
        self.forgotten += 1;
        let drop_from = |queue: Option<&mut VecDeque<Arc<Event>>>| {
            if let Some(queue) = queue
                && queue.front().is_some_and(|event| Arc::ptr_eq(event, &oldest))
            {
                queue.pop_front();
            }
        };
        match oldest.kind {
            EventKind::Ran => {
                drop_from(self.ran.get_mut(&oldest.tid));
                drop_from(self.on_cpu.get_mut(&oldest.cpu));
            }
            _ => drop_from(self.held.get_mut(&oldest.space)),
        }
    }

    /// The holds of a lock that overlap a stretch.
    pub fn holds(&self, space: u64, when: Stretch) -> impl Iterator<Item = &Event> {
        let held = self.held.get(&space).into_iter().flatten();
        held.filter(move |hold| Stretch::new(hold.from, hold.to).meet(when).is_some())
            .map(AsRef::as_ref)
    }

    /// The stretches on `cpu` that overlap `when`, of all threads except `tid`.
    pub fn others_on(&self, cpu: u32, tid: u32, when: Stretch) -> impl Iterator<Item = &Event> {
        // The events of a CPU are ordered by their end.
        let queue = self.on_cpu.get(&cpu);
        let first = queue.map_or(0, |queue| queue.partition_point(|ran| ran.to <= when.from));
        queue
            .into_iter()
            .flat_map(move |queue| queue.range(first..))
            .take_while(move |ran| ran.from < when.to)
            .filter(move |ran| ran.tid != tid)
            .map(AsRef::as_ref)
    }

    /// The stretches in which threads were preempted during a sleep, as holds of the resource
    /// that the sleeper waited for. `is_holder` decides for an event that ended in a preemption
    /// whether the thread may hold it.
    pub fn preempted_in(&self, sleep: &Event, is_holder: &dyn Fn(&Event) -> bool) -> Vec<Event> {
        let mut holds = Vec::new();
        for queue in self.ran.values() {
            let before = queue.partition_point(|ran| ran.to < sleep.to);
            let mut until = queue.get(before).map_or(sleep.to, |next| next.from.min(sleep.to));
            for ran in queue.range(..before).rev() {
                if until <= sleep.from {
                    break;
                }
                if ran.preempted && is_holder(ran) {
                    let (from, to) = (ran.to, until);
                    let hold = Event { from, to, runnable: from, running: to, ..(**ran).clone() };
                    holds.push(Event { kind: EventKind::Held, space: sleep.space, ..hold });
                }
                until = ran.from;
            }
        }
        holds.sort_by_key(|hold| (hold.tid, hold.from));
        holds
    }

    /// What a thread did in the stretch `when`, as far as it is known; ascending and without
    /// overlap. If the thread still ran at the end, `last` is the event that says since when.
    pub fn of_thread(&self, tid: u32, when: Stretch, last: Option<&Event>) -> Vec<Segment> {
        let mut segments = Vec::new();
        let ran = self.ran.get(&tid);
        let first = ran.map_or(0, |ran| ran.partition_point(|ran| ran.to <= when.from));
        // The event before the first one shows whether the thread slept afterwards.
        let before = ran.into_iter().flat_map(|ran| ran.range(first.saturating_sub(1)..));
        let mut known = None;
        for event in before.map(AsRef::as_ref) {
            cut(&mut segments, event, event.to, known, when);
            known = Some(event.to);
            if event.runnable >= when.to {
                break;
            }
        }
        if let Some(last) = last
            && known.is_none_or(|known| known <= last.running)
        {
            let at = Event { from: last.running, ..last.clone() };
            cut(&mut segments, &at, last.to, known, when);
        }
        segments
    }
}

/// Cuts a stretch on a CPU, and the time before it, to the stretch that is asked for.
fn cut(segments: &mut Vec<Segment>, ran: &Event, to: u64, known: Option<u64>, when: Stretch) {
    let floor = known.unwrap_or(0);
    let runnable = ran.runnable.clamp(floor, ran.from.max(floor));
    let from = ran.from.max(runnable);
    let mut put = |doing, stretch: Stretch| {
        if let Some(when) = stretch.meet(when) {
            segments.push(Segment { doing, when, cpu: ran.cpu });
        }
    };
    if let Some(known) = known {
        put(Doing::Blocked, Stretch::new(known, runnable));
    }
    put(Doing::Runnable, Stretch::new(runnable, from));
    put(Doing::Running, Stretch::new(from, to));
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn ran(tid: u32, cpu: u32, runnable: u64, from: u64, to: u64) -> Event {
        Event {
            kind: EventKind::Ran,
            cpu,
            tid,
            pid: tid,
            from,
            to,
            runnable,
            running: from,
            space: 0,
            stack: None,
            nice: 0,
            write: false,
            preempted: true,
            part: 0,
            name: format!("t{tid}"),
        }
    }

    #[test]
    fn between_two_stretches_a_thread_slept_until_it_was_runnable() {
        let mut history = History::default();
        history.add(ran(1, 0, 0, 10, 20));
        history.add(ran(1, 0, 50, 70, 80));
        let segments = history.of_thread(1, Stretch::new(15, 75), None);
        let reported: Vec<_> = segments.iter().map(|s| (s.doing, s.when.from, s.when.to)).collect();
        assert_eq!(
            reported,
            [
                (Doing::Running, 15, 20),
                (Doing::Blocked, 20, 50),
                (Doing::Runnable, 50, 70),
                (Doing::Running, 70, 75)
            ]
        );
    }

    #[test]
    fn the_memory_is_bounded_and_says_what_it_forgot() {
        let mut history = History::default();
        for i in 0..MOST as u64 + 10 {
            history.add(ran(1, 0, i, i, i + 1));
        }
        assert_eq!(history.forgotten, 10);
        assert_eq!(history.others_on(0, 9, Stretch::new(0, 10)).count(), 0);
        assert_eq!(history.others_on(0, 9, Stretch::new(0, 12)).count(), 2);
    }
}
