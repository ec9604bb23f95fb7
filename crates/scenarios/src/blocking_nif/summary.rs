//! The summary that `blocking-nif` gives for an outcome.

use super::meta::{FORCED_WAKE_UP, META, measure};
use super::params::BlockingNifParams;
use super::sentences::{BlockingNifFact, Fair};
use crate::params::{Auto, Params};
use crate::suggest;
use crate::summary::{Summary, control_of, shown_case};
use analysis::Outcome;
use model::{ArmResult, Fact, Plan, Role, State, Suggestion, What};

pub(super) fn summary(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
    let headline = match outcome.state {
        State::Affected => stalls(plan, outcome, arms),
        State::NotAffected => fair(arms),
        _ => BlockingNifFact::Unsettled.into(),
    };
    let kind = (outcome.state == State::Affected).then(|| kind(&outcome.measure).to_owned());
    Summary { headline, suggestions: suggestions(outcome, plan, arms), kind }
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

fn suggestions(outcome: &Outcome, plan: &Plan, arms: &[ArmResult]) -> Vec<Suggestion> {
    let Some(case) = shown_case(plan, arms) else {
        return Vec::new();
    };
    let Some(params) = BlockingNifParams::of(&case.settings) else { return Vec::new() };
    match outcome.state {
        State::Affected => {
            let mut fixes = suggest::fixes(&META, &asked(&params).settings());
            fixes.retain(|fix| can_help(&fix.what, outcome));
            fixes
        }
        State::NotAffected if !params.mode.blocks() => {
            let blocking = blocking_form(&params).settings();
            vec![suggest::other_run(&META, BlockingNifFact::BlockingForm, &blocking)]
        }
        _ => Vec::new(),
    }
}

/// Whether a fix can help against what was found. A forced wake-up does nothing where schedulers
/// did not sleep while work was queued.
fn can_help(fix: &What, outcome: &Outcome) -> bool {
    let mut shown = std::iter::once(&outcome.measure).chain(&outcome.also);
    shown.any(|name| name == measure::ASLEEP) || *fix != What::Fix(FORCED_WAKE_UP.to_owned())
}

/// The same run with work that blocks a scheduler.
fn blocking_form(case: &BlockingNifParams) -> BlockingNifParams {
    let blocking = BlockingNifParams { mode: case.mode.blocking(), ..asked(case) };
    match case.mode.is_md5() {
        // The numbers of MD5 are for work in bytes.
        true => BlockingNifParams {
            processes: Auto::Auto,
            work: Auto::Auto,
            calls: Auto::Auto,
            ..blocking
        },
        false => blocking,
    }
}

/// The settings of the case, as far as another run keeps them.
pub(super) fn asked(case: &BlockingNifParams) -> BlockingNifParams {
    let usual = BlockingNifParams::default();
    BlockingNifParams {
        fixes: usual.fixes,
        otp: case.otp.asked_by_name(),
        time_limit: usual.time_limit,
        ..case.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{settings, told, value_of};
    use model::testing::{arm, estimate, plan, result};
    use model::{Settings, Test, Unit};

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
        for (state, start) in [
            (State::NotAffected, "The schedulers kept working"),
            (State::Inconclusive, "It is not settled whether native functions stall"),
        ] {
            let (fact, kind) = headline(state, measure::ASLEEP, &[]);
            let sentence = told(&META, &fact);
            assert!(sentence.starts_with(start), "{sentence}");
            assert_eq!(kind, None);
        }
    }

    /// The suggestions for a case with these settings that is affected by these figures.
    fn advice(changed: &[(&str, &str)], name: &str, also: &[&str]) -> Vec<Suggestion> {
        let mut case = arm("case", Role::Case);
        case.settings = settings(&META, changed);
        let plan = Plan { arms: vec![case], ..plan(&[]) };
        let mut outcome = Outcome::new(State::Affected, name, Test::default());
        outcome.also = also.iter().map(|name| (*name).to_owned()).collect();
        suggestions(&outcome, &plan, &[])
    }

    #[test]
    fn a_fix_keeps_the_work_and_an_otp_that_was_asked_for_by_name() {
        let changed = [("work", "7"), ("otp", "/opt/otp/bin/erl")];
        let fixes = advice(&changed, measure::ASLEEP, &[]);
        let run = fixes[0].run.as_ref().unwrap();
        assert_eq!((fixes.len(), run.parameters.0.len()), (3, 2));
        assert_eq!(value_of(&run.parameters, "mode").as_deref(), Some("nif_dirty"));
        assert_eq!(value_of(&run.parameters, "work").as_deref(), Some("7"));
        let of_suite = advice(&[("otp", "debian:bookworm")], measure::ASLEEP, &[]);
        let run = of_suite[0].run.as_ref().unwrap();
        assert_eq!(value_of(&run.parameters, "otp").as_deref(), Some("debian:bookworm"));
    }

    #[test]
    fn a_fix_of_the_code_is_another_form_of_the_same_work() {
        let modes = |mode: &str| -> Vec<String> {
            let of = |fix: Suggestion| value_of(&fix.run?.parameters, "mode");
            let fixes = advice(&[("mode", mode)], measure::ASLEEP, &[]);
            fixes.into_iter().filter_map(of).collect()
        };
        // The mode of the last one stays as it is: it changes the flags.
        assert_eq!(modes("nif_busy"), ["nif_busy_dirty", "nif_busy_yield", "nif_busy"]);
        assert_eq!(modes("nif_busy_charge")[..2], ["nif_busy_dirty", "nif_busy_yield"]);
        assert_eq!(modes("md5"), ["md5_yield", "md5"]);
        assert_eq!(modes("bignum"), ["bignum_yield", "bignum"]);
        assert_eq!(modes("nif_dirty"), ["nif_yield", "nif_dirty"]);
    }

    #[test]
    fn a_forced_wake_up_adds_to_the_flags_of_the_case() {
        let flags = |flags: &str| -> Option<String> {
            let fixes = advice(&[("flags", flags)], measure::ASLEEP, &[]);
            let what = What::Fix(FORCED_WAKE_UP.to_owned());
            let fix = fixes.into_iter().find(|fix| fix.what == what)?;
            value_of(&fix.run?.parameters, "flags")
        };
        for (own, with_fix) in [
            ("", Some("+sfwi 10")),
            ("+sbwt none", Some("+sbwt none +sfwi 10")),
            ("+sfwi 100", Some("+sfwi 100 +sfwi 10")),
            ("+sfwi 10 +sfwi 0", Some("+sfwi 10 +sfwi 0 +sfwi 10")),
            ("+sfwi 10 +sbwt none", None),
            ("+sub true +sfwi10", None),
        ] {
            assert_eq!(flags(own).as_deref(), with_fix, "{own}");
        }
    }

    #[test]
    fn a_forced_wake_up_is_advised_only_where_schedulers_slept() {
        let is_advised = |name: &str, also: &[&str]| {
            let what = What::Fix(FORCED_WAKE_UP.to_owned());
            advice(&[], name, also).iter().any(|fix| fix.what == what)
        };
        assert!(is_advised(measure::ASLEEP, &[measure::LATE]));
        assert!(is_advised(measure::LATE, &[measure::ASLEEP]));
        assert!(!is_advised(measure::LATE, &[measure::UNFAIRNESS]));
        assert_eq!(advice(&[], measure::LATE, &[]).len(), 2);
    }

    /// The parameters of the only run that is suggested for a case with these settings that is not
    /// affected.
    fn next_run(changed: &[(&str, &str)]) -> Option<Settings> {
        let outcome = Outcome::new(State::NotAffected, measure::ASLEEP, Test::default());
        let mut case = arm("case", Role::Case);
        case.settings = settings(&META, changed);
        let plan = Plan { arms: vec![case], ..plan(&[]) };
        let [next] = <[Suggestion; 1]>::try_from(suggestions(&outcome, &plan, &[])).ok()?;
        Some(next.run?.parameters)
    }

    #[test]
    fn after_work_that_does_not_block_a_run_with_work_that_blocks_is_advised() {
        for (mode, blocking) in [
            // The mode is left out of the parameters if it is the default.
            ("md5", Some(None)),
            ("nif_yield", Some(None)),
            ("nif_busy_dirty", Some(Some("nif_busy"))),
            ("bignum_yield", Some(Some("bignum"))),
            ("nif_sleep", None),
            ("bignum", None),
        ] {
            let next = next_run(&[("mode", mode)]).map(|run| value_of(&run, "mode"));
            assert_eq!(next, blocking.map(|mode| mode.map(str::to_owned)), "{mode}");
        }
    }

    #[test]
    fn the_run_with_work_that_blocks_has_the_node_of_the_case() {
        let run_of = |mode: &str| {
            let numbers = [("processes", "50"), ("work", "30000"), ("calls", "2")];
            let node = [("schedulers", "3"), ("flags", "+sbwt none"), ("otp", "/opt/bin/erl")];
            next_run(&[&numbers[..], &node[..], &[("mode", mode)]].concat()).unwrap()
        };
        let parameters = |run: &Settings| {
            ["processes", "work", "calls", "schedulers", "flags", "otp"]
                .map(|name| value_of(run, name).unwrap_or_default())
        };
        let same = ["50", "30000", "2", "3", "+sbwt none", ""];
        assert_eq!(parameters(&run_of("nif_yield")), same);
        assert_eq!(parameters(&run_of("md5")), ["", "", "", "3", "+sbwt none", ""]);
    }
}
