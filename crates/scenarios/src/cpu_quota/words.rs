//! The verdict of `cpu-quota` in words.

use super::meta::{META, measure};
use crate::Words;
use analysis::Outcome;
use model::{ArmResult, Plan, Role, Settings, State};

pub(super) fn words(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Words {
    let over = outcome.measure == measure::EXCESS;
    let headline = match outcome.state {
        State::Affected => affected(arms, over),
        State::NotAffected => not_affected(arms),
        State::Untrustworthy => {
            "This machine was disturbed while it was measured, so its figures prove nothing."
                .to_owned()
        }
        State::Inconclusive | State::Skipped => {
            "Too few trials to say whether a group gets its CPU quota here.".to_owned()
        }
    };
    let kind =
        (outcome.state == State::Affected).then(|| if over { "over" } else { "under" }.to_owned());
    Words { headline, next: next(outcome.state, plan), kind }
}

fn of(arms: &[ArmResult], role: Role) -> Option<&ArmResult> {
    arms.iter().find(|arm| arm.role == role)
}

fn figure(arm: Option<&ArmResult>, name: &str) -> String {
    arm.and_then(|arm| arm.measures.get(name)).map(ToString::to_string).unwrap_or_default()
}

fn affected(arms: &[ArmResult], over: bool) -> String {
    let (case, control) = (of(arms, Role::Case), of(arms, Role::Control));
    if over {
        return format!(
            "A group gets more than its CPU quota here: with threads on all CPUs {} beyond it, with \
             one busy thread alone {}.",
            figure(case, measure::EXCESS),
            figure(control, measure::EXCESS)
        );
    }
    format!(
        "A group is throttled below its CPU quota here: with threads on all CPUs it missed {} of \
         what it was entitled to, with one busy thread alone {}.",
        figure(case, measure::SHORTFALL),
        figure(control, measure::SHORTFALL)
    )
}

fn not_affected(arms: &[ArmResult]) -> String {
    let case = of(arms, Role::Case);
    let bound = |name: &str| {
        let estimate = case.and_then(|arm| arm.measures.get(name));
        estimate.map_or_else(String::new, |estimate| estimate.figure())
    };
    format!(
        "A group gets its CPU quota here: with threads on all CPUs it used {} of the {} to {} ms that \
         it was entitled to in a trial.",
        figure(case, measure::USAGE),
        bound(measure::ENTITLED),
        bound(measure::ENTITLED_MOST)
    )
}

fn next(state: State, plan: &Plan) -> Vec<String> {
    let settings = plan.arms.first().map(|arm| &arm.settings);
    let simulated = settings.map_or_else(String::new, simulate);
    match state {
        State::Affected => {
            let mut next = vec![format!("{}: {simulated} --kernel 5.7", META.mends[0].what)];
            next.push(format!("{}: tailback run cpu-quota --threads 1", META.mends[1].what));
            next
        }
        State::NotAffected => {
            vec![format!("what this kernel's rules give on a larger machine: {simulated}")]
        }
        _ => Vec::new(),
    }
}

/// The simulation of the same quota on a machine with many CPUs.
fn simulate(settings: &Settings) -> String {
    let text = |knob: &str| settings.text(knob).unwrap_or_default();
    format!(
        "tailback sim cpu-quota --cpus 64 --quota {} --period {}",
        text("quota"),
        text("period")
    )
}
