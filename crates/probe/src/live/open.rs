//! Waits for a CPU that have not ended. The programs add a wait up only when it ends, so a thread
//! that hangs would be seen last. The parts of its wait so far follow from what ran on its CPU.

use super::counts::{PairCounts, ThreadCounts};
use super::raw::{Cpu, READY, Thread};
use std::collections::HashMap;

/// Most stretches of running threads that are stored for a CPU.
const RUNNERS: usize = 256;

/// The level for an unknown group.
const UNKNOWN: u8 = 7;

/// Priorities below this one are real-time and deadline priorities.
const REAL_TIME: i32 = 100;

/// What distinguishes one wait from another: the start of the thread, when it became runnable,
/// and when it came to this CPU.
type Id = (u64, u64, u64);

/// The parts of a wait so far, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Parts {
    throttled: u64,
    others: u64,
    own: u64,
    idle: u64,
    rest: u64,
}

#[derive(Debug)]
struct Wait {
    id: Id,
    until: u64,
    parts: Parts,
}

/// The waits that had not ended at the last reading, by the slot of their thread.
#[derive(Debug, Default)]
pub struct Open {
    waits: HashMap<usize, Wait>,
    /// What was attributed here in waits that have ended, by slot, with the start time of the
    /// thread. The programs attribute only the time after the last reading. There are at most as
    /// many as slots.
    shared: HashMap<usize, (u64, Parts)>,
}

impl Open {
    /// The slots of threads that waited.
    pub fn places(&self) -> impl Iterator<Item = usize> + '_ {
        self.waits.keys().copied()
    }

    /// Adds the thread's current wait, if it waits, to its sums. Adds what ran since the last
    /// reading to `pairs`.
    pub fn add(
        &mut self,
        (at, thread): (usize, &Thread),
        cpus: &[Option<Cpu>],
        now: u64,
        counts: &mut ThreadCounts,
        pairs: &mut Vec<PairCounts>,
    ) {
        let id = (thread.start, thread.since, thread.here);
        let is_ready = thread.state == READY && now > thread.since;
        let known = match self.waits.remove(&at) {
            Some(wait) if is_ready && wait.id == id => Some(wait),
            Some(ended) => {
                self.keep(at, &ended);
                None
            }
            None => None,
        };
        if let Some((_, parts)) = self.shared.get(&at).filter(|(start, _)| *start == thread.start) {
            parts.add_to(counts);
        }
        if !is_ready {
            return;
        }
        let mut wait = known.unwrap_or(Wait { id, until: thread.here, parts: Parts::default() });
        let cpu = cpus.get(thread.cpu as usize).and_then(Option::as_ref);
        share(cpu, thread, wait.until, now, &mut wait.parts, pairs);
        // It may have come to this CPU after the reading began.
        wait.until = now.max(wait.until);
        let parts = wait.parts;
        self.waits.insert(at, wait);
        counts.open_ns = now - thread.since;
        counts.ready_ns += counts.open_ns;
        counts.worst_ns = counts.worst_ns.max(counts.open_ns);
        counts.throttled_worst_ns = counts.throttled_worst_ns.max(parts.throttled);
        parts.add_to(counts);
        if let Some(level) = counts.throttled_ns.get_mut(usize::from(thread.level)) {
            *level += parts.throttled;
        }
    }
}

impl Open {
    /// Keeps what was attributed in a wait that has ended, without throttled time: the programs
    /// count that for the whole wait.
    fn keep(&mut self, at: usize, ended: &Wait) {
        let (start, _, _) = ended.id;
        let (of, shared) = self.shared.entry(at).or_insert((start, Parts::default()));
        if *of != start {
            (*of, *shared) = (start, Parts::default());
        }
        for (sum, more) in [
            (&mut shared.others, ended.parts.others),
            (&mut shared.own, ended.parts.own),
            (&mut shared.idle, ended.parts.idle),
            (&mut shared.rest, ended.parts.rest),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

impl Parts {
    /// Adds the parts to the sums of a thread, without throttled time.
    fn add_to(&self, counts: &mut ThreadCounts) {
        for (sum, more) in [
            (&mut counts.others_ns, self.others),
            (&mut counts.own_ns, self.own),
            (&mut counts.idle_ns, self.idle),
            (&mut counts.rest_ns, self.rest),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

/// Attributes the time between two moments to what ran on a CPU.
fn share(
    cpu: Option<&Cpu>,
    thread: &Thread,
    from: u64,
    to: u64,
    parts: &mut Parts,
    pairs: &mut Vec<PairCounts>,
) {
    let mut left = to.saturating_sub(from);
    // A throttled thread does not wait for the threads that run.
    if thread.level < UNKNOWN {
        parts.throttled += left;
        return;
    }
    let Some(cpu) = cpu else {
        parts.rest += left;
        return;
    };
    let mut end = to;
    for back in 0..RUNNERS as u64 - 1 {
        let ran = &cpu.ring[(cpu.head.wrapping_sub(back) % RUNNERS as u64) as usize];
        if ran.from == 0 || end <= from {
            break;
        }
        let ns = end.saturating_sub(ran.from.max(from)).min(left);
        end = end.min(ran.from);
        left -= ns;
        match ran.tgid {
            _ if ns == 0 => {}
            0 => parts.idle += ns,
            own if own == thread.tgid => parts.own += ns,
            other => {
                parts.others += ns;
                let is_forced = ran.prio < REAL_TIME && ran.prio <= thread.prio;
                pairs.push(PairCounts {
                    victim: thread.tgid,
                    culprit: other,
                    name: ran.name(),
                    ns,
                    worst_ns: ns,
                    waits: 0,
                    forced_ns: if is_forced { ns } else { 0 },
                    prio: ran.prio,
                    victim_prio: thread.prio,
                    normal_prio: ran.normal_prio,
                    session: ran.session,
                });
            }
        }
    }
    parts.rest += left;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::raw::Raw;

    fn zeroed<T: Raw>() -> T {
        T::read(&vec![0; size_of::<T>()]).unwrap()
    }

    /// Runnable on CPU 0 since 1,000.
    fn waiting() -> Thread {
        let thread: Thread = zeroed();
        let of = |thread| Thread { start: 1, tid: 9, tgid: 9, since: 1_000, here: 1_000, ..thread };
        Thread { state: READY, level: UNKNOWN, prio: 120, ..of(thread) }
    }

    /// What ran on CPU 0: since when, its process, and its priority. Its own policy is the usual
    /// one.
    fn cpu(ran: &[(u64, u32, i32)]) -> Vec<Option<Cpu>> {
        let mut cpu: Cpu = zeroed();
        for (from, tgid, prio) in ran {
            cpu.head += 1;
            let place = &mut cpu.ring[(cpu.head % RUNNERS as u64) as usize];
            place.from = *from;
            place.tgid = *tgid;
            place.prio = *prio;
            place.normal_prio = 120;
        }
        vec![Some(cpu)]
    }

    fn read(
        open: &mut Open,
        thread: &Thread,
        cpus: &[Option<Cpu>],
        now: u64,
    ) -> (ThreadCounts, Vec<PairCounts>) {
        let (mut counts, mut pairs) = (thread.counts(0), Vec::new());
        open.add((3, thread), cpus, now, &mut counts, &mut pairs);
        (counts, pairs)
    }

    #[test]
    fn a_wait_that_goes_on_is_counted_up_to_now() {
        let mut open = Open::default();
        let cpus = cpu(&[(500, 7, 120), (2_000, 9, 120), (2_500, 8, 50)]);
        let (counts, pairs) = read(&mut open, &waiting(), &cpus, 3_000);
        assert_eq!((counts.ready_ns, counts.open_ns, counts.worst_ns), (2_000, 2_000, 2_000));
        assert_eq!((counts.others_ns, counts.own_ns, counts.rest_ns), (1_500, 500, 0));
        let of: Vec<_> = pairs.iter().map(|p| (p.culprit, p.ns, p.forced_ns, p.prio)).collect();
        assert_eq!(of, [(8, 500, 500, 50), (7, 1_000, 0, 120)]);
        // Only the time since then is added, and the sums continue.
        let (counts, pairs) = read(&mut open, &waiting(), &cpus, 4_000);
        assert_eq!((counts.ready_ns, counts.others_ns, counts.own_ns), (3_000, 2_500, 500));
        assert_eq!(pairs.iter().map(|pair| pair.ns).collect::<Vec<_>>(), [1_000]);
        assert_eq!(open.places().collect::<Vec<_>>(), [3]);
        // It runs: the programs have added the whole wait to its sum, and have attributed the
        // time after the last reading.
        let ran = Thread { state: 1, ready: 3_100, others: 100, ..waiting() };
        let (counts, pairs) = read(&mut open, &ran, &cpus, 5_000);
        assert_eq!((counts.ready_ns, counts.open_ns, pairs.len()), (3_100, 0, 0));
        assert_eq!((counts.others_ns, counts.own_ns), (2_600, 500));
        // The sums stay, and a later thread in the same slot gets none of them.
        let later = Thread { others: 150, ..ran };
        assert_eq!(read(&mut open, &later, &cpus, 6_000).0.others_ns, 2_650);
        let other = Thread { start: 2, others: 7, ..ran };
        assert_eq!(read(&mut open, &other, &cpus, 6_000).0.others_ns, 7);
        assert_eq!(open.places().count(), 0);
    }

    #[test]
    fn a_thread_that_came_to_its_cpu_later_waits_there_from_then_on() {
        let mut open = Open::default();
        let moved = Thread { here: 4_000, ..waiting() };
        let cpus = cpu(&[(500, 7, 120)]);
        let (counts, pairs) = read(&mut open, &moved, &cpus, 3_000);
        assert_eq!((counts.others_ns, pairs.len()), (0, 0));
        let (counts, pairs) = read(&mut open, &moved, &cpus, 5_000);
        assert_eq!((counts.others_ns, pairs[0].ns), (1_000, 1_000));
    }

    #[test]
    fn who_runs_at_the_same_real_time_priority_has_the_cpu_by_its_policy() {
        let equal = Thread { prio: 50, ..waiting() };
        let (_, pairs) = read(&mut Open::default(), &equal, &cpu(&[(500, 7, 50)]), 3_000);
        assert_eq!((pairs[0].forced_ns, pairs[0].prio, pairs[0].victim_prio), (2_000, 50, 50));
        assert_eq!(pairs[0].normal_prio, 120);
        let above = Thread { prio: 49, ..waiting() };
        let (_, pairs) = read(&mut Open::default(), &above, &cpu(&[(500, 7, 50)]), 3_000);
        assert_eq!(pairs[0].forced_ns, 0);
    }

    #[test]
    fn a_thread_that_a_quota_holds_waits_for_the_quota() {
        let held = Thread { level: 1, ..waiting() };
        let (counts, pairs) = read(&mut Open::default(), &held, &cpu(&[(500, 7, 120)]), 3_000);
        assert_eq!((counts.throttled_ns[1], counts.others_ns, pairs.len()), (2_000, 0, 0));
    }

    #[test]
    fn what_is_not_remembered_of_a_cpu_is_rest() {
        let cpus = cpu(&[(2_500, 7, 120)]);
        let (counts, _) = read(&mut Open::default(), &waiting(), &cpus, 3_000);
        assert_eq!((counts.others_ns, counts.rest_ns), (500, 1_500));
        let (counts, _) = read(&mut Open::default(), &waiting(), &[], 3_000);
        assert_eq!((counts.others_ns, counts.rest_ns), (0, 2_000));
    }
}
