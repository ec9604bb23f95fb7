//! The summary that `busy-wait` gives for an outcome.

use super::meta::{META, measure};
use super::params::BusyWaitParams;
use super::quota_use::cpus;
use super::sentences::{BusyWaitFact, Compared};
use crate::params::Params;
use crate::summary::control_of;
use crate::{Summary, suggest};
use analysis::Outcome;
use model::{Arm, ArmResult, FixOutcome, Name, Plan, Role, State, Suggestion, What};

pub(super) fn summary(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
    let is_case = |arm: &&ArmResult| arm.role == Role::Case;
    let compared = |case: Option<&ArmResult>| compared(plan, case?, arms);
    let headline = match outcome.state {
        State::Affected => BusyWaitFact::CostsLatency(compared(affected(arms).next())).into(),
        State::NotAffected => {
            BusyWaitFact::CostsNoLatency(compared(arms.iter().find(is_case))).into()
        }
        _ => BusyWaitFact::Unsettled.into(),
    };
    let kind = (outcome.state == State::Affected).then(|| kind(plan, arms).to_owned());
    Summary { headline, suggestions: suggestions(outcome.state, plan), kind }
}

/// The affected cases.
fn affected(arms: &[ArmResult]) -> impl Iterator<Item = &ArmResult> {
    arms.iter().filter(|arm| arm.role == Role::Case && arm.state == Some(State::Affected))
}

/// The kind of stall: only under a quota, or already in a case without one. All cases together may
/// be affected though none is alone.
fn kind(plan: &Plan, arms: &[ArmResult]) -> &'static str {
    let has_none = |case: &ArmResult| planned(plan, &case.id).and_then(quota_of).is_none();
    let all_together = affected(arms).next().is_none();
    let cases = arms.iter().filter(|arm| arm.role == Role::Case);
    let blamed = |case: &&ArmResult| all_together || case.state == Some(State::Affected);
    match cases.filter(blamed).any(has_none) {
        true => "latency",
        false => "latency-under-quota",
    }
}

/// The arm with this id.
fn planned<'a>(plan: &'a Plan, id: &str) -> Option<&'a Arm> {
    plan.arms.iter().find(|arm| arm.id == id)
}

/// The quota of an arm, in CPUs.
pub(super) fn quota_of(arm: &Arm) -> Option<f64> {
    Some(BusyWaitParams::of(&arm.settings)?.quota.get()?.get())
}

/// The flags of an arm, as the difference from a plain `erl`.
fn flags(arm: &Arm) -> Option<String> {
    let params = BusyWaitParams::of(&arm.settings)?;
    let base = Some(params.flags.as_str()).filter(|flags| !flags.is_empty());
    let changed = params.changed_flags();
    let changed = Some(changed.as_str()).filter(|flags| !flags.is_empty());
    match (base, changed) {
        (Some(base), Some(changed)) if base != changed => Some(format!("{base} {changed}")),
        (base, changed) => base.or(changed).map(str::to_owned),
    }
}

/// The 99th percentile of latency in a case and in its control.
fn compared(plan: &Plan, case: &ArmResult, arms: &[ArmResult]) -> Option<Box<Compared>> {
    let control = control_of(plan, case, arms)?;
    let p99 = |arm: &ArmResult| arm.measures.get(measure::P99).cloned();
    let flags = |arm: &ArmResult| planned(plan, &arm.id).and_then(flags).map(Name);
    Some(Box::new(Compared {
        case: p99(case)?,
        control: p99(control)?,
        quota: planned(plan, &case.id).and_then(quota_of).map(cpus),
        flags: flags(case),
        control_flags: flags(control),
    }))
}

fn suggestions(state: State, plan: &Plan) -> Vec<Suggestion> {
    if state != State::Affected {
        return Vec::new();
    }
    let control = plan.arms.iter().find(|arm| arm.role == Role::Control);
    let flags = control.and_then(|arm| arm.change.as_ref()?.flags());
    let environment = flags.map(|flags| Suggestion {
        // The case is affected compared with this control. This test also shows that the flags
        // help.
        measured: Some(FixOutcome::Helped),
        ..What::Scenario(BusyWaitFact::Environment { flags: flags.into() }.into()).into()
    });
    let asked = asked(plan).map(|params| params.settings());
    let fix = META.fix("schedulers").zip(asked);
    let fewer = fix.and_then(|(fix, asked)| suggest::fix(&META, fix, &asked));
    environment.into_iter().chain(fewer).collect()
}

/// The settings of the study, as far as another run keeps them. The control has them: the case has
/// the VM's own flags instead.
pub(super) fn asked(plan: &Plan) -> Option<BusyWaitParams> {
    let control = plan.arms.iter().find(|arm| arm.role == Role::Control)?;
    let usual = BusyWaitParams::default();
    let params = BusyWaitParams::of(&control.settings)?;
    Some(BusyWaitParams { otp: params.otp.asked_by_name(), fixes: usual.fixes, ..params })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{settings, told, value_of};
    use model::testing::{arm, estimate, plan, result};
    use model::{Changed, Settings, Test, Unit};

    fn plan_of(quota: &str) -> Plan {
        let arm = |id: &str, role, spin: &str| {
            let spins = ["sbwt", "sbwtdcpu", "sbwtdio"].map(|name| (name, spin));
            let settings = settings(&META, &[&[("quota", quota)], &spins[..]].concat());
            Arm { settings, ..arm(id, role) }
        };
        let mut control = arm("flags-quota", Role::Control, "none");
        control.change = Some(Changed::Flags("+sbwt none".to_owned()));
        Plan { arms: vec![control, arm("defaults-quota", Role::Case, "default")], ..plan(&[]) }
    }

    fn results(state: State) -> [ArmResult; 2] {
        [("flags-quota", Role::Control), ("defaults-quota", Role::Case)].map(|(id, role)| {
            let mut arm = result(id, role, (role == Role::Case).then_some(state));
            arm.measures.insert(measure::P99.to_owned(), estimate(9.0, Unit::Milliseconds));
            arm
        })
    }

    fn summary_of(state: State, quota: &str) -> Summary {
        let outcome = Outcome::new(state, measure::P99, Test::default());
        summary(&plan_of(quota), &outcome, &results(state))
    }

    #[test]
    fn cases_that_are_affected_only_together_have_the_kind_of_one_without_a_quota() {
        let kind = |quota| {
            let outcome = Outcome::new(State::Affected, measure::P99, Test::default());
            summary(&plan_of(quota), &outcome, &results(State::Inconclusive)).kind
        };
        assert_eq!(kind("none").as_deref(), Some("latency"));
        assert_eq!(kind("0.5").as_deref(), Some("latency-under-quota"));
    }

    #[test]
    fn both_nodes_are_told_with_their_flags_and_where_it_was() {
        let affected = summary_of(State::Affected, "0.5");
        assert_eq!(affected.kind.as_deref(), Some("latency-under-quota"));
        assert_eq!(
            told(&META, &affected.headline),
            "Busy waiting of schedulers costs latency here: under a quota of 0.5 CPUs 1 in 100 \
             requests took 9 ms [9, 9] or longer with the VM's defaults, and 9 ms [9, 9] or longer \
             with +sbwt none +sbwtdcpu none +sbwtdio none."
        );
        let free = summary_of(State::NotAffected, "none");
        let sentence = told(&META, &free.headline);
        assert!(sentence.contains("cost no latency here: without a CPU quota"), "{sentence}");
        told(&META, &summary_of(State::Inconclusive, "none").headline);
    }

    #[test]
    fn the_quota_is_that_of_the_affected_case() {
        let case = |id: &str, quota: &str| {
            let settings = settings(&META, &[("quota", quota)]);
            Arm { settings, ..arm(id, Role::Case) }
        };
        let mut plan = plan_of("0.5");
        plan.arms.extend([case("quarter", "0.25"), case("free", "none")]);
        let of = |affected: &str| {
            let others = ["quarter", "free"].map(|id| {
                let state = if id == affected { State::Affected } else { State::NotAffected };
                let mut arm = result(id, Role::Case, Some(state));
                arm.measures.insert(measure::P99.to_owned(), estimate(9.0, Unit::Milliseconds));
                arm
            });
            let arms = [&results(State::NotAffected)[..], &others].concat();
            let outcome = Outcome::new(State::Affected, measure::P99, Test::default());
            let summary = summary(&plan, &outcome, &arms);
            (told(&META, &summary.headline), summary.kind.unwrap())
        };
        let (quarter, kind) = of("quarter");
        assert!(quarter.contains("here: under a quota of 0.25 CPUs"), "{quarter}");
        assert_eq!(kind, "latency-under-quota");
        let (free, kind) = of("free");
        assert!(free.contains("here: without a CPU quota"), "{free}");
        assert_eq!(kind, "latency");
    }

    #[test]
    fn flags_are_given_as_they_are_used() {
        let affected = summary_of(State::Affected, "0.5");
        let [environment, fewer] = affected.suggestions.as_slice() else { panic!("{affected:?}") };
        let What::Scenario(fact) = &environment.what else { panic!("{environment:?}") };
        assert!(told(&META, fact).ends_with("ERL_FLAGS=\"+sbwt none\"."));
        assert_eq!(environment.measured, Some(FixOutcome::Helped));
        let parameters = &fewer.run.as_ref().unwrap().parameters;
        assert_eq!(value_of(parameters, "schedulers").as_deref(), Some("1"));
        assert_eq!(summary_of(State::NotAffected, "0.5").suggestions, []);
    }

    /// The parameters of the run with fewer schedulers, after a study with these settings.
    fn fewer(changed: &[(&str, &str)]) -> Option<Settings> {
        let arm = |id: &str, role, own: &[(&str, &str)]| {
            let settings = settings(&META, &[changed, own].concat());
            Arm { settings, ..arm(id, role) }
        };
        let case = arm("defaults-quota", Role::Case, &[("sbwt", "default")]);
        let arms = vec![arm("flags-quota", Role::Control, &[]), case];
        let found = suggestions(State::Affected, &Plan { arms, ..plan(&[]) });
        let what = What::Fix("schedulers".to_owned());
        Some(found.into_iter().find(|one| one.what == what)?.run?.parameters)
    }

    #[test]
    fn the_run_of_a_fix_has_the_node_and_the_load_of_the_study() {
        let run = fewer(&[
            ("load", "tcp"),
            ("rate", "700"),
            ("quota", "3.5"),
            ("schedulers", "16"),
            ("flags", "+SDcpu 2:2"),
            ("otp", "/opt/otp/bin/erl"),
            ("fixes", "+S 1:1"),
        ]);
        let run = run.unwrap();
        let of = |name: &str| value_of(&run, name);
        let parameters = ["load", "rate", "quota", "schedulers", "flags"].map(of);
        let wanted = ["tcp", "700", "3.5", "3", "+SDcpu 2:2"];
        assert_eq!(parameters, wanted.map(|text| Some(text.to_owned())));
        assert_eq!(["otp", "fixes", "sbwt"].map(of), [None, None, None]);
        let of_suite = fewer(&[("otp", "debian:bookworm")]).unwrap();
        assert_eq!(value_of(&of_suite, "otp").as_deref(), Some("debian:bookworm"));
    }

    #[test]
    fn fewer_schedulers_are_no_advice_where_there_are_few_or_flags_set_them() {
        let schedulers = |changed: &[(&str, &str)]| value_of(&fewer(changed)?, "schedulers");
        assert_eq!(schedulers(&[]).as_deref(), Some("1"));
        for changed in [
            [("schedulers", "2"), ("quota", "2")],
            [("schedulers", "2"), ("quota", "4")],
            [("schedulers", "8"), ("quota", "none")],
            [("flags", "+S 8:8"), ("quota", "2")],
            [("flags", "+sub true +S8"), ("quota", "2")],
        ] {
            assert_eq!(schedulers(&changed), None, "{changed:?}");
        }
    }
}
