//! The scenario's own review of an outcome: whether the load fitted the quota, whether there was a
//! quota, and what busy waiting costs apart from latency.

use super::meta::{META, measure};
use super::params::BusyWaitParams;
use super::sentences::{BusyWaitFact, Served};
use super::summary::quota_of;
use crate::params::Params;
use crate::{Objection, Results, Review, suggest};
use model::{Amount, ArmResult, Caveat, Plan, Reason, Role, State, Trial, Unit};

/// If more requests than this are left undone, the rate is too high for the machine. In percent.
const MOST_BACKLOG: f64 = 5.0;

/// Range of the control's quota use, in percent, in which a study can tell busy waiting from a
/// quota that is too small. Above it, the load itself is throttled. Below it, spinning fits into
/// the unused quota.
const QUOTA_USED: (f64, f64) = (35.0, 85.0);

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
    let is_clear = outcome.state == State::NotAffected;
    let objecting = is_clear.then(|| too_little(arms).or_else(|| without_quota(plan))).flatten();
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
    Review { also, ..objecting.unwrap_or_default() }
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
fn too_little(arms: &[ArmResult]) -> Option<Review> {
    let (least, _) = QUOTA_USED;
    let used = control(arms)?.measures.get(measure::QUOTA_USED)?;
    let why = BusyWaitFact::RoomToSpin { used: used.clone(), least: least / 100.0 };
    (used.median < least).then(|| undecided(why, BusyWaitFact::HigherRate(served(arms))))
}

/// The rate that the control served, so that a sentence can name a lower or a higher one.
fn served(arms: &[ArmResult]) -> Option<Served> {
    let served = control(arms)?.measures.get(measure::REQUESTS)?.clone();
    Some(Served { served })
}

/// The scenario is about nodes with a quota. Without a quota, nothing shows that they are
/// unaffected.
fn without_quota(plan: &Plan) -> Option<Review> {
    let has_quota = plan.arms.iter().any(|arm| quota_of(arm).is_some());
    (!has_quota).then(|| Review {
        objections: vec![Objection::to_study(BusyWaitFact::NoQuota)],
        // The suggested run has the default quota.
        suggestions: vec![suggest::other_run(
            &META,
            BusyWaitFact::WithQuota,
            &META.defaults(false),
        )],
        ..Review::default()
    })
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
    use model::{Arm, Judged, Measure, Observation, Sentence, Vm, What};

    /// The figures in every trial of the two arms: 99th percentile of the case, and the control's
    /// quota use and backlog in percent.
    struct Shown {
        quota: &'static str,
        p99: f64,
        used: f64,
        backlog: f64,
    }

    const FIT: Shown = Shown { quota: "0.5", p99: 0.7, used: 60.0, backlog: 0.0 };

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
            let case = [(measure::P99, shown.p99, Unit::Milliseconds)];
            [trial(block, "flags-quota", &control), trial(block, "defaults-quota", &case)]
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
            Shown { quota: "none", used: 0.0, backlog: 30.0, p99: 60.0 },
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
