//! What only this scenario knows of an outcome: few CPUs hide what many show.

use super::meta::measure;
use analysis::Outcome;
use model::{ArmResult, Role, State};

/// With fewer CPUs than this the loss to slices that expire can stay within the margin.
const MANY_CPUS: f64 = 32.0;

pub(super) fn review(arms: &[ArmResult], outcome: &mut Outcome) {
    mention_cpus(arms, outcome);
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
