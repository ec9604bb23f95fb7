//! An Erlang node in an interval, and its sums over several.

use crate::reader::CommandLine;
use model::live::{Place, RoleTime, ThreadRole};
use probe::live::Sampled;
use std::collections::BTreeMap;

/// Most places of one node that are counted separately.
const MOST_PLACES: usize = 512;

/// CPU time without a counted pass from which a stretch counts as silent, in nanoseconds: the same
/// number as in the programs in the kernel.
pub const LONG_SILENCE_NS: u64 = 8_000_000;

/// The process of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeProcess {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks after boot. A later process may have the same number.
    pub started: u64,
}

/// What a node is, as far as it can be seen from outside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// What its command line says.
    pub line: CommandLine,
    /// Whether the place was found at which it counts the passes of its schedulers.
    pub counts_passes: bool,
    /// Number of threads, by what they are for.
    pub threads: BTreeMap<ThreadRole, u32>,
}

impl NodeFacts {
    /// Whether a flag sets the number of online schedulers.
    pub fn sets_online(&self) -> bool {
        self.line.online.is_some() || self.line.online_by_percent
    }
}

/// What a scheduler gained; times in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SchedulerTick {
    /// CPU time.
    pub ran_ns: u64,
    /// Time runnable without a CPU, also under a quota.
    pub ready_ns: u64,
    /// Time asleep in a futex or in poll.
    pub idle_ns: u64,
    /// Time asleep in another system call, up to this moment. Calls that change the memory map do
    /// not count.
    pub call_ns: u64,
    /// How often it fell asleep in such a call.
    pub calls: u64,
    /// The longest such sleep.
    pub call_worst_ns: u64,
    /// CPU time in long stretches without a counted pass of the schedulers.
    pub silent_ns: u64,
    /// Number of such stretches.
    pub silences: u64,
    /// The longest such stretch.
    pub silent_worst_ns: u64,
    /// Time runnable without a CPU while the passes were seen, without that under a quota. Until it
    /// gets a CPU it does not pass, so that the other schedulers seem silent too. Only intervals
    /// count with a wait as long as a silence: shorter waits make no silence.
    pub unpassed_ns: u64,
}

impl SchedulerTick {
    fn add(&mut self, more: &SchedulerTick) {
        let sums = [
            (&mut self.ran_ns, more.ran_ns),
            (&mut self.ready_ns, more.ready_ns),
            (&mut self.idle_ns, more.idle_ns),
            (&mut self.call_ns, more.call_ns),
            (&mut self.calls, more.calls),
            (&mut self.silent_ns, more.silent_ns),
            (&mut self.silences, more.silences),
            (&mut self.unpassed_ns, more.unpassed_ns),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
        self.call_worst_ns = self.call_worst_ns.max(more.call_worst_ns);
        self.silent_worst_ns = self.silent_worst_ns.max(more.silent_worst_ns);
    }
}

/// What a sample of a thread shows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// What the thread is for.
    pub role: ThreadRole,
    /// The number of the scheduler, 0 for another thread.
    pub number: u32,
    /// What it did.
    pub what: Sampled,
    /// Where it stood.
    pub place: Place,
    /// The call that it fell asleep in.
    pub call: Option<u32>,
}

/// A node in an interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeTick {
    /// Its process.
    pub pid: u32,
    /// When that process started, in clock ticks after boot.
    pub started: u64,
    /// What it is.
    pub facts: NodeFacts,
    /// What its threads gained, by what they are for; `threads` and `spun_ns` are not filled in.
    pub roles: BTreeMap<ThreadRole, RoleTime>,
    /// What each normal scheduler gained, by its number.
    pub schedulers: BTreeMap<u32, SchedulerTick>,
    /// Samples of its threads.
    pub samples: BTreeMap<Seen, u64>,
    /// Whether the passes of its schedulers were seen.
    pub passes_seen: bool,
}

impl NodeTick {
    /// Its process. A later process with the same number is another one.
    pub fn process(&self) -> NodeProcess {
        NodeProcess { pid: self.pid, started: self.started }
    }
}

/// A node over several intervals.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeSums {
    /// What it is, as it was seen last.
    pub facts: NodeFacts,
    /// What its threads gained.
    pub roles: BTreeMap<ThreadRole, RoleTime>,
    /// What each normal scheduler gained.
    pub schedulers: BTreeMap<u32, SchedulerTick>,
    /// For each of them, the longest `unpassed_ns` of another scheduler in each interval. The times
    /// of several others are not added: they may be the same time.
    pub others_unpassed_ns: BTreeMap<u32, u64>,
    /// Samples.
    pub samples: BTreeMap<Seen, u64>,
    /// How long it was there, in nanoseconds.
    pub over_ns: u64,
    /// For how much of that time the passes of its schedulers were seen.
    pub passes_seen_ns: u64,
}

impl NodeSums {
    /// Adds an interval of this length.
    pub fn add(&mut self, tick: &NodeTick, over_ns: u64) {
        self.facts = tick.facts.clone();
        self.over_ns = self.over_ns.saturating_add(over_ns);
        if tick.passes_seen {
            self.passes_seen_ns = self.passes_seen_ns.saturating_add(over_ns);
        }
        for (role, gained) in &tick.roles {
            add_role(self.roles.entry(*role).or_default(), gained);
        }
        for (number, gained) in &tick.schedulers {
            self.schedulers.entry(*number).or_default().add(gained);
        }
        for (number, unpassed_ns) in others_unpassed_ns(&tick.schedulers) {
            let sum = self.others_unpassed_ns.entry(number).or_default();
            *sum = sum.saturating_add(unpassed_ns);
        }
        for (seen, count) in &tick.samples {
            if self.samples.len() < MOST_PLACES || self.samples.contains_key(seen) {
                *self.samples.entry(seen.clone()).or_default() += count;
            }
        }
    }

    /// CPU time samples of threads in these roles, and how many of them were spinning.
    pub fn spins(&self, of: impl Fn(ThreadRole) -> bool) -> (u64, u64) {
        let running =
            self.samples.iter().filter(|(seen, _)| of(seen.role) && seen.what != Sampled::Asleep);
        running.fold((0, 0), |(all, spins), (seen, count)| {
            (all + count, spins + if seen.what == Sampled::Spinning { *count } else { 0 })
        })
    }
}

/// For each scheduler, the longest `unpassed_ns` of another one.
fn others_unpassed_ns(schedulers: &BTreeMap<u32, SchedulerTick>) -> BTreeMap<u32, u64> {
    let mut waits: Vec<(u64, u32)> =
        schedulers.iter().map(|(number, one)| (one.unpassed_ns, *number)).collect();
    waits.sort_unstable();
    let of_others = |number: &u32| {
        let longest = waits.iter().rev().find(|(_, other)| other != number);
        (*number, longest.map_or(0, |(unpassed_ns, _)| *unpassed_ns))
    };
    schedulers.keys().map(of_others).collect()
}

/// Adds what threads of a role gained.
pub fn add_role(all: &mut RoleTime, more: &RoleTime) {
    all.role = more.role;
    all.ran = all.ran.max(more.ran);
    let sums = [
        (&mut all.ran_ns, more.ran_ns),
        (&mut all.ready_ns, more.ready_ns),
        (&mut all.throttled_ns, more.throttled_ns),
        (&mut all.futex_ns, more.futex_ns),
        (&mut all.poll_ns, more.poll_ns),
        (&mut all.call_ns, more.call_ns),
    ];
    for (sum, more) in sums {
        *sum = sum.saturating_add(more);
    }
}
