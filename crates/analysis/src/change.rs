//! Compares records made before a change with records made after it.
//!
//! Within a record the order is random, so drift of the machine cancels between the arms. Between
//! two records nothing cancels by itself. So each judged figure is first taken relative to its
//! control, block by block: an effect that slows all arms of a run equally is not a change of the
//! code. The rest can still differ between runs. Only several pairs of runs, one run of each
//! side, show by how much. So only pairs can say that something is worse or better.

mod absent;
mod bounded;
mod design;
mod figures;
mod judged;
mod pairs;
mod same;
mod sides;

use design::Design;
pub use design::{MOST_PAIRS, pairs_needed, usual_pairs};
use model::change::{ChangeHeadline, ChangeReason, ChangeSuggestion, RecordWith, SCHEMA, across};
use model::record::Progress;
use model::{Basis, Change, ChangeState, Judged, Meta, Role, Side};
pub use sides::{Named, Sides};
use sides::{Obstacle, control_of, judgings};

/// The words besides parameters that may name what is compared.
pub const ACROSS: [&str; 4] = across::ALL;

/// All words for a comparison of two whole set-ups: everything may differ except the version of
/// tailback.
pub fn across_all(meta: Option<&Meta>) -> Vec<String> {
    let parameters = meta.into_iter().flat_map(|meta| (meta.parameters.all)());
    let things = ACROSS.into_iter().filter(|what| *what != across::TAILBACK);
    things.chain(parameters.map(|parameter| parameter.name)).map(str::to_owned).collect()
}

/// Compares the records after the change with the records before it.
///
/// Each judged figure of each arm with the cause is taken relative to the control of its block.
/// Each record then counts as one figure, the Hodges-Lehmann estimate of its blocks, and each
/// pair of records as one difference. The shift is the Hodges-Lehmann shift with Tukey's exact
/// interval, at a confidence that is corrected for the number of judged figures. An interval
/// wholly above the margin is worse; an interval wholly below the negative margin is better.
/// Records with too few pairs, or with pairs in an order that shows nothing, are compared block
/// by block: by the Hodges-Lehmann shift with Moses' exact interval. Then the verdict is
/// `differs` at most.
pub fn change(sides: &Sides) -> Change {
    let named = |side: &[Named]| side.iter().map(|(r, name)| self::side(r, name)).collect();
    let mut change = Change {
        schema: SCHEMA.to_owned(),
        scenario: sides.first().map_or_else(String::new, |((first, _), _)| first.scenario.clone()),
        before: named(sides.before),
        after: named(sides.after),
        basis: Basis::Blocks,
        state: ChangeState::NotComparable,
        headline: ChangeHeadline::NotComparable,
        reasons: Vec::new(),
        suggestions: Vec::new(),
        differs: same::differences(sides),
        arms: Vec::new(),
    };
    let obstacles = obstacles(sides);
    if obstacles.is_empty() {
        let design = Design::of(sides);
        change.basis = design.basis;
        change.arms = figures::arms(sides, &design);
        judged::judge(&mut change, sides, design);
    }
    for (reason, suggestion) in obstacles {
        change.reasons.push(reason);
        change.suggestions.extend(suggestion.filter(|s| !change.suggestions.contains(s)));
    }
    change
}

fn side(record: &Judged, name: &str) -> Side {
    Side {
        name: name.to_owned(),
        started: record.started.clone(),
        verdict: record.judgement.state,
        host: record.machine.clone(),
    }
}

/// Why the records cannot be compared, and what to do about each reason.
fn obstacles(sides: &Sides) -> Vec<Obstacle> {
    let Some((first @ (record, _), _)) = sides.first() else {
        return vec![(ChangeReason::NoRecord, None)];
    };
    if let Some(other) = sides.all().find(|(r, _)| r.scenario != record.scenario) {
        let of = |named: Named| with(named, Some(&named.0.scenario));
        let reason = ChangeReason::OtherScenario { record: of(first), other: of(other) };
        return vec![(reason, Some(ChangeSuggestion::OneScenario))];
    }
    let mut obstacles: Vec<Obstacle> = sides.all().filter_map(unusable).collect();
    if sides.all().any(|(other, _)| judgings(other) != judgings(record)) {
        obstacles.push((ChangeReason::JudgedOtherwise, Some(ChangeSuggestion::SameVersion)));
    }
    let cases = sides.common(Role::Case);
    if obstacles.is_empty() && cases.is_empty() {
        obstacles.push((ChangeReason::NoCommonCase, Some(ChangeSuggestion::SameParameters)));
    }
    obstacles.extend(cases.iter().find_map(|case| other_control(sides, case)));
    obstacles.extend(twice(sides));
    obstacles.extend(same::in_the_way(sides));
    obstacles
}

/// The name of a record, with what it has.
fn with((_, name): Named, has: Option<&str>) -> RecordWith {
    RecordWith { record: name.to_owned(), has: has.map(str::to_owned) }
}

/// Whether a record can be compared at all: it has trials, and no doubt forbids the comparison.
pub fn is_usable(record: &Judged) -> bool {
    unusable((record, "")).is_none()
}

fn unusable((record, name): Named) -> Option<Obstacle> {
    let name = || name.to_owned();
    let reason = if absent::accounts_for(record).is_none() {
        ChangeReason::Untrustworthy { record: name() }
    } else if record.trials.is_empty() || record.ended.progress() == Progress::NotRun {
        ChangeReason::NoTrials { record: name() }
    } else {
        return None;
    };
    Some((reason, Some(ChangeSuggestion::Replace { record: name() })))
}

/// An arm that does not have the same control in all records.
fn other_control(sides: &Sides, arm: &str) -> Option<Obstacle> {
    let (first, _) = sides.first()?;
    let of = |(record, _): Named<'_>| control_of(record, arm).map(str::to_owned);
    let other = sides.all().find(|other| of(*other) != of(first))?;
    let held = |named: Named| with(named, of(named).as_deref());
    let (record, other) = (held(first), held(other));
    let reason = ChangeReason::OtherControl { arm: arm.to_owned(), record, other };
    Some((reason, Some(ChangeSuggestion::SameVersion)))
}

/// A record that was named more than once. It would count as two runs.
fn twice(sides: &Sides) -> Option<Obstacle> {
    if sides.before.len() + sides.after.len() <= 2 {
        return None;
    }
    let all: Vec<Named> = sides.all().collect();
    let same = |a: &Judged, b: &Judged| a.started == b.started && a.trials == b.trials;
    let ((_, name), (_, other)) = all.iter().enumerate().find_map(|(place, one)| {
        all[place + 1..].iter().find(|other| same(one.0, other.0)).map(|other| (*one, *other))
    })?;
    let reason = ChangeReason::SameRecord { record: name.to_owned(), other: other.to_owned() };
    Some((reason, Some(ChangeSuggestion::NameOnce)))
}

#[cfg(test)]
mod simulated;
#[cfg(test)]
pub(crate) mod tests;
