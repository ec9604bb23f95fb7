//! The summary that a scenario gives for an outcome.

use model::{Arm, ArmResult, Fact, Plan, Role, State, Suggestion};

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

/// The case that other runs are suggested for: the first affected one, or else the first one. Each
/// OTP of a study has a case of its own, and a fix has to be tried with the OTP that stalls.
pub(crate) fn shown_case<'a>(plan: &'a Plan, arms: &[ArmResult]) -> Option<&'a Arm> {
    let mut cases = arms.iter().filter(|arm| arm.role == Role::Case);
    let affected = cases.find(|case| case.state == Some(State::Affected));
    let planned = affected.and_then(|case| plan.arms.iter().find(|arm| arm.id == case.id));
    planned.or_else(|| plan.case())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::testing::{plan, result};

    #[test]
    fn other_runs_are_suggested_for_the_case_that_is_affected() {
        use State::{Affected, NotAffected};
        let plan = plan(&[("control", Role::Control), ("old", Role::Case), ("new", Role::Case)]);
        let of = |arms: &[ArmResult]| shown_case(&plan, arms).map(|arm| arm.id.clone());
        let with = |new: State| {
            let old = result("old", Role::Case, Some(NotAffected));
            of(&[old, result("new", Role::Case, Some(new))])
        };
        assert_eq!(with(Affected).as_deref(), Some("new"));
        assert_eq!(with(NotAffected).as_deref(), Some("old"));
        assert_eq!(of(&[]).as_deref(), Some("old"));
    }
}
