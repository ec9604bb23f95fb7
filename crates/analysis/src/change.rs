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

use design::Design;
use model::change::SCHEMA;
use model::record::Progress;
use model::{Basis, Change, ChangeState, Judging, Meta, Record, Role, Side, State};

/// A record, and what the user calls it.
pub type Named<'a> = (&'a Record, &'a str);

/// What is compared.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'a> {
    /// The records of what was; one at least.
    pub before: &'a [Named<'a>],
    /// The records of what is; one at least.
    pub after: &'a [Named<'a>],
    /// What the scenario says of itself, where this version knows it.
    pub meta: Option<&'a Meta>,
    /// What may differ, since it is what is compared: parameters, and the words of [`ACROSS`].
    pub across: &'a [String],
}

pub use same::ACROSS;

/// Why something cannot be compared, and what to do.
type Obstacle = (String, Option<String>);

impl<'a> Sides<'a> {
    fn all(&self) -> impl Iterator<Item = Named<'a>> {
        self.before.iter().chain(self.after).copied()
    }

    /// The first record of each side, which speaks for the others where they have to be alike.
    fn first(&self) -> Option<(Named<'a>, Named<'a>)> {
        Some((*self.before.first()?, *self.after.first()?))
    }

    /// The arms of that role that all plans have, in the order of the first.
    fn common(&self, role: Role) -> Vec<&'a str> {
        let Some(((first, _), _)) = self.first() else { return Vec::new() };
        let in_all = |id: &str| {
            self.all()
                .all(|(record, _)| record.plan.arms.iter().any(|a| a.id == id && a.role == role))
        };
        let arms = first.plan.arms.iter().filter(|arm| arm.role == role && in_all(&arm.id));
        arms.map(|arm| arm.id.as_str()).collect()
    }

    /// How many figures are judged; each is one chance to be wrong.
    fn judged(&self) -> usize {
        let judgings = self.first().map_or(0, |((first, _), _)| judgings(first).len());
        (self.common(Role::Case).len() * judgings).max(1)
    }

    /// The confidence of all that is said together.
    fn confidence(&self) -> f64 {
        self.first().map_or(0.95, |((first, _), _)| first.plan.judging.confidence)
    }

    /// The confidence of each judged figure, so that all of them together keep the one asked for
    /// (Dunn 1961, "Multiple comparisons among means", Journal of the American Statistical
    /// Association 56, 52-64).
    fn confidence_of_each(&self) -> f64 {
        1.0 - (1.0 - self.confidence()) / self.judged() as f64
    }
}

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

fn judgings(record: &Record) -> Vec<&Judging> {
    std::iter::once(&record.plan.judging).chain(&record.plan.also).collect()
}

/// The control that an arm is held against: its own, or the first of the plan.
fn control_of<'a>(record: &'a Record, arm: &str) -> Option<&'a str> {
    let arm = record.plan.arms.iter().find(|other| other.id == arm)?;
    arm.against.as_deref().or_else(|| record.control().map(|control| control.id.as_str()))
}

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
