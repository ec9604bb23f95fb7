//! The scenario's own review of an outcome: whether the runtime respected its quota, and whether
//! requests and load were enough to show what it costs if it does not.

use super::meta::measure;
use super::params::QuotaBlindParams;
use super::plan;
use super::sentences::{QuotaBlindFact, Release, Seen};
use super::trial::{HANG_AFTER, LATENCIES};
use crate::params::Params;
use crate::{Objection, Results, Review, hang};
use model::median::{ascending, median};
use model::{Arm, ArmResult, Caveat, Note, Reason, Role, State, Trial};

/// Least share of throttled periods for a verdict of not-affected, in percent.
const THROTTLED: f64 = 5.0;

/// Least number of requests in a trial for a verdict of not-affected. With fewer, the latency that
/// 1 in 100 exceeds is that of the slowest one.
const FEWEST: u64 = 100;

pub(super) fn review(results: &Results) -> Review {
    let mut review = Review { caveats: cut_off(results), ..Review::default() };
    for planned in results.plan.arms.iter().filter(|arm| arm.role == Role::Case) {
        let params = QuotaBlindParams::of(&planned.settings);
        let (Some(params), Some(case)) = (params, results.arm(&planned.id)) else { continue };
        // Arms that differ in other settings may have seen the same.
        let saw = saw(&params, case, results.trials).filter(|saw| !review.also.contains(saw));
        review.also.extend(saw);
        let is_clear = case.state == Some(State::NotAffected);
        if !is_clear || results.outcome.state == State::Untrustworthy {
            continue;
        }
        if let Some((why, settles)) = shows_nothing(case, results.trials) {
            review.objections.push(Objection::to_arm(&case.id, Reason::Scenario(why.into())));
            review.settles.get_or_insert_with(|| Caveat::Scenario(settles.into()));
        }
    }
    review
}

/// After which time trials that hung were cut off. This depends on the duration of their arm.
fn cut_off(results: &Results) -> Vec<Caveat> {
    let of_arm = |planned: &Arm| {
        let params = QuotaBlindParams::of(&planned.settings)?;
        let arm = results.arm(&planned.id)?;
        hang::cut_off(std::slice::from_ref(arm), params.duration.get() + HANG_AFTER, None)
    };
    let mut all: Vec<Caveat> = results.plan.arms.iter().filter_map(of_arm).collect();
    all.dedup();
    all
}

/// What the runtime saw of its quota. None if it did not choose its number of CPUs itself.
fn saw(params: &QuotaBlindParams, case: &ArmResult, trials: &[Trial]) -> Option<Reason> {
    if params.told.get().is_some() {
        return None;
    }
    let release = released(trials, &case.id)?;
    let cpus = case.measures.get(measure::CPUS)?.median.round() as u32;
    Some(Reason::Scenario(seen(params, cpus, release).into()))
}

/// Why the trials of an arm could not have shown the stall, and what would show it.
fn shows_nothing(case: &ArmResult, trials: &[Trial]) -> Option<(QuotaBlindFact, QuotaBlindFact)> {
    if let Some(requests) = requests(trials, &case.id).filter(|count| *count < FEWEST as f64) {
        let (arm, requests) = ((&case.id).into(), requests as u64);
        let more = QuotaBlindFact::MoreRequests { least: FEWEST };
        return Some((QuotaBlindFact::FewRequests { arm, requests }, more));
    }
    if lacks_jobs(trials, &case.id) {
        let arm = (&case.id).into();
        return Some((QuotaBlindFact::NoJob { arm }, QuotaBlindFact::MoreJobs));
    }
    let throttled = case.measures.get(measure::THROTTLED)?.median;
    let both = (QuotaBlindFact::NeverThrottled, QuotaBlindFact::MoreLoad);
    (throttled < THROTTLED).then_some(both)
}

/// The median number of requests in a trial of an arm. A trial that hung has none.
fn requests(trials: &[Trial], arm: &str) -> Option<f64> {
    let of_arm = trials.iter().filter(|trial| trial.arm == arm);
    let latencies = of_arm.filter_map(|trial| trial.observation.latencies.get(LATENCIES));
    median(&ascending(latencies.map(|latency| latency.count as f64)))
}

/// Whether no job ended in half of the trials of an arm or more. Trials that hung do not count.
fn lacks_jobs(trials: &[Trial], arm: &str) -> bool {
    let of_arm = trials.iter().filter(|trial| trial.arm == arm && !trial.observation.hang);
    let jobs: Vec<bool> =
        of_arm.map(|trial| trial.observation.measures.contains_key(measure::JOB)).collect();
    let without = jobs.iter().filter(|job| !**job).count();
    without > 0 && 2 * without >= jobs.len()
}

/// The runtime and its version, from the trials of an arm.
fn released(trials: &[Trial], arm: &str) -> Option<Release> {
    let notes = trials.iter().filter(|trial| trial.arm == arm);
    notes.flat_map(|trial| &trial.observation.notes).find_map(|note| match note {
        Note::Fact(fact) => match fact.read() {
            Ok(QuotaBlindFact::Release(release)) => Some(release),
            _ => None,
        },
        Note::Said(_) => None,
    })
}

/// The number of CPUs that the runtime chose, compared with the number that fits its quota.
fn seen(params: &QuotaBlindParams, cpus: u32, release: Release) -> QuotaBlindFact {
    let fits = cpus <= plan::whole_cpus(params.quota);
    let Release { runtime, release } = release;
    let (quota, place) = ((&params.quota).into(), (&params.limit_at).into());
    let seen = Seen { runtime, release, cpus, quota, place };
    if fits { QuotaBlindFact::Sees(seen) } else { QuotaBlindFact::Blind(seen) }
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use crate::testing::{reviewed_by, settings, told};
    use analysis::Outcome;
    use model::testing::{arm, estimate, plan, result};
    use model::{Amount, Latency, Measure, Observation, Plan, Test, Unit};

    /// A case, its result and a trial of it.
    type Case = (Arm, ArmResult, Trial);

    /// A case with these settings that differ from the defaults.
    fn case(
        id: &str,
        changed: &[(&str, &str)],
        state: State,
        [throttled, cpus]: [f64; 2],
        requests: u64,
    ) -> Case {
        let planned = Arm { settings: settings(&META, changed), ..arm(id, Role::Case) };
        let mut case = result(id, Role::Case, Some(state));
        case.measures.insert(measure::THROTTLED.to_owned(), estimate(throttled, Unit::Percent));
        case.measures.insert(measure::CPUS.to_owned(), estimate(cpus, Unit::Count));
        let release =
            QuotaBlindFact::Release(Release { runtime: "Go".into(), release: "go1.24.9".into() });
        let latency = Latency {
            encoding: String::new(),
            unit: "ns".to_owned(),
            count: requests,
            max_ns: 1,
            data: String::new(),
        };
        let observation = Observation {
            notes: vec![Note::Fact(release.into())],
            measures: [(measure::JOB.to_owned(), Measure::exact(200.0, Unit::Milliseconds))].into(),
            latencies: [(LATENCIES.to_owned(), latency)].into(),
            ..Observation::default()
        };
        (planned, case, Trial { observation, ..model::testing::trial(0, id, 0.0) })
    }

    /// The outcome and the states of these cases, after the review.
    fn outcome_of(cases: Vec<Case>, state: State) -> (Outcome, Vec<Option<State>>) {
        let (mut arms, mut results, mut trials) = (Vec::new(), Vec::new(), Vec::new());
        for (arm, result, trial) in cases {
            arms.push(arm);
            results.push(result);
            trials.push(trial);
        }
        let plan = Plan { arms, ..plan(&[]) };
        let mut outcome = Outcome::new(state, measure::P99, Test::default());
        reviewed_by(review, &plan, &trials, &mut results, &mut outcome);
        (outcome, results.into_iter().map(|arm| arm.state).collect())
    }

    const GO: [(&str, &str); 2] = [("runtime", "go"), ("limit-at", "parent")];

    fn reviewed(state: State, throttled: f64, cpus: f64) -> Outcome {
        let cases = vec![case("default", &GO, state, [throttled, cpus], 140)];
        let (outcome, arms) = outcome_of(cases, state);
        assert_eq!(arms, [Some(outcome.state)]);
        outcome
    }

    fn said(outcome: &Outcome) -> Vec<String> {
        let facts = outcome.reasons.iter().filter_map(|reason| match reason {
            Reason::Scenario(fact) => Some(told(&META, fact)),
            _ => None,
        });
        facts.collect()
    }

    #[test]
    fn a_runtime_is_named_with_what_it_saw() {
        let blind = said(&reviewed(State::Affected, 30.0, 2.0));
        assert_eq!(
            blind,
            ["By its own default Go go1.24.9 used 2 CPUs, although its quota is 50ms/100ms (at \
                 the group above its own)."]
        );
        let sees = said(&reviewed(State::NotAffected, 30.0, 1.0));
        assert!(
            sees[0].contains("as its quota of 50ms/100ms (at the group above its own) allows"),
            "{sees:?}"
        );
    }

    #[test]
    fn the_pool_of_node_is_not_called_cpus() {
        let release = || Release { runtime: "Node.js".into(), release: "v20.20.2".into() };
        let sentence = |quota: &str| {
            let quota = quota.parse().unwrap();
            let params = QuotaBlindParams { quota, ..QuotaBlindParams::default() };
            told(&META, &seen(&params, 4, release()).into())
        };
        assert_eq!(
            sentence("50ms/100ms"),
            "By its own default Node.js v20.20.2 had a pool of 4 threads, although its quota is \
             50ms/100ms (at its own group)."
        );
        let fits = sentence("400ms/100ms");
        assert!(fits.contains("had a pool of 4 threads, as its quota of 400ms/100ms"), "{fits}");
    }

    #[test]
    fn a_quota_that_was_never_used_up_shows_nothing() {
        let outcome = reviewed(State::NotAffected, 1.0, 1.0);
        assert_eq!(outcome.state, State::Inconclusive);
        assert!(said(&outcome)[0].starts_with("The group was hardly ever throttled"));
        assert_eq!(reviewed(State::NotAffected, 30.0, 1.0).state, State::NotAffected);
        assert_eq!(reviewed(State::Affected, 1.0, 2.0).state, State::Affected);
    }

    #[test]
    fn a_few_requests_show_nothing() {
        let with = |requests, state| {
            let cases = vec![case("default", &GO, state, [30.0, 1.0], requests)];
            outcome_of(cases, state).0
        };
        let few = with(99, State::NotAffected);
        assert_eq!(few.state, State::Inconclusive);
        assert!(said(&few)[0].starts_with("Half of the trials of default had 99 requests or"));
        let more = QuotaBlindFact::MoreRequests { least: 100 };
        assert_eq!(few.caveats, [Caveat::Scenario(more.into())]);
        assert_eq!(with(100, State::NotAffected).state, State::NotAffected);
        assert_eq!(with(1, State::Affected).state, State::Affected);
    }

    #[test]
    fn trials_without_a_job_show_nothing() {
        let with_job = case("default", &GO, State::NotAffected, [30.0, 1.0], 140);
        let mut without = with_job.clone();
        without.2.observation.measures.remove(measure::JOB);
        let (outcome, _) = outcome_of(vec![without.clone()], State::NotAffected);
        assert_eq!(outcome.state, State::Inconclusive);
        let sentences = said(&outcome);
        assert!(sentences[0].starts_with("In half or more of the trials of"), "{sentences:?}");
        assert_eq!(outcome.caveats, [Caveat::Scenario(QuotaBlindFact::MoreJobs.into())]);
        let affected = case("default", &GO, State::Affected, [30.0, 2.0], 140);
        let affected = (affected.0, affected.1, without.2.clone());
        assert_eq!(outcome_of(vec![affected], State::Affected).0.state, State::Affected);
        let mut hung = without.clone();
        hung.2.observation.hang = true;
        let lacks = |cases: &[&Case]| {
            let trials: Vec<Trial> = cases.iter().map(|case| case.2.clone()).collect();
            lacks_jobs(&trials, "default")
        };
        assert!(lacks(&[&without, &with_job]));
        assert!(!lacks(&[&without, &with_job, &with_job]));
        assert!(!lacks(&[&hung, &with_job]) && !lacks(&[]));
    }

    #[test]
    fn each_case_is_reviewed_by_its_own_settings() {
        use State::{Affected, Inconclusive, NotAffected};
        let large = [GO[0], ("quota", "150ms/100ms")];
        let cases = vec![
            case("small", &GO, NotAffected, [30.0, 2.0], 140),
            case("large", &large, NotAffected, [1.0, 2.0], 140),
        ];
        let (outcome, arms) = outcome_of(cases, NotAffected);
        assert_eq!(outcome.state, Inconclusive);
        assert_eq!(arms, [Some(NotAffected), Some(Inconclusive)]);
        let sentences = said(&outcome);
        let [hardly, small, large] = sentences.as_slice() else { panic!("{sentences:?}") };
        assert!(hardly.starts_with("The group was hardly ever throttled"), "{hardly}");
        assert!(small.contains("although its quota is 50ms/100ms"), "{small}");
        assert!(large.contains("as its quota of 150ms/100ms"), "{large}");
        // The verdict rests on the other arm, and both saw the same.
        let cases = vec![
            case("often", &GO, Affected, [30.0, 2.0], 140),
            case("seldom", &GO, NotAffected, [30.0, 2.0], 7),
        ];
        let (outcome, arms) = outcome_of(cases, Affected);
        assert_eq!((outcome.state, arms), (Affected, vec![Some(Affected), Some(Inconclusive)]));
        assert_eq!(said(&outcome).len(), 2, "{outcome:?}");
    }

    #[test]
    fn a_runtime_that_was_told_has_chosen_nothing() {
        let given = [GO[0], ("told", "4")];
        let cases = vec![case("four-cpus", &given, State::NotAffected, [30.0, 4.0], 140)];
        assert_eq!(outcome_of(cases, State::NotAffected).0.reasons, []);
    }

    #[test]
    fn a_hung_trial_was_cut_off_by_the_duration_of_its_own_arm() {
        let of = |id, duration| {
            case(id, &[GO[0], ("duration", duration)], State::Affected, [30.0, 2.0], 140)
        };
        let mut hung = of("long", "2s");
        hung.1.hangs.count = 1;
        let (outcome, _) = outcome_of(vec![of("short", "1s"), hung], State::Affected);
        let after = Amount::exact(32_000.0, Unit::Milliseconds);
        assert_eq!(outcome.caveats, [Caveat::HangCutOff { after, parameter: None }]);
    }
}
