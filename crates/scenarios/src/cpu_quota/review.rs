//! What only this scenario knows of an outcome: it is judged the other way too, and few CPUs hide
//! what many show.

use super::meta::measure;
use analysis::Outcome;
use model::{ArmResult, Plan, Role, State, Trial};
use std::borrow::Cow;

/// With fewer CPUs than this the loss to slices that expire can stay within the margin.
const MANY_CPUS: f64 = 32.0;

pub(super) fn review(plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
    if outcome.state != State::Affected && outcome.state != State::Untrustworthy {
        judge_excess(plan, trials, arms, outcome);
    }
    mention_cpus(arms, outcome);
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

/// The loss grows with the CPUs that the threads run on, however many threads there are.
fn mention_cpus(arms: &[ArmResult], outcome: &mut Outcome) {
    let case = arms.iter().find(|arm| arm.role == Role::Case);
    let Some(cpus) = case.and_then(|arm| arm.measures.get(measure::CPUS)) else { return };
    if outcome.state == State::NotAffected && cpus.median < MANY_CPUS {
        outcome.limits.push(format!(
            "{} CPUs are few: what a group loses grows by up to 1 ms of quota for each CPU and \
             period, so a kernel with this bug can look sound here",
            cpus.figure()
        ));
    }
}
