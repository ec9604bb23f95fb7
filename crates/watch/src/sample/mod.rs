//! Reads the machine once a second, and only what is bounded in size.

mod compare;
mod full;
mod gained;
mod groups;
mod io_limits;
mod machine;
mod memory;
mod nodes;
mod outside;
mod policies;
mod processes;
mod runtimes;
mod schedstat;
mod spots;
mod status;
mod steps;
mod thread;
mod workloads;

use crate::inside::InsideTick;
use crate::reader::Readers;
use crate::scope::{self, ScopeError};
use crate::tick::{Spent, Tick};
use compare::Compare;
use dist::Watcher;
use full::FullGroups;
use gained::Gained;
use groups::Groups;
use host::{CpuGroups, MemoryGroups, Roots};
use io_limits::IoLimits;
use machine::{Machine, is_sched_ext};
use memory::Memory;
use model::live::{Missing, Scope, Source, SourceUse};
use model::not_seen::NoPrograms;
use nodes::Nodes;
use os::time;
use outside::Outsiders;
use probe::live::{Counts, LiveProbe, Seen};
use processes::Processes;
use runtimes::Runtimes;
use schedstat::Schedstat;
use spots::Spots;
use std::time::Instant;
pub use steps::{Step, Steps};
pub use thread::{Sampled, Sampling, StartError};
use workloads::Workloads;

/// Reads a live system.
pub struct Sampler {
    roots: Roots,
    scope: Scope,
    sources: Vec<SourceUse>,
    probe: Option<LiveProbe>,
    gained: Gained,
    compare: Compare,
    outsiders: Outsiders,
    processes: Processes,
    spots: Spots,
    runtimes: Runtimes,
    groups: Option<Groups>,
    memory: Option<Memory>,
    full: Option<FullGroups>,
    io_limits: Option<IoLimits>,
    workloads: Workloads,
    schedstat: Schedstat,
    nodes: Nodes,
    asked: Vec<Watcher>,
    readers: Readers,
    machine: Machine,
    last: Instant,
    tool_ns: u64,
    steps: Steps,
}

impl Sampler {
    /// Starts to read what is available here.
    ///
    /// # Errors
    /// If a named process or the named group does not exist.
    pub fn start(roots: &Roots, scope: &Scope, mut readers: Readers) -> Result<Self, ScopeError> {
        let cpu_groups = CpuGroups::find(roots);
        scope::check(roots, scope, cpu_groups.as_ref())?;
        let probe = LiveProbe::start(roots);
        let memory_groups = MemoryGroups::find(roots);
        let with_high = memory_groups.clone().filter(MemoryGroups::has_high);
        let full = memory_groups.map(|groups| FullGroups::new(roots, groups));
        let memory = with_high.map(|groups| Memory::new(roots, scope, groups));
        let machine = Machine::start(roots, cpu_groups.as_ref());
        let nodes = Nodes::find(roots, &mut readers);
        let sources = sources(roots, &probe, cpu_groups.as_ref(), memory.is_some());
        let mut sampler = Sampler {
            roots: roots.clone(),
            scope: scope.clone(),
            sources,
            probe: probe.ok(),
            gained: Gained::new(roots),
            compare: Compare::default(),
            outsiders: Outsiders::default(),
            processes: Processes::new(roots, scope, cpu_groups.clone()),
            spots: Spots::new(roots),
            runtimes: Runtimes::new(roots),
            io_limits: cpu_groups.clone().and_then(IoLimits::of),
            groups: cpu_groups.map(Groups::new),
            memory,
            full,
            workloads: Workloads::new(roots),
            schedstat: Schedstat::default(),
            nodes,
            asked: Vec::new(),
            readers,
            machine,
            last: Instant::now(),
            tool_ns: time::process_cpu_ns(),
            steps: Steps::default(),
        };
        // What happened before the start does not count.
        let _ = sampler.tick();
        Ok(sampler)
    }

    /// Reports the current step there.
    #[must_use]
    pub fn with_steps(self, steps: Steps) -> Self {
        Sampler { steps, ..self }
    }

    /// Where the figures come from.
    pub fn sources(&self) -> &[SourceUse] {
        &self.sources
    }

    /// Asks these nodes from then on.
    pub fn ask(&mut self, nodes: Vec<Watcher>) {
        self.asked = nodes;
    }

    /// What happened since the last call, or since the start.
    pub fn tick(&mut self) -> Tick {
        self.steps.begin(Step::Tables);
        let counts = self.counts();
        let over = self.last.elapsed();
        self.last = Instant::now();
        self.steps.begin(Step::Machine);
        let (machine, idle_shares) = self.machine.gained(&self.roots, over);
        if let Some(probe) = &mut self.probe {
            probe.set_online(self.machine.online());
        }
        let mut tick = Tick {
            over_ns: time::whole_ns(over),
            whole_machine: self.scope == Scope::default(),
            named: scope::named(&self.scope),
            machine,
            idle_shares,
            is_sched_ext: is_sched_ext(&self.roots),
            ..Tick::default()
        };
        let at_ns = counts.at_ns;
        let (table_bytes, touched_bytes) = (counts.table_bytes, counts.touched_bytes);
        let programs_ns = counts.programs_ns;
        self.readers.begin();
        self.steps.begin(Step::Nodes);
        tick.nodes = self.nodes.gained(&counts, &mut self.readers);
        tick.nodes_left_out = self.nodes.left_out();
        self.look_at_nodes();
        let inside =
            |node: &Watcher| InsideTick { name: node.name().to_owned(), look: node.look() };
        tick.inside = self.asked.iter().map(inside).collect();
        if self.probe.as_ref().is_some_and(|probe| probe.seen().namespaced) {
            self.outsiders.meet(&counts.threads, &mut tick);
        }
        self.steps.begin(Step::Tables);
        self.gained.add_to(counts, &mut tick);
        self.outsiders.name(&mut tick);
        // Without programs in the kernel, both counts are the same.
        if self.probe.is_some() {
            self.compare.add(&self.roots, &self.gained, at_ns, &mut tick);
        }
        self.steps.begin(Step::Processes);
        self.processes.name(&mut tick);
        policies::add(&mut tick);
        self.steps.begin(Step::Spots);
        self.spots.name(&mut tick, &mut self.readers);
        self.steps.begin(Step::Groups);
        if let Some(groups) = &mut self.groups {
            groups.add(&mut tick);
        }
        if let Some(limits) = &self.io_limits {
            limits.add(&mut tick);
        }
        self.steps.begin(Step::Runtimes);
        self.runtimes.name(&mut tick, &mut self.readers);
        self.steps.begin(Step::Memory);
        if let Some(memory) = &mut self.memory {
            memory.add(&mut tick, &mut self.readers);
        }
        if let Some(full) = &mut self.full {
            full.add(&mut tick);
        }
        self.workloads.name(&mut tick, &mut self.readers);
        let before_ns = std::mem::replace(&mut self.tool_ns, time::process_cpu_ns());
        tick.spent = Spent {
            tool_ns: self.tool_ns.saturating_sub(before_ns),
            programs_ns,
            // The tables are listed beside it.
            memory_bytes: host::resident_bytes(&self.roots, "self")
                .unwrap_or(0)
                .saturating_sub(touched_bytes),
            table_bytes,
            lost_threads: self.gained.lost_threads_in_all(),
        };
        tick
    }

    /// Tells the programs in the kernel what to look at more closely from then on.
    fn look_at_nodes(&mut self) {
        if let Some(probe) = &mut self.probe {
            probe.look_at_nodes(&self.nodes.processes(), self.nodes.wants_passes());
        }
    }

    /// The sums of the programs in the kernel, or of /proc if there are none.
    fn counts(&mut self) -> Counts {
        if let Some(probe) = &mut self.probe {
            match probe.read() {
                Ok(counts) => {
                    self.readers.count(probe.count_next());
                    if !probe.look_for_journal() {
                        lack(&mut self.sources, &[Source::Journal], &Missing::NoJournal);
                    }
                    return counts;
                }
                Err(error) => {
                    self.probe = None;
                    let of_probe = [
                        Source::Scheduler,
                        Source::MmapLock,
                        Source::Throttled,
                        Source::Reclaim,
                        Source::GroupMoves,
                        Source::Journal,
                        Source::Calls,
                        Source::MappingLock,
                        Source::Samples,
                    ];
                    lack(&mut self.sources, &of_probe, &Missing::NoPrograms(error));
                }
            }
        }
        self.schedstat.read(&self.roots, &self.scope)
    }
}

/// Notes why these sources are missing from then on.
fn lack(sources: &mut [SourceUse], which: &[Source], why: &Missing) {
    for one in sources.iter_mut().filter(|one| which.contains(&one.source)) {
        one.missing = Some(why.clone());
    }
}

/// Why the kernel does not count the time that tasks stand still for memory, if it does not.
fn pressure_is_missing(roots: &Roots) -> Option<Missing> {
    let read = host::roots::read_text(&roots.proc.join("pressure/memory"));
    read.is_err().then_some(Missing::NoPressure)
}

fn sources(
    roots: &Roots,
    probe: &Result<LiveProbe, NoPrograms>,
    groups: Option<&CpuGroups>,
    memory: bool,
) -> Vec<SourceUse> {
    let of = |source, missing: Option<Missing>| SourceUse { source, missing };
    let seen = probe.as_ref().map(LiveProbe::seen);
    let unless = |there: fn(&Seen) -> bool, why: Missing| match &seen {
        Ok(seen) => (!there(seen)).then_some(why),
        Err(error) => Some(Missing::NoPrograms((*error).clone())),
    };
    let mapping = seen.as_ref().ok().and_then(|seen| seen.mapping);
    let mapping =
        mapping.map(|there| of(Source::MappingLock, (!there).then_some(Missing::NoSymbols)));
    let pressure = pressure_is_missing(roots);
    let events = if memory { pressure.clone() } else { Some(Missing::NoMemoryGroups) };
    let mut all = vec![
        of(Source::Scheduler, probe.as_ref().err().cloned().map(Missing::NoPrograms)),
        of(Source::MmapLock, unless(|seen| seen.lock, Missing::NoLockTracepoints)),
        of(Source::Throttled, unless(|seen| seen.throttled, Missing::NoThrottledTime)),
        of(Source::Reclaim, unless(|seen| seen.reclaim, Missing::NoReclaimTracepoints)),
        of(Source::GroupMoves, unless(|seen| seen.moves, Missing::NoGroupMoves)),
        of(Source::Journal, unless(|seen| seen.journal, Missing::NoJournal)),
        of(Source::Calls, unless(|seen| seen.calls, Missing::NoCalls)),
        of(Source::Samples, unless(|seen| seen.samples, Missing::NoSamples)),
        of(Source::Schedstat, None),
        of(Source::CpuStat, groups.is_none().then_some(Missing::NoGroups)),
        of(Source::MemoryEvents, events),
        of(Source::Pressure, pressure),
        of(Source::Steal, None),
    ];
    all.extend(mapping);
    if seen.is_ok_and(|seen| seen.namespaced) {
        all.push(of(Source::OutsidePrograms, Some(Missing::PidNamespace)));
    }
    if let Some(groups) = groups.filter(|groups| groups.hides_groups_above()) {
        let missing = match groups.has_lost_itself() {
            true => Missing::OwnGroupNotFound,
            false => Missing::CgroupNamespace,
        };
        all.push(of(Source::GroupsAbove, Some(missing)));
    }
    all
}

/// Reads any text as a `status` file, for the fuzzer.
#[cfg(feature = "fuzz")]
pub fn fuzz(text: &str) {
    processes::fuzz(text);
}
