//! From trials to a verdict, from the record alone.

use crate::{Scenario, factors, find};
use analysis::{Ground, Outcome};
use model::record::{Progress, SCHEMA};
use model::{
    ArmResult, Fix, Headline, Judging, Plan, Reason, Record, State, Suggestion, Trial, Verdict,
};

/// Estimates every arm and judges; a study that was not run or broke keeps the verdict that says so.
///
/// Returns false, and changes nothing, where the scenario is unknown to this version.
pub fn judge(record: &mut Record) -> bool {
    let Some(scenario) = find(&record.scenario) else {
        return false;
    };
    SCHEMA.clone_into(&mut record.schema);
    record.arms = analysis::estimate_arms(&record.plan, &record.trials);
    if matches!(record.progress, Progress::NotRun | Progress::Broken) {
        return true;
    }
    let ground = ground(record);
    let (plan, trials) = (&record.plan, &record.trials);
    let mut outcome = analysis::decide(plan, trials, &record.arms, ground);
    for judging in &plan.also {
        judge_also(plan, judging, trials, &mut record.arms, &mut outcome, ground);
    }
    scenario.review(plan, trials, &mut record.arms, &mut outcome);
    if outcome.state != State::NotAffected {
        outcome.test.missed = None;
    }
    record.verdict = verdict(scenario, record, outcome);
    true
}

/// The plan, judged by another figure.
fn judged_by(plan: &Plan, judging: &Judging) -> Plan {
    Plan { judging: judging.clone(), ..plan.clone() }
}

/// Judges by another figure too: a stall in any of them is a stall, and none is only where none
/// shows one.
fn judge_also(
    plan: &Plan,
    judging: &Judging,
    trials: &[Trial],
    arms: &mut [ArmResult],
    outcome: &mut Outcome,
    ground: Ground,
) {
    let plan = judged_by(plan, judging);
    let results = analysis::estimate_arms(&plan, trials);
    let other = analysis::decide(&plan, trials, &results, ground);
    match (outcome.state, other.state) {
        (State::Untrustworthy, _) => {}
        (State::Affected, State::Affected) => outcome.also.push(other.measure),
        (first, State::Affected) => {
            let mut open = std::mem::take(&mut outcome.open);
            open.extend((first == State::Inconclusive).then(|| outcome.measure.clone()));
            *outcome = Outcome { open, ..other };
            for (arm, result) in arms.iter_mut().zip(results) {
                arm.state = result.state;
                arm.worse = result.worse;
                arm.evidence = result.evidence;
            }
        }
        (State::NotAffected, State::NotAffected) => {
            outcome.reasons.push(Reason::NorIn { measure: other.measure });
        }
        (State::NotAffected, _) => {
            outcome.state = State::Inconclusive;
            let why = other.reasons.into_iter().next().map(Box::new);
            outcome.reasons.push(Reason::NotSettledIn { measure: other.measure, why });
            outcome.caveats = other.caveats;
        }
        _ => {}
    }
}

/// What each fix did to the figure that decided.
fn fixes(record: &Record, outcome: &Outcome) -> Vec<Fix> {
    let plan = &record.plan;
    let decided = plan.also.iter().find(|judging| judging.measure == outcome.measure);
    let plan = decided.map_or_else(|| plan.clone(), |judging| judged_by(plan, judging));
    match outcome.state {
        State::Affected => analysis::fixes(&plan, &record.trials, &record.arms),
        _ => Vec::new(),
    }
}

/// Whether a judged study may stop: it has seen the least number of blocks, and its verdict stands.
///
/// A disturbed machine does not end it, since a disturbance may pass.
pub fn settled(record: &Record) -> bool {
    let blocks = record.verdict.test.as_ref().map_or(0, |test| test.blocks);
    let stands = matches!(record.verdict.state, State::Affected | State::NotAffected);
    let fixes_open = record.plan.settle_fixes && record.verdict.fixes.iter().any(analysis::is_open);
    // What matters most is waited for, as long as the study may go on.
    let first_open = record.verdict.open.iter().any(|name| *name == record.plan.judging.measure);
    stands && !first_open && !fixes_open && blocks >= record.plan.min_blocks
}

fn ground(record: &Record) -> Ground {
    Ground {
        tainted: record.host.tainted,
        emulated: record.host.guest.as_ref().is_some_and(model::machine::Guest::emulated),
    }
}

fn verdict(scenario: &dyn Scenario, record: &Record, outcome: Outcome) -> Verdict {
    let summary = scenario.summary(&record.plan, &outcome, &record.arms);
    let headline = match &record.factorial {
        _ if outcome.state == State::Untrustworthy => Headline::Untrustworthy,
        Some(factorial) => factors::headline(factorial, &outcome, &record.arms),
        None => Headline::Scenario(summary.headline),
    };
    // What may fix a combination of a study is a level of one of its factors.
    let own = summary.suggestions.into_iter().filter(|_| record.factorial.is_none());
    let fixes = fixes(record, &outcome);
    let suggestions: Vec<Suggestion> = outcome.suggestions.into_iter().chain(own).collect();
    let mut reasons = outcome.reasons;
    if record.progress == Progress::Interrupted && outcome.state == State::Inconclusive {
        reasons.push(Reason::Interrupted);
    }
    if record.progress == Progress::Running {
        reasons.push(Reason::NotEnded);
    }
    Verdict {
        state: outcome.state,
        kind: summary.kind,
        headline,
        reasons,
        caveats: outcome.caveats,
        suggestions,
        measure: Some(outcome.measure),
        also: outcome.also,
        open: outcome.open,
        fixes,
        test: Some(outcome.test),
    }
}
