//! Going on with a study that ended without a verdict.
//!
//! A study that is started anew after an undecided one would look twice at the error rate that it
//! promises. Going on with the same evidence keeps the promise: the test may be stopped and taken up
//! at any time.

use crate::studies::whole_blocks;
use model::record::{Plan, Progress};
use model::{Machine, Record, State};
use std::collections::BTreeSet;

/// The plan with which an undecided study goes on, and its record without a block that is not whole;
/// `None` where the record is of another study, of another machine or version, or has a verdict.
///
/// It keeps its seed, so that the order of the blocks to come is the one that it would have had, and
/// gets as many blocks again.
pub fn undecided(mut old: Record, plan: &Plan, machine: &Machine) -> Option<(Plan, Record)> {
    let blocks = whole_blocks(&old, &old.plan.arms);
    let stopped = matches!(old.progress, Progress::Complete | Progress::Interrupted);
    let open = old.verdict.state == State::Inconclusive && stopped && blocks > 0;
    if !open || old.factorial.is_some() || !is_same(&old, plan, machine) {
        return None;
    }
    old.trials.retain(|trial| trial.block < blocks);
    old.probed.clear();
    let plan = Plan {
        seed: old.plan.seed,
        max_blocks: blocks.saturating_add(plan.max_blocks),
        ..plan.clone()
    };
    Some((plan, old))
}

fn is_same(old: &Record, plan: &Plan, machine: &Machine) -> bool {
    let cpus = |machine: &Machine| machine.cpus.iter().map(|cpu| cpu.id).collect::<BTreeSet<_>>();
    let judged = |plan: &Plan| -> Vec<(String, u64)> {
        let all = std::iter::once(&plan.judging).chain(&plan.also);
        all.map(|judging| (judging.measure.to_string(), judging.margin.to_bits())).collect()
    };
    old.tool.version == env!("CARGO_PKG_VERSION")
        && old.host.kernel == machine.kernel
        && old.host.kernel_build == machine.kernel_build
        && old.host.tainted == machine.tainted
        && cpus(&old.host) == cpus(machine)
        && old.host.allowed_cpus == machine.allowed_cpus
        && old.plan.stop_when_settled
        && plan.stop_when_settled
        && old.plan.arms == plan.arms
        && judged(&old.plan) == judged(plan)
}
