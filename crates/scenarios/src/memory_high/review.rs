//! The scenario's own review of an outcome: whether the group ever reached its limit.

use super::meta::measure;
use super::params::{By, MemoryHighParams};
use super::sentences::MemoryHighFact;
use crate::params::Params;
use crate::{Objection, Results, Review};
use model::{Amount, ArmResult, Caveat, Reason, Role, State, Unit};

/// An excess over `memory.high` from which on the kernel makes a task sleep, in percent of it. The
/// kernel leaves out sleeps of HZ/100 or less.
const SLEEPS_FROM: f64 = 1.25;

/// A group must exceed `memory.high` by this much, in percent of it, if its work needs more than
/// that. Each sleep takes 26 ms then.
const CLEARLY_ABOVE: f64 = 2.0;

pub(super) fn review(results: &Results) -> Review {
    if results.outcome.state == State::Untrustworthy {
        return Review::default();
    }
    let is_clear =
        |arm: &&ArmResult| arm.role == Role::Case && arm.state == Some(State::NotAffected);
    let objection = |case: &ArmResult| {
        let planned = results.plan.arms.iter().find(|arm| arm.id == case.id)?;
        let params = MemoryHighParams::of(&planned.settings)?;
        let why = Reason::Scenario(not_limited(&params, case)?.into());
        Some(Objection::to_arm(&case.id, why))
    };
    let objections: Vec<Objection> =
        results.arms.iter().filter(is_clear).filter_map(objection).collect();
    let faster = || Caveat::Scenario(MemoryHighFact::FillFaster.into());
    let settles = (!objections.is_empty()).then(faster);
    Review { objections, settles, ..Review::default() }
}

/// Why an arm does not show what its limit does: the work needs more, but its group did not take
/// it. None if the group did, or if the limit is so close to the need that no task has to sleep. A
/// limit that high answers another question: whether it is enough.
fn not_limited(params: &MemoryHighParams, case: &ArmResult) -> Option<MemoryHighFact> {
    let median = |name: &str| case.measures.get(name).map(|measure| measure.median);
    let kept = params.kept();
    let (need, limit) = ((&kept).into(), (&params.limit).into());
    // Without swap, a group that is held back by memory.high stays above it. With swap, the kernel
    // makes room, and the group stays at its limit.
    if params.by == By::High && !params.swap.is_yes() {
        let over = median(measure::OVER)?;
        let wanted = 100.0 * (kept.get() as f64 / params.limit.get() as f64 - 1.0);
        let least = if wanted > CLEARLY_ABOVE { CLEARLY_ABOVE } else { SLEEPS_FROM };
        let hardly = wanted > SLEEPS_FROM && over < least;
        let over = Amount::exact(over, Unit::Percent);
        return hardly.then_some(MemoryHighFact::HardlyAbove { need, limit, over });
    }
    let happened = |name| median(name).is_some_and(|count| count > 0.0);
    let reached = [measure::EVENTS, measure::KILLS].into_iter().any(happened);
    let wanted = kept > params.limit;
    (wanted && !reached).then_some(MemoryHighFact::NotAtLimit { need, limit })
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use crate::testing::{reviewed_by, settings, told};
    use analysis::Outcome;
    use model::testing::{arm, estimate, plan, result};
    use model::{Arm, Plan, Test};

    const HIGH: [(&str, &str); 2] = [("need", "64MiB"), ("limit", "32MiB")];

    /// A case with these settings that differ from the defaults, and these figures.
    fn case(
        id: &str,
        changed: &[(&str, &str)],
        figures: &[(&str, f64)],
        state: State,
    ) -> (Arm, ArmResult) {
        let planned = Arm { settings: settings(&META, changed), ..arm(id, Role::Case) };
        let mut case = result(id, Role::Case, Some(state));
        for (name, value) in figures {
            let unit = META.measure(name).unwrap().unit;
            case.measures.insert((*name).to_owned(), estimate(*value, unit));
        }
        (planned, case)
    }

    /// The outcome and the states of these cases, after the review.
    fn outcome_of(cases: Vec<(Arm, ArmResult)>, state: State) -> (Outcome, Vec<Option<State>>) {
        let (arms, mut results): (Vec<Arm>, Vec<ArmResult>) = cases.into_iter().unzip();
        let mut outcome = Outcome::new(state, measure::LOST, Test::default());
        reviewed_by(review, &Plan { arms, ..plan(&[]) }, &[], &mut results, &mut outcome);
        (outcome, results.into_iter().map(|arm| arm.state).collect())
    }

    /// The outcome of one case that is not affected, and the id of the objection.
    fn reviewed(changed: &[(&str, &str)], figures: &[(&str, f64)]) -> (State, Option<String>) {
        let cases = vec![case("case", changed, figures, State::NotAffected)];
        let (outcome, _) = outcome_of(cases, State::NotAffected);
        let said = outcome.reasons.first().map(|reason| match reason {
            Reason::Scenario(fact) => fact.id.clone(),
            other => panic!("{other:?}"),
        });
        (outcome.state, said)
    }

    #[test]
    fn a_group_that_hardly_exceeded_memory_high_shows_nothing() {
        let over = |percent| vec![case("case", &HIGH, &[("over", percent)], State::NotAffected)];
        let (hardly, arms) = outcome_of(over(1.9), State::NotAffected);
        assert_eq!((hardly.state, arms), (State::Inconclusive, vec![Some(State::Inconclusive)]));
        let [Reason::Scenario(fact)] = hardly.reasons.as_slice() else { panic!("{hardly:?}") };
        assert!(told(&META, fact).contains("1.9% above its limit of 32MiB"), "{hardly:?}");
        assert_eq!(hardly.caveats, [Caveat::Scenario(MemoryHighFact::FillFaster.into())]);
        assert_eq!(reviewed(&HIGH, &[("over", 2.0)]), (State::NotAffected, None));
        // The kernel counts an event for every page above the limit.
        let hardly = (State::Inconclusive, Some("hardly-above".to_owned()));
        assert_eq!(reviewed(&HIGH, &[("over", 0.1), ("events", 50.0)]), hardly);
        let affected = vec![case("case", &HIGH, &[("over", 0.0)], State::Affected)];
        assert_eq!(outcome_of(affected, State::Affected).0.state, State::Affected);
    }

    #[test]
    fn whether_a_limit_is_enough_is_a_question_too() {
        let limit = |limit| reviewed(&[HIGH[0], ("limit", limit)], &[("over", 0.0)]);
        assert_eq!(limit("96MiB"), (State::NotAffected, None));
        assert_eq!(limit("65024KiB"), (State::NotAffected, None), "0.8% below the need");
        assert_eq!(limit("62MiB"), (State::Inconclusive, Some("hardly-above".to_owned())));
    }

    #[test]
    fn the_worker_needs_whole_units() {
        let units = [("need", "65MiB"), ("unit", "32MiB"), ("limit", "70MiB")];
        let never = (State::Inconclusive, Some("hardly-above".to_owned()));
        assert_eq!(reviewed(&units, &[("over", 0.0)]), never);
        let max = [units[0], units[1], units[2], ("by", "max")];
        let never = (State::Inconclusive, Some("not-at-limit".to_owned()));
        assert_eq!(reviewed(&max, &[("events", 0.0), ("kills", 0.0)]), never);
    }

    #[test]
    fn a_need_that_lets_a_task_sleep_has_to_be_reached() {
        let over = |over| reviewed(&[HIGH[0], ("limit", "63MiB")], &[("over", over)]);
        // The need is 1.6% above the limit.
        assert_eq!(over(1.2), (State::Inconclusive, Some("hardly-above".to_owned())));
        assert_eq!(over(1.3), (State::NotAffected, None));
    }

    #[test]
    fn a_group_that_never_reached_memory_max_shows_nothing() {
        let max = [HIGH[0], HIGH[1], ("by", "max")];
        let never = (State::Inconclusive, Some("not-at-limit".to_owned()));
        assert_eq!(reviewed(&max, &[("events", 0.0), ("kills", 0.0), ("over", 0.0)]), never);
        assert_eq!(reviewed(&max, &[("events", 0.5)]), (State::NotAffected, None));
        assert_eq!(reviewed(&max, &[("kills", 1.0)]), (State::NotAffected, None));
        let enough = [HIGH[0], ("limit", "64MiB"), ("by", "max")];
        assert_eq!(reviewed(&enough, &[("events", 0.0)]), (State::NotAffected, None));
    }

    #[test]
    fn a_group_that_swaps_stays_at_its_limit() {
        let swap = [HIGH[0], HIGH[1], ("swap", "yes")];
        let at_limit = [("over", 0.0), ("events", 0.5)];
        assert_eq!(reviewed(&swap, &at_limit), (State::NotAffected, None));
        let never = (State::Inconclusive, Some("not-at-limit".to_owned()));
        assert_eq!(reviewed(&swap, &[("over", 0.0), ("events", 0.0)]), never);
    }

    #[test]
    fn each_case_is_reviewed_by_its_own_settings() {
        use State::{Affected, Inconclusive, NotAffected};
        let with = |limit, over, state| {
            case(limit, &[HIGH[0], ("limit", limit)], &[("over", over)], state)
        };
        let cases = vec![with("96MiB", 0.0, NotAffected), with("32MiB", 0.0, NotAffected)];
        let (outcome, arms) = outcome_of(cases, NotAffected);
        assert_eq!(outcome.state, Inconclusive);
        assert_eq!(arms, [Some(NotAffected), Some(Inconclusive)]);
        let cases = vec![with("32MiB", 5.0, Affected), with("48MiB", 1.0, NotAffected)];
        let (outcome, arms) = outcome_of(cases, Affected);
        assert_eq!((outcome.state, arms), (Affected, vec![Some(Affected), Some(Inconclusive)]));
    }
}
