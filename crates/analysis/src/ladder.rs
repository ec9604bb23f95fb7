//! Compares versions with each other: each with the next one, by the test for two records.

mod bisect;
mod repeat;
mod way;

pub use bisect::{Runs, bisect};
use model::change::{Setting, SettingName};
use model::ladder::{Ladder, Rung, SCHEMA, Step};
use model::{ChangeState, Judged, Meta, Role, State};
pub use repeat::{Between, Repeating, add_spread, add_would_be_named, is_due, to_repeat};
use statrs::distribution::{ContinuousCDF, Normal};
use way::{Way, effect};

/// The probability with which a step that "would have shown" shows.
const POWER: f64 = 0.95;

/// A version and its result.
#[derive(Debug, Clone, Copy)]
pub struct Version<'a> {
    /// The name that the user gave it.
    pub name: &'a str,
    /// Its release.
    pub release: &'a str,
    /// Its record, if it has one.
    pub record: Option<&'a Judged>,
}

impl<'a> Version<'a> {
    /// Its record, if it has one with trials.
    fn measured(&self) -> Option<&'a Judged> {
        self.record.filter(|record| !record.trials.is_empty())
    }
}

/// A ladder of these versions, in this order. All runs were requested with the same words. `by`
/// names the parameter that selects the version, such as the parameter for the OTP.
///
/// If two versions differ in another parameter, the runs set it themselves, such as a rate that
/// gives the same load. It follows from the version and does not prevent a comparison. The step
/// lists it.
///
/// Each version with trials is compared with the next one, and the first one with the last. The
/// error rate is split over these pairs (Dunn 1961). One run of a version is one cluster: a
/// difference is a difference between these two runs, and it is not known how much two runs of
/// one version differ. So the result only selects the steps [`to_repeat`] with fresh runs.
pub fn ladder(versions: &[Version], meta: Option<&Meta>, by: Option<&str>) -> Ladder {
    let first = versions.iter().find_map(Version::measured);
    let followed = followed(versions);
    let judging = first.map(|record| &record.plan.judging);
    let rungs = versions.iter().map(|version| rung(version, followed.as_deref())).collect();
    let (steps, whole) = steps(versions, followed.as_deref(), meta, by);
    let margin = judging.map(|judging| judging.margin);
    Ladder {
        schema: SCHEMA.to_owned(),
        scenario: first.map_or_else(String::new, |record| record.scenario.clone()),
        measure: judging.map(|judging| judging.measure.to_string()),
        margin,
        confidence: judging.map_or(0.95, |judging| judging.confidence),
        rungs,
        would_show: margin.and_then(|margin| would_show(&steps, margin)),
        steps,
        whole,
        arm: followed,
        spread: None,
        would_be_named: None,
    }
}

/// The arm with the cause that all versions have and that has the largest effect in any of them.
fn followed(versions: &[Version]) -> Option<String> {
    let records = || versions.iter().filter_map(Version::measured);
    let first = records().next()?;
    let cases = first.plan.arms.iter().filter(|arm| arm.role == Role::Case);
    let in_all = |id: &str| {
        records().all(|r| r.plan.arms.iter().any(|arm| arm.id == id && arm.role == Role::Case))
    };
    let size = |id: &str| {
        let shifts = records().filter_map(|record| effect(record, id)).map(|effect| effect.shift);
        shifts.fold(f64::NEG_INFINITY, f64::max)
    };
    let ids = cases.map(|arm| arm.id.as_str()).filter(|id| in_all(id));
    ids.max_by(|a, b| size(a).total_cmp(&size(b))).map(str::to_owned)
}

fn rung(version: &Version, arm: Option<&str>) -> Rung {
    Rung {
        name: version.name.to_owned(),
        release: version.release.to_owned(),
        preemption: version.record.and_then(|record| record.machine.preemption.clone()),
        verdict: version.record.map(|record| record.judgement.state),
        effect: version.record.zip(arm).and_then(|(r, arm)| effect(r, arm)).cloned(),
    }
}

/// The steps from each version with trials to the next one, and the step from the first to the
/// last.
fn steps(
    versions: &[Version],
    arm: Option<&str>,
    meta: Option<&Meta>,
    by: Option<&str>,
) -> (Vec<Step>, Option<Step>) {
    let with: Vec<(&Version, &Judged)> =
        versions.iter().filter_map(|version| Some((version, version.measured()?))).collect();
    let neighbours = with.len().saturating_sub(1);
    let pairs = if neighbours > 1 { neighbours + 1 } else { neighbours };
    let of = |before, after| step(before, after, &Way { arm, meta, by, among: pairs });
    let steps = with.windows(2).map(|two| of(two[0], two[1])).collect();
    let ends = with.first().zip(with.last()).filter(|_| neighbours > 1);
    (steps, ends.map(|(first, last)| of(*first, *last)))
}

/// Compares one version with another.
fn step(
    (before, old): (&Version, &Judged),
    (after, new): (&Version, &Judged),
    way: &Way<'_>,
) -> Step {
    let change = way.change((old, before.name), (new, after.name));
    let judged = way.judged(&change, old);
    let settled = |state: State| matches!(state, State::Affected | State::NotAffected);
    let verdicts = (old.judgement.state, new.judgement.state);
    let not_comparable = change.state == ChangeState::NotComparable;
    let own = |setting: &Setting| match &setting.what {
        SettingName::Parameter(name) => Some(name.as_str()) != way.by,
        _ => false,
    };
    Step {
        from: before.name.to_owned(),
        to: after.name.to_owned(),
        // This is the state of the compared figure. Another figure of the same arm may have
        // changed too.
        state: judged.and_then(|one| one.state).unwrap_or(ChangeState::NotComparable),
        shift: judged.map(|difference| difference.comparison.clone()),
        verdicts: Some(verdicts).filter(|(old, new)| old != new && settled(*old) && settled(*new)),
        reasons: if not_comparable { change.reasons } else { Vec::new() },
        own: change.differs.into_iter().filter(own).collect(),
        known: Vec::new(),
        repeated: None,
    }
}

/// Approximate size of the smallest step that would have shown in each of these steps, for normal
/// figures. It is the sum of the margin, half of the interval, and the amount by which a step is
/// underestimated in one of twenty cases. `None` if an interval has an open end.
fn would_show(steps: &[Step], margin: f64) -> Option<f64> {
    let confidence = compared(steps).find_map(|step| Some(step.shift.as_ref()?.confidence))?;
    let normal = Normal::standard();
    let quantile = normal.inverse_cdf(f64::midpoint(1.0, confidence));
    let away = widest_half(steps)? * (1.0 + normal.inverse_cdf(POWER) / quantile);
    Some(margin + away).filter(|step| step.is_finite())
}

/// Half of the widest interval of these steps; `None` if one has an open end.
fn widest_half(steps: &[Step]) -> Option<f64> {
    let half = |step: &Step| {
        let shift = step.shift.as_ref()?;
        Some((shift.high? - shift.low?) / 2.0)
    };
    let halves: Option<Vec<f64>> = compared(steps).map(half).collect();
    halves?.into_iter().reduce(f64::max)
}

fn compared(steps: &[Step]) -> impl Iterator<Item = &Step> {
    steps.iter().filter(|step| step.state != ChangeState::NotComparable)
}

#[cfg(test)]
mod tests;
