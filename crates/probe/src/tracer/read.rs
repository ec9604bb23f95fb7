//! Reads and sets the tables that are shared with the programs.
//!
//! The kernel may write them at any moment. So they are read and written through raw pointers,
//! each field separately.

use super::object::types::{bss, cpu, thread};
use crate::SessionOptions;
use crate::event::{Event, EventKind, name};
use crate::files::{LISTED, wanted_ns};
use crate::parts::Parts;
use crate::shared::{Shared, element, elements};
use crate::watched::{Role, Watched};
use model::evidence::{Behind, BehindKind, CpuEvidence, Task, ThreadEvidence};
use std::collections::HashMap;
use std::ptr::addr_of_mut;

/// States of a thread, as in types.h.
const RUNNING: u8 = 1;
const RUNNABLE: u8 = 2;
const BLOCKED: u8 = 3;

const VICTIM: u8 = 1;
const SUSPECT: u8 = 2;

/// The tables.
pub struct Tables {
    memory: Shared<bss>,
    options: SessionOptions,
}

impl Tables {
    /// The tables of a loaded object.
    pub fn of(memory: Shared<bss>, options: &SessionOptions) -> Self {
        Tables { memory, options: options.clone() }
    }

    fn bss(&self) -> *mut bss {
        self.memory.as_ptr()
    }

    /// Lets the programs watch a process; false if another process has its slot.
    pub fn watch(&self, watched: &Watched, part: u8) -> bool {
        let flags = match watched.role {
            Role::Victim => VICTIM,
            Role::Suspect => SUSPECT,
            Role::Bystander => 0,
        };
        // SAFETY: within the mapped memory; an index past the end of a table wraps around.
        unsafe {
            let groups = addr_of_mut!((*self.bss()).groups);
            let group = element(groups, watched.pid as usize);
            let there = addr_of_mut!((*group).tgid).read_volatile();
            if there != 0 && there != watched.pid {
                return false;
            }
            addr_of_mut!((*group).part).write_volatile(part);
            addr_of_mut!((*group).flags).write_volatile(flags);
            addr_of_mut!((*group).tgid).write_volatile(watched.pid);
            let at = watched.pid as usize % groups_in(groups);
            let word = element(addr_of_mut!((*self.bss()).filter), at / 64);
            // The programs in the kernel set bits too, when they see a lock touched. If this
            // write loses such a bit, the next touch sets it again.
            word.write_volatile(word.read_volatile() | 1 << (at % 64));
        }
        true
    }

    /// Tells the programs that the calling thread is about to take the lock of `victim`; 0 ends
    /// this.
    pub fn introduce(&self, victim: u32) {
        let caller = if victim == 0 { 0 } else { rustix::thread::gettid().as_raw_pid() };
        // SAFETY: both are fields of the tables.
        unsafe {
            addr_of_mut!((*self.bss()).introduced).write_volatile(victim);
            addr_of_mut!((*self.bss()).introducer).write_volatile(caller.cast_unsigned());
        }
    }

    /// Resets all counters at the moment `now`. A count made at the same time may be lost.
    pub fn reset(&self, now: u64) {
        // SAFETY: within the tables.
        unsafe {
            for thread in self.threads() {
                for field in [
                    addr_of_mut!((*thread).running_ns),
                    addr_of_mut!((*thread).runnable_ns),
                    addr_of_mut!((*thread).longest_ns),
                    addr_of_mut!((*thread).blocked_ns),
                    addr_of_mut!((*thread).migrations),
                    addr_of_mut!((*thread).preemptions),
                    addr_of_mut!((*thread).throttles),
                    addr_of_mut!((*thread).throttled_ns),
                    addr_of_mut!((*thread).futex_calls),
                    addr_of_mut!((*thread).futex_ns),
                    addr_of_mut!((*thread).futex_slept_ns),
                    addr_of_mut!((*thread).poll_slept_ns),
                ] {
                    field.write_volatile(0);
                }
                addr_of_mut!((*thread).behind).write_volatile([0; 8]);
                // A call in progress is counted from this moment.
                let from = addr_of_mut!((*thread).call_from);
                if from.read_volatile() != 0 {
                    from.write_volatile(now);
                }
            }
            for cpu in self.cpus() {
                addr_of_mut!((*cpu).idle_while_waiting_ns).write_volatile(0);
            }
        }
    }

    /// Events that were lost, and lookups of threads that found no slot.
    pub fn losses(&self) -> (u64, u64) {
        // SAFETY: both are fields of the tables.
        unsafe {
            let lost = addr_of_mut!((*self.bss()).lost).read_volatile();
            (lost, addr_of_mut!((*self.bss()).untracked).read_volatile())
        }
    }

    /// The address spaces whose lock is watched, with their processes.
    pub fn spaces(&self) -> Vec<(u64, u32)> {
        // SAFETY: within the tables.
        unsafe {
            let spaces = addr_of_mut!((*self.bss()).spaces).read_volatile();
            spaces.iter().filter(|space| space.mm != 0).map(|s| (s.mm, s.tgid)).collect()
        }
    }

    /// What the scheduler did to each thread since `zero`. Victims come first, then the threads
    /// that wanted a CPU longest.
    pub fn of_threads(&self, parts: &Parts, zero: u64, now: u64) -> Vec<ThreadEvidence> {
        // SAFETY: within the tables.
        let threads = self.threads().map(|thread| unsafe { thread.read_volatile() });
        let mut all: Vec<(bool, ThreadEvidence)> = threads
            .filter(|thread| thread.tid != 0 && parts.part_of(thread.tgid).is_some())
            .map(|thread| {
                let caught = self
                    .cpu(u32::from(thread.cpu))
                    .map_or(0, |cpu| caught_now(&thread, &cpu, zero, now));
                let seen = evidence_of(&thread, caught, parts, (zero, now), &self.options);
                (thread.flags & VICTIM == 0, seen)
            })
            .collect();
        count_threads(&mut all);
        all.sort_by_key(|(ordinary, thread)| (*ordinary, std::cmp::Reverse(wanted_ns(thread))));
        all.truncate(LISTED);
        all.into_iter().map(|(_, thread)| thread).collect()
    }

    /// Everything in progress, as events that end at `now`. Stretches on CPUs and holds come
    /// before waits, so that the waits can be joined with them.
    pub fn under_way(&self, now: u64) -> Vec<Event> {
        // SAFETY: within the tables.
        let threads = self.threads().map(|thread| unsafe { thread.read_volatile() });
        let mut events: Vec<Event> = threads
            .filter(|thread| thread.tid != 0)
            .flat_map(|thread| under_way(&thread, now))
            .collect();
        let rank = |event: &Event| match event.kind {
            EventKind::Ran | EventKind::Throttled => 0,
            EventKind::Held => 1,
            EventKind::Waited | EventKind::Slept => 2,
        };
        // All of them end now. The thread that runs on a CPU comes before those that wait for it,
        // so that the events of a CPU are ordered by their beginning too.
        events.sort_by_key(|event| (rank(event), event.from));
        events
    }

    /// What each CPU did since `zero`; `idle` returns the idle time of a CPU.
    pub fn of_cpus(&self, zero: u64, now: u64, idle: &dyn Fn(u32) -> u64) -> Vec<CpuEvidence> {
        let span = now.saturating_sub(zero);
        // SAFETY: within the tables.
        let cpus = (0u32..).zip(self.cpus().map(|cpu| unsafe { cpu.read_volatile() }));
        cpus.filter(|(_, cpu)| cpu.watched != 0)
            .map(|(number, cpu)| {
                let idle_ns = idle(number).max(cpu.idle_while_waiting_ns).min(span);
                CpuEvidence {
                    cpu: number,
                    busy_ns: span - idle_ns,
                    idle_ns,
                    idle_while_waiting_ns: cpu.idle_while_waiting_ns.min(idle_ns),
                }
            })
            .collect()
    }

    fn threads(&self) -> impl Iterator<Item = *mut thread> {
        // SAFETY: within the memory.
        elements(unsafe { addr_of_mut!((*self.bss()).threads) })
    }

    fn cpu(&self, number: u32) -> Option<cpu> {
        // SAFETY: within the tables.
        self.cpus().nth(number as usize).map(|cpu| unsafe { cpu.read_volatile() })
    }

    fn cpus(&self) -> impl Iterator<Item = *mut cpu> {
        // SAFETY: within the memory.
        elements(unsafe { addr_of_mut!((*self.bss()).cpus) })
    }
}

/// The number of groups in the table.
fn groups_in<T, const N: usize>(_: *mut [T; N]) -> usize {
    N
}

/// What a thread is doing, as events that end at `now`.
fn under_way(thread: &thread, now: u64) -> Vec<Event> {
    let (runnable, running) = match thread.state {
        RUNNING => (thread.runnable_since, thread.since),
        RUNNABLE => (thread.since, now),
        _ => (now, now),
    };
    let bytes: Vec<u8> = thread.comm.iter().map(|c| c.cast_unsigned()).collect();
    let event = |kind, from: u64, write: u8| Event {
        kind,
        cpu: u32::from(thread.cpu),
        tid: thread.tid,
        pid: thread.tgid,
        from: from.min(now),
        to: now,
        runnable,
        running,
        space: 0,
        stack: None,
        nice: thread.nice,
        write: write != 0,
        preempted: thread.state != BLOCKED,
        part: thread.part,
        name: name(&bytes),
    };
    let mut events = vec![event(EventKind::Ran, running, 0)];
    let mut on = |space, event: Event| events.push(Event { space, ..event });
    if thread.hold_mm != 0 {
        on(thread.hold_mm, event(EventKind::Held, thread.hold_from, thread.hold_write));
    }
    // A reader that was given the lock holds it, even if it has not run since.
    if thread.wait_mm != 0 && thread.granted > 0 {
        on(thread.wait_mm, event(EventKind::Held, thread.granted, 0));
    }
    if thread.flags & VICTIM != 0 && thread.wait_mm != 0 && thread.granted == 0 {
        on(thread.wait_mm, event(EventKind::Waited, thread.wait_from, thread.wait_write));
    }
    if thread.asleep != 0 {
        let stack = u32::try_from(thread.stack).ok();
        on(0, Event { stack, ..event(EventKind::Slept, thread.slept_from, 0) });
    }
    events
}

/// How long the quota has throttled a thread that is runnable at `now`.
fn caught_now(thread: &thread, cpu: &cpu, zero: u64, now: u64) -> u64 {
    if thread.state != RUNNABLE {
        return 0;
    }
    let open = match cpu.throttled_since {
        0 => 0,
        since => now.saturating_sub(since),
    };
    let caught = (cpu.throttled_ns + open).saturating_sub(thread.throttled_mark);
    caught.min(now.saturating_sub(thread.since.max(zero)))
}

fn evidence_of(
    thread: &thread,
    caught_now: u64,
    parts: &Parts,
    (zero, now): (u64, u64),
    options: &SessionOptions,
) -> ThreadEvidence {
    // The current state has not been added up yet.
    let under_way = now.saturating_sub(thread.since.max(zero));
    let open = |state: u8| if thread.state == state { under_way } else { 0 };
    let span = now.saturating_sub(zero);
    let (polls, calls) = (thread.polling != 0, thread.call_from != 0);
    let in_futex = (calls && !polls).then(|| now.saturating_sub(thread.call_from.max(zero)));
    let slept_in_futex = if calls && !polls { open(BLOCKED) } else { 0 };
    let slept_in_poll = if calls && polls { open(BLOCKED) } else { 0 };
    let bytes: Vec<u8> = thread.comm.iter().map(|c| c.cast_unsigned()).collect();
    ThreadEvidence {
        task: Task {
            pid: thread.tgid,
            tid: thread.tid,
            name: name(&bytes),
            part: parts.part_of(thread.tgid).map(str::to_owned),
            nice: Some(thread.nice),
        },
        running_ns: (thread.running_ns + open(RUNNING)).min(span),
        runnable_ns: (thread.runnable_ns + open(RUNNABLE)).min(span),
        longest_runnable_ns: thread.longest_ns.max(open(RUNNABLE)).min(span),
        blocked_ns: Some((thread.blocked_ns + open(BLOCKED)).min(span)),
        migrations: Some(thread.migrations),
        preemptions: Some(thread.preemptions),
        throttled_ns: options.quota.then_some((thread.throttled_ns + caught_now).min(span)),
        throttles: options.quota.then_some(thread.throttles + u64::from(caught_now > 0)),
        futex_calls: options.futex.then_some(thread.futex_calls + u64::from(in_futex.is_some())),
        futex_ns: options.futex.then_some((thread.futex_ns + in_futex.unwrap_or(0)).min(span)),
        futex_slept_ns: options.futex.then_some((thread.futex_slept_ns + slept_in_futex).min(span)),
        poll_slept_ns: options.futex.then_some((thread.poll_slept_ns + slept_in_poll).min(span)),
        behind: behind(thread, parts),
    }
}

/// Sets how many threads each part has. The kernel adds up CPU time by part only, and a process
/// may have several threads.
fn count_threads(all: &mut [(bool, ThreadEvidence)]) {
    let mut counts: HashMap<String, u32> = HashMap::new();
    for part in all.iter().filter_map(|(_, seen)| seen.task.part.clone()) {
        *counts.entry(part).or_default() += 1;
    }
    let behind = all.iter_mut().flat_map(|(_, seen)| &mut seen.behind);
    for of_part in behind.filter(|behind| behind.kind == BehindKind::Part) {
        let threads = counts.get(&of_part.name).copied().unwrap_or(0);
        of_part.threads = of_part.threads.max(threads);
    }
}

fn behind(thread: &thread, parts: &Parts) -> Vec<Behind> {
    let mut all: Vec<Behind> = (0u8..)
        .zip(thread.behind)
        .filter(|(_, ns)| *ns > 0)
        .map(|(part, ns)| {
            let name = parts.name(part).unwrap_or("others").to_owned();
            Behind { name, kind: parts.kind(part), threads: parts.count(part), ns }
        })
        .collect();
    all.sort_by_key(|behind| std::cmp::Reverse(behind.ns));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables() -> Tables {
        Tables::of(Shared::zeroes(), &SessionOptions::new(&host::roots::Roots::real()))
    }

    #[test]
    fn a_process_is_watched_once_and_its_place_is_not_given_to_another() {
        let tables = tables();
        let victim = |pid| Watched::new(pid, "mapper", Role::Victim);
        assert!(tables.watch(&victim(70_000), 1));
        assert!(tables.watch(&victim(70_000), 1));
        // SAFETY: within the memory.
        let groups = groups_in(unsafe { addr_of_mut!((*tables.bss()).groups) });
        let other = 70_000 + u32::try_from(groups).unwrap();
        assert!(!tables.watch(&victim(other), 2));
        // The last slot, and the last bit of the filter.
        assert!(tables.watch(&victim(u32::MAX), 2));
    }

    #[test]
    fn what_the_kernel_wrote_is_read_and_reset() {
        let tables = tables();
        let mut parts = Parts::default();
        parts.add(&Watched::new(7, "mapper", Role::Victim));
        let thread = tables.threads().last().unwrap();
        let cpu = tables.cpus().last().unwrap();
        // SAFETY: within the mapped memory, as the kernel would write it.
        unsafe {
            addr_of_mut!((*thread).tid).write_volatile(8);
            addr_of_mut!((*thread).tgid).write_volatile(7);
            addr_of_mut!((*thread).running_ns).write_volatile(u64::MAX);
            addr_of_mut!((*thread).behind).write_volatile([1; 8]);
            addr_of_mut!((*cpu).watched).write_volatile(1);
            addr_of_mut!((*cpu).idle_while_waiting_ns).write_volatile(u64::MAX);
            addr_of_mut!((*tables.bss()).lost).write_volatile(3);
        }
        let seen = tables.of_threads(&parts, 100, 200);
        assert_eq!((seen.len(), seen[0].task.tid, seen[0].running_ns), (1, 8, 100));
        let cpus = tables.of_cpus(100, 200, &|_| 0);
        assert_eq!((cpus.len(), cpus[0].busy_ns, cpus[0].idle_while_waiting_ns), (1, 0, 100));
        assert_eq!(tables.losses(), (3, 0));
        tables.reset(200);
        assert_eq!(tables.of_threads(&parts, 100, 200)[0].running_ns, 0);
        assert!(tables.spaces().is_empty());
        assert_eq!(tables.under_way(300).len(), 1);
    }

    /// Writes the threads of process 7 as the kernel would: the state, since when, and how long
    /// each of them ran.
    fn put_threads(tables: &Tables, threads: &[(u8, u64, u64)]) {
        for (tid, (at, (state, since, running_ns))) in (1..).zip(tables.threads().zip(threads)) {
            // SAFETY: within the mapped memory.
            unsafe {
                addr_of_mut!((*at).tid).write_volatile(tid);
                addr_of_mut!((*at).tgid).write_volatile(7);
                addr_of_mut!((*at).state).write_volatile(*state);
                addr_of_mut!((*at).since).write_volatile(*since);
                addr_of_mut!((*at).running_ns).write_volatile(*running_ns);
            }
        }
    }

    #[test]
    fn the_stretch_of_the_thread_that_runs_comes_first() {
        let tables = tables();
        put_threads(&tables, &[(BLOCKED, 20, 0), (RUNNABLE, 60, 0), (RUNNING, 50, 0)]);
        let mut history = crate::history::History::default();
        tables.under_way(300).into_iter().for_each(|event| history.add(event));
        let when = crate::span::Stretch::new(100, 200);
        let ran: Vec<u32> = history.others_on(0, 2, when).map(|event| event.tid).collect();
        assert_eq!(ran, [3]);
    }

    #[test]
    fn every_thread_of_a_large_node_is_listed_and_those_that_ran_come_first() {
        let tables = tables();
        let mut parts = Parts::default();
        parts.add(&Watched::new(7, "node", Role::Bystander));
        let mut threads = vec![(BLOCKED, 0, 0); 300];
        threads[299].2 = 90;
        put_threads(&tables, &threads);
        let seen = tables.of_threads(&parts, 100, 200);
        assert_eq!((seen.len(), seen[0].task.tid, seen[0].running_ns), (300, 300, 90));
    }
}
