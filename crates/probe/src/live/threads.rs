//! The table of threads, which is read where it stands: of its many places only those that have
//! changed.

use super::counts::ThreadCounts;
use super::object::types::bss;
use super::raw::{THREADS, Thread};
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
}

impl Threads {
    /// Maps the table; `tables` are the variables of the programs, which live as long.
    ///
    /// # Errors
    /// If the kernel does not let it be mapped.
    pub fn map(map: &impl MapCore, tables: *mut bss) -> io::Result<Self> {
        Ok(Threads { table: Shared::map(map)?, tables, before: Vec::new() })
    }

    /// The sums of those that have changed since the last reading, or did while it was made.
    pub fn changed(&mut self, interval: u32) -> Vec<ThreadCounts> {
        let mut now: Vec<usize> = (0..THREADS).filter(|at| self.take_touched(*at)).collect();
        let mut all = self.before.clone();
        all.extend(&now);
        all.sort_unstable();
        all.dedup();
        std::mem::swap(&mut self.before, &mut now);
        all.into_iter()
            .map(|at| self.read(at))
            .filter(Thread::is_there)
            .map(|thread| thread.counts(interval))
            .collect()
    }

    /// Threads whose place was given to another before they were read.
    pub fn lost(&self) -> u64 {
        // SAFETY: a variable of the programs.
        unsafe { addr_of_mut!((*self.tables).threads_lost).read_volatile() }
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
