//! Versions held against one another: each against the next, by the test of two records.

use crate::change::{ACROSS, Sides, change};
use model::change::{Setting, SettingName};
use model::ladder::{Ladder, Rung, SCHEMA, Step};
use model::{ChangeState, Comparison, Judged, Meta, Role, State};

/// A version, and what came of it.
#[derive(Debug, Clone, Copy)]
pub struct Version<'a> {
    /// What the user calls it.
    pub name: &'a str,
    /// Its release.
    pub release: &'a str,
    /// Its record, where it has one.
    pub record: Option<&'a Judged>,
}

impl<'a> Version<'a> {
    /// Its record, where it has one in which something was measured.
    fn measured(&self) -> Option<&'a Judged> {
        self.record.filter(|record| !record.trials.is_empty())
    }
}

/// A ladder of these versions, in this order, whose runs were asked for with the same words. `by`
/// names the parameter that chooses the version, as that of the OTP.
///
/// Another parameter in which two differ was set by the runs themselves, as a rate that gives the
/// same load: it follows from the version, keeps nobody from comparing, and stands in the step.
///
/// Each version in which something was measured is compared with the next such one; the error rate
/// is split over these pairs (Dunn 1961). One run of a version is one cluster: a difference is one
/// between these two runs, and nobody knows how much two runs of one version would differ.
pub fn ladder(versions: &[Version], meta: Option<&Meta>, by: Option<&str>) -> Ladder {
    let first = versions.iter().find_map(Version::measured);
    let followed = followed(versions);
    let judging = first.map(|record| &record.plan.judging);
    let rungs = versions.iter().map(|version| rung(version, followed.as_deref())).collect();
    Ladder {
        schema: SCHEMA.to_owned(),
        scenario: first.map_or_else(String::new, |record| record.scenario.clone()),
        measure: judging.map(|judging| judging.measure.to_string()),
        margin: judging.map(|judging| judging.margin),
        confidence: judging.map_or(0.95, |judging| judging.confidence),
        rungs,
        steps: steps(versions, followed.as_deref(), meta, by),
        arm: followed,
    }
}

/// The arm with the cause that all of them have and that has the largest effect in any of them.
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

/// What an arm has over its control in the figure that is judged.
fn effect<'a>(record: &'a Judged, arm: &str) -> Option<&'a Comparison> {
    let arm = record.judgement.arms.iter().find(|result| result.id == arm)?;
    arm.against_control.get(record.plan.judging.measure.as_ref())
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

fn steps(
    versions: &[Version],
    arm: Option<&str>,
    meta: Option<&Meta>,
    by: Option<&str>,
) -> Vec<Step> {
    let with: Vec<(&Version, &Judged)> =
        versions.iter().filter_map(|version| Some((version, version.measured()?))).collect();
    let pairs = with.len().saturating_sub(1);
    with.windows(2).map(|two| step(two[0], two[1], arm, meta, by, pairs)).collect()
}

/// Holds one version against the next, as one of so many pairs.
fn step(
    (before, old): (&Version, &Judged),
    (after, new): (&Version, &Judged),
    arm: Option<&str>,
    meta: Option<&Meta>,
    by: Option<&str>,
    pairs: usize,
) -> Step {
    let parameters = meta.into_iter().flat_map(|meta| (meta.parameters.all)());
    let across: Vec<String> = ACROSS
        .into_iter()
        .filter(|what| *what != "tailback")
        .chain(by)
        .chain(parameters.map(|parameter| parameter.name))
        .map(str::to_owned)
        .collect();
    let (before_side, after_side) = ([(old, before.name)], [(new, after.name)]);
    let sides =
        Sides { before: &before_side, after: &after_side, meta, across: &across, among: pairs };
    let change = change(&sides);
    let of_arm = change.arms.iter().find(|one| Some(one.id.as_str()) == arm);
    let judged = of_arm.and_then(|arm| arm.measures.get(old.plan.judging.measure.as_ref()));
    let settled = |state: State| matches!(state, State::Affected | State::NotAffected);
    let verdicts = (old.judgement.state, new.judgement.state);
    let not_comparable = change.state == ChangeState::NotComparable;
    let own = |setting: &Setting| match &setting.what {
        SettingName::Parameter(name) => Some(name.as_str()) != by,
        _ => false,
    };
    Step {
        from: before.name.to_owned(),
        to: after.name.to_owned(),
        // Of the figure that is followed: another of the same arm may have changed too.
        state: judged.and_then(|one| one.state).unwrap_or(ChangeState::NotComparable),
        shift: judged.map(|difference| difference.comparison.clone()),
        verdicts: Some(verdicts).filter(|(old, new)| old != new && settled(*old) && settled(*new)),
        reasons: if not_comparable { change.reasons } else { Vec::new() },
        own: change.differs.into_iter().filter(own).collect(),
        known: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
