//! The verdict of `cpu-quota` in words.

use super::meta::{META, measure};
use super::params::CpuQuotaParams;
use crate::Words;
use crate::params::Params;
use analysis::Outcome;
use model::{ArmResult, Plan, Role, State};

pub(super) fn words(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Words {
    let over = outcome.measure == measure::BEYOND;
    let headline = match outcome.state {
        State::Affected => affected(arms, over),
        State::NotAffected => not_affected(arms),
        State::Untrustworthy => crate::UNTRUSTWORTHY.to_owned(),
        State::Inconclusive | State::Skipped => {
            "This study does not say whether a group gets its CPU quota here.".to_owned()
        }
    };
    let kind =
        (outcome.state == State::Affected).then(|| if over { "over" } else { "under" }.to_owned());
    Words { headline, next: next(outcome.state, plan), kind }
}

fn of(arms: &[ArmResult], role: Role) -> Option<&ArmResult> {
    arms.iter().find(|arm| arm.role == role)
}

/// What an arm got of its quota, with its interval.
fn got(arms: &[ArmResult], role: Role) -> String {
    let estimate = of(arms, role).and_then(|arm| arm.measures.get(measure::GOT));
    estimate.map(ToString::to_string).unwrap_or_default()
}

/// On how many CPUs the threads of an arm were: `4 CPUs`.
fn cpus(arms: &[ArmResult], role: Role) -> String {
    match of(arms, role).and_then(|arm| arm.measures.get(measure::CPUS)) {
        Some(cpus) if cpus.median == 1.0 => "one CPU".to_owned(),
        Some(cpus) => format!("{} CPUs", cpus.figure()),
        None => "its CPUs".to_owned(),
    }
}

fn compared(arms: &[ArmResult]) -> String {
    format!(
        "with threads on {} it got {} of its quota, with the same threads on {} {}",
        cpus(arms, Role::Case),
        got(arms, Role::Case),
        cpus(arms, Role::Control),
        got(arms, Role::Control)
    )
}

fn affected(arms: &[ArmResult], over: bool) -> String {
    let what = if over { "gets more than" } else { "is throttled below" };
    format!("A group {what} its CPU quota here: {}.", compared(arms))
}

fn not_affected(arms: &[ArmResult]) -> String {
    format!("A group gets its CPU quota here: {}.", compared(arms))
}

fn next(state: State, plan: &Plan) -> Vec<String> {
    let params = plan.arms.first().and_then(|arm| CpuQuotaParams::of(&arm.settings));
    let simulated = params.as_ref().map_or_else(String::new, simulate);
    match state {
        State::Affected => {
            let mut next = vec![format!("{}: {simulated} --kernel 5.7", META.mends[0].what)];
            next.push(format!("{}: tailback run cpu-quota --on-cpus 1", META.mends[1].what));
            next
        }
        State::NotAffected => {
            vec![format!("what this kernel's rules give on a larger machine: {simulated}")]
        }
        _ => Vec::new(),
    }
}

/// The simulation of the same quota on a machine with many CPUs.
fn simulate(params: &CpuQuotaParams) -> String {
    let CpuQuotaParams { quota, period, .. } = params;
    format!("tailback sim cpu-quota --cpus 64 --quota {quota} --period {period}")
}
