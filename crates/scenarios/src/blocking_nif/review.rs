//! The scenario's own review of an outcome: how each stall comes about, and whether the work was
//! too small to show one.

use super::meta::{META, measure};
use super::params::BlockingNifParams;
use super::sentences::BlockingNifFact;
use super::summary::asked;
use crate::params::{Auto, Params};
use crate::{Objection, Results, Review, hang, suggest};
use model::{Amount, ArmResult, Caveat, Plan, Reason, Role, State, Trial, Unit};

/// A shorter trial means little, because timers and samples are too coarse. In milliseconds.
const SHORTEST_WALL_MS: f64 = 20.0;

/// If the calls of each process have less work in all, they keep nobody waiting for long. In
/// milliseconds.
const LEAST_WORK_MS: f64 = 10.0;

/// The processes of a run with more work, on a node with few schedulers.
const MANY_PROCESSES: u32 = 20;

pub(super) fn review(results: &Results) -> Review {
    let (plan, outcome) = (results.plan, results.outcome);
    let measures = std::iter::once(&outcome.measure).chain(&outcome.also);
    let measures = measures.filter(|_| outcome.state == State::Affected);
    let params = plan.arms.first().and_then(|arm| BlockingNifParams::of(&arm.settings));
    let limit = params.map(|params| params.time_limit.get());
    let hang = limit.and_then(|limit| hang::cut_off(results.arms, limit, Some("time-limit")));
    let small = too_small(results);
    let more = small.first().map(|small| small.more.settings());
    let more = more.map(|all| suggest::other_run(&META, BlockingNifFact::MoreWork, &all));
    let settles = small.iter().find_map(|small| more_of(&small.why));
    let objection =
        |small: Small| Objection::to_arm(&small.arm, Reason::Scenario(small.why.into()));
    Review {
        objections: small.into_iter().map(objection).collect(),
        causes: measures.filter_map(|name| mechanism(name, plan)).collect(),
        settles: settles.map(|fact| Caveat::Scenario(fact.into())),
        caveats: hang.into_iter().collect(),
        suggestions: more.into_iter().collect(),
        ..Review::default()
    }
}

/// How this stall comes about. None if the known explanation does not hold for the case.
fn mechanism(name: &str, plan: &Plan) -> Option<Reason> {
    let case = plan.case()?;
    let mode = BlockingNifParams::of(&case.settings)?.mode;
    let blocks = mode.blocks();
    let why = match name {
        measure::ASLEEP => BlockingNifFact::WhyCollapse { blocks },
        measure::UNFAIRNESS if mode.charges_nothing() => BlockingNifFact::WhyUnfair,
        measure::LATE => BlockingNifFact::WhyLate { blocks },
        _ => return None,
    };
    Some(Reason::Scenario(why.into()))
}

/// An arm with too little work to show a stall.
struct Small {
    /// Its id.
    arm: String,
    /// Why nothing could stall in it.
    why: BlockingNifFact,
    /// The same with more work.
    more: BlockingNifParams,
}

/// The arms that are not affected and had too little work to show a stall.
fn too_small(results: &Results) -> Vec<Small> {
    if matches!(results.outcome.state, State::Untrustworthy | State::Skipped) {
        return Vec::new();
    }
    let small = |result: &ArmResult| {
        let case = results.plan.arms.iter().find(|arm| arm.id == result.id)?;
        let case = BlockingNifParams::of(&case.settings)?;
        let schedulers = online(results.trials, &result.id).or(case.schedulers.get());
        let why = too_little(&case, schedulers, result)?;
        Some(Small { arm: result.id.clone(), why, more: more_work(&asked(&case), schedulers) })
    };
    let clear = |arm: &&ArmResult| arm.role == Role::Case && arm.state == Some(State::NotAffected);
    results.arms.iter().filter(clear).filter_map(small).collect()
}

/// The number of schedulers that an arm had. Its emulator flags may override the planned number.
fn online(trials: &[Trial], arm: &str) -> Option<u32> {
    let mut of_arm = trials.iter().filter(|trial| trial.arm == arm);
    of_arm.find_map(|trial| trial.observation.vm.as_ref()).map(|vm| vm.schedulers_online)
}

/// Work that shows a stall on any machine, for this number of schedulers.
fn more_work(asked: &BlockingNifParams, schedulers: Option<u32>) -> BlockingNifParams {
    let several = schedulers.unwrap_or(1).saturating_mul(3);
    BlockingNifParams {
        processes: Auto::Is(several.max(MANY_PROCESSES)),
        // The mode decides the unit of the work, so it also decides how much is enough.
        work: Auto::Auto,
        calls: Auto::Auto,
        ..asked.clone()
    }
}

/// What to change in an arm with too little work, if more processes alone would not help.
fn more_of(why: &BlockingNifFact) -> Option<BlockingNifFact> {
    let least = Amount::exact(LEAST_WORK_MS, Unit::Milliseconds);
    let little = matches!(why, BlockingNifFact::LittleWork { .. });
    little.then_some(BlockingNifFact::MoreWorkEach { least })
}

/// The work of all calls of a process, in milliseconds. None if it does not tell how long a process
/// keeps others waiting, because the calls do not block. No work at all keeps nobody waiting in any
/// mode.
fn work_ms(case: &BlockingNifParams) -> Option<f64> {
    let all = f64::from(case.work.get()?) * f64::from(case.calls.get()?);
    (case.mode.blocks() || all == 0.0).then_some(all / 1e3)
}

/// Why nothing could stall in an arm with this number of schedulers. None if something could.
fn too_little(
    case: &BlockingNifParams,
    schedulers: Option<u32>,
    result: &ArmResult,
) -> Option<BlockingNifFact> {
    let both = case.processes.get().zip(schedulers);
    if let Some((processes, schedulers)) = both.filter(|(all, at_once)| all <= at_once) {
        return Some(BlockingNifFact::NoneWaits { processes, schedulers });
    }
    if let Some(work) = work_ms(case).filter(|work| *work < LEAST_WORK_MS) {
        let work = Amount::exact(work, Unit::Milliseconds);
        return Some(BlockingNifFact::LittleWork { arm: (&result.id).into(), work });
    }
    let wall_ms = result.measures.get(measure::WALL).map_or(0.0, |wall| wall.median);
    let wall = Amount::exact(wall_ms, Unit::Milliseconds);
    (wall_ms < SHORTEST_WALL_MS).then_some(BlockingNifFact::TooShort { wall })
}

#[cfg(test)]
mod tests {
    use super::super::params::Mode;
    use super::*;
    use crate::testing::{reviewed_by, told, value_of};
    use analysis::Outcome;
    use clap::ValueEnum as _;
    use model::testing::{self, estimate};
    use model::{Arm, Test, Vm};

    fn params_of(processes: u32) -> BlockingNifParams {
        let (schedulers, processes) = (Auto::Is(2), Auto::Is(processes));
        BlockingNifParams { schedulers, processes, ..BlockingNifParams::default() }
    }

    fn plan_of(case: &BlockingNifParams) -> Plan {
        let settings = case.settings();
        let arm = |id, role| Arm { settings: settings.clone(), ..testing::arm(id, role) };
        let arms = vec![arm("control", Role::Control), arm("nif_sleep", Role::Case)];
        Plan { arms, ..testing::plan(&[]) }
    }

    fn result(id: &str, wall_ms: f64, state: State) -> ArmResult {
        let mut case = testing::result(id, Role::Case, Some(state));
        let wall = estimate(wall_ms, Unit::Milliseconds);
        case.measures.insert(measure::WALL.to_owned(), wall);
        case
    }

    fn outcome_of(
        case: &BlockingNifParams,
        wall_ms: f64,
        trials: &[Trial],
        state: State,
    ) -> Outcome {
        let mut outcome = Outcome::new(state, measure::ASLEEP, Test::default());
        outcome.also = vec![measure::LATE.to_owned(), measure::UNFAIRNESS.to_owned()];
        let mut arms = [result("nif_sleep", wall_ms, state)];
        reviewed_by(review, &plan_of(case), trials, &mut arms, &mut outcome);
        outcome
    }

    fn reviewed(processes: u32, wall_ms: f64, state: State) -> Outcome {
        outcome_of(&params_of(processes), wall_ms, &[], state)
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
    fn calls_with_hardly_any_work_show_nothing() {
        let of = |mode, work, calls, state| {
            let (work, calls) = (Auto::Is(work), Auto::Is(calls));
            let case = BlockingNifParams { mode, work, calls, ..params_of(9) };
            outcome_of(&case, 900.0, &[], state)
        };
        for (mode, work, calls) in [
            (Mode::NifSleep, 10_000, 0),
            (Mode::NifBusy, 0, 1),
            (Mode::NifCharge, 9_999, 1),
            (Mode::Bignum, 999, 10),
            (Mode::Md5, 1 << 20, 0),
            (Mode::NifDirty, 10_000, 0),
        ] {
            let outcome = of(mode, work, calls, State::NotAffected);
            assert_eq!(outcome.state, State::Inconclusive, "{mode}");
            assert_eq!(said(&outcome.reasons[0]), "little-work");
            let [Caveat::Scenario(more)] = outcome.caveats.as_slice() else { panic!("{mode}") };
            assert!(told(&META, more).contains("10 ms of work or more"));
            let run = outcome.suggestions[0].run.as_ref().unwrap();
            assert_eq!(value_of(&run.parameters, "work"), None, "that of the mode: {mode}");
            assert_eq!(of(mode, work, calls, State::Affected).state, State::Affected);
        }
        for (mode, work, calls) in [
            (Mode::NifSleep, 1_000, 10),
            (Mode::Bignum, 10_000, 1),
            (Mode::Md5, 1, 1),
            (Mode::NifDirty, 5_000, 1),
        ] {
            let outcome = of(mode, work, calls, State::NotAffected);
            assert_eq!(outcome.state, State::NotAffected, "{mode}");
        }
    }

    #[test]
    fn processes_are_held_against_the_schedulers_that_the_vm_had() {
        let of = |schedulers_online| {
            let mut trial = testing::trial(0, "nif_sleep", 0.0);
            trial.observation.vm = Some(Vm { schedulers_online, ..Vm::default() });
            outcome_of(&params_of(14), 900.0, &[trial], State::NotAffected)
        };
        let overridden = of(64);
        assert_eq!(overridden.state, State::Inconclusive);
        assert_eq!(said(&overridden.reasons[0]), "none-waits");
        let run = overridden.suggestions[0].run.as_ref().unwrap();
        assert_eq!(value_of(&run.parameters, "processes").as_deref(), Some("192"));
        assert_eq!(of(14).state, State::Inconclusive);
        assert_eq!(of(13).state, State::NotAffected);
    }

    #[test]
    fn each_case_is_weighed_by_itself() {
        use State::{Affected, Inconclusive, NotAffected, Untrustworthy};
        let mut plan = plan_of(&params_of(9));
        let settings = params_of(2).settings();
        plan.arms.push(Arm { settings, ..testing::arm("small", Role::Case) });
        let of = |first: State, state: State| {
            let mut arms = [result("nif_sleep", 900.0, first), result("small", 900.0, NotAffected)];
            let mut outcome = Outcome::new(state, measure::ASLEEP, Test::default());
            reviewed_by(review, &plan, &[], &mut arms, &mut outcome);
            (outcome.state, arms.map(|arm| arm.state.unwrap()))
        };
        assert_eq!(of(Affected, Affected), (Affected, [Affected, Inconclusive]));
        assert_eq!(of(NotAffected, NotAffected), (Inconclusive, [NotAffected, Inconclusive]));
        assert_eq!(of(NotAffected, Untrustworthy), (Untrustworthy, [Untrustworthy; 2]));
    }

    #[test]
    fn each_stall_comes_with_how_it_comes_about() {
        let outcome = reviewed(9, 900.0, State::Affected);
        let ids: Vec<&str> = outcome.reasons.iter().map(said).collect();
        assert_eq!(ids, ["why-collapse", "why-late", "why-unfair"]);
    }

    #[test]
    fn only_calls_that_charge_nothing_explain_unfair_run_times() {
        for mode in Mode::value_variants() {
            let case = BlockingNifParams { mode: *mode, ..params_of(9) };
            let outcome = outcome_of(&case, 900.0, &[], State::Affected);
            let explained = outcome.reasons.iter().any(|reason| said(reason) == "why-unfair");
            assert_eq!(explained, matches!(mode, Mode::NifSleep | Mode::NifBusy), "{mode}");
        }
    }

    #[test]
    fn md5_is_not_said_to_block_or_to_charge_nothing() {
        let case = BlockingNifParams { mode: Mode::Md5, ..params_of(9) };
        let outcome = outcome_of(&case, 900.0, &[], State::Affected);
        let ids: Vec<&str> = outcome.reasons.iter().map(said).collect();
        assert_eq!(ids, ["why-collapse", "why-late"]);
        for reason in &outcome.reasons {
            let Reason::Scenario(fact) = reason else { panic!("{reason:?}") };
            assert!(!told(&META, fact).contains("does not yield"), "{fact:?}");
        }
    }
}
