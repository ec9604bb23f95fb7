//! The scenario's own review of an outcome: whether the runtime respected its quota, and whether
//! the quota was ever used up.

use super::meta::measure;
use super::params::QuotaBlindParams;
use super::plan;
use super::sentences::{QuotaBlindFact, Release, Seen};
use super::trial::HANG_AFTER;
use crate::params::Params;
use crate::{Objection, Results, Review, hang};
use model::{Caveat, Note, Reason, State, Trial};

/// Least share of throttled periods for a verdict of not-affected, in percent.
const THROTTLED: f64 = 5.0;

pub(super) fn review(results: &Results) -> Review {
    let Some(planned) = results.plan.case() else { return Review::default() };
    let Some(params) = QuotaBlindParams::of(&planned.settings) else { return Review::default() };
    let cut_off = hang::cut_off(results.arms, params.duration.get() + HANG_AFTER, None);
    let caveats = cut_off.into_iter().collect();
    let Some(case) = results.arm(&planned.id) else {
        return Review { caveats, ..Review::default() };
    };
    let saw = released(results.trials, &planned.id).and_then(|release| {
        let cpus = case.measures.get(measure::CPUS)?.median.round() as u32;
        Some(Reason::Scenario(seen(&params, cpus, release).into()))
    });
    let throttled = case.measures.get(measure::THROTTLED).map(|share| share.median);
    let hardly = results.outcome.state == State::NotAffected
        && throttled.is_some_and(|share| share < THROTTLED);
    let objection = || {
        let why = Reason::Scenario(QuotaBlindFact::NeverThrottled.into());
        Objection::to_arm(&case.id, why)
    };
    Review {
        objections: hardly.then(objection).into_iter().collect(),
        also: saw.into_iter().collect(),
        settles: hardly.then(|| Caveat::Scenario(QuotaBlindFact::MoreLoad.into())),
        caveats,
        ..Review::default()
    }
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
    use model::{Arm, Observation, Plan, Role, Test, Unit};

    fn reviewed(state: State, throttled: f64, cpus: f64) -> Outcome {
        let settings = settings(&META, &[("runtime", "go"), ("limit-at", "parent")]);
        let arms = vec![Arm { settings, ..arm("default", Role::Case) }];
        let plan = Plan { arms, ..plan(&[]) };
        let mut case = result("default", Role::Case, Some(state));
        case.measures.insert(measure::THROTTLED.to_owned(), estimate(throttled, Unit::Percent));
        case.measures.insert(measure::CPUS.to_owned(), estimate(cpus, Unit::Count));
        let release =
            QuotaBlindFact::Release(Release { runtime: "Go".into(), release: "go1.24.9".into() });
        let observation =
            Observation { notes: vec![Note::Fact(release.into())], ..Observation::default() };
        let trial = Trial {
            block: 0,
            arm: "default".to_owned(),
            started_ms: 0.0,
            took_ms: 0.0,
            observation,
            disturbance: model::Disturbance::default(),
        };
        let mut outcome = Outcome::new(state, measure::P99, Test::default());
        let mut arms = [case];
        reviewed_by(review, &plan, &[trial], &mut arms, &mut outcome);
        assert_eq!(arms[0].state, Some(outcome.state));
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
    fn a_quota_that_was_never_used_up_shows_nothing() {
        let outcome = reviewed(State::NotAffected, 1.0, 1.0);
        assert_eq!(outcome.state, State::Inconclusive);
        assert!(said(&outcome)[0].starts_with("The group was hardly ever throttled"));
        assert_eq!(reviewed(State::NotAffected, 30.0, 1.0).state, State::NotAffected);
        assert_eq!(reviewed(State::Affected, 1.0, 2.0).state, State::Affected);
    }
}
