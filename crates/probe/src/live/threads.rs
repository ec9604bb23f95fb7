//! The table of threads, which is read in place. Only slots that have changed are read.

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

/// All threads that the programs record.
pub struct Threads {
    table: Shared<[Thread; THREADS]>,
    tables: *mut bss,
    /// Slots that had changed at the last reading. A program may have been about to write then
    /// and may have written since, so these slots are read once more.
    before: Vec<usize>,
    open: Open,
    /// Slots of threads that waited for something other than a CPU, or held a lock.
    blocked: Vec<usize>,
}

/// Threads that have changed or wait, and what is known about waits that have not ended.
#[derive(Debug, Default)]
pub struct Changed {
    /// The sums of the threads.
    pub threads: Vec<ThreadCounts>,
    /// What ran since the last reading while the threads were runnable.
    pub pairs: Vec<PairCounts>,
    /// Locks of other processes' memory maps that the threads hold.
    pub holds: Vec<ReaderCounts>,
}

/// The holders of a memory map's lock. A thread that was given the lock at `since` and has not
/// run since counts as a holder.
fn with_given(space: Option<Space>, since: Option<u64>) -> Option<Space> {
    let Some(since) = since else { return space };
    let space = space.unwrap_or(Space { since, holders: 0, ns: 0 });
    Some(if space.holders > 0 { space } else { Space { since, holders: 1, ..space } })
}

/// How often an entry is read again if a program changes it meanwhile.
const RETRIES: usize = 4;

impl Threads {
    /// Maps the table. `tables` are the variables of the programs; they must live as long as this
    /// value.
    ///
    /// # Errors
    /// If the kernel does not let it be mapped.
    pub fn map(map: &impl MapCore, tables: *mut bss) -> io::Result<Self> {
        let table = Shared::map(map)?;
        let (before, blocked) = (Vec::new(), Vec::new());
        Ok(Threads { table, tables, before, open: Open::default(), blocked })
    }

    /// The threads that have changed since the last reading, or while it was made, and the
    /// threads that wait. `space` looks up the holders of a memory map's lock.
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

    /// Memory maps of other processes whose lock was given to one of these threads that has not
    /// run since, with the time when it was given. The programs count such a holder only when it
    /// runs.
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

    /// Threads whose slot was given to another thread before they were read.
    pub fn lost(&self) -> u64 {
        // SAFETY: a variable of the programs.
        unsafe { addr_of_mut!((*self.tables).threads_lost).read_volatile() }
    }

    /// Bytes of the table that also count as memory of this process.
    pub fn touched_bytes(&self) -> u64 {
        self.table.touched_bytes()
    }

    /// Whether a slot has changed; this call marks it as read.
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

    /// An entry that did not change while it was read: a wait that ended in between would count
    /// twice.
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
        // SAFETY: an element of the table, which is mapped while this value lives; any bytes are
        // a valid element.
        unsafe { element(self.table.as_ptr(), at).read_volatile() }
    }
}
