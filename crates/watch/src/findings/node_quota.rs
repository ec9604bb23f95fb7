//! Erlang nodes that a quota throttles: what the findings about them share.

use super::quota::{Enough, above};
use super::stall::LEAST_SAMPLES;
use crate::node::{NodeProcess, NodeSums};
use crate::nodes::{Bound, bound, online, program};
use crate::reader::GivenFlags;
use crate::sums::{Key, ms};
use crate::window::Window;
use model::live::{Finding, ThreadRole};
use model::suggestion::{Command, Run};
use scenarios::busy_wait::{BusyWaitParams, META};
use scenarios::params::{Auto, Decimal, OrNone, Params, Time};

pub use super::quota::LIMIT_MS_PER_S;

/// More than this share of what was used of a quota is most of it.
const MOSTLY: f64 = 0.5;

/// A node under a quota, and what it loses to the quota. Times are in milliseconds a second.
pub struct Held<'a> {
    window: &'a Window,
    process: NodeProcess,
    key: &'a Key,
    /// The node.
    pub node: &'a NodeSums,
    /// The quota.
    pub bound: Bound<'a>,
    /// Time throttled by quotas.
    pub held: f64,
    /// CPU time.
    pub ran: f64,
    /// The part of the CPU time that schedulers spent spinning.
    pub spun: f64,
}

impl Held<'_> {
    /// Number of online schedulers.
    pub fn online(&self) -> u32 {
        online(self.window, self.process, self.node)
    }

    /// A larger quota of this many CPUs, with those above that are smaller.
    pub fn enough(&self, cpus: f64) -> Enough {
        Enough::new(cpus, &above(self.window, self.bound.group))
    }

    /// The part of the throttled time that the spinning accounts for.
    pub fn caused(&self) -> f64 {
        self.part(self.spun)
    }

    /// What its own CPU time costs it. If other programs used most of the quota, that is only its
    /// part of the throttled time.
    pub fn cost(&self) -> f64 {
        let part = self.part(self.ran);
        if part >= self.held * MOSTLY { self.held } else { part }
    }

    /// The part of the throttled time that this much CPU time accounts for.
    fn part(&self, of: f64) -> f64 {
        let used = self.ran.max(self.bound.used_ms_per_s);
        if used > 0.0 { self.held * (of / used).min(1.0) } else { 0.0 }
    }

    /// A finding with victim, cost and lab run. The stall's own facts come from the caller.
    pub fn finding(&self, found: Finding) -> Finding {
        let worst_ns =
            self.window.programs.get(self.key).map_or(0, |sums| sums.all.throttled_worst_ns);
        Finding {
            victim: program(self.key, self.process.pid),
            culprits: vec![program(self.key, self.process.pid)],
            cost_ms_per_s: self.cost(),
            worst_ms: ms(worst_ns),
            run: Some(self.run()),
            ..found
        }
    }

    /// The same in the lab: the same quota and as many schedulers.
    fn run(&self) -> Run {
        let thousandths = (self.bound.cpus * 1e3).round().clamp(10.0, 1e6) as u32;
        let params = BusyWaitParams {
            quota: OrNone::Is(Decimal::thousandths(thousandths)),
            period: Time::us(self.bound.period_us.clamp(1_000, 1_000_000)),
            schedulers: Auto::Is(self.online().clamp(1, 1024)),
            ..BusyWaitParams::default()
        };
        Run { command: Command::Run, scenario: META.id.to_owned(), parameters: params.settings() }
    }
}

/// All nodes under a quota.
pub fn all(window: &Window) -> Vec<Held<'_>> {
    window.nodes.iter().filter_map(|(of, (key, node))| held(window, *of, key, node)).collect()
}

/// The nodes that lose enough to a quota by their own CPU time.
pub fn held_for_long(window: &Window) -> Vec<Held<'_>> {
    let mut all = all(window);
    all.retain(|held| held.cost() >= LIMIT_MS_PER_S);
    all
}

/// Whether threads in this role may spin because they look for work. If not, other code spins,
/// such as native code.
fn may_spin(given: &GivenFlags, role: ThreadRole) -> bool {
    match role {
        ThreadRole::Scheduler => !given.no_busy_wait,
        ThreadRole::DirtyCpu => !given.no_busy_wait_dirty_cpu,
        ThreadRole::DirtyIo => !given.no_busy_wait_dirty_io,
        ThreadRole::Async | ThreadRole::Aux | ThreadRole::Poll | ThreadRole::Other => false,
    }
}

fn held<'a>(
    window: &'a Window,
    process: NodeProcess,
    key: &'a Key,
    node: &'a NodeSums,
) -> Option<Held<'a>> {
    let bound = bound(window, key)?;
    let rate = |ns: u64| if node.over_ns == 0 { 0.0 } else { ms(ns) / ms(node.over_ns) * 1e3 };
    let throttled = node.roles.values().map(|role| role.throttled_ns).sum();
    let ran = rate(node.roles.values().map(|role| role.ran_ns).sum());
    let (samples, _) = node.spins(|_| true);
    let (_, spins) = node.spins(|role| may_spin(&node.facts.line.given, role));
    let share = if samples >= LEAST_SAMPLES { spins as f64 / samples as f64 } else { 0.0 };
    let held = rate(throttled);
    Some(Held { window, process, key, node, bound, held, ran, spun: ran * share })
}
