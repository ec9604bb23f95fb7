//! From trials to a verdict, from the record alone.

use crate::{AnyScenario, Words, factors, find};
use analysis::{Ground, Outcome};
use model::record::Progress;
use model::{ArmResult, Fix, Judging, Plan, Record, State, Trial, Verdict};

/// Estimates every arm and judges; a study that was not run or broke keeps the verdict that says so.
///
/// Returns false, and changes nothing, where the scenario is unknown to this version.
pub fn judge(record: &mut Record) -> bool {
    let Some(scenario) = find(&record.scenario) else {
        return false;
    };
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
        (State::NotAffected, State::NotAffected) => outcome
            .because
            .push(format!("by the same test no stall shows in {} either", other.measure)),
        (State::NotAffected, _) => {
            outcome.state = State::Inconclusive;
            let why = other.because.first().map(|why| format!(": {why}")).unwrap_or_default();
            outcome.because.push(format!("it is not settled for {}{why}", other.measure));
            outcome.limits = other.limits;
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

fn verdict(scenario: &dyn AnyScenario, record: &Record, outcome: Outcome) -> Verdict {
    let own = scenario.words(&record.plan, &outcome, &record.arms);
    let words = match &record.factorial {
        Some(factorial) => {
            let meta = scenario.meta();
            Words { kind: own.kind, ..factors::words(factorial, meta, &outcome, &record.arms) }
        }
        None => own,
    };
    let missed = outcome.test.missed.as_ref().map(analysis::missed::sentence);
    let grounds = outcome.because.iter().chain(&missed).chain(&outcome.limits);
    let mut because: Vec<String> = grounds.map(|words| sentence(words)).collect();
    if record.progress == Progress::Interrupted && outcome.state == State::Inconclusive {
        because.push("The study was interrupted before its verdict was settled.".to_owned());
    }
    if record.progress == Progress::Running {
        because.push("The study had not ended when this record was written.".to_owned());
    }
    Verdict {
        state: outcome.state,
        kind: words.kind,
        headline: words.headline,
        because,
        next: words.next,
        fixes: fixes(record, &outcome),
        open: outcome.open,
        measure: Some(outcome.measure),
        test: Some(outcome.test),
    }
}

/// Words as a sentence: a capital at its start, unless it starts with a name, and a full stop.
fn sentence(words: &str) -> String {
    let first = words.split_whitespace().next().unwrap_or_default();
    let name = first.contains(|c: char| !c.is_ascii_lowercase());
    let mut chars = words.chars();
    let start: String = match chars.next() {
        Some(c) if !name => c.to_uppercase().collect(),
        Some(c) => c.to_string(),
        None => return String::new(),
    };
    let stop = if words.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{start}{}{stop}", chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn words_become_sentences_and_names_keep_their_letters() {
        assert_eq!(sentence("the control stalled"), "The control stalled.");
        assert_eq!(sentence("busy-10 hung."), "busy-10 hung.");
        assert_eq!(sentence(""), "");
    }
}
