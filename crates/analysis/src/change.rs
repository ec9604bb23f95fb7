//! Two records of one scenario held against each other.
//!
//! Within a record the lot decides which arm runs when, so that drift cancels. Between two records
//! nothing does: whatever changed on the machine between them is part of the difference. So only
//! what is beyond the margin at a corrected confidence is called worse or better.

mod judged;
mod same;

use crate::compare::compare;
use crate::quantile::median;
use crate::reading::Reading;
use crate::words::shift;
use judged::judge;
use model::change::{SCHEMA, Setting};
use model::record::Progress;
use model::{
    ArmChange, Change, ChangeState, Difference, Judging, Meta, Record, Role, Side, State, Trial,
    Unit,
};
use std::collections::{BTreeMap, BTreeSet};

/// Trials of an arm that are compared at most: all pairs of them are, so memory grows with the square.
pub(crate) const MOST_TRIALS: usize = 1_000;

/// What is compared.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// What was, and what the user calls it.
    pub before: (&'a Record, &'a str),
    /// What is.
    pub after: (&'a Record, &'a str),
    /// What the scenario says of itself, where this version knows it.
    pub meta: Option<&'a Meta>,
    /// Knobs that may differ, since they are what is compared.
    pub across: &'a [String],
}

/// Holds the second record against the first.
///
/// Each judged figure of each arm with the cause has a Hodges-Lehmann shift with Moses' exact
/// interval and the chance of Brunner and Munzel, as in [`crate::compare::compare`]. The confidence
/// is Bonferroni's over all of them (Dunn 1961, "Multiple comparisons among means", Journal of the
/// American Statistical Association 56, 52-64). Worse is an interval wholly above the margin, better
/// one wholly below it.
pub fn change(pair: &Pair) -> Change {
    let ((before, before_name), (after, after_name)) = (pair.before, pair.after);
    let mut change = Change {
        schema: SCHEMA.to_owned(),
        scenario: before.scenario.clone(),
        before: side(before, before_name),
        after: side(after, after_name),
        state: ChangeState::NotComparable,
        headline: String::new(),
        because: Vec::new(),
        next: Vec::new(),
        differs: same::differences(pair),
        arms: Vec::new(),
    };
    let obstacles = obstacles(pair);
    if obstacles.is_empty() {
        change.arms = arms(before, after);
        judge(&mut change, before, after);
    } else {
        change.headline =
            "These records say nothing about each other, so neither is called better.".to_owned();
        for (why, next) in obstacles {
            change.because.push(why);
            change.next.extend(next);
        }
    }
    change
}

fn side(record: &Record, name: &str) -> Side {
    Side {
        name: name.to_owned(),
        started: record.started.clone(),
        verdict: record.verdict.state,
        host: record.host.clone(),
    }
}

/// Why the records cannot be compared, each with what to do.
fn obstacles(pair: &Pair) -> Vec<(String, Option<String>)> {
    let (before, after) = (pair.before.0, pair.after.0);
    if before.scenario != after.scenario {
        let why = format!(
            "The first is a record of {}, the second of {}.",
            before.scenario, after.scenario
        );
        return vec![(why, Some("Name two records of one scenario.".to_owned()))];
    }
    let mut obstacles: Vec<(String, Option<String>)> =
        [pair.before, pair.after].into_iter().filter_map(unusable).collect();
    if judgings(before) != judgings(after) {
        let why = "They are judged by different figures or margins.".to_owned();
        obstacles.push((why, Some("Run both with the same version of tailback.".to_owned())));
    }
    if obstacles.is_empty() && common(before, after, Role::Case).is_empty() {
        let why = "They have no arm with the cause in common.".to_owned();
        obstacles.push((why, Some("Run both with the same knobs.".to_owned())));
    }
    obstacles.extend(same::knobs_in_the_way(pair));
    obstacles
}

fn unusable((record, name): (&Record, &str)) -> Option<(String, Option<String>)> {
    let again = Some(format!("Make another record in the place of {name}."));
    if record.verdict.state == State::Untrustworthy {
        return Some((
            format!("{name} is untrustworthy: the machine was disturbed, or a trial broke."),
            again,
        ));
    }
    let nothing = record.trials.is_empty() || record.progress == Progress::NotRun;
    nothing.then(|| (format!("{name} has no trials."), again))
}

fn judgings(record: &Record) -> Vec<&Judging> {
    std::iter::once(&record.plan.judging).chain(&record.plan.also).collect()
}

/// The arms of that role that both plans have, in the order of the first.
fn common<'a>(before: &'a Record, after: &Record, role: Role) -> Vec<&'a str> {
    let there = |id: &str| after.plan.arms.iter().any(|arm| arm.id == id && arm.role == role);
    let arms = before.plan.arms.iter().filter(|arm| arm.role == role && there(&arm.id));
    arms.map(|arm| arm.id.as_str()).collect()
}

fn arms(before: &Record, after: &Record) -> Vec<ArmChange> {
    let judged: BTreeMap<&str, &Judging> =
        judgings(before).into_iter().map(|judging| (judging.measure.as_ref(), judging)).collect();
    let cases = common(before, after, Role::Case).len();
    let many = (cases * judged.len()).max(1) as f64;
    let roles = [Role::Control, Role::Case, Role::Fix];
    let ids = roles
        .into_iter()
        .flat_map(|role| common(before, after, role).into_iter().map(move |id| (id, role)));
    let arm = |(id, role): (&str, Role)| {
        let measures = measures(before, after, id, |name| {
            let judging = judged.get(name).copied().filter(|_| role == Role::Case);
            let confidence = before.plan.judging.confidence;
            (judging, if judging.is_some() { 1.0 - (1.0 - confidence) / many } else { confidence })
        });
        let state = (role == Role::Case).then(|| together(measures.values()));
        ArmChange { id: id.to_owned(), role, state, measures }
    };
    ids.map(arm).collect()
}

/// What several judged figures of an arm say together: worse in one is worse.
fn together<'a>(measures: impl Iterator<Item = &'a Difference>) -> ChangeState {
    let states: Vec<ChangeState> = measures.filter_map(|difference| difference.state).collect();
    let order = [ChangeState::Worse, ChangeState::Better];
    let found = order.into_iter().find(|state| states.contains(state));
    found.unwrap_or(ChangeState::NoDifferenceShown)
}

fn measures<'a>(
    before: &Record,
    after: &Record,
    arm: &str,
    judged: impl Fn(&str) -> (Option<&'a Judging>, f64),
) -> BTreeMap<String, Difference> {
    let names: BTreeSet<&String> =
        of_arm(before, arm).flat_map(|t| t.observation.measures.keys()).collect();
    let difference = |name: &&String| {
        let (judging, confidence) = judged(name);
        let (unit, was) = readings(before, arm, name)?;
        let (other, is) = readings(after, arm, name)?;
        if unit != other {
            return None;
        }
        let comparison = compare(&was, &is, unit, confidence)?;
        let state = judging.map(|judging| state(&comparison, judging.margin));
        let plain = before.plan.judging.confidence;
        let (was, is) = (median(&was, unit, plain)?, median(&is, unit, plain)?);
        Some(Difference { before: was, after: is, comparison, state })
    };
    names.iter().filter_map(|name| Some(((*name).clone(), difference(name)?))).collect()
}

fn state(comparison: &model::Comparison, margin: f64) -> ChangeState {
    match (comparison.low, comparison.high) {
        (Some(low), _) if low > margin => ChangeState::Worse,
        (_, Some(high)) if high < -margin => ChangeState::Better,
        _ => ChangeState::NoDifferenceShown,
    }
}

fn of_arm<'a>(record: &'a Record, arm: &str) -> impl Iterator<Item = &'a Trial> {
    record.trials.iter().filter(move |trial| trial.arm == arm)
}

/// All readings of a figure in an arm, in the unit of the first.
fn readings(record: &Record, arm: &str, name: &str) -> Option<(Unit, Vec<Reading>)> {
    let measured = || of_arm(record, arm).filter_map(|trial| crate::blocks::measured(trial, name));
    let unit = measured().next()?.unit;
    let of_unit = measured().filter(|measure| measure.unit == unit);
    Some((unit, of_unit.take(MOST_TRIALS).map(Reading::from).collect()))
}

#[cfg(test)]
mod tests;
