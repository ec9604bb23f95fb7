//! Continues a study that ended without a verdict.
//!
//! Starting from scratch after an undecided study would use twice the error rate that a study
//! promises. Continuing with the same evidence keeps the promise: the test may be stopped and
//! resumed at any time.

use model::record::Plan;
use model::{Arm, Caveat, Ended, Facts, Judgement, Machine, Reason, Role, State};
use std::collections::BTreeSet;

/// The plan that continues an undecided study, and its record. `None` if the record is of another
/// study, machine or version, or has a verdict.
///
/// An unfinished block stays in the record and is not run again: if trials could be dropped after
/// they were seen, a study that is interrupted whenever a trial hangs would show no hang. The test
/// uses whole blocks, but counts every trial that hung.
///
/// The study keeps its seed, so the blocks to come have the order that they would have had. For
/// settings that are open (`auto`), it keeps what it measured of the machine. It also keeps its
/// share of an error rate. Otherwise the studies of a `check` that are closest to *affected* could
/// be continued alone, and one of them would be wrong more often than `check` promised. The plan's
/// number of blocks is added to those that were run.
///
/// A study may be undecided although its evidence sufficed: the machine was noisy, or the load did
/// not do its work. It is not continued, since more blocks beside those would not help.
pub fn undecided(old: Facts, plan: &Plan, machine: &Machine) -> Option<(Plan, Facts)> {
    let begun = old.trials.iter().map(|trial| trial.block.saturating_add(1)).max().unwrap_or(0);
    // Each of these blocks has a trial.
    let fits = begun > 0 && begun as usize <= old.trials.len();
    let stopped = matches!(old.ended, Ended::Complete | Ended::Interrupted);
    if !stopped || !fits || old.factorial.is_some() || !is_same(&old, plan, machine) {
        return None;
    }
    let judgement = scenarios::judge(&old);
    if judgement.state != State::Inconclusive || suffices(&judgement) {
        return None;
    }
    let mut old = old;
    old.probed.clear();
    let arms = arms(&old.plan, plan);
    old.trials.retain(|trial| arms.iter().any(|arm| arm.id == trial.arm));
    let mut plan = Plan {
        arms,
        seed: old.plan.seed,
        max_blocks: begun.saturating_add(plan.max_blocks),
        ..plan.clone()
    };
    keep_rates(&mut plan, &old.plan);
    Some((plan, old))
}

/// Keeps the smaller of both plans' error rates. Both have the same figures.
pub(crate) fn keep_rates(new: &mut Plan, old: &Plan) {
    let rates = [new.error_rate, old.error_rate];
    new.error_rate = rates.into_iter().flatten().reduce(f64::min);
    let figures = std::iter::once(&mut new.judging).chain(&mut new.also);
    for (new, old) in figures.zip(std::iter::once(&old.judging).chain(&old.also)) {
        new.error_rate = new.error_rate.min(old.error_rate);
    }
}

/// The arms of the new plan. An arm that the old plan has too is taken from there. Fixes are no
/// part of the open question, so a study may continue with or without them.
fn arms(old: &Plan, new: &Plan) -> Vec<Arm> {
    let of_old = |arm: &Arm| old.arms.iter().find(|old| is_same_arm(old, arm)).cloned();
    new.arms.iter().map(|arm| of_old(arm).unwrap_or_else(|| arm.clone())).collect()
}

/// Whether the evidence of the deciding figure is beyond a threshold already, and nothing else
/// keeps the study open: another figure that more blocks may settle, a case that hung, or blocks
/// that would not show a stall. If these were forgotten, a new study could be made until it shows
/// none.
fn suffices(judgement: &Judgement) -> bool {
    let hung = |reason: &Reason| matches!(reason, Reason::Hung { .. });
    let is_open = judgement.caveats.iter().any(Caveat::needs_blocks)
        || judgement.reasons.iter().any(hung)
        || !judgement.open.is_empty();
    !is_open
        && judgement.test.as_ref().is_some_and(|test| {
            test.e_value_affected >= test.threshold
                || test.e_value_not_affected
                    >= test.threshold_not_affected.unwrap_or(test.threshold)
        })
}

fn is_same(old: &Facts, plan: &Plan, machine: &Machine) -> bool {
    let cpus = |machine: &Machine| machine.cpus.iter().map(|cpu| cpu.id).collect::<BTreeSet<_>>();
    let limit = |machine: &Machine| machine.cgroup.as_ref().and_then(|group| group.cpu_limit);
    let judged = |plan: &Plan| -> Vec<(String, u64)> {
        let all = std::iter::once(&plan.judging).chain(&plan.also);
        all.map(|judging| (judging.measure.to_string(), judging.margin.to_bits())).collect()
    };
    let [before, now] = [&old.plan, plan].map(|plan| -> Vec<&Arm> {
        plan.arms.iter().filter(|arm| arm.role != Role::Fix).collect()
    });
    old.tool.version == env!("CARGO_PKG_VERSION")
        && old.machine.kernel == machine.kernel
        && old.machine.kernel_build == machine.kernel_build
        && old.machine.tainted == machine.tainted
        && old.machine.guest == machine.guest
        && old.machine.load_user == machine.load_user
        && limit(&old.machine) == limit(machine)
        && cpus(&old.machine) == cpus(machine)
        && old.machine.allowed_cpus == machine.allowed_cpus
        && old.plan.stop_when_settled
        && old.plan.wash_out == plan.wash_out
        && plan.stop_when_settled
        && before.len() == now.len()
        && before.iter().zip(now).all(|(old, new)| is_same_arm(old, new))
        && judged(&old.plan) == judged(plan)
}

/// Whether two arms are the same, except for settings that the new one leaves open.
fn is_same_arm(old: &Arm, new: &Arm) -> bool {
    let settings = &old.settings.0;
    old.id == new.id
        && old.role == new.role
        && old.against == new.against
        && old.change == new.change
        && settings.len() == new.settings.0.len()
        && new.settings.0.iter().all(|(name, value)| {
            settings.get(name).is_some_and(|old| old == value || value.is_open())
        })
}
