//! The summary that a scenario gives for an outcome.

use model::{ArmResult, Fact, Plan, Role, Suggestion};

/// The summary that a scenario gives for an outcome.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// The verdict in one sentence.
    pub headline: Fact,
    /// What to do next.
    pub suggestions: Vec<Suggestion>,
    /// The name of the stall, if the scenario has several stalls.
    pub kind: Option<String>,
}

/// The control that an arm is compared with.
pub(crate) fn control_of<'a>(
    plan: &Plan,
    arm: &ArmResult,
    arms: &'a [ArmResult],
) -> Option<&'a ArmResult> {
    let planned = plan.arms.iter().find(|one| one.id == arm.id)?;
    arms.iter().find(|one| match &planned.against {
        Some(against) => one.id == *against,
        None => one.role == Role::Control,
    })
}
