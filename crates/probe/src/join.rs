//! The join: from a wait to its holders, to what each holder did meanwhile, and to what ran
//! instead of it.

use crate::event::Event;
use crate::history::{Doing, History, Segment};
use crate::span::{Stretch, union_ns};
use std::collections::{BTreeMap, BTreeSet};

/// What ran while a thread was runnable: by name, the threads and their CPU time in nanoseconds.
pub type BehindWhom = BTreeMap<String, (BTreeSet<u32>, u64)>;

/// The time of a wait by what the holders did; the parts add up to no more than the wait.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Split {
    /// Time in which some holder ran, in nanoseconds.
    pub running: u64,
    /// Time in which no holder ran, and some holder was runnable.
    pub preempted: u64,
    /// Time in which all known holders slept.
    pub blocked: u64,
    /// What ran while the holders were preempted. Each moment is charged to one runnable holder:
    /// the one whose last hold ended last.
    pub behind: BehindWhom,
}

/// A holder of the resource that the thread waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// One of its holds, which identifies it.
    pub who: Event,
    /// When it held the resource during the wait.
    pub when: Vec<Stretch>,
    /// What it did in that time.
    pub did: Vec<Segment>,
    /// What ran while it was runnable.
    pub behind: BehindWhom,
}

/// A wait and its holders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// The wait.
    pub wait: Event,
    /// The holders during the wait, longest hold first.
    pub holders: Vec<Held>,
    /// Part of the wait with a known holder, in nanoseconds.
    pub covered: u64,
    /// Part without a known holder in which the waiter itself was runnable.
    pub own: u64,
    /// The time of the wait by what the holders did.
    pub split: Split,
}

impl Held {
    /// How long it held the resource during the wait, in nanoseconds.
    pub fn overlap(&self) -> u64 {
        union_ns(self.when.clone())
    }

    /// How much of that time it spent in the state `doing`, in nanoseconds.
    pub fn spent(&self, doing: Doing) -> u64 {
        self.did.iter().filter(|segment| segment.doing == doing).map(|s| s.when.ns()).sum()
    }

    /// The CPU on which it was runnable for the longest time.
    pub fn waited_for(&self) -> Option<u32> {
        let mut on: BTreeMap<u32, u64> = BTreeMap::new();
        for segment in self.did.iter().filter(|segment| segment.doing == Doing::Runnable) {
            *on.entry(segment.cpu).or_default() += segment.when.ns();
        }
        on.into_iter().max_by_key(|(_, ns)| *ns).map(|(cpu, _)| cpu)
    }
}

/// Joins a wait with the stored events. `name` returns the name of a thread: its part if it has
/// one, otherwise its own name.
pub fn join(wait: &Event, history: &History, name: &dyn Fn(&Event) -> String) -> Joined {
    let when = Stretch::new(wait.from, wait.to);
    let holds: Vec<&Event> = history.holds(wait.space, when).collect();
    join_with(wait, &holds, history, name)
}

/// Joins a wait with holds that the caller has found already.
pub fn join_with(
    wait: &Event,
    holds: &[&Event],
    history: &History,
    name: &dyn Fn(&Event) -> String,
) -> Joined {
    let when = Stretch::new(wait.from, wait.to);
    let mut by_thread: BTreeMap<(u32, bool), Vec<&Event>> = BTreeMap::new();
    for hold in holds.iter().filter(|hold| hold.tid != wait.tid) {
        by_thread.entry((hold.tid, hold.write)).or_default().push(hold);
    }
    let mut holders: Vec<Held> =
        by_thread.into_values().filter_map(|holds| held(&holds, when, history, name)).collect();
    holders.sort_by_key(|held| std::cmp::Reverse((held.overlap(), held.who.to)));
    let mut known: Vec<Stretch> = holders.iter().flat_map(|h| h.when.iter().copied()).collect();
    let covered = union_ns(known.clone());
    // The time in which the waiter was runnable before it ran at the end of its wait.
    known.extend(Stretch::new(wait.runnable, wait.running).meet(when));
    let own = union_ns(known) - covered;
    let split = split(&holders, history, name);
    Joined { wait: wait.clone(), holders, covered, own, split }
}

fn held(
    holds: &[&Event],
    wait: Stretch,
    history: &History,
    name: &dyn Fn(&Event) -> String,
) -> Option<Held> {
    let who = (*holds.last()?).clone();
    let mut held = Held { who, when: Vec::new(), did: Vec::new(), behind: BehindWhom::new() };
    let mut end = 0;
    for hold in holds {
        // A thread holds a lock only once at a time. If lost events suggest otherwise, the later
        // hold begins where the earlier hold ended.
        let stretch = Stretch::new(hold.from.max(end), hold.to);
        let Some(when) = stretch.meet(wait) else { continue };
        end = end.max(when.to);
        held.when.push(when);
        held.did.extend(history.of_thread(hold.tid, when, Some(hold)));
    }
    for segment in held.did.iter().filter(|segment| segment.doing == Doing::Runnable) {
        add_runners(&mut held.behind, history, segment, held.who.tid, name);
    }
    (!held.when.is_empty()).then_some(held)
}

/// Adds the threads that ran on a CPU while another thread was runnable there.
fn add_runners(
    behind: &mut BehindWhom,
    history: &History,
    segment: &Segment,
    tid: u32,
    name: &dyn Fn(&Event) -> String,
) {
    for ran in history.others_on(segment.cpu, tid, segment.when) {
        if let Some(both) = Stretch::new(ran.from, ran.to).meet(segment.when) {
            let (threads, ns) = behind.entry(name(ran)).or_default();
            threads.insert(ran.tid);
            *ns += both.ns();
        }
    }
}

/// What the holders do between two edges; and which of them is runnable, on which CPU.
#[derive(Debug, Clone, Copy, Default)]
struct Moment {
    doing: Option<Doing>,
    runnable: Option<(usize, u32)>,
}

/// Splits a wait by what the holders did at each moment: running if any holder ran, preempted if
/// none ran and one was runnable, blocked if one slept.
fn split(holders: &[Held], history: &History, name: &dyn Fn(&Event) -> String) -> Split {
    let mut edges: Vec<u64> = holders
        .iter()
        .flat_map(|held| held.did.iter().flat_map(|did| [did.when.from, did.when.to]))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let mut ways = vec![Moment::default(); edges.len().saturating_sub(1)];
    // The holder that released last comes first, so that the time is charged to it.
    let mut order: Vec<usize> = (0..holders.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(holders[*index].who.to));
    for index in order {
        for did in &holders[index].did {
            let first = edges.partition_point(|edge| *edge < did.when.from);
            let end = edges.partition_point(|edge| *edge < did.when.to);
            for moment in &mut ways[first..end] {
                let doing = moment.doing.map_or(did.doing, |before| foremost(before, did.doing));
                moment.doing = Some(doing);
                if did.doing == Doing::Runnable {
                    moment.runnable.get_or_insert((index, did.cpu));
                }
            }
        }
    }
    let mut split = Split::default();
    for (pair, Moment { doing, runnable }) in edges.windows(2).zip(ways) {
        let when = Stretch::new(pair[0], pair[1]);
        match (doing, runnable) {
            (Some(Doing::Running), _) => split.running += when.ns(),
            (Some(Doing::Runnable), Some((index, cpu))) => {
                split.preempted += when.ns();
                let segment = Segment { doing: Doing::Runnable, when, cpu };
                let tid = holders[index].who.tid;
                add_runners(&mut split.behind, history, &segment, tid, name);
            }
            (Some(_), _) => split.blocked += when.ns(),
            (None, _) => {}
        }
    }
    split
}

fn foremost(a: Doing, b: Doing) -> Doing {
    let rank = |doing| match doing {
        Doing::Running => 2,
        Doing::Runnable => 1,
        Doing::Blocked => 0,
    };
    if rank(a) >= rank(b) { a } else { b }
}

#[cfg(test)]
mod tests;
