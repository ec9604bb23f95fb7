//! The table of threads, which is read where it stands: of its many places only those that have
//! changed.

use super::blocked;
use super::counts::{PairCounts, ReaderCounts, ThreadCounts};
use super::object::types::bss;
use super::open::Open;
use super::raw::{Cpu, Space, THREADS, Thread};
use crate::shared::{Shared, element};
use libbpf_rs::MapCore;
use std::collections::HashMap;
use std::io;
use std::ptr::addr_of_mut;

/// All threads that the programs follow.
pub struct Threads {
    table: Shared<[Thread; THREADS]>,
    tables: *mut bss,
    /// Places that had changed at the last reading. A program that was about to write then may have
    /// done so since, so they are read once more.
    before: Vec<usize>,
    open: Open,
    /// Places of threads that waited for anything but a CPU, or held a lock.
    blocked: Vec<usize>,
}

/// Threads that have changed or wait, and what follows from waits that have not ended.
#[derive(Debug, Default)]
pub struct Changed {
    /// Their sums.
    pub threads: Vec<ThreadCounts>,
    /// Who ran since the last reading while they were ready.
    pub pairs: Vec<PairCounts>,
    /// Locks of other memory maps that they hold.
    pub holds: Vec<ReaderCounts>,
}

/// Who holds the lock of a memory map, with a holder since then that has had no CPU.
fn with_given(space: Option<Space>, since: Option<u64>) -> Option<Space> {
    let Some(since) = since else { return space };
    let space = space.unwrap_or(Space { since, holders: 0, ns: 0 });
    Some(if space.holders > 0 { space } else { Space { since, holders: 1, ..space } })
}

/// How often an entry is read again that a program changes meanwhile.
const RETRIES: usize = 4;

impl Threads {
    /// Maps the table; `tables` are the variables of the programs, which live as long.
    ///
    /// # Errors
    /// If the kernel does not let it be mapped.
    pub fn map(map: &impl MapCore, tables: *mut bss) -> io::Result<Self> {
        let table = Shared::map(map)?;
        let (before, blocked) = (Vec::new(), Vec::new());
        Ok(Threads { table, tables, before, open: Open::default(), blocked })
    }

    /// Those that have changed since the last reading, or did while it was made, and those that
    /// wait; `space` looks up who holds the lock of a memory map.
    pub fn changed(
        &mut self,
        interval: u32,
        cpus: &[Option<Cpu>],
        space: impl Fn(u64) -> Option<Space>,
        now: u64,
    ) -> Changed {
        let mut changed: Vec<usize> = (0..THREADS).filter(|at| self.take_touched(*at)).collect();
        let mut all = self.before.clone();
        all.extend(&changed);
        all.extend(self.open.places());
        all.append(&mut self.blocked);
        all.sort_unstable();
        all.dedup();
        std::mem::swap(&mut self.before, &mut changed);
        let given = self.given(&all);
        let space = |mm: u64| with_given(space(mm), given.get(&mm).copied());
        let mut changed = Changed::default();
        for at in all {
            let thread = self.read_settled(at);
            if thread.is_there() {
                let mut counts = thread.counts(interval);
                self.open.add((at, &thread), cpus, now, &mut counts, &mut changed.pairs);
                let waits = blocked::add(&thread, now, space, &mut counts);
                let hold = blocked::hold(&thread, &counts, now);
                if waits || hold.is_some() {
                    self.blocked.push(at);
                }
                changed.holds.extend(hold);
                changed.threads.push(counts);
            }
        }
        changed
    }

    /// Since when locks of other memory maps, by these, are with threads that were given them and
    /// have had no CPU since: the programs count such a holder only when it runs.
    fn given(&self, places: &[usize]) -> HashMap<u64, u64> {
        let mut given = HashMap::new();
        for at in places {
            let thread = self.read(*at);
            if let Some(from) = blocked::given_lock(&thread) {
                let since: &mut u64 = given.entry(thread.space).or_insert(from);
                *since = from.min(*since);
            }
        }
        given
    }

    /// Threads whose place was given to another before they were read.
    pub fn lost(&self) -> u64 {
        // SAFETY: a variable of the programs.
        unsafe { addr_of_mut!((*self.tables).threads_lost).read_volatile() }
    }

    /// How much of the table counts as memory of this process too, in bytes.
    pub fn touched_bytes(&self) -> u64 {
        self.table.touched_bytes()
    }

    /// Whether a place has changed; it counts as read from here on.
    fn take_touched(&self, at: usize) -> bool {
        // SAFETY: an element of a variable of the programs.
        let place = element(unsafe { addr_of_mut!((*self.tables).touched) }, at);
        // SAFETY: the same.
        let touched = unsafe { place.read_volatile() } != 0;
        if touched {
            // SAFETY: the same.
            unsafe { place.write_volatile(0) };
        }
        touched
    }

    /// An entry whose sums are those of the moment that it says: a wait that ends while it is read
    /// would count twice.
    fn read_settled(&self, at: usize) -> Thread {
        let mut thread = self.read(at);
        for _ in 0..RETRIES {
            let again = self.read(at);
            if again.moment() == thread.moment() {
                break;
            }
            thread = again;
        }
        thread
    }

    fn read(&self, at: usize) -> Thread {
        // SAFETY: an element of the table, which is mapped as long as this lives; any bytes are
        // one.
        unsafe { element(self.table.as_ptr(), at).read_volatile() }
    }
}
