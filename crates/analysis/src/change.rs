//! Records made before something changed held against records made after.
//!
//! Within a record the order is random, so that drift of the machine cancels between the arms.
//! Between two records nothing cancels by itself. So each figure that is judged is first taken
//! relative to its control, block by block: what slows all arms of a run alike is no change of the
//! code. What is left can still be another in each run. Only several records a side, made in turns,
//! show how much that is, so only they can say that something is worse or better.

mod bounded;
mod design;
mod figures;
mod judged;
mod same;
mod sides;

use design::Design;
use model::change::SCHEMA;
use model::record::Progress;
use model::{Basis, Change, ChangeState, Record, Role, Side, State};
pub use same::ACROSS;
pub use sides::{Named, Sides};
use sides::{Obstacle, control_of, judgings};

/// Holds the records after against the records before.
///
/// Each judged figure of each arm with the cause is taken relative to the control of its block. The
/// shift is that of Hodges and Lehmann with Moses' exact interval, at a confidence corrected for the
/// number of judged figures. With several records a side that were made in turns a record counts as
/// one figure, the Hodges-Lehmann estimate of its blocks, and an interval wholly beyond the margin is
/// called worse or better. Otherwise the blocks count, and it is called different at most.
pub fn change(sides: &Sides) -> Change {
    let named = |side: &[Named]| side.iter().map(|(r, name)| self::side(r, name)).collect();
    let mut change = Change {
        schema: SCHEMA.to_owned(),
        scenario: sides.first().map_or_else(String::new, |((first, _), _)| first.scenario.clone()),
        before: named(sides.before),
        after: named(sides.after),
        basis: Basis::Blocks,
        state: ChangeState::NotComparable,
        headline: String::new(),
        because: Vec::new(),
        next: Vec::new(),
        differs: same::differences(sides),
        arms: Vec::new(),
    };
    let obstacles = obstacles(sides);
    if obstacles.is_empty() {
        let design = Design::of(sides);
        change.basis = design.basis;
        change.arms = figures::arms(sides, design.basis);
        judged::judge(&mut change, sides, design);
    } else {
        change.headline =
            "These records say nothing about each other, so neither side is called better."
                .to_owned();
        for (why, next) in obstacles {
            change.because.push(why);
            change.next.extend(next.filter(|next| !change.next.contains(next)));
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
fn obstacles(sides: &Sides) -> Vec<Obstacle> {
    let Some(((first, first_name), _)) = sides.first() else {
        return vec![("There is no record on one of the sides.".to_owned(), None)];
    };
    if let Some((other, name)) = sides.all().find(|(r, _)| r.scenario != first.scenario) {
        let why = format!(
            "{first_name} is a record of {}, {name} of {}.",
            first.scenario, other.scenario
        );
        return vec![(why, Some("Name records of one scenario.".to_owned()))];
    }
    let mut obstacles: Vec<Obstacle> = sides.all().filter_map(unusable).collect();
    if sides.all().any(|(record, _)| judgings(record) != judgings(first)) {
        let why = "They are judged by different figures or margins.".to_owned();
        obstacles.push((why, Some("Run all with the same version of tailback.".to_owned())));
    }
    let cases = sides.common(Role::Case);
    if obstacles.is_empty() && cases.is_empty() {
        let why = "They have no arm with the cause in common.".to_owned();
        obstacles.push((why, Some("Run all with the same parameters.".to_owned())));
    }
    obstacles.extend(cases.iter().find_map(|case| other_control(sides, case)));
    obstacles.extend(twice(sides));
    obstacles.extend(same::in_the_way(sides));
    obstacles
}

fn unusable((record, name): Named) -> Option<Obstacle> {
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

/// An arm that is not held against the same control everywhere.
fn other_control(sides: &Sides, arm: &str) -> Option<Obstacle> {
    let ((first, first_name), _) = sides.first()?;
    let of = |record| control_of(record, arm).unwrap_or("no control");
    let (other, name) = sides.all().find(|(record, _)| of(record) != of(first))?;
    let why = format!(
        "{arm} is held against {} in {first_name}, against {} in {name}.",
        of(first),
        of(other)
    );
    Some((why, Some("Run all with the same version of tailback.".to_owned())))
}

/// A record that was named twice, among several: it would count as two runs.
fn twice(sides: &Sides) -> Option<Obstacle> {
    if sides.before.len() + sides.after.len() <= 2 {
        return None;
    }
    let all: Vec<Named> = sides.all().collect();
    let same = |a: &Record, b: &Record| a.started == b.started && a.trials == b.trials;
    let ((_, name), (_, other)) = all.iter().enumerate().find_map(|(place, one)| {
        all[place + 1..].iter().find(|other| same(one.0, other.0)).map(|other| (*one, *other))
    })?;
    let why = format!("{name} and {other} are the same record.");
    Some((why, Some("Name each record once: each has to be a run of its own.".to_owned())))
}

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
