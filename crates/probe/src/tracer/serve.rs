//! The thread that listens to the programs.

use super::command::{Command, Commands};
use super::load::{Loaded, Room, load};
use super::read::Tables;
use crate::SessionOptions;
use crate::event::Event;
use crate::gather::Gatherer;
use crate::idle::Idle;
use crate::parts::Parts;
use crate::quota;
use crate::shared::Shared;
use crate::suspects::Stacks;
use crate::symbols::Symbols;
use crate::watched::{Role, Watched};
use libbpf_rs::{Link, MapCore, MapFlags, MapMut, RingBuffer, RingBufferBuilder};
use model::Evidence;
use model::not_seen::{EvidenceSource, NoPrograms, NotSeen, Sees};
use os::time;
use os::time::now_ns;
use std::cell::{OnceCell, RefCell};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::time::Duration;

/// How often the ring buffer is emptied; it has room for far more events than arrive in that
/// time.
const POLL: Duration = Duration::from_millis(20);

/// Why kernel stacks have no names.
const HIDDEN: &str = "kernel stacks: /proc/kallsyms hides the kernel's addresses, so waits without \
                      tracepoints have no holder; run as root or with CAP_SYSLOG, and set \
                      kernel.kptr_restrict to 1 or less";

/// Loads the programs, listens, and turns their events into evidence.
pub fn serve(
    options: &SessionOptions,
    reply: &Sender<Result<(), NoPrograms>>,
    commands: &Commands,
) -> Evidence {
    let mut rooms = [Room::uninit(), Room::uninit()];
    match load(options, &mut rooms) {
        Ok(loaded) => {
            let _ = reply.send(Ok(()));
            let can = loaded.options.clone();
            collect(&can, loaded, commands)
        }
        Err(error) => {
            let _ = reply.send(Err(error));
            Evidence::default()
        }
    }
}

fn collect(options: &SessionOptions, mut loaded: Loaded, commands: &Commands) -> Evidence {
    let mut evidence = Evidence {
        sources: std::mem::take(&mut loaded.sources),
        missing: std::mem::take(&mut loaded.missing),
        ..Evidence::default()
    };
    let Ok(memory) = Shared::map(&loaded.skel.maps.bss) else {
        evidence.missing.push(NotSeen::Tables);
        return evidence;
    };
    let tables = Tables::of(memory, options);
    let threshold = time::whole_ns(options.threshold);
    let gatherer = RefCell::new(Gatherer::new(threshold));
    let take = |bytes: &[u8]| {
        if let Some(event) = Event::read(bytes) {
            gatherer.borrow_mut().add(event);
        }
        0
    };
    let ring = match ring(&loaded.skel.maps.ring, take) {
        Ok(ring) => ring,
        Err(error) => {
            evidence.missing.push(NotSeen::Ring { why: error.to_string() });
            return evidence;
        }
    };
    let mut watch = Watch {
        options,
        tables,
        parts: Parts::default(),
        links: loaded.links,
        zero: 0,
        idle: Idle::default(),
    };
    let mut under_way = Vec::new();
    loop {
        // Commands come first: they must not wait when the listener gets little CPU time.
        match commands.recv_timeout(POLL) {
            Ok(Command::Watch(watched, answer)) => {
                watch.watch(&watched);
                let _ = answer.send(());
            }
            Ok(Command::Release(answer)) => {
                gatherer.borrow_mut().release(watch.release());
                let _ = answer.send(());
            }
            Ok(Command::Stop(answer)) => {
                let now = now_ns();
                gatherer.borrow_mut().end(now);
                under_way = watch.stop(now, &mut evidence);
                let _ = answer.send(());
            }
            Ok(Command::Finish) | Err(RecvTimeoutError::Disconnected) => break,
            // If the ring buffer cannot be read now, a later attempt may work, and the kernel
            // counts lost events.
            Err(RecvTimeoutError::Timeout) => drop(ring.consume()),
        }
    }
    let _ = ring.consume();
    drop(ring);
    let mut gatherer = gatherer.take();
    watch.tables.spaces().into_iter().for_each(|(space, pid)| gatherer.space(space, pid));
    under_way.into_iter().for_each(|event| gatherer.add_in_progress(event));
    let stacks = KernelStacks::of(&loaded.skel.maps.stacks, options);
    gatherer.finish(&watch.parts, &stacks, &mut evidence);
    if stacks.are_hidden() {
        evidence.missing.push(NotSeen::Said(HIDDEN.to_owned()));
    }
    evidence
}

fn ring<'a>(
    map: &'a MapMut,
    take: impl FnMut(&[u8]) -> i32 + 'a,
) -> libbpf_rs::Result<RingBuffer<'a>> {
    let mut builder = RingBufferBuilder::new();
    builder.add(map, take)?;
    builder.build()
}

/// What the programs watch, and since when.
struct Watch<'a> {
    options: &'a SessionOptions,
    tables: Tables,
    parts: Parts,
    /// These keep the programs attached.
    links: Vec<Link>,
    zero: u64,
    idle: Idle,
}

impl Watch<'_> {
    fn watch(&mut self, watched: &[Watched]) {
        for one in watched {
            let part = self.parts.add(one);
            if !self.tables.watch(one, part) {
                self.parts.crowd();
            }
            if one.role == Role::Victim {
                // The kernel generates this file under the lock of the process, so the programs
                // learn the lock. If the file cannot be read, the programs learn it when the
                // victim runs.
                self.tables.introduce(one.pid);
                let smaps = self.options.roots.proc.join(one.pid.to_string()).join("smaps");
                let _ = host::roots::read_start(&smaps, 64);
                self.tables.introduce(0);
            }
        }
    }

    /// Starts counting; returns the moment.
    fn release(&mut self) -> u64 {
        self.zero = now_ns();
        self.idle = Idle::read(&self.options.roots);
        self.tables.reset(self.zero);
        self.zero
    }

    /// Reads the tables at the moment `now` and detaches the programs; returns the events in
    /// progress.
    fn stop(&mut self, now: u64, into: &mut Evidence) -> Vec<Event> {
        let under_way = self.tables.under_way(now);
        into.threads = self.tables.of_threads(&self.parts, self.zero, now);
        let source = EvidenceSource::Probe(Sees::Scheduler);
        into.quota = self.options.quota.then(|| quota::shares(&into.threads, source));
        let idle = Idle::read(&self.options.roots);
        into.cpus = self.tables.of_cpus(self.zero, now, &|cpu| idle.since(&self.idle, cpu));
        self.links.clear();
        let (lost, untracked) = self.tables.losses();
        into.lost_events = lost;
        let untracked = untracked + self.parts.crowded();
        if untracked > 0 {
            into.missing.push(NotSeen::Crowded { lookups: untracked });
        }
        under_way
    }
}

/// The stacks that the kernel stores.
struct KernelStacks<'a> {
    map: &'a MapMut<'a>,
    symbols: OnceCell<Symbols>,
    options: &'a SessionOptions,
    /// Names of the stacks that were looked up. The kernel stores a limited number, so this is
    /// bounded.
    known: RefCell<std::collections::HashMap<u32, Vec<String>>>,
}

impl<'a> KernelStacks<'a> {
    fn of(map: &'a MapMut<'a>, options: &'a SessionOptions) -> Self {
        KernelStacks { map, symbols: OnceCell::new(), options, known: RefCell::default() }
    }

    /// Whether a stack was looked up and the kernel hides the names.
    fn are_hidden(&self) -> bool {
        self.symbols.get().is_some_and(Symbols::is_empty)
    }

    fn look_up(&self, stack: u32) -> Vec<String> {
        // The table is large, so it is read only when the first stack is looked up.
        let symbols = self.symbols.get_or_init(|| Symbols::read(&self.options.roots));
        let Ok(Some(bytes)) = self.map.lookup(&stack.to_ne_bytes(), MapFlags::ANY) else {
            return Vec::new();
        };
        let (words, _) = bytes.as_chunks::<8>();
        let addresses = words.iter().map(|word| u64::from_ne_bytes(*word));
        let names = addresses.take_while(|address| *address != 0).map(|a| symbols.name(a));
        skip_probe_frames(names.collect())
    }
}

impl Stacks for KernelStacks<'_> {
    fn names(&self, stack: u32) -> Vec<String> {
        if let Some(names) = self.known.borrow().get(&stack) {
            return names.clone();
        }
        let names = self.look_up(stack);
        self.known.borrow_mut().insert(stack, names.clone());
        names
    }
}

/// The stack from the point where the thread left the CPU. The frames before that are the program
/// that took the stack and its callers.
fn skip_probe_frames(mut names: Vec<String>) -> Vec<String> {
    let left = names.iter().position(|name| name.trim_start_matches('_') == "schedule");
    names.drain(..left.unwrap_or(0));
    names
}
