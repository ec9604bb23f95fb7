//! Erlang nodes: which processes are some, samples of their threads, and whether the passes of
//! their schedulers are seen.

use super::counts::NodeSample;
use super::object::types::bss;
use super::raw::{SAMPLES, Sample};
use super::samples;
use crate::shared::{Shared, element};
use libbpf_rs::{Link, MapCore, ProgramMut};
use std::io;
use std::ptr::addr_of_mut;

/// Nodes that are looked at more closely at most.
pub const NODES: usize = 16;

/// How often a second the passes are looked at on each CPU: a stretch of 8 ms is seen to 2 ms.
const OFTEN: u64 = 499;

/// What is kept of nodes in the kernel.
pub struct Nodes {
    table: Shared<[Sample; SAMPLES]>,
    tables: *mut bss,
    read_ns: u64,
    /// Clocks by which the passes are looked at.
    clocks: Vec<Link>,
}

impl Nodes {
    /// Maps the table; `tables` are the variables of the programs, which live as long.
    ///
    /// # Errors
    /// If the kernel does not let it be mapped.
    pub fn map(map: &impl MapCore, tables: *mut bss) -> io::Result<Self> {
        Ok(Nodes { table: Shared::map(map)?, tables, read_ns: 0, clocks: Vec::new() })
    }

    /// How much of the table counts as memory of this process too, in bytes.
    pub fn touched_bytes(&self) -> u64 {
        self.table.touched_bytes()
    }

    /// These processes are nodes, the first [`NODES`] of them, each with the address at which it
    /// counts the passes of its schedulers, or 0.
    pub fn set(&self, nodes: &[(u32, u64)]) {
        let all = nodes.iter().copied().chain(std::iter::repeat((0, 0)));
        for (at, (pid, passes)) in all.take(NODES).enumerate() {
            // SAFETY: elements of variables of the programs.
            let (node, address) = unsafe {
                (addr_of_mut!((*self.tables).nodes), addr_of_mut!((*self.tables).passes_at))
            };
            // SAFETY: the same.
            unsafe { element(node, at).write_volatile(pid) };
            // SAFETY: the same.
            unsafe { element(address, at).write_volatile(passes) };
        }
    }

    /// Whether the passes of their schedulers are seen.
    pub fn sees_passes(&self) -> bool {
        !self.clocks.is_empty()
    }

    /// Looks at the passes of their schedulers often from now on, or no longer.
    pub fn see_passes(&mut self, program: &ProgramMut, cpus: u32, see: bool) {
        if see != self.sees_passes() {
            self.clocks = if see { samples::attach(program, cpus, OFTEN) } else { Vec::new() };
        }
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
