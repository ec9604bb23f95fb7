//! What only this scenario knows of an outcome: whether it is the busy waiting that costs, what it
//! costs beside latency, and whether the load was one that the machine could carry.

use super::meta::measure;
use analysis::Outcome;
use model::{ArmResult, FixOutcome, Plan, Role, State, Trial};

/// More requests than this part, in percent, left undone say that the rate is beyond the machine.
const MOST_BACKLOG: f64 = 5.0;

/// Spinning below this is not worth a sentence, in milliseconds a second.
const LEAST_SPUN: f64 = 20.0;

pub(super) fn review(plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
    if overloaded(arms, outcome) {
        return;
    }
    if outcome.state == State::Affected {
        blame(plan, trials, arms, outcome);
    }
    spun(arms, outcome);
    outcome.because.extend(throughput(arms));
    outcome.because.extend(detected(plan, trials));
}

/// What busy waiting leaves of background work, where the intervals of the two arms are apart.
fn throughput(arms: &[ArmResult]) -> Option<String> {
    let done = |id: &str| arms.iter().find(|arm| arm.id == id)?.measures.get(measure::BACKGROUND);
    let (with, without) = (done("defaults-quota")?, done("flags-quota")?);
    (with.high? < without.low?).then(|| {
        format!(
            "under the quota the VM's defaults left {with} of background work, the flags {without}"
        )
    })
}

/// The quota that the VM found by itself, beside the real one: schedulers are started by it.
fn detected(plan: &Plan, trials: &[Trial]) -> Option<String> {
    let arm = plan.arms.iter().find(|arm| arm.settings.decimal("quota").is_some())?;
    let real = arm.settings.decimal("quota")?;
    let mut of_arm = trials.iter().filter(|trial| trial.arm == arm.id);
    let vm = of_arm.find_map(|trial| trial.observation.vm.as_ref())?;
    let found = match vm.cpu_quota {
        Some(cpus) => format!("a quota of {cpus}"),
        None => "no quota".to_owned(),
    };
    Some(format!(
        "under the quota of {real} CPUs the VM itself detected {found}, and had {} schedulers, as \
         it was told",
        vm.schedulers_online
    ))
}

fn median(arm: &ArmResult, name: &str) -> Option<f64> {
    Some(arm.measures.get(name)?.median)
}

/// A control that cannot serve the rate shows no stall, only too little machine.
fn overloaded(arms: &[ArmResult], outcome: &mut Outcome) -> bool {
    let control = arms.iter().find(|arm| arm.role == Role::Control);
    let backlog = control.and_then(|arm| arm.measures.get(measure::BACKLOG));
    let Some(backlog) = backlog.filter(|backlog| backlog.median > MOST_BACKLOG) else {
        return false;
    };
    outcome.state = State::Untrustworthy;
    outcome.because.insert(
        0,
        format!(
            "the control left {backlog} of its requests undone without any quota: the rate is \
             beyond this machine, so latencies say how long the trial was"
        ),
    );
    outcome.limits.insert(0, "take a lower --rate, or more --workers".to_owned());
    true
}

/// Busy waiting is to blame only where the flags mend it; otherwise the quota is too small.
fn blame(plan: &Plan, trials: &[Trial], arms: &[ArmResult], outcome: &mut Outcome) {
    let quota = |arm: &&ArmResult| arm.id == "defaults-quota" && arm.state == Some(State::Affected);
    let free = |arm: &ArmResult| arm.id == "defaults" && arm.state == Some(State::Affected);
    if !arms.iter().any(|arm| quota(&arm)) || arms.iter().any(free) {
        return;
    }
    let fixes = analysis::fixes(plan, trials, arms);
    if fixes.iter().any(|fix| fix.outcome != FixOutcome::NotShown) {
        return;
    }
    outcome.state = State::Inconclusive;
    outcome.because.insert(
        0,
        "under the quota the node is slow with the flags too, so it is not shown that busy \
         waiting is to blame: the quota may be too small for this load"
            .to_owned(),
    );
    outcome.limits.insert(0, "take a lower --rate or a larger --quota".to_owned());
}

/// What the VM's defaults spin, whether or not anybody is the worse for it.
fn spun(arms: &[ArmResult], outcome: &mut Outcome) {
    for (id, place) in [("defaults", "without a quota"), ("defaults-quota", "under the quota")] {
        let Some(arm) = arms.iter().find(|arm| arm.id == id) else { continue };
        let Some(spun) = arm.measures.get(measure::SPUN) else { continue };
        if median(arm, measure::SPUN).is_some_and(|spun| spun >= LEAST_SPUN) {
            let active = arm.measures.get(measure::ACTIVE).map(|e| e.figure()).unwrap_or_default();
            outcome.because.push(format!(
                "{place} the VM's defaults spun {spun} of CPU time beside {active} ms/s of work"
            ));
        }
    }
}
