//! The scenario's own review of an outcome: whether the load fitted the quota, whether there was a
//! quota that could be used up, and what busy waiting costs apart from latency.

use super::meta::{META, measure};
use super::observe::REQUEST;
use super::params::BusyWaitParams;
use super::plan::bandwidth;
use super::sentences::{BusyWaitFact, Served};
use super::summary::quota_of;
use crate::params::Params;
use crate::{Objection, Results, Review, suggest};
use model::median::{ascending, median};
use model::{Amount, ArmResult, Caveat, Plan, Reason, Role, State, Trial, Unit};

/// If more requests than this are left undone, the rate is too high for the machine. In percent.
const MOST_BACKLOG: f64 = 5.0;

/// Range of the control's quota use, in percent, in which a study can tell busy waiting from a
/// quota that is too small. Above it, the load itself is throttled. Below it, spinning fits into
/// the unused quota.
const QUOTA_USED: (f64, f64) = (35.0, 85.0);

/// With fewer periods of the quota, a trial may end before a node that spins is throttled.
const LEAST_PERIODS: u32 = 4;

/// Of fewer requests, the 99th percentile is the slowest one.
const LEAST_REQUESTS: u32 = 100;

/// Less spinning than this is not mentioned, in milliseconds per second.
const LEAST_SPUN: f64 = 20.0;

pub(super) fn review(results: &Results) -> Review {
    let Results { plan, trials, arms, outcome } = *results;
    // The load does not explain what makes a whole study untrustworthy.
    if outcome.state == State::Untrustworthy {
        return Review::default();
    }
    if let Some(review) = too_much(arms) {
        return review;
    }
    // If every arm has flags of its own, the case does not have the VM's defaults.
    let of_control = plan.arms.iter().find(|arm| arm.role == Role::Control);
    let params = of_control.and_then(|arm| BusyWaitParams::of(&arm.settings));
    let mut facts = Vec::new();
    if params.is_none_or(|params| params.flags.is_empty()) {
        facts.extend(spun(arms));
        facts.extend(throughput(arms));
    }
    facts.extend(detected(plan, trials));
    let also = facts.into_iter().map(|fact| Reason::Scenario(fact.into())).collect();
    Review { also, ..of_clear_arms(results) }
}

/// Objections to the arms that are not affected, although they could not have shown a stall.
fn of_clear_arms(results: &Results) -> Review {
    let clear = |arm: &&ArmResult| arm.role == Role::Case && arm.state == Some(State::NotAffected);
    let mut review = Review::default();
    for case in results.arms.iter().filter(clear) {
        let why = match shows_nothing(results, case) {
            Some((why, settles)) => {
                review.settles.get_or_insert_with(|| Caveat::Scenario(settles.into()));
                why
            }
            None if without_quota(results.plan) => {
                // The suggested run has the default quota.
                let usual = META.defaults(false);
                let run = suggest::other_run(&META, BusyWaitFact::WithQuota, &usual);
                review.suggestions = vec![run];
                BusyWaitFact::NoQuota
            }
            None => continue,
        };
        review.objections.push(Objection::to_arm(&case.id, Reason::Scenario(why.into())));
    }
    review
}

/// Why an arm could not have shown a stall under its quota, and what to change.
fn shows_nothing(results: &Results, case: &ArmResult) -> Option<(BusyWaitFact, BusyWaitFact)> {
    let Results { plan, trials, arms, .. } = *results;
    too_little(arms)
        .or_else(|| few_periods(arms, case))
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

/// If the control has no unused quota, or cannot serve the rate, then it shows no busy waiting. It
/// only shows that the quota or the machine is too small.
fn too_much(arms: &[ArmResult]) -> Option<Review> {
    let of_control = |name: &str| control(arms)?.measures.get(name);
    let (_, most) = QUOTA_USED;
    let used = of_control(measure::QUOTA_USED).filter(|used| used.median > most);
    let backlog = of_control(measure::BACKLOG).filter(|backlog| backlog.median > MOST_BACKLOG);
    let why = match (used, backlog) {
        (Some(used), _) => {
            BusyWaitFact::ControlThrottled { used: used.clone(), most: most / 100.0 }
        }
        (None, Some(backlog)) => BusyWaitFact::RateBeyondMachine { backlog: backlog.clone() },
        (None, None) => return None,
    };
    Some(undecided(why, BusyWaitFact::LowerRate(served(arms))))
}

/// With most of the quota unused, spinning fits into it, so a negative result means little. A
/// stall that was found anyway is still a stall.
fn too_little(arms: &[ArmResult]) -> Option<(BusyWaitFact, BusyWaitFact)> {
    let (least, _) = QUOTA_USED;
    let used = control(arms)?.measures.get(measure::QUOTA_USED)?;
    let why = BusyWaitFact::RoomToSpin { used: used.clone(), least: least / 100.0 };
    (used.median < least).then(|| (why, BusyWaitFact::HigherRate(served(arms))))
}

/// A trial that is short beside the period of its quota ends before the quota is used up.
fn few_periods(arms: &[ArmResult], case: &ArmResult) -> Option<(BusyWaitFact, BusyWaitFact)> {
    let few = |arm: &ArmResult| {
        let periods = arm.measures.get(measure::PERIODS)?.clone();
        let (arm, least) = ((&arm.id).into(), LEAST_PERIODS);
        let few = periods.median < f64::from(least);
        few.then_some(BusyWaitFact::FewPeriods { arm, periods, least })
    };
    let why = control(arms).and_then(few).or_else(|| few(case))?;
    Some((why, BusyWaitFact::MorePeriods))
}

/// A node cannot exceed a quota of all CPUs that it may use.
fn quota_of_all_cpus(
    plan: &Plan,
    trials: &[Trial],
    case: &ArmResult,
) -> Option<(BusyWaitFact, BusyWaitFact)> {
    let planned = plan.arms.iter().find(|arm| arm.id == case.id)?;
    // The kernel's quota, which may be larger than the one in the parameters.
    let quota = bandwidth(&BusyWaitParams::of(&planned.settings)?)?.cpus();
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

/// The scenario is about nodes with a quota. If no arm has one, nothing shows that they are
/// unaffected.
fn without_quota(plan: &Plan) -> bool {
    plan.arms.iter().all(|arm| quota_of(arm).is_none())
}

/// The loss of background work to busy waiting, if the intervals of the two arms do not overlap.
fn throughput(arms: &[ArmResult]) -> Option<BusyWaitFact> {
    let done = |id: &str| arms.iter().find(|arm| arm.id == id)?.measures.get(measure::BACKGROUND);
    let (defaults, flags) = (done("defaults-quota")?, done("flags-quota")?);
    let apart = defaults.high? < flags.low?;
    let (defaults, flags) = (defaults.clone(), flags.clone());
    apart.then_some(BusyWaitFact::Background { defaults, flags })
}

/// The quota that the VM detected by itself, next to the real one. The VM sets its number of
/// schedulers by the detected quota.
fn detected(plan: &Plan, trials: &[Trial]) -> Option<BusyWaitFact> {
    let (arm, real) = plan.arms.iter().find_map(|arm| Some((arm, quota_of(arm)?)))?;
    let mut of_arm = trials.iter().filter(|trial| trial.arm == arm.id);
    let vm = of_arm.find_map(|trial| trial.observation.vm.as_ref())?;
    Some(BusyWaitFact::Detected {
        quota: cpus(real),
        found: vm.cpu_quota.map(|found| cpus(found.into())),
        schedulers: vm.schedulers_online,
    })
}

/// A number of CPUs, which may be fractional.
fn cpus(count: f64) -> Amount {
    Amount::exact(count, Unit::Ratio)
}

/// How much the VM's defaults spin, whether or not this slows anything down.
fn spun(arms: &[ArmResult]) -> Vec<BusyWaitFact> {
    let fact = |(id, quota): (&str, bool)| {
        let arm = arms.iter().find(|arm| arm.id == id)?;
        let spun = arm.measures.get(measure::SPUN).filter(|spun| spun.median >= LEAST_SPUN)?;
        let active = arm.measures.get(measure::ACTIVE).cloned();
        Some(BusyWaitFact::Spun { quota, spun: spun.clone(), active })
    };
    [("defaults", false), ("defaults-quota", true)].into_iter().filter_map(fact).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::literal;
    use crate::testing::{reviewed_by, told};
    use analysis::Outcome;
    use model::testing::{self, estimate};
    use model::{Arm, Judged, Latency, Measure, Observation, Sentence, Test, Vm, What};

    /// The figures in every trial of the two arms: 99th percentile of the case, the control's quota
    /// use and backlog in percent, and the control's periods. Then the requests of the case, and
    /// the number of CPUs that its node may use.
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

    fn plan(quota: &'static str) -> Plan {
        let arm = |id: &str, role| {
            let params = BusyWaitParams { quota: literal(quota), ..BusyWaitParams::default() };
            Arm { settings: params.settings(), ..testing::arm(id, role) }
        };
        let arms = vec![arm("flags-quota", Role::Control), arm("defaults-quota", Role::Case)];
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
                (measure::PERIODS, shown.periods, Unit::Count),
            ];
            let case = [(measure::P99, shown.p99, Unit::Milliseconds)];
            let mut case = trial(block, "defaults-quota", &case);
            let seen = &mut case.observation;
            seen.latencies.insert(REQUEST.to_owned(), latency(shown.requests));
            seen.vm = Some(Vm { processors_available: Some(shown.cpus), ..Vm::default() });
            [trial(block, "flags-quota", &control), case]
        };
        (0..24).flat_map(of_block).collect()
    }

    fn reviewed(shown: &Shown) -> Outcome {
        let (plan, trials) = (plan(shown.quota), trials(shown));
        let mut arms = analysis::estimate_arms(&plan, &trials);
        let mut outcome = analysis::decide(&plan, &trials, &arms, analysis::Ground::default());
        reviewed_by(review, &plan, &trials, &mut arms, &mut outcome);
        outcome
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
    fn what_else_was_seen_is_told() {
        let mut arm = testing::result("defaults-quota", Role::Case, None);
        for (name, median) in [(measure::SPUN, 300.0), (measure::ACTIVE, 50.0)] {
            let figure = estimate(median, Unit::MillisecondsPerSecond);
            arm.measures.insert(name.to_owned(), figure);
        }
        arm.measures.insert(measure::BACKGROUND.to_owned(), estimate(1.0, Unit::PerSecond));
        let mut control = testing::result("flags-quota", Role::Control, None);
        control.measures.insert(measure::BACKGROUND.to_owned(), estimate(2.0, Unit::PerSecond));
        let arms = [control, arm];
        let spun = spun(&arms);
        assert_eq!(spun.len(), 1);
        let trials = [trial(0, "flags-quota", &[])];
        let facts = [throughput(&arms), detected(&plan("0.5"), &trials)];
        let sentences: Vec<String> =
            spun.iter().chain(facts.iter().flatten()).map(Sentence::sentence).collect();
        assert_eq!(
            sentences,
            [
                "Under the quota, schedulers with the VM's defaults spun for 300 ms/s [300, 300] \
                 of CPU time, and worked for 50 ms/s.",
                "Under the quota, background work ran at 1/s [1, 1] with the VM's defaults, and at \
                 2/s [2, 2] with the flags.",
                "Under the quota of 0.5 CPUs the VM itself detected no quota. It had 8 schedulers, \
                 as configured."
            ]
        );
    }

    #[test]
    fn a_load_that_fits_the_quota_is_judged_as_it_is() {
        assert_eq!(reviewed(&FIT).state, State::NotAffected);
        assert_eq!(reviewed(&Shown { p99: 60.0, ..FIT }).state, State::Affected);
    }

    #[test]
    fn a_control_without_room_says_nothing_of_busy_waiting() {
        for shown in [
            Shown { p99: 60.0, used: 97.0, ..FIT },
            Shown { used: 97.0, ..FIT },
            Shown { quota: "none", used: 0.0, backlog: 30.0, p99: 60.0, ..FIT },
        ] {
            let outcome = reviewed(&shown);
            assert_eq!(outcome.state, State::Inconclusive, "{outcome:?}");
            assert_eq!(caveat(&outcome), "lower-rate");
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
