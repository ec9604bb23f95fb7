//! From trials to a verdict, from the record alone.

use crate::{AnyScenario, control_fix, factors, find, suggest};
use analysis::{Ground, Outcome, sufficient};
use model::record::{Progress, SCHEMA};
use model::{
    ArmResult, Fix, Headline, Judging, Plan, Reason, Record, Role, State, Suggestion, Trial,
    Verdict,
};

/// Estimates every arm and judges; a study that was not run or broke keeps the verdict that says
/// so.
///
/// Returns false, and changes nothing, where the scenario is unknown to this version.
pub fn judge(record: &mut Record) -> bool {
    let known = decide(record);
    control_fix::add(record);
    if let Some(scenario) = find(&record.scenario) {
        suggest::add_measured(record, scenario.meta());
    }
    known
}

/// Estimates every arm and judges by the trials of this record, without what other parts say of it.
fn decide(record: &mut Record) -> bool {
    let Some(scenario) = find(&record.scenario) else {
        return false;
    };
    SCHEMA.clone_into(&mut record.schema);
    record.arms = analysis::estimate_arms(&record.plan, &record.trials);
    if matches!(record.progress, Progress::NotRun | Progress::Broken) {
        set_back(&mut record.arms, record.verdict.state, TakenBack::Nothing);
        return true;
    }
    let ground = ground(record);
    let (plan, trials) = (&record.plan, &record.trials);
    let mut outcome = analysis::decide(plan, trials, &record.arms, ground);
    for judging in &plan.also {
        judge_also(plan, judging, trials, &mut record.arms, &mut outcome, ground);
    }
    let (tested, said) = (outcome.state, said(&record.arms));
    scenario.review(plan, trials, &mut record.arms, &mut outcome);
    let taken_back = match (outcome.state == tested, said == self::said(&record.arms)) {
        (true, _) => TakenBack::Nothing,
        (false, true) => TakenBack::Study,
        (false, false) => TakenBack::Arms,
    };
    set_back(&mut record.arms, outcome.state, taken_back);
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
    let together = sufficient::with_figure(outcome.state, other.state);
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
    // A brief is judged by that rule alone.
    debug_assert_eq!(outcome.state, together);
}

/// What a review took back of what the test says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TakenBack {
    Nothing,
    /// The verdict, for the sake of arms that it set back itself.
    Arms,
    /// The verdict, for a reason that holds for the study as a whole.
    Study,
}

/// What is said of each arm.
fn said(arms: &[ArmResult]) -> Vec<Option<State>> {
    arms.iter().map(|arm| arm.state).collect()
}

/// Sets back what is said of single arms to what the verdict leaves of it, so that no table says
/// more than the verdict above it. Whatever is taken back of a verdict goes through here.
///
/// Where nothing can be trusted, that is so of every arm. Where a study is inconclusive, no arm
/// with the cause is affected, and not all of them are cleared. What a review takes back of the
/// study as a whole, as where the control had no room, holds for every arm; and what it takes back
/// of an arm with the cause holds for what should fix it.
fn set_back(arms: &mut [ArmResult], verdict: State, taken_back: TakenBack) {
    let says = |arm: &ArmResult| matches!(arm.state, Some(State::Affected | State::NotAffected));
    let is_case = |arm: &ArmResult| arm.role == Role::Case;
    let cleared = |arm: &ArmResult| !is_case(arm) || arm.state == Some(State::NotAffected);
    let all_are_cleared = arms.iter().all(cleared);
    for arm in arms.iter_mut().filter(|arm| says(arm)) {
        let affected = arm.state == Some(State::Affected);
        let too_much = match verdict {
            State::Affected | State::NotAffected => false,
            State::Untrustworthy | State::Skipped => true,
            State::Inconclusive if is_case(arm) => {
                affected || all_are_cleared || taken_back == TakenBack::Study
            }
            State::Inconclusive => taken_back != TakenBack::Nothing,
        };
        if too_much {
            arm.state = Some(verdict);
        }
    }
}

/// What each fix did to what is affected.
fn fixes(record: &Record, outcome: &Outcome) -> Vec<Fix> {
    match outcome.state {
        State::Affected => {
            analysis::fixes(&record.plan, &record.trials, &record.arms, &outcome.measure)
        }
        _ => Vec::new(),
    }
}

/// Whether a judged study may stop: it has seen the least number of blocks, and its verdict stands.
///
/// The least number is there for the intervals of medians and no part of the test; a study whose
/// time is over ends without it. A disturbed machine does not end it, since a disturbance may pass.
pub fn settled(record: &Record) -> bool {
    let blocks = record.verdict.test.as_ref().map_or(0, |test| test.blocks);
    let stands = matches!(record.verdict.state, State::Affected | State::NotAffected);
    let fixes_open = record.plan.settle_fixes && record.verdict.fixes.iter().any(analysis::is_open);
    // What matters most is waited for, as long as the study may go on.
    let first_open = record.verdict.open.iter().any(|name| *name == record.plan.judging.measure);
    stands && !first_open && !fixes_open && blocks >= record.plan.min_blocks
}

/// That the time was over before the study was settled. A study that runs until it is settled ends
/// before its last block for no other reason.
fn out_of_time(record: &Record) -> Option<Reason> {
    let run = record.trials.iter().map(|trial| trial.block.saturating_add(1)).max().unwrap_or(0);
    let most = record.plan.max_blocks;
    let ended = record.progress == Progress::Complete && record.plan.stop_when_settled;
    (ended && run < most).then_some(Reason::OutOfTime { blocks: run })
}

pub(crate) fn ground(record: &Record) -> Ground {
    Ground {
        tainted: record.host.tainted,
        shared: record.host.hold == Some(model::machine::Hold::Shared),
        emulated: record.host.guest.as_ref().is_some_and(model::machine::Guest::emulated),
    }
}

fn verdict(scenario: &dyn AnyScenario, record: &Record, outcome: Outcome) -> Verdict {
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
    if outcome.state == State::Inconclusive {
        reasons.extend(out_of_time(record));
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

#[cfg(test)]
mod tests {
    use super::{TakenBack, set_back};
    use model::testing::result;
    use model::{ArmResult, Role, State};

    /// What is left of what is said of these arms; those named `fix` are to fix the stall.
    fn left(says: &[(&str, State)], verdict: State, taken_back: TakenBack) -> Vec<State> {
        let role = |id: &str| if id == "fix" { Role::Fix } else { Role::Case };
        let arm = |(id, state): &(&str, State)| result(id, role(id), Some(*state));
        let mut arms: Vec<ArmResult> = says.iter().map(arm).collect();
        set_back(&mut arms, verdict, taken_back);
        arms.into_iter().filter_map(|arm| arm.state).collect()
    }

    #[test]
    fn no_arm_says_more_than_the_verdict() {
        use State::{Affected, Inconclusive, NotAffected, Untrustworthy};
        use TakenBack::{Arms, Nothing, Study};
        let says = [("one", Affected), ("two", NotAffected), ("fix", NotAffected)];
        assert_eq!(left(&says, Affected, Nothing), [Affected, NotAffected, NotAffected]);
        assert_eq!(left(&says, Inconclusive, Arms), [Inconclusive, NotAffected, Inconclusive]);
        assert_eq!(left(&says, Inconclusive, Study), [Inconclusive; 3]);
        assert_eq!(left(&says, Untrustworthy, Nothing), [Untrustworthy; 3]);
        // One that is cleared stays so beside one that is not settled.
        let open = [("one", NotAffected), ("two", Inconclusive), ("fix", NotAffected)];
        assert_eq!(left(&open, Inconclusive, Nothing), open.map(|(_, state)| state));
        let clear = [("one", NotAffected), ("two", NotAffected), ("fix", Affected)];
        assert_eq!(left(&clear, NotAffected, Nothing), clear.map(|(_, state)| state));
        assert_eq!(left(&clear, Inconclusive, Nothing), [Inconclusive, Inconclusive, Affected]);
    }
}
