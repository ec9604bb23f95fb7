//! The summary that `blocking-nif` gives for an outcome.

use super::meta::{META, measure};
use super::params::BlockingNifParams;
use super::sentences::{BlockingNifFact, Fair};
use crate::params::Params;
use crate::suggest;
use crate::summary::{Summary, control_of};
use analysis::Outcome;
use model::{ArmResult, Fact, Plan, Role, State, Suggestion};

pub(super) fn summary(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
    let headline = match outcome.state {
        State::Affected => stalls(plan, outcome, arms),
        State::NotAffected => fair(arms),
        _ => BlockingNifFact::TooFewTrials.into(),
    };
    let kind = (outcome.state == State::Affected).then(|| kind(&outcome.measure).to_owned());
    Summary { headline, suggestions: suggestions(outcome.state, plan), kind }
}

/// The name of the stall for a figure.
fn kind(name: &str) -> &'static str {
    match name {
        measure::UNFAIRNESS => "unfair",
        measure::LATE => "late",
        _ => "collapse",
    }
}

fn stalls(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Fact {
    let case = arms.iter().find(|arm| arm.state == Some(State::Affected) && arm.role == Role::Case);
    let control = case.and_then(|case| control_of(plan, case, arms));
    let (Some(control), Some(case)) = (control, case) else {
        return BlockingNifFact::Stalls.into();
    };
    let both =
        |name: &str| Some((case.measures.get(name)?.clone(), control.measures.get(name)?.clone()));
    let also = outcome.also.iter().map(|name| kind(name).into()).collect();
    let fact = match kind(&outcome.measure) {
        "unfair" => both(measure::UNFAIRNESS).map(|(case, control)| BlockingNifFact::Unfair {
            case,
            control,
            also,
        }),
        "late" => {
            both(measure::LATE).map(|(case, control)| BlockingNifFact::Late { case, control, also })
        }
        _ => both(measure::ASLEEP).map(|(case, control)| {
            let (wall, control_wall) = both(measure::WALL).unzip();
            BlockingNifFact::Collapse { case, control, wall, control_wall, also }
        }),
    };
    fact.unwrap_or(BlockingNifFact::Stalls).into()
}

fn fair(arms: &[ArmResult]) -> Fact {
    let case = arms.iter().find(|arm| arm.role == Role::Case).map(|case| {
        let figure = |name: &str| case.measures.get(name).cloned();
        let (asleep, late) = (figure(measure::ASLEEP), figure(measure::LATE));
        Box::new(Fair { arm: (&case.id).into(), asleep, late })
    });
    BlockingNifFact::Fair(case).into()
}

fn suggestions(state: State, plan: &Plan) -> Vec<Suggestion> {
    let Some(case) = plan.case() else {
        return Vec::new();
    };
    let Some(params) = BlockingNifParams::of(&case.settings) else { return Vec::new() };
    match state {
        State::Affected => suggest::fixes(&META, &asked(&params).settings()),
        State::NotAffected if !params.mode.blocks() => {
            let defaults = META.defaults(false);
            vec![suggest::other_run(&META, BlockingNifFact::BlockingForm, &defaults)]
        }
        _ => Vec::new(),
    }
}

/// The settings of the case, as far as a run that measures a fix keeps them.
pub(super) fn asked(case: &BlockingNifParams) -> BlockingNifParams {
    let usual = BlockingNifParams::default();
    BlockingNifParams {
        fixes: usual.fixes,
        otp: usual.otp,
        time_limit: usual.time_limit,
        ..case.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{settings, told, value_of};
    use model::testing::{arm, estimate, plan, result};
    use model::{Test, Unit};

    fn headline(state: State, name: &str, also: &[&str]) -> (Fact, Option<String>) {
        let plan = plan(&[("control", Role::Control), ("nif_sleep", Role::Case)]);
        let arm = |id, role, state| {
            let mut arm = result(id, role, state);
            for name in [measure::ASLEEP, measure::UNFAIRNESS, measure::LATE, measure::WALL] {
                arm.measures.insert(name.to_owned(), estimate(1.0, Unit::Percent));
            }
            arm
        };
        let arms = [arm("control", Role::Control, None), arm("nif_sleep", Role::Case, Some(state))];
        let mut outcome = Outcome::new(state, name, Test::default());
        outcome.also = also.iter().map(|name| (*name).to_owned()).collect();
        let Summary { headline, kind, .. } = summary(&plan, &outcome, &arms);
        (headline, kind)
    }

    #[test]
    fn each_stall_has_its_sentence_and_its_name() {
        for (name, kind) in [
            (measure::ASLEEP, "collapse"),
            (measure::UNFAIRNESS, "unfair"),
            (measure::LATE, "late"),
        ] {
            let (fact, found) = headline(State::Affected, name, &[]);
            assert_eq!((fact.id.as_str(), found.as_deref()), (kind, Some(kind)));
            assert!(!told(&META, &fact).contains("as well"));
        }
        let (fact, _) = headline(State::Affected, measure::ASLEEP, &[measure::LATE]);
        let ending = "instead of 1% [1, 1]. The schedulers are late as well.";
        assert!(told(&META, &fact).ends_with(ending));
        for state in [State::NotAffected, State::Inconclusive] {
            let (fact, kind) = headline(state, measure::ASLEEP, &[]);
            told(&META, &fact);
            assert_eq!(kind, None);
        }
    }

    #[test]
    fn a_fix_keeps_the_work_and_leaves_the_otp() {
        let mut case = arm("nif_sleep", Role::Case);
        case.settings = settings(&META, &[("work", "7"), ("otp", "/opt/otp/bin/erl")]);
        let plan = Plan { arms: vec![case], ..plan(&[]) };
        let fixes = suggestions(State::Affected, &plan);
        let run = fixes[0].run.as_ref().unwrap();
        assert_eq!((fixes.len(), run.parameters.0.len()), (3, 2));
        assert_eq!(value_of(&run.parameters, "mode").as_deref(), Some("nif_dirty"));
        assert_eq!(value_of(&run.parameters, "work").as_deref(), Some("7"));
    }

    #[test]
    fn a_fix_of_the_code_is_another_form_of_the_same_work() {
        let modes = |mode: &str| -> Vec<String> {
            let mut case = arm(mode, Role::Case);
            case.settings = settings(&META, &[("mode", mode)]);
            let plan = Plan { arms: vec![case], ..plan(&[]) };
            let of = |fix: Suggestion| value_of(&fix.run?.parameters, "mode");
            suggestions(State::Affected, &plan).into_iter().filter_map(of).collect()
        };
        // The mode of the last one stays as it is: it changes the flags.
        assert_eq!(modes("nif_busy"), ["nif_busy_dirty", "nif_busy_yield", "nif_busy"]);
        assert_eq!(modes("nif_busy_charge")[..2], ["nif_busy_dirty", "nif_busy_yield"]);
        assert_eq!(modes("md5"), ["md5_yield", "md5"]);
        assert_eq!(modes("bignum"), ["bignum_yield", "bignum"]);
        assert_eq!(modes("nif_dirty"), ["nif_yield", "nif_dirty"]);
    }
}
