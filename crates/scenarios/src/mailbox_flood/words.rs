//! The verdict of `mailbox-flood` in words.

use super::meta::{META, measure};
use super::params::{MailboxFloodParams, SinkKind};
use crate::params::Params;
use crate::{Words, erlang};
use analysis::Outcome;
use model::estimate::number;
use model::scenario::Mend;
use model::{Arm, ArmResult, Estimate, Plan, Role, State};

/// The queue for which the words say what a write takes.
const LONG_QUEUE: f64 = 100_000.0;

pub(super) fn words(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Words {
    let headline = match outcome.state {
        State::Affected => affected(plan, arms),
        State::NotAffected => not_affected(plan, arms),
        State::Untrustworthy => crate::UNTRUSTWORTHY.to_owned(),
        State::Inconclusive | State::Skipped => {
            "It is not settled whether a long mailbox makes its owner slower here.".to_owned()
        }
    };
    Words { headline, next: next(outcome.state, plan), kind: None }
}

fn case(arms: &[ArmResult]) -> Option<&ArmResult> {
    let mut cases = arms.iter().filter(|arm| arm.role == Role::Case);
    let affected = |arm: &&ArmResult| arm.state == Some(State::Affected);
    cases.clone().find(affected).or_else(|| cases.next())
}

fn sink(plan: &Plan, arm: Option<&ArmResult>) -> String {
    let planned = plan.arms.iter().find(|one| arm.is_some_and(|arm| arm.id == one.id));
    match planned.and_then(|arm| MailboxFloodParams::of(&arm.settings)) {
        Some(params) => format!("the sink {}", params.sink),
        None => "the sink server".to_owned(),
    }
}

fn figure(arm: Option<&ArmResult>, name: &str) -> String {
    arm.and_then(|arm| arm.measures.get(name)).map(ToString::to_string).unwrap_or_default()
}

fn affected(plan: &Plan, arms: &[ArmResult]) -> String {
    let case = case(arms);
    let control = case.and_then(|case| erlang::control_of(plan, case, arms));
    let estimate = |name: &str| case.and_then(|arm| arm.measures.get(name));
    // Timed at set lengths where that was done: nothing but the queue differs there.
    let slope = estimate(measure::FIT).or_else(|| estimate(measure::SLOPE));
    let mut words = format!(
        "Each message that waits makes every write to {} {} slower here",
        sink(plan, case),
        slope.map(ToString::to_string).unwrap_or_default()
    );
    if let (Some(slope), Some(empty)) = (slope, estimate(measure::EMPTY_RATE)) {
        words.push_str(&format!("; {}", with_many_queued(slope, empty)));
    }
    words.push_str(&format!(
        ". Flooded, the server wrote {}; with the same flood in another process, {}.",
        figure(case, measure::DRAIN_RATE),
        figure(control, measure::DRAIN_RATE)
    ));
    words
}

/// What a write takes with a long queue and without one.
fn with_many_queued(slope: &Estimate, empty: &Estimate) -> String {
    let empty_ms = 1e3 / empty.median.max(1e-3);
    let queued_ms = |slope_ns: f64| empty_ms + slope_ns * LONG_QUEUE / 1e6;
    let interval = match (slope.low, slope.high) {
        (Some(low), Some(high)) => {
            format!(" [{}, {}]", number(queued_ms(low)), number(queued_ms(high)))
        }
        _ => String::new(),
    };
    let bound = if slope.median_at_least { "at least " } else { "" };
    format!(
        "with 100,000 queued a write takes {bound}{} ms{interval} instead of {} ms",
        number(queued_ms(slope.median)),
        number(empty_ms)
    )
}

fn not_affected(plan: &Plan, arms: &[ArmResult]) -> String {
    let case = case(arms);
    format!(
        "A long mailbox does not make writes to {} slower here: each message that waits adds {}, \
         and the flood was written at {}.",
        sink(plan, case),
        figure(case, measure::SLOPE),
        figure(case, measure::DRAIN_RATE)
    )
}

fn next(state: State, plan: &Plan) -> Vec<String> {
    let Some(case) = plan.arms.iter().find(|arm| arm.role == Role::Case) else {
        return Vec::new();
    };
    match state {
        State::Affected => META.mends.iter().filter_map(|mend| to_measure(mend, case)).collect(),
        State::NotAffected if !writes_to_port(case) => {
            let defaults = MailboxFloodParams::default().settings();
            vec![format!(
                "a sink whose writes look through the mailbox: {}",
                META.command(&defaults)
            )]
        }
        _ => Vec::new(),
    }
}

fn writes_to_port(arm: &Arm) -> bool {
    MailboxFloodParams::of(&arm.settings).is_some_and(|params| params.sink == SinkKind::Port)
}

/// The mend with the command that measures it; none where it is in force already.
fn to_measure(mend: &Mend, case: &Arm) -> Option<String> {
    let usual = MailboxFloodParams::default();
    let case = MailboxFloodParams::of(&case.settings)?;
    let case = MailboxFloodParams { erl: usual.erl, fixes: usual.fixes, ..case };
    let before = case.settings();
    let mended = (mend.change)(&before)?;
    (mended != before).then(|| format!("{}: {}", mend.what, META.command(&mended)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Unit;

    fn estimate(median: f64, interval: Option<(f64, f64)>, unit: Unit) -> Estimate {
        Estimate {
            unit,
            trials: 6,
            median,
            median_at_least: false,
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            high_unbounded: false,
            confidence: 0.97,
            min: median,
            max: median,
            max_at_least: false,
        }
    }

    #[test]
    fn a_slope_is_said_as_the_time_of_a_write() {
        let empty = estimate(50_000.0, None, Unit::PerSecond);
        let slope = estimate(10.0, Some((8.0, 12.0)), Unit::Nanoseconds);
        let words = with_many_queued(&slope, &empty);
        assert!(words.contains("takes 1.02 ms [0.82, 1.22] instead of 0.02 ms"), "{words}");
    }

    #[test]
    fn what_is_in_force_already_is_no_advice() {
        let mut case = Arm {
            id: "direct".to_owned(),
            role: Role::Case,
            against: None,
            settings: MailboxFloodParams::default().settings(),
            change: None,
        };
        let advice = to_measure(&META.mends[0], &case).unwrap();
        assert!(advice.ends_with("tailback run mailbox-flood --dam credit"), "{advice}");
        case.settings = (META.mends[0].change)(&case.settings).unwrap();
        assert_eq!(to_measure(&META.mends[0], &case), None);
    }
}
