//! The scenario's own review of an outcome: whether the length of the queue is the cause, whether
//! the queue became long, where the time goes, and what a killed server lost.

use super::meta::{META, measure, series};
use super::params::{MailboxFloodParams, QueueData};
use super::sentences::MailboxFloodFact;
use super::summary::asked;
use crate::params::Params;
use crate::{Objection, Results, Review, hang, suggest};
use model::{Arm, ArmResult, Caveat, Estimate, Note, Plan, Reason, Role, State, Suggestion, Trial};
use std::collections::BTreeMap;
use std::time::Duration;

/// With fewer messages, the fixed cost of a message and its noise can look like a slope.
const FEWEST: u64 = 2_000;

/// The part of a flood that has to wait at the same time. The slope is divided by the whole flood.
/// So if less of it waits, a scan may stay below the margin.
const LEAST_WAITING: f64 = 0.5;

pub(super) fn review(results: &Results) -> Review {
    let hung = results.trials.iter().find(|trial| trial.observation.hang);
    let seconds = hung.map(|trial| trial.observation.window_ms / 1e3);
    let after = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let hang = after.and_then(|after| hang::cut_off(results.arms, after, None));
    Review {
        // These counts hold even if the machine was disturbed.
        also: kill_reasons(results.plan, results.trials, results.arms),
        caveats: hang.into_iter().collect(),
        ..of_the_queue(results)
    }
}

/// Whether the length of the queue is the cause.
fn of_the_queue(results: &Results) -> Review {
    let Results { plan, trials, arms, outcome } = *results;
    if matches!(outcome.state, State::Untrustworthy | State::Skipped) {
        return Review::default();
    }
    let cases: Vec<&Arm> = plan.arms.iter().filter(|arm| arm.role == Role::Case).collect();
    let few = cases.iter().find_map(|case| params(case).filter(|p| p.offered() < FEWEST));
    if let Some(few) = few {
        let why = MailboxFloodFact::TooFewMessages { messages: few.offered() };
        let more = MailboxFloodParams { senders: 100, messages: 500, ..asked(&few) };
        let least = MailboxFloodFact::MoreMessages { least: FEWEST };
        return Review {
            objections: vec![Objection::to_study(why)],
            suggestions: other_run(&few, least, &more).into_iter().collect(),
            ..Review::default()
        };
    }
    let scans = |arm: &&ArmResult| {
        let affected = arm.role == Role::Case && arm.state == Some(State::Affected);
        affected && says_too_much(plan, arm).is_none()
    };
    let scanned: Vec<&ArmResult> = arms.iter().filter(scans).collect();
    let scan = (outcome.state == State::Affected).then(|| scan_reason(&scanned, trials));
    Review { causes: scan.flatten().into_iter().collect(), ..of_single_arms(plan, arms) }
}

/// Objections to arms whose state says more than their flood shows.
fn of_single_arms(plan: &Plan, arms: &[ArmResult]) -> Review {
    let mut review = Review::default();
    for result in arms.iter().filter(|arm| arm.role == Role::Case) {
        let Some((why, settles)) = says_too_much(plan, result) else { continue };
        if matches!(why, MailboxFloodFact::NotTheLength { .. }) && review.suggestions.is_empty() {
            review.suggestions.extend(off_heap(plan, result));
        }
        review.objections.push(Objection::to_arm(&result.id, Reason::Scenario(why.into())));
        review.settles.get_or_insert_with(|| Caveat::Scenario(settles.into()));
    }
    review
}

/// Why the state of an arm says more than its flood shows, and what to change.
fn says_too_much(plan: &Plan, result: &ArmResult) -> Option<(MailboxFloodFact, MailboxFloodFact)> {
    let case = params_of(plan, result)?;
    let margin = plan.judging.margin;
    match result.state {
        Some(State::Affected) => never_began(result)
            .or_else(|| never_two(&case, result))
            .or_else(|| not_the_length(&case, result, margin)),
        Some(State::NotAffected) => {
            never_two(&case, result).or_else(|| never_long(&case, result, margin))
        }
        _ => None,
    }
}

/// If two messages never wait at the same time, nothing is known about the length of the mailbox.
fn never_two(
    case: &MailboxFloodParams,
    result: &ArmResult,
) -> Option<(MailboxFloodFact, MailboxFloodFact)> {
    let arm = (&result.id).into();
    case.is_paced().then_some((MailboxFloodFact::NeverTwo { arm }, MailboxFloodFact::Flood))
}

/// If nothing shows that writes take longer as the mailbox grows, slow writes have another cause,
/// such as a killed server.
fn not_the_length(
    case: &MailboxFloodParams,
    result: &ArmResult,
    margin: f64,
) -> Option<(MailboxFloodFact, MailboxFloodFact)> {
    let arm = || (&result.id).into();
    if case.is_direct() {
        let slope = result.measures.get(measure::FIT).is_some_and(|fit| grows(fit, margin));
        let why = MailboxFloodFact::NotTheLength { arm: arm() };
        return (!slope).then_some((why, MailboxFloodFact::CloserInterval));
    }
    // Behind a dam, no writes are timed at set lengths. A trial that hung has no counts.
    let longest = result.measures.get(measure::SERVER_HIGH)?;
    let offered = case.offered();
    (longest.median < LEAST_WAITING * offered as f64).then(|| {
        let why = MailboxFloodFact::FewWaited { arm: arm(), longest: longest.clone(), offered };
        (why, MailboxFloodFact::FloodDirectly)
    })
}

/// Suggests the flood of an arm with its messages off the heap.
fn off_heap(plan: &Plan, result: &ArmResult) -> Option<Suggestion> {
    let case = params_of(plan, result)?;
    let message_queue_data = QueueData::OffHeap;
    let other = MailboxFloodParams { message_queue_data, ..asked(&case) };
    other_run(&case, MailboxFloodFact::Collections, &other)
}

/// If the server got no message, nothing is known about the time of its writes.
fn never_began(result: &ArmResult) -> Option<(MailboxFloodFact, MailboxFloodFact)> {
    let is_none = |name: &str| result.measures.get(name).is_some_and(|figure| figure.median <= 0.0);
    (is_none(measure::SERVER_HIGH) && is_none(measure::DRAIN_RATE)).then(|| {
        let arm = (&result.id).into();
        (MailboxFloodFact::NothingSent { arm }, MailboxFloodFact::SoonerSent)
    })
}

/// If the mailbox did not become long, writes that are not slow show nothing about a long one.
fn never_long(
    case: &MailboxFloodParams,
    result: &ArmResult,
    margin: f64,
) -> Option<(MailboxFloodFact, MailboxFloodFact)> {
    let arm = || (&result.id).into();
    if let Some(fit) = result.measures.get(measure::FIT).filter(|fit| grows(fit, margin)) {
        let why = MailboxFloodFact::LengthCosts { arm: arm(), fit: fit.clone() };
        return Some((why, MailboxFloodFact::LargerFlood));
    }
    let (longest, offered) = (result.measures.get(measure::BOTH_HIGH)?, case.offered());
    let short = longest.median < LEAST_WAITING * offered as f64;
    (case.floods_server() && short).then(|| {
        let why = MailboxFloodFact::ShortQueue { arm: arm(), longest: longest.clone(), offered };
        (why, MailboxFloodFact::LongerQueue)
    })
}

/// Whether writes take longer by more than the margin for each message in the mailbox, by their
/// fitted slope.
fn grows(fit: &Estimate, margin: f64) -> bool {
    fit.low.unwrap_or(fit.median) > margin
}

/// The parameters of an arm.
fn params(arm: &Arm) -> Option<MailboxFloodParams> {
    MailboxFloodParams::of(&arm.settings)
}

/// The parameters of the arm with this result.
fn params_of(plan: &Plan, result: &ArmResult) -> Option<MailboxFloodParams> {
    params(plan.arms.iter().find(|arm| arm.id == result.id)?)
}

/// A suggestion of another run. None if it equals the case, or if it would be refused.
fn other_run(
    case: &MailboxFloodParams,
    why: MailboxFloodFact,
    other: &MailboxFloodParams,
) -> Option<Suggestion> {
    let is_run = asked(case) != *other && other.check().is_ok();
    is_run.then(|| suggest::other_run(&META, why, &other.settings()))
}

/// The function in which the owner of a long mailbox was seen most, over all trials of these arms.
fn scan_reason(scanned: &[&ArmResult], trials: &[Trial]) -> Option<Reason> {
    let is_scanned = |trial: &&Trial| scanned.iter().any(|arm| arm.id == trial.arm);
    let mut samples: BTreeMap<&str, u64> = BTreeMap::new();
    let mut longest: f64 = 0.0;
    for trial in trials.iter().filter(is_scanned) {
        let lengths =
            trial.observation.series.get(series::LENGTHS).and_then(|lengths| lengths.rows.last());
        longest = longest.max(lengths.and_then(|row| *row.first()?).unwrap_or(0.0));
        for seen in &trial.observation.at_work {
            *samples.entry(&seen.place).or_default() += seen.samples;
        }
    }
    let all: u64 = samples.values().sum();
    let (place, count) = samples.into_iter().max_by_key(|(_, count)| *count)?;
    let (longest, place) = (longest.round() as u64, place.into());
    let fact = MailboxFloodFact::Scan { longest, place, seen: count, samples: all };
    Some(Reason::Scenario(fact.into()))
}

/// What happened to messages in arms whose server was killed, in the median trial.
fn kill_reasons(plan: &Plan, trials: &[Trial], arms: &[ArmResult]) -> Vec<Reason> {
    let reason = |arm: &Arm| {
        let params = params(arm).filter(|params| !params.kill_after.is_zero())?;
        let result = arms.iter().find(|result| result.id == arm.id)?;
        if !was_killed(&arm.id, trials) {
            return None;
        }
        let figure = |name: &str| result.measures.get(name).cloned();
        let twice = figure(measure::DUPLICATED)?;
        let fact = match figure(measure::LOST) {
            Some(lost) => {
                let messages = params.offered();
                MailboxFloodFact::Killed { arm: (&arm.id).into(), lost, messages, twice }
            }
            None => MailboxFloodFact::KilledCutOff { arm: (&arm.id).into(), twice },
        };
        Some(Reason::Scenario(fact.into()))
    };
    plan.arms.iter().filter_map(reason).collect()
}

/// Whether the server of an arm was killed in most trials. A flood may end before that.
fn was_killed(arm: &str, trials: &[Trial]) -> bool {
    let note = Note::Fact(MailboxFloodFact::ServerRestarted.into());
    let of_arm: Vec<&Trial> = trials.iter().filter(|trial| trial.arm == arm).collect();
    let killed = of_arm.iter().filter(|trial| trial.observation.notes.contains(&note)).count();
    2 * killed > of_arm.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{reviewed_by, settings, told, value_of};
    use analysis::Outcome;
    use model::testing::{self, plan};
    use model::{AtWork, Fact, Settings, Test, Unit, What};

    fn plan_of(messages: u32) -> Plan {
        let settings = MailboxFloodParams { messages, ..Default::default() }.settings();
        let arm = |id, role| Arm { settings: settings.clone(), ..testing::arm(id, role) };
        let arms = vec![arm("control", Role::Control), arm("direct", Role::Case)];
        Plan { arms, judging: META.judging, ..plan(&[]) }
    }

    fn estimate(median: f64, low: Option<f64>) -> Estimate {
        let high = Some(2.0 * median);
        Estimate { low, high, ..testing::estimate(median, Unit::Nanoseconds) }
    }

    fn result(fit: Estimate) -> ArmResult {
        let mut arm = testing::result("direct", Role::Case, Some(State::Affected));
        arm.measures.insert(measure::FIT.to_owned(), fit);
        arm
    }

    /// The outcome of the study and the state of the arm, after the review.
    fn outcome_of(messages: u32, fit: Estimate, state: State) -> (Outcome, Option<State>) {
        let mut arms = [result(fit)];
        let mut outcome = Outcome::new(state, measure::SLOPE, Test::default());
        let mut trial = testing::trial(0, "direct", 0.0);
        let place = "tailback_sink_port:answer/1".to_owned();
        trial.observation.at_work = vec![AtWork { place, samples: 7 }];
        reviewed_by(review, &plan_of(messages), &[trial], &mut arms, &mut outcome);
        (outcome, arms[0].state)
    }

    /// Their states after the review.
    fn reviewed(messages: u32, fit: Estimate, state: State) -> (State, Option<State>) {
        let (outcome, arm) = outcome_of(messages, fit, state);
        (outcome.state, arm)
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

    /// The id of the first reason, which must be a fact of this scenario, and the parameters of
    /// the suggestion.
    fn said(outcome: &Outcome) -> (&str, Option<&Settings>) {
        let Some(Reason::Scenario(fact)) = outcome.reasons.first() else { panic!("{outcome:?}") };
        told(&META, fact);
        for suggestion in &outcome.suggestions {
            let What::Scenario(fact) = &suggestion.what else { panic!("{suggestion:?}") };
            told(&META, fact);
        }
        let run = outcome.suggestions.first().and_then(|one| one.run.as_ref());
        (&fact.id, run.map(|run| &run.parameters))
    }

    #[test]
    fn each_ground_is_told_with_what_to_do() {
        let (few, _) = outcome_of(2, estimate(9.0, Some(7.0)), State::Affected);
        let (why, run) = said(&few);
        let messages = value_of(run.unwrap(), "messages");
        assert_eq!((why, messages.as_deref()), ("too-few-messages", Some("500")));
        let (flat, _) = outcome_of(500, estimate(0.1, Some(0.05)), State::Affected);
        let (why, run) = said(&flat);
        let queue = value_of(run.unwrap(), "message-queue-data");
        assert_eq!((why, queue.as_deref()), ("not-the-length", Some("off_heap")));
        assert_eq!(flat.caveats, [Caveat::Scenario(MailboxFloodFact::CloserInterval.into())]);
        let (steep, _) = outcome_of(500, estimate(9.0, Some(7.0)), State::Affected);
        assert_eq!(said(&steep), ("scan", None));
    }

    /// The outcome of a study whose case has these parameters and figures.
    fn outcome_with(changed: &[(&str, &str)], figures: &[(&str, f64)], state: State) -> Outcome {
        let mut plan = plan_of(1_000);
        plan.arms[1].settings = settings(&META, changed);
        let mut arms = [testing::result("direct", Role::Case, Some(state))];
        for (name, median) in figures {
            let figure = testing::estimate(*median, Unit::Count);
            arms[0].measures.insert((*name).to_owned(), figure);
        }
        let mut outcome = Outcome::new(state, measure::SLOPE, Test::default());
        reviewed_by(review, &plan, &[], &mut arms, &mut outcome);
        assert_eq!(arms[0].state, Some(outcome.state));
        outcome
    }

    #[test]
    fn more_messages_than_a_file_may_take_are_not_suggested() {
        let of = |sink| {
            let large = [("message", "large"), ("size", "1MiB"), ("messages", "1")];
            let few = [&[("sink", sink)], &large[..]].concat();
            outcome_with(&few, &[], State::NotAffected)
        };
        assert!(said(&of("port")).1.is_some());
        assert_eq!(said(&of("file")), ("too-few-messages", None));
    }

    /// Asserts that a verdict was taken back for this reason, and with this way to settle it.
    fn assert_taken_back(outcome: &Outcome, why: &str, settles: MailboxFloodFact) {
        assert_eq!((outcome.state, said(outcome).0), (State::Inconclusive, why));
        let settles = Fact::from(settles);
        told(&META, &settles);
        assert_eq!(outcome.caveats, [Caveat::Scenario(settles)]);
    }

    #[test]
    fn a_flood_that_never_became_long_clears_nobody() {
        use MailboxFloodFact::{Flood, LongerQueue};
        use State::NotAffected;
        let of = |changed: &[(&str, &str)], longest: f64| {
            outcome_with(changed, &[(measure::BOTH_HIGH, longest)], NotAffected)
        };
        assert_eq!(of(&[], 50_000.0).state, NotAffected);
        assert_taken_back(&of(&[], 49_999.0), "short-queue", LongerQueue);
        assert_taken_back(&of(&[("messages", "1000000")], 3e5), "short-queue", LongerQueue);
        let paced = of(&[("pace", "one-at-a-time")], 2.0);
        assert_taken_back(&paced, "never-two", Flood);
        for elsewhere in [("dam", "credit"), ("mailbox", "decoy")] {
            assert_eq!(of(&[elsewhere], 64.0).state, NotAffected, "{elsewhere:?}");
        }
    }

    #[test]
    fn a_cost_by_length_alone_clears_nobody() {
        let of = |fit: f64| {
            let figures = [(measure::BOTH_HIGH, 1e5), (measure::FIT, fit)];
            outcome_with(&[], &figures, State::NotAffected)
        };
        assert_eq!(of(0.5).state, State::NotAffected, "the margin");
        assert_taken_back(&of(0.51), "length-costs", MailboxFloodFact::LargerFlood);
    }

    #[test]
    fn a_flood_that_never_began_makes_nobody_affected() {
        let of = |high: f64, rate: f64| {
            let figures = [(measure::SERVER_HIGH, high), (measure::DRAIN_RATE, rate)];
            outcome_with(&[("dam", "credit")], &figures, State::Affected)
        };
        assert_taken_back(&of(0.0, 0.0), "nothing-sent", MailboxFloodFact::SoonerSent);
        let wrote_nothing = of(1.0, 0.0);
        assert_taken_back(&wrote_nothing, "few-waited", MailboxFloodFact::FloodDirectly);
    }

    #[test]
    fn slow_writes_behind_a_dam_or_one_at_a_time_are_no_scan() {
        let of = |changed: (&str, &str), high: f64| {
            let figures = [(measure::SERVER_HIGH, high), (measure::DRAIN_RATE, 7.0)];
            outcome_with(&[changed], &figures, State::Affected)
        };
        let dam = of(("dam", "credit"), 66.0);
        assert_taken_back(&dam, "few-waited", MailboxFloodFact::FloodDirectly);
        assert_eq!(of(("dam", "threshold"), 50_000.0).state, State::Affected);
        let paced = of(("pace", "one-at-a-time"), 1.0);
        assert_taken_back(&paced, "never-two", MailboxFloodFact::Flood);
    }

    #[test]
    fn each_case_is_weighed_by_itself() {
        use State::{Affected, Inconclusive, NotAffected};
        let mut plan = plan_of(500);
        let paced = settings(&META, &[("pace", "one-at-a-time")]);
        plan.arms.push(Arm { settings: paced, ..testing::arm("paced", Role::Case) });
        let paced = testing::result("paced", Role::Case, Some(NotAffected));
        let mut arms = [result(estimate(9.0, Some(7.0))), paced];
        let mut outcome = Outcome::new(Affected, measure::SLOPE, Test::default());
        reviewed_by(review, &plan, &[], &mut arms, &mut outcome);
        assert_eq!(outcome.state, Affected);
        assert_eq!(arms.map(|arm| arm.state), [Some(Affected), Some(Inconclusive)]);
    }

    #[test]
    fn the_scan_of_one_otp_does_not_vouch_for_another() {
        use State::{Affected, Inconclusive};
        let mut plan = plan_of(500);
        plan.arms[1].id = "old".to_owned();
        plan.arms.push(Arm { id: "new".to_owned(), ..plan.arms[1].clone() });
        let of = |id: &str, fit| ArmResult { id: id.to_owned(), ..result(fit) };
        let steep = of("old", estimate(9.0, Some(7.0)));
        let flat = of("new", estimate(0.1, Some(0.05)));
        let mut arms = [steep, flat];
        let trials = [("old", 7), ("new", 90)].map(|(id, samples)| {
            let mut trial = testing::trial(0, id, 0.0);
            trial.observation.at_work = vec![AtWork { place: format!("{id}:f/1"), samples }];
            trial
        });
        let mut outcome = Outcome::new(Affected, measure::SLOPE, Test::default());
        reviewed_by(review, &plan, &trials, &mut arms, &mut outcome);
        assert_eq!(outcome.state, Affected);
        assert_eq!(arms.map(|arm| arm.state), [Some(Affected), Some(Inconclusive)]);
        let place = "old:f/1".into();
        let scan = MailboxFloodFact::Scan { longest: 0, place, seen: 7, samples: 7 };
        let why = MailboxFloodFact::NotTheLength { arm: "new".into() };
        assert_eq!(outcome.reasons, [scan, why].map(|fact| Reason::Scenario(fact.into())));
    }

    #[test]
    fn what_a_killed_server_lost_is_told_where_it_was_counted() {
        let mut plan = plan_of(500);
        plan.arms[1].settings = settings(&META, &[("messages", "500"), ("kill-after", "10ms")]);
        let mut arm = result(estimate(9.0, Some(7.0)));
        arm.measures.insert(measure::DUPLICATED.to_owned(), testing::estimate(0.0, Unit::Count));
        let mut trials = [0, 1].map(|block| testing::trial(block, "direct", 0.0));
        let restarted = || Note::Fact(MailboxFloodFact::ServerRestarted.into());
        trials[0].observation.notes = vec![restarted()];
        let of = |trials: &[Trial], arm: &ArmResult| {
            kill_reasons(&plan, trials, std::slice::from_ref(arm))
        };
        assert_eq!(of(&trials, &arm), [], "half of the floods ended before that");
        trials[1].observation.notes = vec![restarted()];
        let mut lost = |measures: &[&str]| {
            for name in measures {
                arm.measures.insert((*name).to_owned(), testing::estimate(3.0, Unit::Count));
            }
            let reasons = of(&trials, &arm);
            let [Reason::Scenario(fact)] = reasons.as_slice() else { panic!("{reasons:?}") };
            told(&META, fact);
            fact.id.clone()
        };
        assert_eq!(lost(&[measure::DUPLICATED]), "killed-cut-off");
        assert_eq!(lost(&[measure::LOST]), "killed");
    }
}
