//! What to do next, as data: fixes with the runs that measure them, and other runs worth their time.

use model::scenario::FixMeta;
use model::suggestion::Command;
use model::{Fact, Fix, FixOutcome, Meta, Plan, Record, Run, Settings, Suggestion, What};

/// A run of a scenario; what is as its defaults say is left out.
pub(crate) fn run(meta: &Meta, settings: &Settings) -> Run {
    let defaults = Settings::defaults(meta.knobs, false);
    let differs = settings.0.iter().filter(|(name, value)| defaults.0.get(*name) != Some(*value));
    Run {
        command: Command::Run,
        scenario: meta.id.to_owned(),
        parameters: Settings(differs.map(|(name, value)| (name.clone(), value.clone())).collect()),
    }
}

/// The fixes that are not in force already, each with the run that measures it.
pub(crate) fn fixes(meta: &Meta, asked: &Settings) -> Vec<Suggestion> {
    meta.fixes.iter().filter_map(|one| fix(meta, one, asked)).collect()
}

/// A fix with the run that measures it; none where it is in force already.
pub(crate) fn fix(meta: &Meta, fix: &FixMeta, asked: &Settings) -> Option<Suggestion> {
    let fixed = with(meta, asked, fix.parameters)?;
    let what = What::Fix(fix.id.to_owned());
    (fixed != *asked).then(|| Suggestion { run: Some(run(meta, &fixed)), ..what.into() })
}

/// Another run of the same scenario, and what it is for.
pub(crate) fn other_run(meta: &Meta, why: Fact, settings: &Settings) -> Suggestion {
    Suggestion { run: Some(run(meta, settings)), ..What::Scenario(why).into() }
}

/// Settings with some of them changed, by name and value; none where one is not declared so.
pub(crate) fn with(meta: &Meta, settings: &Settings, changes: &[(&str, &str)]) -> Option<Settings> {
    let mut changed = settings.clone();
    for (name, value) in changes {
        changed.set(name, meta.knob(name)?.parse(value).ok()?);
    }
    Some(changed)
}

/// Says of each suggested fix what it did, where an arm of this study has it.
pub(crate) fn add_measured(record: &mut Record, meta: &Meta) {
    let verdict = &mut record.verdict;
    for suggestion in &mut verdict.suggestions {
        if let What::Fix(id) = &suggestion.what {
            let fix = meta.fix(id);
            let outcome = fix.and_then(|fix| measured(meta, fix, &record.plan, &verdict.fixes));
            suggestion.measured = outcome.or(suggestion.measured);
        }
    }
}

/// What an arm with all parameters of a fix did.
fn measured(meta: &Meta, fix: &FixMeta, plan: &Plan, tried: &[Fix]) -> Option<FixOutcome> {
    let wanted = with(meta, &Settings::default(), fix.parameters)?;
    let has_it = |id: &str| {
        let arm = plan.arms.iter().find(|arm| arm.id == id);
        arm.is_some_and(|arm| {
            wanted.0.iter().all(|(name, value)| arm.settings.0.get(name) == Some(value))
        })
    };
    let found = tried.iter().find(|tried| !wanted.0.is_empty() && has_it(&tried.arm));
    found.map(|tried| tried.outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox_flood::META;
    use model::testing::{arm, plan};
    use model::{Role, Value};
    use std::collections::BTreeMap;

    #[test]
    fn what_is_in_force_already_is_no_advice() {
        let mut asked = Settings::defaults(META.knobs, false);
        asked.set("senders", Value::Number(7));
        let fix = |asked: &Settings| super::fix(&META, &META.fixes[0], asked);
        let advice = fix(&asked).unwrap();
        assert_eq!(advice.what, What::Fix("dam".to_owned()));
        let mut parameters = Settings::default();
        parameters.set("dam", Value::Text("credit".to_owned()));
        parameters.set("senders", Value::Number(7));
        assert_eq!(advice.run.unwrap().parameters, parameters);
        asked.set("dam", Value::Text("credit".to_owned()));
        assert_eq!(fix(&asked), None);
    }

    #[test]
    fn a_fix_that_an_arm_of_the_study_has_is_said_to_be_measured() {
        let dam = META.fix("dam").unwrap();
        let mut tried = arm("credit-dam", Role::Fix);
        tried.settings.set("dam", Value::Text("credit".to_owned()));
        let plan = Plan { arms: vec![arm("direct", Role::Case), tried], ..plan(&[]) };
        let fix = |arm: &str| Fix {
            arm: arm.to_owned(),
            change: String::new(),
            outcome: FixOutcome::Helped,
            case: "direct".to_owned(),
            measure: "slope".to_owned(),
            with: BTreeMap::new(),
            without: BTreeMap::new(),
            evidence_less: None,
            evidence_gone: None,
            threshold: None,
            left: None,
            comparison: None,
        };
        assert_eq!(measured(&META, dam, &plan, &[fix("direct")]), None);
        let tried = [fix("direct"), fix("credit-dam")];
        assert_eq!(measured(&META, dam, &plan, &tried), Some(FixOutcome::Helped));
    }
}
