//! From sums to findings: pure, one file for each kind.

mod foreign;
mod idle;
mod mailbox;
mod memory;
mod native;
mod neighbour;
mod node_quota;
mod quota;
mod runtime;
mod spin;
mod uneven;

use crate::limits;
use crate::window::Window;
use model::live::Finding;

/// What was measured of each kind where nothing was found: the most that anybody loses to it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Most {
    /// To foreign readers, in milliseconds a second.
    pub foreign: f64,
    /// To quotas.
    pub quota: f64,
    /// To quotas that a runtime uses up too early.
    pub runtimes: f64,
    /// To one neighbour.
    pub neighbour: f64,
    /// Beside an idle CPU.
    pub beside_idle: f64,
    /// To its own threads that wait actively.
    pub spin: f64,
    /// To native code, of the scheduler that it holds most.
    pub native: f64,
    /// To scans of a mailbox.
    pub mailbox: f64,
    /// To what schedulers spin of a quota.
    pub spun: f64,
    /// To the memory.high of a group.
    pub memory: f64,
}

/// All findings, the dearest first.
pub fn all(window: &Window) -> Vec<Finding> {
    if window.seconds() < limits::LEAST_SECONDS {
        return Vec::new();
    }
    // What says more of a node's quota goes before the quota itself, at the same cost.
    let mut all = node_quota::find(window);
    all.extend(native::find(window));
    all.extend(mailbox::find(window));
    all.extend(uneven::find(window));
    all.extend(foreign::find(window));
    all.extend(quota::find(window));
    all.extend(neighbour::find(window));
    all.extend(idle::find(window));
    all.extend(spin::find(window));
    all.extend(memory::find(window));
    // Costs that are added up in another order differ in their last digits.
    let cost = |finding: &Finding| (finding.cost_ms_per_s * 1e3).round();
    all.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    all
}

/// The most that anybody loses in a way that would be a finding if it were more.
pub fn most(window: &Window) -> Most {
    Most {
        foreign: foreign::most(window),
        quota: quota::most(window),
        runtimes: quota::most_to_runtimes(window),
        neighbour: neighbour::most(window),
        beside_idle: idle::most(window),
        spin: spin::most(window),
        native: native::most(window),
        mailbox: mailbox::most(window),
        spun: node_quota::most(window),
        memory: memory::most(window),
    }
}
