//! From trials to a verdict, from the record alone.

use crate::{Scenario, find};
use analysis::Outcome;
use model::record::Progress;
use model::{Record, State, Verdict};

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
    let (plan, trials) = (&record.plan, &record.trials);
    let mut outcome = analysis::decide(plan, trials, &record.arms, cpus(record));
    scenario.review(plan, trials, &mut record.arms, &mut outcome);
    record.verdict = verdict(scenario, record, outcome);
    true
}

/// Whether a judged study may stop: it has seen the least number of blocks, and its verdict stands.
///
/// A disturbed machine does not end it, since a disturbance may pass.
pub fn settled(record: &Record) -> bool {
    let blocks = record.verdict.test.as_ref().map_or(0, |test| test.blocks);
    let stands = matches!(record.verdict.state, State::Affected | State::NotAffected);
    stands && blocks >= record.plan.min_blocks
}

fn cpus(record: &Record) -> u32 {
    u32::try_from(record.host.cpus.len()).unwrap_or(u32::MAX)
}

fn verdict(scenario: &dyn Scenario, record: &Record, outcome: Outcome) -> Verdict {
    let words = scenario.words(&record.plan, &outcome, &record.arms);
    let mut because: Vec<String> =
        outcome.because.iter().chain(&outcome.limits).map(|words| sentence(words)).collect();
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
