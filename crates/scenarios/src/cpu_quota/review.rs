//! What only this scenario knows of an outcome: it is judged the other way too, and few CPUs hide
//! what many show.

use super::meta::measure;
use analysis::Outcome;
use model::{ArmResult, Plan, Role, State, Trial};
use std::borrow::Cow;

/// With fewer CPUs than this the loss to slices that expire can stay within the margin.
const MANY_CPUS: usize = 32;

pub(super) fn review(plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
    if outcome.state != State::Affected && outcome.state != State::Untrustworthy {
        judge_excess(plan, trials, arms, outcome);
    }
    mention_cpus(plan, outcome);
}

/// Whether the group got more than its quota, by the same test on the other figure.
fn judge_excess(plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
    let mut excess = plan.clone();
    excess.judging.measure = Cow::Borrowed(measure::EXCESS);
    let results = analysis::estimate_arms(&excess, trials);
    let other = analysis::decide(&excess, trials, &results, 0);
    match (outcome.state, other.state) {
        (_, State::Affected) => {
            *outcome = other;
            for (arm, result) in arms.iter_mut().zip(results) {
                arm.state = result.state;
                arm.worse = result.worse;
                arm.evidence = result.evidence;
            }
        }
        (State::NotAffected, State::NotAffected) => outcome
            .because
            .push("by the same test the group did not get more than its quota either".to_owned()),
        (State::NotAffected, _) => {
            outcome.state = State::Inconclusive;
            outcome
                .because
                .push("it is not settled whether the group gets more than its quota".to_owned());
        }
        _ => {}
    }
}

fn mention_cpus(plan: &Plan, outcome: &mut Outcome) {
    let case = plan.arms.iter().find(|arm| arm.role == Role::Case);
    let threads = case.and_then(|arm| arm.settings.number("threads")).unwrap_or(0);
    let few = usize::try_from(threads).is_ok_and(|threads| threads < MANY_CPUS);
    if outcome.state == State::NotAffected && few {
        outcome.limits.push(format!(
            "{threads} threads on as few CPUs are few: what a group loses grows by up to 1 ms of \
             quota for each CPU and period, so a kernel with this bug can look sound here"
        ));
    }
}
