//! What to do next, as data: fixes with the runs that measure them, and other useful runs.

use model::scenario::FixMeta;
use model::suggestion::Command;
use model::{
    Arm, ArmResult, Fact, Fix, FixOutcome, Meta, Plan, Role, Run, Settings, Suggestion, What,
};

/// A run of a scenario. Settings that equal the defaults are left out.
pub(crate) fn run(meta: &Meta, settings: &Settings) -> Run {
    Run {
        command: Command::Run,
        scenario: meta.id.to_owned(),
        parameters: settings.differing(&meta.defaults(false)),
    }
}

/// The fixes that these settings do not have yet, each with the run that measures it.
pub(crate) fn fixes(meta: &Meta, asked: &Settings) -> Vec<Suggestion> {
    meta.fixes.iter().filter_map(|one| fix(meta, one, asked)).collect()
}

/// A fix with the run that measures it. None if the settings already have the fix.
pub(crate) fn fix(meta: &Meta, fix: &FixMeta, asked: &Settings) -> Option<Suggestion> {
    let fixed = (fix.change)(asked)?;
    let what = What::Fix(fix.id.to_owned());
    (fixed != *asked).then(|| Suggestion { run: Some(run(meta, &fixed)), ..what.into() })
}

/// The fixes that are worth a run. A fix is left out if an arm that ran already has it, other than
/// the case. A fix is also left out if its arm was left out, because it cannot run here. `results`
/// are the arms that ran.
pub(crate) fn untried(
    meta: &Meta,
    plan: &Plan,
    results: &[ArmResult],
    asked: &Settings,
) -> Vec<Suggestion> {
    let ran = |arm: &&Arm| results.iter().any(|result| result.id == arm.id);
    let tried = |fix: &FixMeta| {
        let mut arms = plan.arms.iter().filter(|arm| arm.role != Role::Case).filter(ran);
        arms.any(|arm| (fix.change)(&arm.settings).as_ref() == Some(&arm.settings))
            || plan.left_out.iter().any(|one| one.id == fix.id)
    };
    meta.fixes.iter().filter(|fix| !tried(fix)).filter_map(|one| fix(meta, one, asked)).collect()
}

/// Another run of the same scenario, and its purpose.
pub(crate) fn other_run(meta: &Meta, why: impl Into<Fact>, settings: &Settings) -> Suggestion {
    Suggestion { run: Some(run(meta, settings)), ..What::Scenario(why.into()).into() }
}

/// Adds to each suggested fix its measured effect, if an arm of this study has it.
pub(crate) fn add_measured(
    suggestions: &mut [Suggestion],
    plan: &Plan,
    tried: &[Fix],
    meta: &Meta,
) {
    for suggestion in suggestions {
        if let What::Fix(id) = &suggestion.what {
            let outcome = meta.fix(id).and_then(|fix| measured(fix, plan, tried));
            suggestion.measured = outcome.or(suggestion.measured);
        }
    }
}

/// The effect of an arm with this fix, if it was compared with an arm without it.
fn measured(fix: &FixMeta, plan: &Plan, tried: &[Fix]) -> Option<FixOutcome> {
    let in_force = |id: &str| {
        let arm = plan.arms.iter().find(|arm| arm.id == id)?;
        Some((fix.change)(&arm.settings)? == arm.settings)
    };
    let shows_it =
        |one: &&Fix| in_force(&one.arm) == Some(true) && in_force(&one.case) == Some(false);
    tried.iter().find(shows_it).map(|one| one.outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox_flood::META;
    use crate::testing::settings;
    use model::testing::{arm, plan, result};
    use model::{Arm, Changed, LeftOut, Value, WhyLeftOut};
    use std::collections::BTreeMap;

    #[test]
    fn what_is_in_force_already_is_no_advice() {
        let asked = settings(&META, &[("senders", "7")]);
        let fix = |asked: &Settings| super::fix(&META, &META.fixes[0], asked);
        let advice = fix(&asked).unwrap();
        assert_eq!(advice.what, What::Fix("dam".to_owned()));
        let mut parameters = Settings::default();
        parameters.set("dam", Value::Text("credit".to_owned()));
        parameters.set("senders", Value::Number(7));
        assert_eq!(advice.run.unwrap().parameters, parameters);
        assert_eq!(fix(&settings(&META, &[("senders", "7"), ("dam", "credit")])), None);
    }

    #[test]
    fn what_an_arm_tries_and_what_cannot_be_had_is_no_advice() {
        let (defaults, credit) = (META.defaults(false), settings(&META, &[("dam", "credit")]));
        let case = Arm { settings: defaults.clone(), ..arm("direct", Role::Case) };
        let tried = Arm { settings: credit, ..arm("credit-dam", Role::Fix) };
        let ran = |plan: &Plan| -> Vec<ArmResult> {
            plan.arms.iter().map(|arm| result(&arm.id, arm.role, None)).collect()
        };
        let advice_of = |plan: &Plan, results: &[ArmResult]| -> Vec<What> {
            let untried = untried(&META, plan, results, &defaults);
            untried.into_iter().map(|one| one.what).collect()
        };
        let advice = |plan: &Plan| advice_of(plan, &ran(plan));
        let dam = What::Fix("dam".to_owned());
        let alone = Plan { arms: vec![case.clone()], ..plan(&[]) };
        assert!(advice(&alone).contains(&dam));
        let both = Plan { arms: vec![case, tried], ..plan(&[]) };
        assert!(!advice(&both).contains(&dam));
        // A study that ended before it ran its fix.
        assert!(advice_of(&both, &ran(&alone)).contains(&dam));
        let why = WhyLeftOut::Scenario(Fact::new("why"));
        let left_out = vec![LeftOut { id: "dam".to_owned(), why }];
        assert!(!advice(&Plan { left_out, ..alone }).contains(&dam));
    }

    #[test]
    fn a_fix_that_an_arm_of_the_study_has_is_said_to_be_measured() {
        let dam = META.fix("dam").unwrap();
        let case = Arm { settings: META.defaults(false), ..arm("direct", Role::Case) };
        let credit = settings(&META, &[("dam", "credit")]);
        let tried = Arm { settings: credit, ..arm("credit-dam", Role::Fix) };
        let plan = Plan { arms: vec![case, tried], ..plan(&[]) };
        let fix = |arm: &str| Fix {
            arm: arm.to_owned(),
            change: Changed::Said(String::new()),
            outcome: FixOutcome::Helped,
            case: "direct".to_owned(),
            measure: "slope".to_owned(),
            with: BTreeMap::new(),
            without: BTreeMap::new(),
            e_value_less: None,
            e_value_gone: None,
            left_at_most: None,
            threshold: None,
            left: None,
            comparison: None,
        };
        assert_eq!(measured(dam, &plan, &[fix("direct")]), None);
        let tried = [fix("direct"), fix("credit-dam")];
        assert_eq!(measured(dam, &plan, &tried), Some(FixOutcome::Helped));
    }
}
