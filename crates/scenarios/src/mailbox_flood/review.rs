//! What only this scenario knows of an outcome: whether it is the length of the queue that costs,
//! where the time goes, and what a killed server lost.

use super::meta::measure;
use super::observe::LENGTHS;
use super::params::MailboxFloodParams;
use crate::params::Params;
use analysis::Outcome;
use model::{Arm, ArmResult, Plan, Role, State, Trial};
use std::collections::BTreeMap;

/// With fewer messages than this the fixed cost of a message, and its noise, pass for a slope.
const FEWEST: u64 = 2_000;

pub(super) fn review(plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
    // What was counted stands, however disturbed the machine was.
    let killed = kill_sentences(plan, arms);
    judge(plan, trials, arms, outcome);
    outcome.because.extend(killed);
}

fn judge(plan: &Plan, trials: &[Trial], arms: &mut [ArmResult], outcome: &mut Outcome) {
    if matches!(outcome.state, State::Untrustworthy | State::Skipped) {
        return;
    }
    let cases: Vec<&Arm> = plan.arms.iter().filter(|arm| arm.role == Role::Case).collect();
    let offered = cases.iter().filter_map(|case| offered(case));
    if let Some(messages) = offered.min().filter(|messages| *messages < FEWEST) {
        take_back(
            arms,
            outcome,
            format!("{messages} messages are too few to tell a slope from the cost of a message"),
            format!("send {FEWEST} or more in all, as --senders 100 --messages 500 does"),
        );
        return;
    }
    if outcome.state == State::Affected && !is_a_scan(plan, arms) {
        take_back(
            arms,
            outcome,
            "writes were slow in the flood, but timed at several lengths of the mailbox they do not \
             grow dearer with it beyond doubt: no receive is shown to look through the queue; \
             collections of a heap that holds the messages, or senders that take the CPU, make \
             writes slow as well"
                .to_owned(),
            "--message-queue-data off_heap shows what collections cost; --samples 12 on a quieter \
             machine gives a closer interval"
                .to_owned(),
        );
        return;
    }
    if outcome.state == State::Affected {
        outcome.because.splice(0..0, scan_sentence(&cases, trials));
    }
}

/// Messages in all of an arm.
fn offered(arm: &Arm) -> Option<u64> {
    MailboxFloodParams::of(&arm.settings).map(|params| params.offered())
}

fn take_back(arms: &mut [ArmResult], outcome: &mut Outcome, why: String, then: String) {
    for arm in arms.iter_mut().filter(|arm| arm.role == Role::Case) {
        arm.state = Some(State::Inconclusive);
    }
    outcome.state = State::Inconclusive;
    outcome.because.insert(0, why);
    outcome.limits = vec![then];
}

/// Whether the fitted slopes of the affected arms bear the verdict out: an arm without one, as
/// behind a dam, stands by itself.
fn is_a_scan(plan: &Plan, arms: &[ArmResult]) -> bool {
    let margin = plan.judging.margin;
    let affected = |arm: &&ArmResult| arm.role == Role::Case && arm.state == Some(State::Affected);
    let mut affected = arms.iter().filter(affected).peekable();
    affected.peek().is_none()
        || affected.any(|arm| match arm.measures.get(measure::FIT) {
            Some(fit) => fit.low.unwrap_or(fit.median) > margin,
            None => {
                let planned = plan.arms.iter().find(|one| one.id == arm.id);
                let params = planned.and_then(|arm| MailboxFloodParams::of(&arm.settings));
                params.is_some_and(|params| !params.is_direct())
            }
        })
}

/// In which function the owner of a long mailbox was seen, over all trials with the cause.
fn scan_sentence(cases: &[&Arm], trials: &[Trial]) -> Option<String> {
    let is_case = |trial: &&Trial| cases.iter().any(|case| case.id == trial.arm);
    let mut samples: BTreeMap<&str, u64> = BTreeMap::new();
    let mut longest: f64 = 0.0;
    for trial in trials.iter().filter(is_case) {
        let lengths = trial.observation.series.get(LENGTHS).and_then(|lengths| lengths.rows.last());
        longest = longest.max(lengths.and_then(|row| *row.first()?).unwrap_or(0.0));
        for seen in &trial.observation.at_work {
            *samples.entry(&seen.place).or_default() += seen.samples;
        }
    }
    let all: u64 = samples.values().sum();
    let (place, count) = samples.into_iter().max_by_key(|(_, count)| *count)?;
    Some(format!(
        "with {longest:.0} messages in its mailbox the process that writes was seen in {place} in \
         {count} of {all} samples: the receive there cannot tell that older messages are no answer, \
         and looks at each of them every time"
    ))
}

/// What became of messages where servers were killed, in the median trial.
fn kill_sentences(plan: &Plan, arms: &[ArmResult]) -> Vec<String> {
    let sentence = |arm: &Arm| {
        let params = MailboxFloodParams::of(&arm.settings)?;
        if params.kill_after.is_zero() {
            return None;
        }
        let result = arms.iter().find(|result| result.id == arm.id)?;
        let figure = |name: &str| Some(result.measures.get(name)?.figure());
        let (id, twice) = (&arm.id, figure(measure::DUPLICATED)?);
        let lost = match figure(measure::LOST) {
            Some(lost) => format!("{lost} of {} messages were lost", params.offered()),
            None => "its flood was cut off, so nobody knows what was lost (a longer --duration \
                     tells)"
                .to_owned(),
        };
        Some(format!(
            "{id}, with the server killed in mid-flood: in the median trial {lost}, and {twice} \
             were written twice"
        ))
    };
    plan.arms.iter().filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use model::{Estimate, Proportion, Unit};

    fn arm(id: &str, role: Role, messages: u32) -> Arm {
        let settings = MailboxFloodParams { messages, ..Default::default() }.settings();
        Arm { id: id.to_owned(), role, settings, against: None, change: None }
    }

    fn plan(messages: u32) -> Plan {
        Plan {
            arms: vec![
                arm("control", Role::Control, messages),
                arm("direct", Role::Case, messages),
            ],
            seed: 1,
            min_blocks: 6,
            max_blocks: 6,
            stop_when_settled: true,
            error_rate: None,
            settle_fixes: false,
            judging: META.judging.clone(),
            also: Vec::new(),
            left_out: Vec::new(),
        }
    }

    fn estimate(median: f64, low: Option<f64>) -> Estimate {
        Estimate {
            unit: Unit::Nanoseconds,
            trials: 6,
            median,
            median_at_least: false,
            low,
            high: Some(2.0 * median),
            high_unbounded: false,
            confidence: 0.97,
            min: median,
            max: median,
            max_at_least: false,
        }
    }

    fn result(fit: Estimate) -> ArmResult {
        let never = Proportion { count: 0, of: 6, low: 0.0, high: 0.5, confidence: 0.95 };
        ArmResult {
            id: "direct".to_owned(),
            role: Role::Case,
            state: Some(State::Affected),
            trials: 6,
            hangs: never,
            worse: None,
            measures: [(measure::FIT.to_owned(), fit)].into(),
            against_control: BTreeMap::new(),
            evidence: None,
        }
    }

    fn outcome(state: State) -> Outcome {
        let test = model::Test {
            method: String::new(),
            blocks: 6,
            evidence_affected: 40.0,
            evidence_not_affected: 1.0,
            threshold: 20.0,
            error_rate: 0.05,
            ..model::Test::default()
        };
        let measure = measure::SLOPE.to_owned();
        Outcome {
            state,
            measure,
            also: vec![],
            open: vec![],
            test,
            because: vec![],
            limits: vec![],
        }
    }

    fn reviewed(messages: u32, fit: Estimate, state: State) -> (State, Option<State>) {
        let mut arms = [result(fit)];
        let mut outcome = outcome(state);
        review(&plan(messages), &[], &mut arms, &mut outcome);
        (outcome.state, arms[0].state)
    }

    #[test]
    fn slow_writes_that_do_not_depend_on_the_queue_are_no_scan() {
        let taken_back = (State::Inconclusive, Some(State::Inconclusive));
        let flat = estimate(0.1, Some(0.05));
        assert_eq!(reviewed(500, flat, State::Affected), taken_back);
        let open = estimate(9.0, Some(0.2));
        assert_eq!(reviewed(500, open, State::Affected), taken_back);
        let steep = estimate(9.0, Some(7.0));
        assert_eq!(reviewed(500, steep, State::Affected).0, State::Affected);
    }

    #[test]
    fn a_handful_of_messages_is_no_flood() {
        for state in [State::Affected, State::NotAffected] {
            let steep = estimate(9.0, Some(7.0));
            assert_eq!(reviewed(2, steep, state).0, State::Inconclusive);
        }
    }
}
