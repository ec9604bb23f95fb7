//! The event queue, with at most one pending event per actor.
//!
//! If the time of an event changes, it is moved, and no stale event is left behind. So the queue
//! never holds more events than actors, and allocates no memory after its creation.

/// Bits of an event's key that hold its actor. The other bits hold its time.
const ACTOR_BITS: u32 = 21;

/// Most actors that a queue may have.
pub(crate) const MOST_ACTORS: usize = 1 << ACTOR_BITS;

/// The position of an actor without an event.
const NOWHERE: u32 = u32::MAX;

/// Children of a node. Four children take half a cache line, and the heap is shallow.
const FAN: usize = 4;

/// Pending events, earliest first. At the same time, the actor with the lower number is first.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// A heap of `time << ACTOR_BITS | actor`.
    heap: Vec<u64>,
    /// The position of each actor's event in the heap.
    place: Vec<u32>,
    /// Events after this time are dropped, in nanoseconds.
    horizon: u64,
}

impl EventQueue {
    /// An empty queue for actors numbered from 0. Events after `horizon` (ns) are dropped.
    pub(crate) fn new(actors: usize, horizon: u64) -> Self {
        debug_assert!(actors <= MOST_ACTORS && horizon < 1 << (63 - ACTOR_BITS));
        EventQueue { heap: Vec::with_capacity(actors), place: vec![NOWHERE; actors], horizon }
    }

    /// Sets the event of an actor to this time, in nanoseconds. It replaces its previous event.
    pub(crate) fn set(&mut self, actor: u32, at: u64) {
        if at > self.horizon {
            return self.cancel(actor);
        }
        let key = at << ACTOR_BITS | u64::from(actor);
        let place = self.place[actor as usize];
        if place == NOWHERE {
            self.heap.push(key);
            self.rise(self.heap.len() - 1, key);
        } else {
            self.replace(place as usize, key);
        }
    }

    /// Removes the event of an actor.
    pub(crate) fn cancel(&mut self, actor: u32) {
        let place = std::mem::replace(&mut self.place[actor as usize], NOWHERE);
        if place == NOWHERE {
            return;
        }
        if let Some(last) = self.heap.pop()
            && (place as usize) < self.heap.len()
        {
            self.replace(place as usize, last);
        }
    }

    /// Removes the next event, and returns its time in nanoseconds and its actor.
    pub(crate) fn pop(&mut self) -> Option<(u64, u32)> {
        let key = *self.heap.first()?;
        let actor = actor_of(key);
        self.cancel(actor);
        Some((key >> ACTOR_BITS, actor))
    }

    fn replace(&mut self, place: usize, key: u64) {
        if place > 0 && key < self.heap[(place - 1) / FAN] {
            self.rise(place, key);
        } else {
            self.sink(place, key);
        }
    }

    fn rise(&mut self, mut place: usize, key: u64) {
        while place > 0 {
            let parent = (place - 1) / FAN;
            if self.heap[parent] <= key {
                break;
            }
            self.place_at(place, self.heap[parent]);
            place = parent;
        }
        self.place_at(place, key);
    }

    fn sink(&mut self, mut place: usize, key: u64) {
        loop {
            let first = place * FAN + 1;
            let children = first..(first + FAN).min(self.heap.len());
            let Some(least) = children.min_by_key(|child| self.heap[*child]) else { break };
            if self.heap[least] >= key {
                break;
            }
            self.place_at(place, self.heap[least]);
            place = least;
        }
        self.place_at(place, key);
    }

    fn place_at(&mut self, place: usize, key: u64) {
        self.heap[place] = key;
        self.place[actor_of(key) as usize] = place as u32;
    }
}

fn actor_of(key: u64) -> u32 {
    (key & (MOST_ACTORS as u64 - 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn events_come_as_from_a_sorted_list(
            steps in prop::collection::vec((0u32..40, 0u64..1000, 0u8..4), 1..300),
        ) {
            let mut queue = EventQueue::new(40, 900);
            let mut expected: BTreeMap<u32, u64> = BTreeMap::new();
            for (actor, at, what) in steps {
                match what {
                    0 => {
                        queue.cancel(actor);
                        expected.remove(&actor);
                    }
                    1 => {
                        let first = expected.iter().map(|(a, t)| (*t, *a)).min();
                        prop_assert_eq!(queue.pop(), first);
                        if let Some((_, actor)) = first {
                            expected.remove(&actor);
                        }
                    }
                    _ if at > 900 => {
                        queue.set(actor, at);
                        expected.remove(&actor);
                    }
                    _ => {
                        queue.set(actor, at);
                        expected.insert(actor, at);
                    }
                }
            }
            let mut rest: Vec<_> = expected.iter().map(|(a, t)| (*t, *a)).collect();
            rest.sort_unstable();
            let popped: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
            prop_assert_eq!(popped, rest);
        }
    }
}
