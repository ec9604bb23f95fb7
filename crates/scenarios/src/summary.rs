//! What a scenario says of an outcome.

use model::{ArmResult, Fact, Plan, Role, Suggestion};

/// What a scenario says of an outcome.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// The verdict in one sentence.
    pub headline: Fact,
    /// What to do next.
    pub suggestions: Vec<Suggestion>,
    /// Which of several stalls, where the scenario has several.
    pub kind: Option<String>,
}

/// The control that an arm is held against.
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
