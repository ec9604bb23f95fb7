//! The scenario's own review of an outcome: whether the load fitted the quota, and whether there
//! was a quota that could be used up.

use super::also::also;
use super::meta::{META, measure};
use super::observe::REQUEST;
use super::params::BusyWaitParams;
use super::quota_use::{QuotaUse, cpus, kernel_quota, quota_use};
use super::sentences::{BusyWaitFact, Served};
use super::summary::{asked, quota_of};
use crate::params::Params;
use crate::{Objection, Results, Review, suggest};
use model::median::{ascending, median};
use model::{Amount, ArmResult, Caveat, Observation, Plan, Reason, Role, State, Trial, Unit};

/// If more requests than this are left undone, the control cannot serve them: the rate is too high
/// for the machine, or requests fail. In percent.
const MOST_BACKLOG: f64 = 5.0;

/// Range of the control's use of a quota, in percent, in which a study can tell busy waiting from a
/// quota that is too small. Above it, the load itself is throttled. Below it, spinning fits into
/// the unused quota.
const QUOTA_USED: (f64, f64) = (35.0, 85.0);

/// With fewer periods of the quota, a trial may end before a node that spins is throttled.
const LEAST_PERIODS: u32 = 4;

/// Of fewer requests, the 99th percentile is the slowest one.
const LEAST_REQUESTS: u32 = 100;

pub(super) fn review(results: &Results) -> Review {
    // The load does not explain what makes a whole study untrustworthy.
    if results.outcome.state == State::Untrustworthy {
        return Review::default();
    }
    if let Some(review) = too_much(results) {
        return review;
    }
    let facts = also(results).into_iter();
    let also = facts.map(|fact| Reason::Scenario(fact.into())).collect();
    Review { also, ..of_cases(results) }
}

/// Objections to the cases that could not have shown what the test says of them.
fn of_cases(results: &Results) -> Review {
    let mut review = Review::default();
    for case in results.arms.iter().filter(|arm| arm.role == Role::Case) {
        let Some((why, settles)) = doubt(results, case) else { continue };
        if let Some(settles) = settles {
            review.settles.get_or_insert_with(|| Caveat::Scenario(settles.into()));
        }
        let objection = Objection::to_arm(&case.id, Reason::Scenario(why.into()));
        insert(&mut review.objections, objection);
    }
    if without_quota(results.plan) {
        let with_quota = with_quota(results.plan).settings();
        review.suggestions = vec![suggest::other_run(&META, BusyWaitFact::WithQuota, &with_quota)];
    }
    review
}

/// Adds an objection after the last one with the same reason. A reason that is there several times
/// in a row is shown once.
fn insert(objections: &mut Vec<Objection>, objection: Objection) {
    let last = objections.iter().rposition(|other| other.reason == objection.reason);
    objections.insert(last.map_or(objections.len(), |last| last + 1), objection);
}

/// Why a case could not have shown what the test says of it, and what to change.
fn doubt(results: &Results, case: &ArmResult) -> Option<(BusyWaitFact, Option<BusyWaitFact>)> {
    let Results { plan, arms, .. } = *results;
    let (why, settles) = match case.state? {
        State::Affected => load_fills_quota(plan, arms, case)?,
        // The scenario is about nodes with a quota. Nothing shows that they are unaffected.
        State::NotAffected if kernel_quota(plan, &case.id).is_none() => {
            return Some((BusyWaitFact::NoQuota, None));
        }
        State::NotAffected => shows_nothing(results, case)?,
        _ => return None,
    };
    Some((why, Some(settles)))
}

/// Why a case could not have shown a stall under its quota, and what to change.
fn shows_nothing(results: &Results, case: &ArmResult) -> Option<(BusyWaitFact, BusyWaitFact)> {
    let Results { plan, trials, arms, .. } = *results;
    too_little(plan, arms, case)
        .or_else(|| few_periods(case))
        .or_else(|| quota_of_all_cpus(plan, trials, case))
        .or_else(|| few_requests(trials, case))
}

fn control(arms: &[ArmResult]) -> Option<&ArmResult> {
    arms.iter().find(|arm| arm.role == Role::Control)
}

/// A review that leaves the study undecided, with the reason and what would decide it.
fn undecided(why: BusyWaitFact, then: BusyWaitFact) -> Review {
    Review {
        objections: vec![Objection::to_study(why)],
        settles: Some(Caveat::Scenario(then.into())),
        ..Review::default()
    }
}

/// If the control has no unused quota, or cannot serve its requests, then it shows no busy waiting.
/// It only shows that the quota or the machine is too small, or that requests fail.
fn too_much(results: &Results) -> Option<Review> {
    let Results { plan, trials, arms, .. } = *results;
    let control = control(arms)?;
    let of_control = |name: &str| control.measures.get(name);
    let (_, most) = QUOTA_USED;
    let used = of_control(measure::QUOTA_USED).filter(|used| used.median > most);
    let backlog = of_control(measure::BACKLOG).filter(|backlog| backlog.median > MOST_BACKLOG);
    let why = match (used, backlog) {
        (Some(used), _) => {
            BusyWaitFact::ControlThrottled { used: used.clone(), most: most / 100.0 }
        }
        (None, Some(backlog)) => match failed(trials, arms) {
            Some(failed) => {
                let why = BusyWaitFact::RequestsFailed { failed };
                return Some(undecided(why, BusyWaitFact::FewerFailures));
            }
            None => BusyWaitFact::RateBeyondMachine { backlog: backlog.clone() },
        },
        (None, None) => return None,
    };
    let then = match kernel_quota(plan, &control.id) {
        Some(_) => BusyWaitFact::LowerRate(served(arms)),
        None => BusyWaitFact::LowerRateAlone(served(arms)),
    };
    Some(undecided(why, then))
}

/// The failed requests in the median trial of the control, in percent of those that were due. None
/// if they are not more than [`MOST_BACKLOG`].
fn failed(trials: &[Trial], arms: &[ArmResult]) -> Option<Amount> {
    let control = control(arms)?;
    let of_control = trials.iter().filter(|trial| trial.arm == control.id);
    let failed = of_control.filter_map(|trial| failed_percent(&trial.observation));
    let failed = median(&ascending(failed))?;
    (failed > MOST_BACKLOG).then(|| Amount::exact(failed, Unit::Percent))
}

/// The failed requests of a trial, in percent of those that were due.
fn failed_percent(seen: &Observation) -> Option<f64> {
    let failed = seen.measures.get(measure::FAILED)?.value;
    // All other requests that were due have a latency.
    let others = seen.latencies.get(REQUEST).map_or(0, |latency| latency.count);
    let due = failed + others as f64;
    (due > 0.0).then(|| 100.0 * failed / due)
}

/// If the load of the control fills most of the quota of a case, such as one that is smaller than
/// that of the control, the load alone may be throttled there. Then a stall of the case is not
/// shown to come from busy waiting.
fn load_fills_quota(
    plan: &Plan,
    arms: &[ArmResult],
    case: &ArmResult,
) -> Option<(BusyWaitFact, BusyWaitFact)> {
    let (_, most) = QUOTA_USED;
    let QuotaUse { used, quota, .. } = quota_use(plan, arms, case)?;
    (used.median > most).then(|| {
        let why = BusyWaitFact::LoadFillsQuota { quota: cpus(quota), used, most: most / 100.0 };
        (why, BusyWaitFact::LowerRate(served(arms)))
    })
}

/// With most of the case's quota unused, spinning fits into it, so a negative result means little.
/// A stall that was found anyway is still a stall.
fn too_little(
    plan: &Plan,
    arms: &[ArmResult],
    case: &ArmResult,
) -> Option<(BusyWaitFact, BusyWaitFact)> {
    let (least, _) = QUOTA_USED;
    let QuotaUse { used, quota, of_control } = quota_use(plan, arms, case)?;
    (used.median < least).then(|| {
        let why = BusyWaitFact::RoomToSpin { quota: cpus(quota), used, least: least / 100.0 };
        // A rate that fits a larger quota would be too high for the quota of the control.
        let settles = match quota > of_control {
            true => BusyWaitFact::StudyOfEachQuota,
            false => BusyWaitFact::HigherRate(served(arms)),
        };
        (why, settles)
    })
}

/// A trial that is short beside the period of its quota ends before the quota is used up. The
/// control may have another period, and it does not spin.
fn few_periods(case: &ArmResult) -> Option<(BusyWaitFact, BusyWaitFact)> {
    let periods = case.measures.get(measure::PERIODS)?.clone();
    (periods.median < f64::from(LEAST_PERIODS)).then(|| {
        let arm = (&case.id).into();
        let why = BusyWaitFact::FewPeriods { arm, periods, least: LEAST_PERIODS };
        (why, BusyWaitFact::MorePeriods)
    })
}

/// A node cannot exceed a quota of all CPUs that it may use.
fn quota_of_all_cpus(
    plan: &Plan,
    trials: &[Trial],
    case: &ArmResult,
) -> Option<(BusyWaitFact, BusyWaitFact)> {
    let quota = kernel_quota(plan, &case.id)?;
    let mut of_case = trials.iter().filter(|trial| trial.arm == case.id);
    let most = of_case.find_map(|trial| trial.observation.vm.as_ref()?.processors_available)?;
    (quota >= f64::from(most)).then(|| {
        let (arm, quota) = ((&case.id).into(), cpus(quota));
        let why = BusyWaitFact::QuotaOfAllCpus { arm, quota, cpus: most };
        (why, BusyWaitFact::SmallerQuota)
    })
}

/// Few requests may all miss the time in which the node is throttled.
fn few_requests(trials: &[Trial], case: &ArmResult) -> Option<(BusyWaitFact, BusyWaitFact)> {
    let of_case = trials.iter().filter(|trial| trial.arm == case.id);
    let counts = of_case.filter_map(|trial| trial.observation.latencies.get(REQUEST));
    let requests = median(&ascending(counts.map(|latency| latency.count as f64)))?;
    (requests < f64::from(LEAST_REQUESTS)).then(|| {
        let (arm, requests) = ((&case.id).into(), requests as u64);
        let why = BusyWaitFact::FewRequests { arm, requests, least: LEAST_REQUESTS };
        (why, BusyWaitFact::MoreRequests)
    })
}

/// The rate that the control served, so that a sentence can name a lower or a higher one.
fn served(arms: &[ArmResult]) -> Option<Served> {
    let served = control(arms)?.measures.get(measure::REQUESTS)?.clone();
    Some(Served { served })
}

/// Whether no arm has a quota.
fn without_quota(plan: &Plan) -> bool {
    plan.arms.iter().all(|arm| quota_of(arm).is_none())
}

/// The same study under the default quota. It measures its own rate, because a rate without a quota
/// may be too high under this one.
fn with_quota(plan: &Plan) -> BusyWaitParams {
    let usual = BusyWaitParams::default();
    let asked = asked(plan).unwrap_or_default();
    BusyWaitParams { quota: usual.quota, rate: usual.rate, ..asked }
}

#[cfg(test)]
mod tests {
    use super::super::params::Load;
    use super::*;
    use crate::params::{Auto, literal};
    use crate::testing::{reviewed_by, settings, told};
    use analysis::Outcome;
    use model::testing::{self, estimate};
    use model::{Arm, Judged, Latency, Measure, Test, Vm, What};

    /// The figures in every trial of the two arms: 99th percentile of the case, and the control's
    /// quota use and backlog in percent. Then the periods and the requests of the case, and the
    /// number of CPUs that its node may use.
    struct Shown {
        quota: &'static str,
        p99: f64,
        used: f64,
        backlog: f64,
        periods: f64,
        requests: u64,
        cpus: u32,
    }

    const FIT: Shown = Shown {
        quota: "0.5",
        p99: 0.7,
        used: 60.0,
        backlog: 0.0,
        periods: 7.0,
        requests: 2500,
        cpus: 2,
    };

    fn arm(id: &str, quota: &'static str, role: Role) -> Arm {
        let params = BusyWaitParams { quota: literal(quota), ..BusyWaitParams::default() };
        Arm { settings: params.settings(), ..testing::arm(id, role) }
    }

    fn plan(quota: &'static str) -> Plan {
        let control = arm("flags-quota", quota, Role::Control);
        let arms = vec![control, arm("defaults-quota", quota, Role::Case)];
        Plan { arms, judging: META.judging, ..testing::plan(&[]) }
    }

    fn trial(block: u32, arm: &str, figures: &[(&str, f64, Unit)]) -> Trial {
        let mut observation = Observation::default();
        for &(name, value, unit) in figures {
            observation.measures.insert(name.to_owned(), Measure::exact(value, unit));
        }
        let vm = Vm { schedulers_online: 8, ..Vm::default() };
        observation.vm = Some(vm);
        Trial { observation, ..testing::trial(block, arm, 0.0) }
    }

    /// The latencies of this many requests.
    fn latency(count: u64) -> Latency {
        let text = String::new;
        Latency { encoding: text(), unit: text(), count, max_ns: 0, data: text() }
    }

    /// A study with these figures, judged like every study.
    fn judged(shown: &Shown) -> Judged {
        crate::judged(testing::facts(META.id, plan(shown.quota), trials(shown)))
    }

    fn trials(shown: &Shown) -> Vec<Trial> {
        let of_block = |block: u32| {
            let control = [
                (measure::P99, 0.7, Unit::Milliseconds),
                (measure::QUOTA_USED, shown.used, Unit::Percent),
                (measure::BACKLOG, shown.backlog, Unit::Percent),
            ];
            let case = [
                (measure::P99, shown.p99, Unit::Milliseconds),
                (measure::PERIODS, shown.periods, Unit::Count),
            ];
            let mut case = trial(block, "defaults-quota", &case);
            let seen = &mut case.observation;
            seen.latencies.insert(REQUEST.to_owned(), latency(shown.requests));
            seen.vm = Some(Vm { processors_available: Some(shown.cpus), ..Vm::default() });
            [trial(block, "flags-quota", &control), case]
        };
        (0..24).flat_map(of_block).collect()
    }

    fn reviewed(shown: &Shown) -> Outcome {
        decided(&plan(shown.quota), &trials(shown))
    }

    /// The outcome of the test of these trials, after the review.
    fn decided(plan: &Plan, trials: &[Trial]) -> Outcome {
        let mut arms = analysis::estimate_arms(plan, trials);
        let mut outcome = analysis::decide(plan, trials, &arms, analysis::Ground::default());
        reviewed_by(review, plan, trials, &mut arms, &mut outcome);
        outcome
    }

    /// The outcome of a study in this state with a case for each of these quotas, and the states of
    /// the cases. The control uses 60% of its own quota.
    fn beside(
        control: &'static str,
        cases: &[&'static str],
        state: State,
    ) -> (Outcome, Vec<State>) {
        let of_cases = cases.iter().map(|&quota| arm(quota, quota, Role::Case));
        let arms = std::iter::once(arm("control", control, Role::Control)).chain(of_cases);
        let plan = Plan { arms: arms.collect(), ..testing::plan(&[]) };
        let mut control = testing::result("control", Role::Control, None);
        let used = estimate(60.0, Unit::Percent);
        control.measures.insert(measure::QUOTA_USED.to_owned(), used);
        let of_cases = cases.iter().map(|&id| testing::result(id, Role::Case, Some(state)));
        let mut arms: Vec<ArmResult> = std::iter::once(control).chain(of_cases).collect();
        let mut outcome = Outcome::new(state, measure::P99, Test::default());
        reviewed_by(review, &plan, &[], &mut arms, &mut outcome);
        (outcome, arms.iter().filter_map(|arm| arm.state).collect())
    }

    /// The sentences of all reasons, which must be facts of this scenario.
    fn reasons(outcome: &Outcome) -> Vec<String> {
        let sentence = |reason: &Reason| {
            let Reason::Scenario(fact) = reason else { panic!("{reason:?}") };
            told(&META, fact)
        };
        outcome.reasons.iter().map(sentence).collect()
    }

    /// The id of the first reason, which must be a fact of this scenario.
    fn reason(outcome: &Outcome) -> &str {
        let Some(Reason::Scenario(fact)) = outcome.reasons.first() else { panic!("{outcome:?}") };
        told(&META, fact);
        &fact.id
    }

    fn caveat(outcome: &Outcome) -> &str {
        let Some(Caveat::Scenario(fact)) = outcome.caveats.first() else { panic!("{outcome:?}") };
        told(&META, fact);
        &fact.id
    }

    #[test]
    fn a_load_that_fits_the_quota_is_judged_as_it_is() {
        assert_eq!(reviewed(&FIT).state, State::NotAffected);
        assert_eq!(reviewed(&Shown { p99: 60.0, ..FIT }).state, State::Affected);
    }

    #[test]
    fn a_control_without_room_says_nothing_of_busy_waiting() {
        let free = Shown { quota: "none", used: 0.0, backlog: 30.0, p99: 60.0, ..FIT };
        for (shown, settles) in [
            (Shown { p99: 60.0, used: 97.0, ..FIT }, "lower-rate"),
            (Shown { used: 97.0, ..FIT }, "lower-rate"),
            (free, "lower-rate-alone"),
        ] {
            let outcome = reviewed(&shown);
            assert_eq!(outcome.state, State::Inconclusive, "{outcome:?}");
            assert_eq!(caveat(&outcome), settles);
        }
    }

    #[test]
    fn a_control_with_much_room_says_not_affected_of_nobody() {
        let idle = Shown { used: 10.0, ..FIT };
        let outcome = reviewed(&idle);
        assert_eq!(outcome.state, State::Inconclusive);
        assert_eq!((reason(&outcome), caveat(&outcome)), ("room-to-spin", "higher-rate"));
        assert_eq!(reviewed(&Shown { p99: 60.0, ..idle }).state, State::Affected);
    }

    #[test]
    fn a_control_whose_requests_fail_is_not_said_to_have_too_high_a_rate() {
        let shown = Shown { backlog: 30.0, p99: 60.0, ..FIT };
        for (failed, why, settles) in [
            (30.0, "rate-beyond-machine", "lower-rate"),
            (300.0, "requests-failed", "fewer-failures"),
        ] {
            let mut trials = trials(&shown);
            for trial in trials.iter_mut().filter(|trial| trial.arm == "flags-quota") {
                let failed = Measure::exact(failed, Unit::Count);
                trial.observation.measures.insert(measure::FAILED.to_owned(), failed);
                trial.observation.latencies.insert(REQUEST.to_owned(), latency(700));
            }
            let outcome = decided(&plan(shown.quota), &trials);
            assert_eq!(outcome.state, State::Inconclusive, "{outcome:?}");
            assert_eq!((reason(&outcome), caveat(&outcome)), (why, settles));
        }
    }

    #[test]
    fn a_case_is_cleared_only_if_the_control_used_enough_of_its_own_quota() {
        use State::{Inconclusive, NotAffected};
        let (outcome, states) = beside("0.25", &["0.25", "1"], NotAffected);
        assert_eq!((outcome.state, states), (Inconclusive, vec![NotAffected, Inconclusive]));
        assert_eq!((reason(&outcome), caveat(&outcome)), ("room-to-spin", "study-of-each-quota"));
        let says = reasons(&outcome);
        let used = "only 15% [15, 15] of the CPU time that a quota of 1 CPUs allows";
        assert!(says[0].contains(used), "{says:?}");
        let (outcome, states) = beside("0.5", &["0.5", "0.7"], NotAffected);
        assert_eq!((outcome.state, states), (NotAffected, vec![NotAffected; 2]));
    }

    #[test]
    fn a_case_is_affected_only_if_the_load_alone_fits_its_own_quota() {
        use State::{Affected, Inconclusive};
        let (outcome, states) = beside("1", &["0.25", "1"], Affected);
        assert_eq!((outcome.state, states), (Affected, vec![Inconclusive, Affected]));
        let (outcome, _) = beside("1", &["0.25"], Affected);
        assert_eq!(outcome.state, Inconclusive);
        assert_eq!((reason(&outcome), caveat(&outcome)), ("load-fills-quota", "lower-rate"));
    }

    #[test]
    fn a_case_without_a_quota_shows_nothing_beside_cases_with_a_quota() {
        use State::{Affected, Inconclusive, NotAffected};
        let (outcome, states) = beside("0.5", &["none", "0.5"], NotAffected);
        assert_eq!((outcome.state, states), (Inconclusive, vec![Inconclusive, NotAffected]));
        assert_eq!(reason(&outcome), "no-quota");
        // The study has a quota already.
        assert!(outcome.suggestions.is_empty(), "{outcome:?}");
        assert_eq!(beside("0.5", &["none"], Affected).0.state, Affected);
    }

    #[test]
    fn a_reason_of_several_cases_is_shown_once() {
        // Both of the larger quotas are one CPU.
        let (outcome, _) = beside("0.25", &["1", "none", "1.0"], State::NotAffected);
        assert_eq!(reasons(&outcome).len(), 2, "{outcome:?}");
    }

    #[test]
    fn a_trial_that_could_not_show_it_says_not_affected_of_nobody() {
        for (shown, why, settles) in [
            (Shown { periods: 3.0, ..FIT }, "few-periods", "more-periods"),
            (Shown { quota: "2", ..FIT }, "quota-of-all-cpus", "smaller-quota"),
            (Shown { quota: "1.5", cpus: 1, ..FIT }, "quota-of-all-cpus", "smaller-quota"),
            (Shown { requests: 99, ..FIT }, "few-requests", "more-requests"),
        ] {
            let outcome = reviewed(&shown);
            assert_eq!(outcome.state, State::Inconclusive, "{outcome:?}");
            assert_eq!((reason(&outcome), caveat(&outcome)), (why, settles));
            assert_eq!(reviewed(&Shown { p99: 60.0, ..shown }).state, State::Affected, "{why}");
        }
        for shown in [
            Shown { periods: 4.0, ..FIT },
            Shown { quota: "1.9", ..FIT },
            Shown { requests: 100, ..FIT },
        ] {
            assert_eq!(reviewed(&shown).state, State::NotAffected);
        }
    }

    #[test]
    fn each_case_is_weighed_by_itself() {
        use State::{Affected, Inconclusive, NotAffected};
        let mut plan = plan("0.5");
        let settings = plan.arms[1].settings.clone();
        plan.arms.push(Arm { settings, ..testing::arm("short", Role::Case) });
        let of = |first: State, state: State| {
            let mut short = testing::result("short", Role::Case, Some(NotAffected));
            short.measures.insert(measure::PERIODS.to_owned(), estimate(3.0, Unit::Count));
            let mut arms = [testing::result("defaults-quota", Role::Case, Some(first)), short];
            let mut outcome = Outcome::new(state, measure::P99, Test::default());
            reviewed_by(review, &plan, &[], &mut arms, &mut outcome);
            (outcome.state, arms.map(|arm| arm.state.unwrap()))
        };
        assert_eq!(of(Affected, Affected), (Affected, [Affected, Inconclusive]));
        assert_eq!(of(NotAffected, NotAffected), (Inconclusive, [NotAffected, Inconclusive]));
    }

    #[test]
    fn a_control_with_few_periods_is_no_doubt_about_a_case_with_many() {
        let mut trials = trials(&FIT);
        for trial in trials.iter_mut().filter(|trial| trial.arm == "flags-quota") {
            let few = Measure::exact(2.0, Unit::Count);
            trial.observation.measures.insert(measure::PERIODS.to_owned(), few);
        }
        assert_eq!(decided(&plan(FIT.quota), &trials).state, State::NotAffected);
    }

    #[test]
    fn without_a_quota_nobody_is_said_to_be_not_affected() {
        let free = Shown { quota: "none", ..FIT };
        let outcome = reviewed(&free);
        assert_eq!((outcome.state, reason(&outcome)), (State::Inconclusive, "no-quota"));
        let [suggestion] = outcome.suggestions.as_slice() else { panic!("{outcome:?}") };
        let What::Scenario(fact) = &suggestion.what else { panic!("{suggestion:?}") };
        told(&META, fact);
        assert_eq!(reviewed(&Shown { p99: 60.0, ..free }).state, State::Affected);
    }

    #[test]
    fn the_run_with_a_quota_has_the_node_of_the_study() {
        let changed = [("quota", "none"), ("rate", "9000"), ("load", "tcp"), ("schedulers", "16")];
        let settings = settings(&META, &changed);
        let control = Arm { settings, ..testing::arm("flags", Role::Control) };
        let plan = Plan { arms: vec![control], ..testing::plan(&[]) };
        let same =
            BusyWaitParams { load: Load::Tcp, schedulers: Auto::Is(16), ..Default::default() };
        assert_eq!(with_quota(&plan), same);
    }

    #[test]
    fn what_is_taken_back_of_the_verdict_is_taken_back_of_the_arms() {
        let full = Shown { p99: 60.0, used: 97.0, ..FIT };
        for shown in [full, Shown { used: 10.0, ..FIT }, Shown { quota: "none", ..FIT }] {
            let record = judged(&shown);
            assert_eq!(record.judgement.state, State::Inconclusive);
            let says =
                record.judgement.arms.iter().find(|arm| arm.id == "defaults-quota").unwrap().state;
            assert_eq!(says, Some(State::Inconclusive));
        }
        let record = judged(&Shown { p99: 60.0, ..FIT });
        assert_eq!(record.judgement.arms[1].state, Some(record.judgement.state));
    }
}
