//! The table of threads, which is read where it stands: of its many places only those that have
//! changed.

use super::counts::{PairCounts, ThreadCounts};
use super::object::types::bss;
use super::open::Open;
use super::raw::{Cpu, THREADS, Thread};
use crate::shared::{Shared, element};
use libbpf_rs::MapCore;
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
}

impl Threads {
    /// Maps the table; `tables` are the variables of the programs, which live as long.
    ///
    /// # Errors
    /// If the kernel does not let it be mapped.
    pub fn map(map: &impl MapCore, tables: *mut bss) -> io::Result<Self> {
        let table = Shared::map(map)?;
        Ok(Threads { table, tables, before: Vec::new(), open: Open::default() })
    }

    /// The sums of those that have changed since the last reading, or did while it was made, and of
    /// those that wait; and who ran while these did.
    pub fn changed(
        &mut self,
        interval: u32,
        cpus: &[Option<Cpu>],
        now: u64,
    ) -> (Vec<ThreadCounts>, Vec<PairCounts>) {
        let mut changed: Vec<usize> = (0..THREADS).filter(|at| self.take_touched(*at)).collect();
        let mut all = self.before.clone();
        all.extend(&changed);
        all.extend(self.open.places());
        all.sort_unstable();
        all.dedup();
        std::mem::swap(&mut self.before, &mut changed);
        let mut pairs = Vec::new();
        let mut threads = Vec::with_capacity(all.len());
        for at in all {
            let thread = self.read(at);
            if thread.is_there() {
                let mut counts = thread.counts(interval);
                self.open.add((at, &thread), cpus, now, &mut counts, &mut pairs);
                threads.push(counts);
            }
        }
        (threads, pairs)
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

    fn read(&self, at: usize) -> Thread {
        // SAFETY: an element of the table, which is mapped as long as this lives; any bytes are
        // one.
        unsafe { element(self.table.as_ptr(), at).read_volatile() }
    }
}
