//! Reads the tables once a second.

use super::counts::{ChainCounts, Counts, PairCounts, ReaderCounts};
use super::load::{Loaded, load};
use super::nodes::Nodes;
use super::object::types::bss;
use super::online::{Online, suspended_ns};
use super::raw::{Chain, Cpu, Pairs, Raw, RawChainKey, Reader, ReaderKey, Space};
use super::seen::Seen;
use super::stats::run_time;
use super::threads::{Changed, Threads};
use crate::refused::refused;
use host::Roots;
use libbpf_rs::{MapCore, MapFlags};
use model::not_seen::{NoPrograms, ProgramPart};
use os::time::now_ns;
use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::addr_of_mut;
use std::time::Duration;

/// Number of entries per request to the kernel.
const BATCH: u32 = 4096;

/// One reading in `COUNTED` measures the CPU time of the programs, since measuring costs too.
const COUNTED: u64 = 8;

/// Pause after the end of an interval; programs that still run on a CPU end within this time.
const SETTLE: Duration = Duration::from_micros(200);

/// The programs of `tailback watch`, loaded and attached.
pub struct LiveProbe {
    loaded: Loaded,
    tables: *mut bss,
    interval: u32,
    readings: u64,
    last_ns: u64,
    threads: Threads,
    nodes: Nodes,
    online: Online,
    /// Whether the CPU time of the programs was to be counted in the current interval.
    is_counted: bool,
    counted_before: u64,
    table_bytes: u64,
}

impl LiveProbe {
    /// Loads and attaches the programs that this kernel supports.
    ///
    /// # Errors
    /// If the programs of the scheduler cannot be loaded; the error says what would make it
    /// possible.
    pub fn start(roots: &Roots) -> Result<Self, NoPrograms> {
        crate::privilege::check(roots)?;
        let namespace = crate::privilege::shown_pids(roots)?;
        let mut loaded = load(roots, namespace)?;
        let Some(tables) = loaded.skel.maps.bss_data.as_deref_mut() else {
            return Err(NoPrograms::Tables);
        };
        let tables: *mut bss = tables;
        let threads = Threads::map(&loaded.skel.maps.threads, tables);
        let threads = threads.map_err(|error| refused(ProgramPart::Table, &error))?;
        let nodes = Nodes::map(&loaded.skel.maps.node_samples, tables);
        let nodes = nodes.map_err(|error| refused(ProgramPart::Table, &error))?;
        let mut probe = LiveProbe {
            loaded,
            tables,
            interval: 0,
            readings: 0,
            last_ns: 0,
            threads,
            nodes,
            online: Online::default(),
            is_counted: false,
            counted_before: 0,
            table_bytes: 0,
        };
        probe.table_bytes = probe.table_bytes();
        probe.last_ns = now_ns();
        Ok(probe)
    }

    /// What the probe can see.
    pub fn seen(&self) -> Seen {
        self.loaded.seen
    }

    /// Looks for a journal of a file system that came since, and watches its commits from then on.
    /// Returns whether the probe sees all commits.
    pub fn look_for_journal(&mut self) -> bool {
        self.loaded.look_for_journal();
        self.loaded.seen.journal
    }

    /// Examines the threads of these processes more closely, at most [`NODES`](super::NODES)
    /// processes. Each comes with the address at which its VM counts the passes of its
    /// schedulers, or 0. `passes` turns frequent checks of these counters on or off.
    pub fn look_at_nodes(&mut self, nodes: &[(u32, u64)], passes: bool) {
        self.nodes.set(nodes);
        self.nodes.see_passes(&self.loaded.skel.progs.watch_pass, self.loaded.cpus, passes);
    }

    /// Takes the CPUs that are online. A CPU that went offline no longer counts as idle. If one
    /// came online, all clocks are attached anew: those of that CPU ended when it went offline.
    pub fn set_online(&mut self, cpus: BTreeSet<u32>) {
        let has_new = self.online.set(cpus, suspended_ns());
        // An earlier attempt may have failed, for example for lack of descriptors.
        let has_none = self.loaded.samples.is_empty();
        if self.loaded.seen.samples && (has_new || has_none) {
            self.loaded.sample();
        }
        if has_new && self.nodes.sees_passes() {
            let program = &self.loaded.skel.progs.watch_pass;
            self.nodes.see_passes(program, self.loaded.cpus, false);
            self.nodes.see_passes(program, self.loaded.cpus, true);
        }
        // SAFETY: a field of the tables, which live as long as the object.
        unsafe { addr_of_mut!((*self.tables).offline).write_volatile(self.online.gone()) };
    }

    /// Ends the interval and reads the sums so far.
    ///
    /// # Errors
    /// If the kernel does not return the tables.
    pub fn read(&mut self) -> Result<Counts, NoPrograms> {
        let programs_ns = self.programs();
        let ended = self.interval;
        self.interval = self.interval.wrapping_add(1);
        // SAFETY: a field of the tables, which live as long as the object.
        unsafe { addr_of_mut!((*self.tables).interval).write_volatile(self.interval) };
        std::thread::sleep(SETTLE);
        let at_ns = now_ns();
        // SAFETY: the same.
        unsafe { addr_of_mut!((*self.tables).read_at).write_volatile(at_ns) };
        let (cpus, switches) = self.cpus()?;
        // Before the threads: a hold that ends in between would be counted in both tables.
        let mut readers = self.readers(ended)?;
        let spaces = &self.loaded.skel.maps.spaces;
        let space = |mm: u64| {
            let value = spaces.lookup(&mm.to_ne_bytes(), MapFlags::ANY).ok().flatten();
            value.and_then(|value| Space::read(&value))
        };
        let Changed { threads, pairs: open, holds } =
            self.threads.changed(ended, &cpus, space, at_ns);
        let (mut pairs, unnamed_ns) = self.pairs(ended)?;
        pairs.extend(open);
        holds.into_iter().for_each(|hold| add_hold(&mut readers, hold));
        let counts = Counts {
            at_ns,
            threads,
            pairs,
            unnamed_ns,
            readers,
            chains: self.chains(ended)?,
            samples: self.nodes.samples(at_ns),
            passes_seen: self.nodes.sees_passes(),
            switches,
            lost_threads: self.threads.lost(),
            programs_ns,
            table_bytes: self.table_bytes,
            touched_bytes: self.threads.touched_bytes() + self.nodes.touched_bytes(),
        };
        self.last_ns = at_ns;
        self.readings += 1;
        Ok(counts)
    }

    fn pairs(&self, interval: u32) -> Result<(Vec<PairCounts>, u64), NoPrograms> {
        let map = &self.loaded.skel.maps.pairs;
        let blank = vec![0; map.value_size() as usize];
        let (mut all, mut rest) = (Vec::new(), 0);
        for cpu in 0..map.max_entries() / 2 {
            let key = (cpu * 2 + (interval & 1)).to_ne_bytes();
            let value =
                map.lookup(&key, MapFlags::ANY).map_err(|e| refused(ProgramPart::Table, &e))?;
            let Some(pairs) = value.and_then(|value| Pairs::read(&value)) else { continue };
            all.extend(pairs.counts());
            rest += pairs.rest;
            map.update(&key, &blank, MapFlags::ANY).map_err(|e| refused(ProgramPart::Table, &e))?;
        }
        Ok((all, rest))
    }

    fn readers(&self, interval: u32) -> Result<Vec<ReaderCounts>, NoPrograms> {
        let all = entries(&self.loaded.skel.maps.readers)?;
        let of = |(key, value): (Vec<u8>, Vec<u8>)| {
            Some(Reader::read(&value)?.counts(&ReaderKey::read(&key)?, interval))
        };
        Ok(all.filter_map(of).collect())
    }

    fn chains(&self, interval: u32) -> Result<Vec<ChainCounts>, NoPrograms> {
        let all = entries(&self.loaded.skel.maps.chains)?;
        let of = |(key, value): (Vec<u8>, Vec<u8>)| {
            Some(Chain::read(&value)?.counts(&RawChainKey::read(&key)?, interval))
        };
        Ok(all.filter_map(of).collect())
    }

    /// What ran on each CPU recently, and the context switches of all CPUs.
    fn cpus(&self) -> Result<(Vec<Option<Cpu>>, u64), NoPrograms> {
        let map = &self.loaded.skel.maps.cpus;
        let of = |cpu: u32| {
            let value = map.lookup(&cpu.to_ne_bytes(), MapFlags::ANY);
            let value = value.map_err(|error| refused(ProgramPart::Table, &error))?;
            Ok(value.and_then(|value| Cpu::read(&value)))
        };
        let cpus: Vec<Option<Cpu>> = (0..map.max_entries()).map(of).collect::<Result<_, _>>()?;
        let switches = cpus.iter().flatten().map(|cpu| cpu.switches).sum();
        Ok((cpus, switches))
    }

    /// Whether the kernel is to count the CPU time of the programs in the next interval. The
    /// caller turns the counting on, since it may lack the privilege.
    pub fn count_next(&mut self) -> bool {
        self.is_counted = self.readings.is_multiple_of(COUNTED);
        self.is_counted
    }

    /// CPU time of the programs in the last interval and the length of that interval, if it was
    /// counted.
    fn programs(&mut self) -> Option<(u64, u64)> {
        let spent: u64 = self.descriptors().into_iter().filter_map(run_time).sum();
        let over = now_ns().saturating_sub(self.last_ns);
        let gained = spent - self.counted_before.min(spent);
        self.counted_before = spent;
        (self.is_counted && gained > 0).then_some((gained, over))
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let progs = &self.loaded.skel.progs;
        let all = [
            &progs.watch_switch,
            &progs.watch_waking,
            &progs.watch_wakeup,
            &progs.watch_wakeup_new,
            &progs.watch_migrate,
            &progs.watch_exec,
            &progs.watch_lock_start,
            &progs.watch_lock_start_group,
            &progs.watch_lock_returned,
            &progs.watch_lock_returned_group,
            &progs.watch_lock_released,
            &progs.watch_contention,
            &progs.watch_contention_end,
            &progs.watch_reclaim,
            &progs.watch_reclaim_end,
            &progs.watch_group_reclaim,
            &progs.watch_group_reclaim_end,
            &progs.watch_compaction,
            &progs.watch_compaction_end,
            &progs.watch_move,
            &progs.watch_commit,
            &progs.watch_commit_end,
            &progs.watch_sample,
            &progs.watch_pass,
        ];
        all.into_iter().filter(|program| program.autoload()).map(AsFd::as_fd).collect()
    }

    /// Memory that the kernel charges for the tables, in bytes.
    fn table_bytes(&self) -> u64 {
        let maps = &self.loaded.skel.maps;
        let all = [
            &maps.threads,
            &maps.cpus,
            &maps.pairs,
            &maps.readers,
            &maps.chains,
            &maps.commits,
            &maps.spaces,
            &maps.node_samples,
        ];
        let of = |map: &libbpf_rs::MapMut| map.query_fdinfo().ok()?.memlock;
        all.into_iter().filter_map(of).sum()
    }
}

/// Adds a hold that has not ended to the sums of its reader.
fn add_hold(readers: &mut Vec<ReaderCounts>, hold: ReaderCounts) {
    match readers.iter_mut().find(|reader| reader.id() == hold.id()) {
        Some(reader) => {
            reader.combine(&hold, u64::saturating_add);
            reader.worst_ns = reader.worst_ns.max(hold.worst_ns);
        }
        None => readers.push(hold),
    }
}

/// All entries of a hash table.
fn entries<M: MapCore>(map: &M) -> Result<impl Iterator<Item = (Vec<u8>, Vec<u8>)>, NoPrograms> {
    map.lookup_batch(BATCH, MapFlags::ANY, MapFlags::ANY)
        .map_err(|error| refused(ProgramPart::Table, &error))
}
