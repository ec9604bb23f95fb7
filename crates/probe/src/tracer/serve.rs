//! The thread that listens to the programs.

use super::load::{Loaded, Room, load};
use super::read::Tables;
use super::{Command, Commands};
use crate::event::Event;
use crate::gather::Gatherer;
use crate::parts::Parts;
use crate::suspects::Stacks;
use crate::symbols::Symbols;
use crate::watched::Watched;
use crate::{ProbeError, Wish};
use libbpf_rs::{MapCore, MapFlags, MapMut, RingBufferBuilder};
use model::Evidence;
use rustix::time::{ClockId, clock_gettime};
use std::cell::{OnceCell, RefCell};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::time::Duration;

/// How often the ring is emptied; it holds far more than comes in such a time.
const LOOK: Duration = Duration::from_millis(20);

/// Loads, listens, and puts into evidence what was heard.
pub fn serve(
    wish: &Wish,
    say: &Sender<Result<(), ProbeError>>,
    commands: &Commands,
) -> Evidence {
    let mut room = Room::uninit();
    match load(wish, &mut room) {
        Ok(loaded) => {
            let _ = say.send(Ok(()));
            listen(wish, loaded, commands)
        }
        Err(error) => {
            let _ = say.send(Err(error));
            Evidence::default()
        }
    }
}

fn listen(wish: &Wish, mut loaded: Loaded, commands: &Commands) -> Evidence {
    let mut evidence =
        Evidence { sources: loaded.sources, missing: loaded.missing, ..Evidence::default() };
    let Some(tables) = loaded.skel.maps.bss_data.as_deref_mut().map(|bss| Tables::of(bss, wish.futex)) else {
        evidence.missing.push("the tables of the programs could not be mapped".to_owned());
        return evidence;
    };
    let stacks = KernelStacks::of(&loaded.skel.maps.stacks, wish);
    let state = RefCell::new((Gatherer::default(), Parts::default()));
    let mut ring = RingBufferBuilder::new();
    let added = ring.add(&loaded.skel.maps.ring, |bytes| {
        if let Some(event) = Event::read(bytes) {
            let (gatherer, parts) = &mut *state.borrow_mut();
            gatherer.take(event, parts, &stacks);
        }
        0
    });
    let ring = match added.and_then(|ring| std::mem::take(ring).build()) {
        Ok(ring) => ring,
        Err(error) => {
            evidence.missing.push(format!("waits: the ring of events: {error}"));
            return evidence;
        }
    };
    let mut zero = now_ns();
    loop {
        let command = commands.recv_timeout(LOOK);
        for (space, pid) in tables.spaces() {
            state.borrow_mut().0.space(space, pid);
        }
        // A ring that cannot be read now can be later, and the kernel counts what is lost.
        let _ = ring.consume();
        match command {
            Ok(Command::Watch(watched, answer)) => {
                watch(&tables, &mut state.borrow_mut().1, &watched);
                let _ = answer.send(());
            }
            Ok(Command::Release(answer)) => {
                zero = now_ns();
                state.borrow_mut().0.release(zero);
                tables.reset();
                let _ = answer.send(());
            }
            Ok(Command::Finish) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    drop(ring);
    let (gatherer, parts) = std::mem::take(&mut *state.borrow_mut());
    conclude(&tables, gatherer, &parts, zero, &mut evidence);
    evidence
}

fn watch(tables: &Tables, parts: &mut Parts, watched: &[Watched]) {
    for one in watched {
        let part = parts.add(one);
        if !tables.watch(one, part) {
            parts.crowd();
        }
    }
}

fn conclude(tables: &Tables, gatherer: Gatherer, parts: &Parts, zero: u64, into: &mut Evidence) {
    let now = now_ns();
    let (lost, untracked) = tables.losses();
    into.lost_events = lost;
    let untracked = untracked + parts.crowded();
    if untracked > 0 {
        into.missing.push(format!(
            "threads: {untracked} look-ups found the place of a thread taken by another, so some \
             threads were not followed; watch fewer"
        ));
    }
    into.threads = tables.of_threads(parts, zero, now);
    into.cpus = tables.of_cpus(zero, now);
    gatherer.finish(into);
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Stacks as the kernel keeps them.
struct KernelStacks<'a> {
    map: &'a MapMut<'a>,
    symbols: OnceCell<Symbols>,
    wish: &'a Wish,
    /// Names of the stacks that were asked for; as many as the kernel keeps, so bounded.
    known: RefCell<std::collections::HashMap<u32, Vec<String>>>,
}

impl<'a> KernelStacks<'a> {
    fn of(map: &'a MapMut<'a>, wish: &'a Wish) -> Self {
        KernelStacks { map, symbols: OnceCell::new(), wish, known: RefCell::default() }
    }

    fn look_up(&self, stack: u32) -> Vec<String> {
        // The table is large: it is read when the first stack is asked for.
        let symbols = self.symbols.get_or_init(|| Symbols::read(&self.wish.roots));
        let Ok(Some(bytes)) = self.map.lookup(&stack.to_ne_bytes(), MapFlags::ANY) else {
            return Vec::new();
        };
        let (words, _) = bytes.as_chunks::<8>();
        let addresses = words.iter().map(|word| u64::from_ne_bytes(*word));
        let names = addresses.take_while(|address| *address != 0).map(|a| symbols.name(a));
        without_ourselves(names.collect())
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

/// A stack from where the thread left the CPU; before that stand the program that took the stack and
/// what called it.
fn without_ourselves(mut names: Vec<String>) -> Vec<String> {
    let left = names.iter().position(|name| name.trim_start_matches('_') == "schedule");
    names.drain(..left.unwrap_or(0));
    names
}
