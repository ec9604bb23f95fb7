//! Studies of several factors: the effects of their levels, and their headline. No scenario has
//! this headline, because each study chooses its own combinations.

use crate::AnyScenario;
use analysis::Outcome;
use model::factorial::Effects;
use model::reason::StudyHeadline;
use model::{ArmResult, Factorial, Facts, Headline, Role, State};

/// The effects of the factors of a study. None if the study has no factors.
///
/// The figures are those that the scenario shows in tables, and those by which it judges.
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

/// The headline of a study with factors.
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
