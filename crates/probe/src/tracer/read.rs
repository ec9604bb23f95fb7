//! Reading and setting the tables that are shared with the programs.
//!
//! The kernel writes them at any moment, so they are read and written through raw pointers, each
//! field for itself.

use super::object::types::{bss, cpu, thread};
use crate::SessionOptions;
use crate::event::{Event, Kind, name};
use crate::parts::Parts;
use crate::watched::{Role, Watched};
use model::evidence::{Behind, CpuEvidence, Task, ThreadEvidence};
use std::ptr::addr_of_mut;

/// Threads that are listed in evidence.
const THREADS: usize = 128;

/// States of a thread, as in types.h.
const RUNNING: u8 = 1;
const RUNNABLE: u8 = 2;
const BLOCKED: u8 = 3;

const VICTIM: u8 = 1;
const SUSPECT: u8 = 2;

/// The tables.
pub struct Tables {
    bss: *mut bss,
    options: SessionOptions,
}

impl Tables {
    /// The tables of a loaded object.
    ///
    /// The reference must stay valid as long as this is used, and no other code may write through
    /// it.
    pub fn of(bss: &mut bss, options: &SessionOptions) -> Self {
        Tables { bss, options: options.clone() }
    }

    /// Has the programs watch a process; false where its place is taken by another.
    pub fn watch(&self, watched: &Watched, part: u8) -> bool {
        let flags = match watched.role {
            Role::Victim => VICTIM,
            Role::Suspect => SUSPECT,
            Role::Bystander => 0,
        };
        // SAFETY: the index is masked to the table, which lives as long as the object.
        unsafe {
            let groups = addr_of_mut!((*self.bss).groups);
            let group = addr_of_mut!((*groups)[watched.pid as usize % (*groups).len()]);
            let there = addr_of_mut!((*group).tgid).read_volatile();
            if there != 0 && there != watched.pid {
                return false;
            }
            addr_of_mut!((*group).part).write_volatile(part);
            addr_of_mut!((*group).flags).write_volatile(flags);
            addr_of_mut!((*group).tgid).write_volatile(watched.pid);
            let filter = addr_of_mut!((*self.bss).filter);
            let at = watched.pid as usize % (*groups).len();
            let word = addr_of_mut!((*filter)[at / 64]);
            // The kernel side sets bits too, while it sees locks touched; one that is lost here is
            // set again at the next touch.
            word.write_volatile(word.read_volatile() | 1 << (at % 64));
        }
        true
    }

    /// Tells the programs that the calling thread is about to take the lock of a victim; 0 ends
    /// that.
    pub fn introduce(&self, victim: u32) {
        let caller = if victim == 0 { 0 } else { rustix::thread::gettid().as_raw_pid() };
        // SAFETY: both are fields of the tables.
        unsafe {
            addr_of_mut!((*self.bss).introduced).write_volatile(victim);
            addr_of_mut!((*self.bss).introducer).write_volatile(caller.cast_unsigned());
        }
    }

    /// Resets all counters, at a moment. A count that is made just then may be lost.
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
                // A call under way counts from here on.
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

    /// Events that were lost, and threads that found no place.
    pub fn losses(&self) -> (u64, u64) {
        // SAFETY: both are fields of the tables.
        unsafe {
            let lost = addr_of_mut!((*self.bss).lost).read_volatile();
            (lost, addr_of_mut!((*self.bss).untracked).read_volatile())
        }
    }

    /// The address spaces whose lock is watched, and whose they are.
    pub fn spaces(&self) -> Vec<(u64, u32)> {
        // SAFETY: within the tables.
        unsafe {
            let spaces = addr_of_mut!((*self.bss).spaces).read_volatile();
            spaces.iter().filter(|space| space.mm != 0).map(|s| (s.mm, s.tgid)).collect()
        }
    }

    /// What the scheduler did to each thread since `zero`, those with the longest delay first and
    /// victims before all.
    pub fn of_threads(&self, parts: &Parts, zero: u64, now: u64) -> Vec<ThreadEvidence> {
        // SAFETY: within the tables.
        let threads = self.threads().map(|thread| unsafe { thread.read_volatile() });
        let mut all: Vec<(bool, ThreadEvidence)> = threads
            .filter(|thread| thread.tid != 0 && parts.of(thread.tgid).is_some())
            .map(|thread| {
                let caught = self
                    .cpu(u32::from(thread.cpu))
                    .map_or(0, |cpu| caught_now(&thread, &cpu, zero, now));
                let seen = evidence_of(&thread, caught, parts, (zero, now), &self.options);
                (thread.flags & VICTIM == 0, seen)
            })
            .collect();
        all.sort_by_key(|(ordinary, thread)| (*ordinary, std::cmp::Reverse(thread.runnable_ns)));
        all.truncate(THREADS);
        all.into_iter().map(|(_, thread)| thread).collect()
    }

    /// What is under way now, as events that end now: stretches on CPUs and holds before waits, so
    /// that the waits can be joined.
    pub fn under_way(&self, now: u64) -> Vec<Event> {
        // SAFETY: within the tables.
        let threads = self.threads().map(|thread| unsafe { thread.read_volatile() });
        let mut events: Vec<Event> = threads
            .filter(|thread| thread.tid != 0)
            .flat_map(|thread| under_way(&thread, now))
            .collect();
        events.sort_by_key(|event| match event.kind {
            Kind::Ran | Kind::Throttled => 0,
            Kind::Held => 1,
            Kind::Waited | Kind::Slept => 2,
        });
        events
    }

    /// What each CPU did since `zero`; `idle` is how long each was idle.
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
        // SAFETY: the table lives as long as the object.
        let table = unsafe { addr_of_mut!((*self.bss).threads) };
        let first = table.cast::<thread>();
        // SAFETY: the indices are those of the table.
        (0..unsafe { (*table).len() }).map(move |index| unsafe { first.add(index) })
    }

    fn cpu(&self, number: u32) -> Option<cpu> {
        // SAFETY: within the tables.
        self.cpus().nth(number as usize).map(|cpu| unsafe { cpu.read_volatile() })
    }

    fn cpus(&self) -> impl Iterator<Item = *mut cpu> {
        // SAFETY: the table lives as long as the object.
        let table = unsafe { addr_of_mut!((*self.bss).cpus) };
        let first = table.cast::<cpu>();
        // SAFETY: the indices are those of the table.
        (0..unsafe { (*table).len() }).map(move |index| unsafe { first.add(index) })
    }
}

/// What a thread is at, as events that end now.
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
    let mut events = vec![event(Kind::Ran, running, 0)];
    let mut on = |space, event: Event| events.push(Event { space, ..event });
    if thread.hold_mm != 0 {
        on(thread.hold_mm, event(Kind::Held, thread.hold_from, thread.hold_write));
    }
    // A reader that was given the lock holds it, though it has not run since.
    if thread.wait_mm != 0 && thread.granted > 0 {
        on(thread.wait_mm, event(Kind::Held, thread.granted, 0));
    }
    if thread.flags & VICTIM != 0 && thread.wait_mm != 0 && thread.granted == 0 {
        on(thread.wait_mm, event(Kind::Waited, thread.wait_from, thread.wait_write));
    }
    if thread.asleep != 0 {
        let stack = u32::try_from(thread.stack).ok();
        on(0, Event { stack, ..event(Kind::Slept, thread.slept_from, 0) });
    }
    events
}

/// How long the quota has kept a thread off its CPU that is runnable now.
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
    // What is under way has not been added up yet.
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
            part: parts.of(thread.tgid).map(str::to_owned),
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

fn behind(thread: &thread, parts: &Parts) -> Vec<Behind> {
    let mut all: Vec<Behind> = (0u8..)
        .zip(thread.behind)
        .filter(|(_, ns)| *ns > 0)
        .map(|(part, ns)| {
            let name = parts.name(part).unwrap_or("others").to_owned();
            Behind { name, threads: parts.count(part), ns }
        })
        .collect();
    all.sort_by_key(|behind| std::cmp::Reverse(behind.ns));
    all
}
