//! What `blocking-nif` says of an outcome.

use super::meta::{META, measure};
use super::params::BlockingNifParams;
use super::sentences::say;
use crate::params::Params;
use crate::suggest;
use crate::summary::{Summary, control_of};
use analysis::Outcome;
use model::{ArmResult, Fact, Plan, Role, State, Suggestion};

pub(super) fn summary(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
    let headline = match outcome.state {
        State::Affected => stalls(plan, outcome, arms),
        State::NotAffected => fair(arms),
        _ => Fact::new(say::TOO_FEW),
    };
    let kind = (outcome.state == State::Affected).then(|| kind(&outcome.measure).to_owned());
    Summary { headline, suggestions: suggestions(outcome.state, plan), kind }
}

/// The name of the stall that a figure shows.
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
    let (Some(control), Some(case)) = (control, case) else { return Fact::new(say::STALLS) };
    let (id, name) = match kind(&outcome.measure) {
        "unfair" => (say::UNFAIR, measure::UNFAIRNESS),
        "late" => (say::LATE, measure::LATE),
        _ => (say::COLLAPSE, measure::ASLEEP),
    };
    let both = |name: &str| case.measures.get(name).zip(control.measures.get(name));
    let Some((of_case, of_control)) = both(name) else { return Fact::new(say::STALLS) };
    let fact = Fact::new(id).with("case", of_case).with("control", of_control);
    let fact = match both(measure::WALL).filter(|_| id == say::COLLAPSE) {
        Some((wall, control_wall)) => fact.with("wall", wall).with("control_wall", control_wall),
        None => fact,
    };
    let also: Vec<String> = outcome.also.iter().map(|name| kind(name).to_owned()).collect();
    fact.with_some("also", Some(also).filter(|also| !also.is_empty()))
}

fn fair(arms: &[ArmResult]) -> Fact {
    let fact = Fact::new(say::FAIR);
    let Some(case) = arms.iter().find(|arm| arm.role == Role::Case) else { return fact };
    fact.with("arm", case.id.as_str())
        .with_some("asleep", case.measures.get(measure::ASLEEP))
        .with_some("late", case.measures.get(measure::LATE))
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
            vec![suggest::other_run(&META, Fact::new(say::BLOCKING_FORM), &defaults)]
        }
        _ => Vec::new(),
    }
}

/// What was asked for, as far as a run that measures a fix keeps it.
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
            (measure::ASLEEP, say::COLLAPSE),
            (measure::UNFAIRNESS, say::UNFAIR),
            (measure::LATE, say::LATE),
        ] {
            let (fact, found) = headline(State::Affected, name, &[]);
            assert_eq!((fact.id.as_str(), found.as_deref()), (kind, Some(kind)));
            assert!(!told(&META, &fact).contains("as well"));
        }
        let (fact, _) = headline(State::Affected, measure::ASLEEP, &[measure::LATE]);
        assert!(told(&META, &fact).ends_with("instead of ?. It is late as well."));
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
}
