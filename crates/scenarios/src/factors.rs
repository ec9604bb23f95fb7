//! A study of several factors: what its levels did, and its headline, which no scenario has, since
//! the combinations are the study's own.

use crate::AnyScenario;
use analysis::Outcome;
use model::factorial::Effects;
use model::reason::StudyHeadline;
use model::{ArmResult, Factorial, Facts, Headline, Role, State};

/// What the factors of a study did, where the facts are of one.
///
/// Figures are those that its scenario shows in tables, and those that it judges by.
pub(crate) fn effects(scenario: &dyn AnyScenario, facts: &Facts) -> Option<Effects> {
    let factorial = facts.factorial.as_ref()?;
    let plan = &facts.plan;
    let judged: Vec<&str> =
        [&plan.judging].into_iter().chain(&plan.also).map(|j| j.measure.as_ref()).collect();
    let measures: Vec<&str> = scenario
        .meta()
        .measures
        .iter()
        .filter(|measure| measure.column || judged.contains(&measure.name))
        .map(|measure| measure.name)
        .collect();
    Some(analysis::effects(factorial, &facts.trials, &measures, plan.judging.confidence))
}

/// What such a study found.
pub(crate) fn headline(factorial: &Factorial, outcome: &Outcome, arms: &[ArmResult]) -> Headline {
    let cases = || arms.iter().filter(|arm| arm.role == Role::Case);
    let affected = || cases().filter(|arm| arm.state == Some(State::Affected));
    let worst = model::worst_case(affected(), &outcome.measure);
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Headline::Study(StudyHeadline {
        name: factorial.name.clone(),
        affected: count(affected().count()),
        of: count(cases().count()),
        measure: outcome.measure.clone(),
        worst: worst.map(|arm| arm.id.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::testing::{LOST, estimate, result};
    use model::{Test, Unit};

    #[test]
    fn the_worst_of_the_combinations_that_stall_is_named() {
        let arm = |id, role, state, median| {
            let mut arm = result(id, role, state);
            let lost = estimate(median, Unit::MillisecondsPerSecond);
            arm.measures.insert(LOST.to_owned(), lost);
            arm
        };
        let arms = [
            arm("busy=0", Role::Control, None, 0.5),
            arm("busy=1", Role::Case, Some(State::Affected), 100.0),
            arm("busy=10", Role::Case, Some(State::Affected), 700.0),
            arm("busy=2", Role::Case, Some(State::Inconclusive), 900.0),
        ];
        let factorial = Factorial { name: "rows".to_owned(), ..Factorial::default() };
        let outcome = Outcome::new(State::Affected, LOST, Test::default());
        let study = StudyHeadline {
            name: "rows".to_owned(),
            affected: 2,
            of: 3,
            measure: LOST.to_owned(),
            worst: Some("busy=10".to_owned()),
        };
        assert_eq!(headline(&factorial, &outcome, &arms), Headline::Study(study));
    }
}
