//! Erlang nodes: which processes are nodes, samples of their threads, and whether the passes of
//! their schedulers are observed.

use super::counts::NodeSample;
use super::object::types::bss;
use super::raw::{SAMPLES, Sample};
use super::samples;
use crate::shared::{Shared, element};
use libbpf_rs::{Link, MapCore, ProgramMut};
use std::io;
use std::ptr::addr_of_mut;

/// Most nodes that are examined more closely.
pub const NODES: usize = 16;

/// How often per second the passes are checked on each CPU: the length of a stretch of 8 ms is
/// then known to 2 ms.
const OFTEN: u64 = 499;

/// The kernel's data about nodes.
pub struct Nodes {
    table: Shared<[Sample; SAMPLES]>,
    tables: *mut bss,
    read_ns: u64,
    /// Clocks that trigger the checks of the passes.
    clocks: Vec<Link>,
}

impl Nodes {
    /// Maps the table. `tables` are the variables of the programs; they must live as long as this
    /// value.
    ///
    /// # Errors
    /// If the kernel does not let it be mapped.
    pub fn map(map: &impl MapCore, tables: *mut bss) -> io::Result<Self> {
        Ok(Nodes { table: Shared::map(map)?, tables, read_ns: 0, clocks: Vec::new() })
    }

    /// Bytes of the table that also count as memory of this process.
    pub fn touched_bytes(&self) -> u64 {
        self.table.touched_bytes()
    }

    /// Sets the processes that are nodes; only the first [`NODES`] count. Each comes with the
    /// address at which its VM counts the passes of its schedulers, or 0.
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

    /// Whether the passes of the nodes' schedulers are observed.
    pub fn sees_passes(&self) -> bool {
        !self.clocks.is_empty()
    }

    /// Starts or ends the frequent checks of the passes.
    pub fn see_passes(&mut self, program: &ProgramMut, cpus: u32, see: bool) {
        if see != self.sees_passes() {
            self.clocks = if see { samples::attach(program, cpus, OFTEN) } else { Vec::new() };
        }
    }

    /// The samples since the last reading, up to `now_ns`, if they have not been overwritten yet.
    pub fn samples(&mut self, now_ns: u64) -> Vec<NodeSample> {
        let (from, table) = (self.read_ns, self.table.as_ptr());
        self.read_ns = now_ns;
        let is_new = |at: u64| at > from && at <= now_ns;
        let read = |at: usize| {
            let place = element(table, at);
            // SAFETY: an element of the table, which is mapped while this value lives; any bytes
            // are a valid element. Most elements are old, so only their time is read first.
            let at = unsafe { addr_of_mut!((*place).at).read_volatile() };
            // SAFETY: the same.
            let sample = is_new(at).then(|| unsafe { place.read_volatile() });
            sample.filter(|sample| sample.at == at)?.read()
        };
        (0..SAMPLES).filter_map(read).collect()
    }
}
