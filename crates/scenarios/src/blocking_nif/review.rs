//! The scenario's own review of an outcome: how each stall comes about, and whether the work was
//! too small to show one.

use super::meta::{META, measure};
use super::params::BlockingNifParams;
use super::sentences::BlockingNifFact;
use super::summary::asked;
use crate::params::{Auto, Params};
use crate::{Objection, Results, Review, hang, suggest};
use model::{Amount, ArmResult, Plan, Reason, Role, State, Unit};

/// A shorter trial means little, because timers and samples are too coarse. In milliseconds.
const SHORTEST_WALL_MS: f64 = 20.0;

pub(super) fn review(results: &Results) -> Review {
    let (plan, outcome) = (results.plan, results.outcome);
    let measures = std::iter::once(&outcome.measure).chain(&outcome.also);
    let measures = measures.filter(|_| outcome.state == State::Affected);
    let params = plan.arms.first().and_then(|arm| BlockingNifParams::of(&arm.settings));
    let limit = params.map(|params| params.time_limit.get());
    let hang = limit.and_then(|limit| hang::cut_off(results.arms, limit, Some("time-limit")));
    let small: Vec<(Objection, BlockingNifParams)> = match outcome.state {
        State::NotAffected => too_small(results),
        _ => Vec::new(),
    };
    let more = small.first().map(|(_, case)| more_work(&asked(case)).settings());
    let more = more.map(|all| suggest::other_run(&META, BlockingNifFact::MoreWork, &all));
    Review {
        objections: small.into_iter().map(|(objection, _)| objection).collect(),
        causes: measures.filter_map(|name| mechanism(name, plan)).collect(),
        caveats: hang.into_iter().collect(),
        suggestions: more.into_iter().collect(),
        ..Review::default()
    }
}

/// How this stall comes about.
fn mechanism(name: &str, plan: &Plan) -> Option<Reason> {
    let case = plan.case()?;
    let mode = BlockingNifParams::of(&case.settings)?.mode;
    let blocks = mode.blocks();
    let why = match name {
        measure::ASLEEP => BlockingNifFact::WhyCollapse { blocks },
        measure::UNFAIRNESS => BlockingNifFact::WhyUnfair { blocks },
        measure::LATE => BlockingNifFact::WhyLate { blocks },
        _ => return None,
    };
    Some(Reason::Scenario(why.into()))
}

/// The arms with too little work to show a stall, and their parameters.
fn too_small(results: &Results) -> Vec<(Objection, BlockingNifParams)> {
    let objection = |result: &ArmResult| {
        let case = results.plan.arms.iter().find(|arm| arm.id == result.id)?;
        let case = BlockingNifParams::of(&case.settings)?;
        let why = Reason::Scenario(too_little(&case, result)?.into());
        Some((Objection::to_arm(&result.id, why), case))
    };
    let cases = results.arms.iter().filter(|arm| arm.role == Role::Case);
    cases.filter_map(objection).collect()
}

/// Work that shows a stall on any machine.
fn more_work(asked: &BlockingNifParams) -> BlockingNifParams {
    BlockingNifParams {
        processes: Auto::Is(20),
        work: Auto::Is(10_000),
        calls: Auto::Is(1),
        ..asked.clone()
    }
}

/// Why nothing could stall in an arm. None if something could.
fn too_little(case: &BlockingNifParams, result: &ArmResult) -> Option<BlockingNifFact> {
    let both = case.processes.get().zip(case.schedulers.get());
    if let Some((processes, schedulers)) = both.filter(|(all, at_once)| all <= at_once) {
        return Some(BlockingNifFact::NoneWaits { processes, schedulers });
    }
    let wall_ms = result.measures.get(measure::WALL).map_or(0.0, |wall| wall.median);
    let wall = Amount::exact(wall_ms, Unit::Milliseconds);
    (wall_ms < SHORTEST_WALL_MS).then_some(BlockingNifFact::TooShort { wall })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{reviewed_by, told, value_of};
    use analysis::Outcome;
    use model::testing::{self, estimate};
    use model::{Arm, Test};

    fn plan_of(processes: u32) -> Plan {
        let (schedulers, processes) = (Auto::Is(2), Auto::Is(processes));
        let params = BlockingNifParams { schedulers, processes, ..BlockingNifParams::default() };
        let settings = params.settings();
        let arm = |id, role| Arm { settings: settings.clone(), ..testing::arm(id, role) };
        let arms = vec![arm("control", Role::Control), arm("nif_sleep", Role::Case)];
        Plan { arms, ..testing::plan(&[]) }
    }

    fn reviewed(processes: u32, wall_ms: f64, state: State) -> Outcome {
        let mut case = testing::result("nif_sleep", Role::Case, Some(state));
        let wall = estimate(wall_ms, Unit::Milliseconds);
        case.measures.insert(measure::WALL.to_owned(), wall);
        let mut outcome = Outcome::new(state, measure::ASLEEP, Test::default());
        outcome.also = vec![measure::LATE.to_owned(), measure::UNFAIRNESS.to_owned()];
        reviewed_by(review, &plan_of(processes), &[], &mut [case], &mut outcome);
        outcome
    }

    fn said(reason: &Reason) -> &str {
        let Reason::Scenario(fact) = reason else { panic!("{reason:?}") };
        told(&META, fact);
        &fact.id
    }

    #[test]
    fn too_little_work_shows_nothing_and_more_is_suggested() {
        for (processes, wall_ms, why) in [(2, 900.0, "none-waits"), (9, 3.0, "too-short")] {
            let outcome = reviewed(processes, wall_ms, State::NotAffected);
            assert_eq!(outcome.state, State::Inconclusive);
            assert_eq!(said(&outcome.reasons[0]), why);
            let run = outcome.suggestions[0].run.as_ref().unwrap();
            assert_eq!(value_of(&run.parameters, "processes").as_deref(), Some("20"));
        }
        assert_eq!(reviewed(9, 900.0, State::NotAffected).state, State::NotAffected);
    }

    #[test]
    fn each_stall_comes_with_how_it_comes_about() {
        let outcome = reviewed(9, 900.0, State::Affected);
        let ids: Vec<&str> = outcome.reasons.iter().map(said).collect();
        assert_eq!(ids, ["why-collapse", "why-late", "why-unfair"]);
    }
}
