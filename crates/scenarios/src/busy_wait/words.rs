//! The verdict of `busy-wait` in words.

use super::meta::{META, measure};
use super::params::BusyWaitParams;
use super::plan::flags_in_words;
use crate::Words;
use crate::params::{Auto, Params};
use analysis::Outcome;
use model::{ArmResult, Plan, Role, State};

pub(super) fn words(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Words {
    let headline = match outcome.state {
        State::Affected => affected(plan, arms),
        State::NotAffected => not_affected(plan, arms),
        State::Untrustworthy => crate::UNTRUSTWORTHY.to_owned(),
        State::Inconclusive | State::Skipped => {
            "It is not settled whether busy waiting of schedulers costs latency here.".to_owned()
        }
    };
    let kind = (outcome.state == State::Affected).then(|| kind(plan).to_owned());
    Words { headline, next: next(outcome.state, plan), kind }
}

fn is_affected(arm: &ArmResult) -> bool {
    arm.state == Some(State::Affected)
}

/// Where it costs: under the quota, or without one already.
fn kind(plan: &Plan) -> &'static str {
    match quota(plan) {
        None => "latency",
        Some(_) => "latency-under-quota",
    }
}

/// The quota of what is judged, in CPUs.
fn quota(plan: &Plan) -> Option<f64> {
    let case = plan.arms.iter().find(|arm| arm.role == Role::Case)?;
    Some(BusyWaitParams::of(&case.settings)?.quota.get()?.get())
}

fn figure(arm: Option<&ArmResult>, name: &str) -> String {
    arm.and_then(|arm| arm.measures.get(name)).map(ToString::to_string).unwrap_or_default()
}

/// Where it was measured.
fn place(plan: &Plan) -> String {
    match quota(plan) {
        Some(cpus) => format!("under a quota of {cpus} CPUs"),
        None => "without a CPU quota".to_owned(),
    }
}

/// The flags of the first arm of a role that sets it apart from a plain `erl`.
fn flags(plan: &Plan, role: Role) -> String {
    let arm = plan.arms.iter().find(|arm| arm.role == role);
    let params = arm.and_then(|arm| BusyWaitParams::of(&arm.settings));
    let Some(params) = params else { return "flags that are not known".to_owned() };
    let (base, changed) = (params.flags.as_str(), params.changed_flags());
    match (base, changed.as_str()) {
        ("", _) => flags_in_words(&params),
        (base, changed) if !changed.is_empty() && base != changed => format!("{base} {changed}"),
        (base, _) => base.to_owned(),
    }
}

/// `under a quota of 0.5 CPUs the slowest of 100 requests took 65 ms with the VM's defaults, and ..`
fn figures(plan: &Plan, case: Option<&ArmResult>, arms: &[ArmResult]) -> String {
    let control = arms.iter().find(|arm| arm.role == Role::Control);
    format!(
        "{} the slowest of 100 requests took {} with {}, and {} with {}",
        place(plan),
        figure(case, measure::P99),
        flags(plan, Role::Case),
        figure(control, measure::P99),
        flags(plan, Role::Control)
    )
}

fn affected(plan: &Plan, arms: &[ArmResult]) -> String {
    let case = arms.iter().find(|arm| arm.role == Role::Case && is_affected(arm));
    format!("Busy waiting of schedulers costs latency here: {}.", figures(plan, case, arms))
}

fn not_affected(plan: &Plan, arms: &[ArmResult]) -> String {
    let case = arms.iter().find(|arm| arm.role == Role::Case);
    format!("Busy waiting of schedulers cost no latency here: {}.", figures(plan, case, arms))
}

fn next(state: State, plan: &Plan) -> Vec<String> {
    if state != State::Affected {
        return Vec::new();
    }
    let control = plan.arms.iter().find(|arm| arm.role == Role::Control);
    let flags = control.and_then(|arm| arm.change.clone()).unwrap_or_default();
    let mut next = Vec::new();
    if flags.starts_with('+') {
        next.push(format!("put the flags into the node's environment: ERL_FLAGS=\"{flags}\""));
    }
    let fewer = BusyWaitParams { schedulers: Auto::Is(1), ..BusyWaitParams::default() };
    next.push(format!("{}: {}", META.mends[1].what, META.command(&fewer.settings())));
    next
}
