//! The verdict of `busy-wait` in words.

use super::meta::{META, measure};
use super::plan::changed_flags;
use crate::Words;
use analysis::Outcome;
use model::{ArmResult, Plan, Role, State};

pub(super) fn words(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Words {
    let headline = match outcome.state {
        State::Affected => affected(plan, arms),
        State::NotAffected => not_affected(arms),
        State::Untrustworthy => {
            "The machine was disturbed or overloaded while it was measured, so its figures prove \
             nothing."
                .to_owned()
        }
        State::Inconclusive | State::Skipped => {
            "It is not settled whether busy waiting of schedulers costs latency here.".to_owned()
        }
    };
    let kind = (outcome.state == State::Affected).then(|| kind(arms).to_owned());
    Words { headline, next: next(outcome.state, plan), kind }
}

fn of<'a>(arms: &'a [ArmResult], id: &str) -> Option<&'a ArmResult> {
    arms.iter().find(|arm| arm.id == id)
}

fn is_affected(arm: &ArmResult) -> bool {
    arm.state == Some(State::Affected)
}

/// Where it costs: under the quota, or without one already.
fn kind(arms: &[ArmResult]) -> &'static str {
    match of(arms, "defaults").is_some_and(is_affected) {
        true => "latency",
        false => "latency-under-quota",
    }
}

fn figure(arm: Option<&ArmResult>, name: &str) -> String {
    arm.and_then(|arm| arm.measures.get(name)).map(ToString::to_string).unwrap_or_default()
}

fn affected(plan: &Plan, arms: &[ArmResult]) -> String {
    let case = arms.iter().rev().find(|arm| arm.role == Role::Case && is_affected(arm));
    let id = case.map(|arm| arm.id.as_str()).unwrap_or_default();
    let settings = plan.arms.iter().find(|arm| arm.id == id).map(|arm| &arm.settings);
    let quota = settings.and_then(|settings| settings.decimal("quota"));
    let place = match quota {
        Some(cpus) => format!("under a CPU quota of {cpus} CPUs"),
        None => "without a CPU quota".to_owned(),
    };
    let control = arms.iter().find(|arm| arm.role == Role::Control);
    let mut words = format!(
        "Busy waiting of schedulers costs latency here: {place} 1 request in 100 took longer than \
         {} with the VM's defaults, and {} without busy waiting and quota.",
        figure(case, measure::P99),
        figure(control, measure::P99)
    );
    if let (Some(fix), Some(_)) = (of(arms, "flags-quota"), quota) {
        words.push_str(&format!(
            " Without busy waiting under the same quota it is {}.",
            figure(Some(fix), measure::P99)
        ));
    }
    words
}

fn not_affected(arms: &[ArmResult]) -> String {
    let case = of(arms, "defaults-quota").or_else(|| of(arms, "defaults"));
    format!(
        "Busy waiting of schedulers cost no latency here: 1 request in 100 took longer than {} \
         with the VM's defaults.",
        figure(case, measure::P99)
    )
}

fn next(state: State, plan: &Plan) -> Vec<String> {
    if state != State::Affected {
        return Vec::new();
    }
    let tried = plan.arms.iter().find_map(|arm| arm.change.clone());
    let flags = tried.unwrap_or_else(|| {
        plan.arms.first().map(|arm| changed_flags(&arm.settings)).unwrap_or_default()
    });
    let mut next = Vec::new();
    if flags.starts_with('+') {
        next.push(format!("put the flags into the node's environment: ERL_FLAGS=\"{flags}\""));
    }
    let mut fewer = model::Settings::defaults(META.knobs, false);
    fewer.set("schedulers", model::Value::Number(1));
    next.push(format!("{}: {}", META.mends[1].what, META.command(&fewer)));
    next
}
