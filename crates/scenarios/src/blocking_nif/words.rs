//! The verdict of `blocking-nif` in words.

use super::meta::{META, measure};
use super::params::BlockingNifParams;
use crate::params::Params;
use crate::{Words, erlang};
use analysis::Outcome;
use model::scenario::Mend;
use model::{ArmResult, Plan, Role, State};

pub(super) fn words(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Words {
    let headline = match outcome.state {
        State::Affected => affected(plan, outcome, arms),
        State::NotAffected => not_affected(arms),
        State::Untrustworthy => crate::UNTRUSTWORTHY.to_owned(),
        State::Inconclusive | State::Skipped => {
            "Too few trials to say whether native functions stall the schedulers here.".to_owned()
        }
    };
    let kind = (outcome.state == State::Affected).then(|| kind(&outcome.measure).to_owned());
    Words { headline, next: next(outcome.state, plan), kind }
}

/// The name of the stall that a figure shows.
fn kind(name: &str) -> &'static str {
    match name {
        measure::UNFAIRNESS => "unfair",
        measure::LATE => "late",
        _ => "collapse",
    }
}

fn figure(arm: &ArmResult, name: &str) -> String {
    arm.measures.get(name).map(ToString::to_string).unwrap_or_default()
}

fn affected(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> String {
    let case = arms.iter().find(|arm| arm.state == Some(State::Affected) && arm.role == Role::Case);
    let control = case.and_then(|case| erlang::control_of(plan, case, arms));
    let (Some(control), Some(case)) = (control, case) else {
        return "Native functions stall the schedulers here.".to_owned();
    };
    let both = |name: &str| (figure(case, name), figure(control, name));
    let mut headline = match kind(&outcome.measure) {
        "unfair" => {
            let (with, without) = both(measure::UNFAIRNESS);
            format!(
                "Equal processes fare very differently here: the longest run time over the \
                 shortest was {with}, and in slices that yield {without}."
            )
        }
        "late" => {
            let (with, without) = both(measure::LATE);
            format!(
                "Timers come late here: a timer process was overdue for {with}, and with work in \
                 slices that yield for {without}."
            )
        }
        _ => {
            let (with, without) = both(measure::ASLEEP);
            let (wall, yielding) = both(measure::WALL);
            format!(
                "Schedulers sleep here while work is queued: for {with} of their time at least, \
                 and in slices that yield {without}; the same work took {wall} of wall time \
                 instead of {yielding}."
            )
        }
    };
    let others: Vec<&str> = outcome.also.iter().map(|name| kind(name)).collect();
    if !others.is_empty() {
        headline.push_str(&format!(" It is {} as well.", others.join(" and ")));
    }
    headline
}

fn not_affected(arms: &[ArmResult]) -> String {
    let case = arms.iter().find(|arm| arm.role == Role::Case);
    let seen = case.map(|arm| {
        format!(
            ": with {} the schedulers slept {} of the time in which work was queued, and a timer \
             process was overdue for {}",
            arm.id,
            figure(arm, measure::ASLEEP),
            figure(arm, measure::LATE)
        )
    });
    format!("The schedulers kept working and stayed fair here{}.", seen.unwrap_or_default())
}

fn next(state: State, plan: &Plan) -> Vec<String> {
    let Some(case) = plan.arms.iter().find(|arm| arm.role == Role::Case) else {
        return Vec::new();
    };
    let Some(params) = BlockingNifParams::of(&case.settings) else { return Vec::new() };
    match state {
        State::Affected => META.mends.iter().filter_map(|mend| to_measure(mend, &params)).collect(),
        State::NotAffected if !params.mode.blocks() => {
            vec![format!("the same work in a form that blocks: {}", blocking())]
        }
        _ => Vec::new(),
    }
}

fn blocking() -> String {
    META.command(&BlockingNifParams::default().settings())
}

/// The mend with the command that measures it; none where it is in force already.
fn to_measure(mend: &Mend, case: &BlockingNifParams) -> Option<String> {
    let usual = BlockingNifParams::default();
    let own = BlockingNifParams {
        fixes: usual.fixes,
        erl: usual.erl,
        time_limit: usual.time_limit,
        ..case.clone()
    };
    let before = own.settings();
    let mended = (mend.change)(&before)?;
    (mended != before).then(|| format!("{}: {}", mend.what, META.command(&mended)))
}
