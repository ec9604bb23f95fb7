//! Erlang nodes: which processes are some, samples of their threads, and whether their system calls
//! are seen.

use super::counts::NodeSample;
use super::object::types::bss;
use super::raw::{SAMPLES, Sample};
use crate::shared::{Shared, element};
use libbpf_rs::{Link, MapCore, ProgramMut};
use std::io;
use std::ptr::addr_of_mut;

/// Nodes that are looked at more closely at most.
pub const NODES: usize = 16;

/// What is kept of nodes in the kernel.
pub struct Nodes {
    table: Shared<[Sample; SAMPLES]>,
    tables: *mut bss,
    read_ns: u64,
    calls: Option<Link>,
}

impl Nodes {
    /// Maps the table; `tables` are the variables of the programs, which live as long.
    ///
    /// # Errors
    /// If the kernel does not let it be mapped.
    pub fn map(map: &impl MapCore, tables: *mut bss) -> io::Result<Self> {
        Ok(Nodes { table: Shared::map(map)?, tables, read_ns: 0, calls: None })
    }

    /// These processes are nodes, the first [`NODES`] of them.
    pub fn set(&self, pids: &[u32]) {
        let all = pids.iter().copied().chain(std::iter::repeat(0));
        for (at, pid) in all.take(NODES).enumerate() {
            // SAFETY: an element of a variable of the programs.
            let place = element(unsafe { addr_of_mut!((*self.tables).nodes) }, at);
            // SAFETY: the same.
            unsafe { place.write_volatile(pid) };
        }
    }

    /// Whether system calls are seen.
    pub fn sees_calls(&self) -> bool {
        self.calls.is_some()
    }

    /// Sees system calls from now on, or no longer. Seeing them makes every call of the machine
    /// dearer.
    pub fn see_calls(&mut self, program: &ProgramMut, see: bool, now_ns: u64) {
        if see == self.calls.is_some() || !program.autoload() {
            return;
        }
        self.calls = see.then(|| program.attach().ok()).flatten();
        let since = if self.calls.is_some() { now_ns } else { 0 };
        // SAFETY: a variable of the programs.
        unsafe { addr_of_mut!((*self.tables).calls_seen_since).write_volatile(since) };
    }

    /// The samples between the last reading and this moment, as far as they are still there.
    pub fn samples(&mut self, now_ns: u64) -> Vec<NodeSample> {
        let (from, table) = (self.read_ns, self.table.as_ptr());
        self.read_ns = now_ns;
        let is_new = |at: u64| at > from && at <= now_ns;
        let read = |at: usize| {
            let place = element(table, at);
            // SAFETY: an element of the table, which is mapped as long as this lives; any bytes are
            // one. Most are old, so their time is read first.
            let at = unsafe { addr_of_mut!((*place).at).read_volatile() };
            // SAFETY: the same.
            let sample = is_new(at).then(|| unsafe { place.read_volatile() });
            sample.filter(|sample| sample.at == at)?.read()
        };
        (0..SAMPLES).filter_map(read).collect()
    }
}
