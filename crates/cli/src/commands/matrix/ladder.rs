//! From rows to a ladder: the known changes between the rows, and whether the measured steps
//! agree with them.

use super::held::Held;
use super::row::Row;
use guest::versions::{Changed, is_between_releases, versions};
use model::ladder::{Direction, KnownChange, Ladder, Step, lies_between};
use model::{Meta, Settings};
use std::collections::BTreeMap;

/// The ladder of these rows, with the known changes from each row to the next.
pub fn of(rows: &[Row], meta: &Meta) -> Ladder {
    let all: Vec<_> = rows.iter().map(Row::version).collect();
    let mut ladder = analysis::ladder::ladder(&all, Some(meta), Some("otp"));
    let measured = |row: &&Row| row.record().is_some_and(|record| !record.trials.is_empty());
    let Some((row, record)) = rows.iter().find(measured).and_then(|row| Some((row, row.record()?)))
    else {
        return ladder;
    };
    let followed = record.plan.arms.iter().find(|arm| Some(&arm.id) == ladder.arm.as_ref());
    let settings = followed.map(|arm| arm.settings.clone()).unwrap_or_default();
    let known = known(row, meta, &settings);
    let releases: BTreeMap<String, String> =
        ladder.rungs.iter().map(|rung| (rung.name.clone(), rung.release.clone())).collect();
    for step in &mut ladder.steps {
        let release = |name: &str| releases.get(name).map_or("", String::as_str);
        let (from, to) = (release(&step.from), release(&step.to));
        let between = known.iter().filter(|change| is_known_between(&change.since, from, to));
        step.known = between.cloned().collect();
    }
    ladder
}

/// Whether a change first appeared between these releases. Not known if the older one is a build
/// that has changes of the next release.
fn is_known_between(since: &str, from: &str, to: &str) -> bool {
    !is_between_releases(from) && lies_between(since, from, to)
}

fn known(row: &Row, meta: &Meta, settings: &Settings) -> Vec<KnownChange> {
    let hold = |wanted: &BTreeMap<String, String>| meta.holds(settings, wanted);
    versions().changes(row.of(), meta.id, hold).map(known_change).collect()
}

fn known_change(changed: &Changed) -> KnownChange {
    KnownChange {
        since: changed.since.clone(),
        commit: changed.commit.clone(),
        what: changed.what.clone(),
        source: changed.source.clone(),
        measured: changed.measured,
        effect: changed.effect,
    }
}

/// Compares the steps with the known changes of the effect.
pub fn held(ladder: &Ladder) -> Option<Held> {
    let each: Vec<Held> = ladder.steps.iter().filter_map(step_held).collect();
    [Held::Against, Held::Open, Held::All].into_iter().find(|held| each.contains(held))
}

/// One line for each step where the effect went the other way.
pub fn complaints(ladder: &Ladder) -> Vec<String> {
    let against = ladder.steps.iter().filter(|step| step_held(step) == Some(Held::Against));
    against
        .map(|step| {
            let known = step.known.iter().find(|change| change.effect.is_some());
            let why = known.map_or("", |change| change.source.as_str());
            let word = expected(step).map_or("", |direction| match direction {
                Direction::Falls => "fall",
                Direction::Rises => "rise",
            });
            format!("{} to {}: the effect was expected to {word}: {why}", step.from, step.to)
        })
        .collect()
}

fn step_held(step: &Step) -> Option<Held> {
    let expected = expected(step)?;
    Some(match step.direction() {
        Some(found) if found == expected => Held::All,
        Some(_) => Held::Against,
        None => Held::Open,
    })
}

/// The expected direction of the effect; None if known changes go both ways, or none is known.
fn expected(step: &Step) -> Option<Direction> {
    let mut directions = step.known.iter().filter_map(|change| change.effect);
    let first = directions.next()?;
    directions.all(|other| other == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ChangeState, testing};

    fn step(state: ChangeState, shift: f64, effect: Option<Direction>) -> Step {
        let known = KnownChange {
            since: "6.17".into(),
            commit: None,
            what: "w".into(),
            source: "s".into(),
            measured: true,
            effect,
        };
        let differs = state == ChangeState::Differs;
        Step {
            shift: Some(testing::shift(shift)),
            known: vec![known],
            repeated: differs.then(|| testing::repeated(shift, 5)),
            ..testing::step("6.16", "6.17", state)
        }
    }

    #[test]
    fn a_change_is_expected_between_releases_only() {
        assert!(is_known_between("7.2", "7.1.13", "7.2.0-rc1"));
        assert!(is_known_between("7.2", "7.1.13", "7.2.0-08123-gabcdef0"), "it has all of 7.2");
        for next in ["7.1.0-08123-gabcdef0", "7.1.0-rc7-next-20270301", "7.1.0+"] {
            assert!(!is_known_between("7.2", next, "7.2.1"), "{next} may have it");
            assert!(!is_known_between("7.2", "7.0.13", next), "{next} may lack it");
        }
    }

    #[test]
    fn a_change_that_should_show_is_held_against_what_was_found() {
        use ChangeState::{Differs, NoDifferenceShown};
        let of = |step: Step| {
            let ladder = testing::ladder(vec![step]);
            (held(&ladder), complaints(&ladder).len())
        };
        let falls = Some(Direction::Falls);
        assert_eq!(of(step(Differs, -200.0, falls)), (Some(Held::All), 0));
        assert_eq!(of(step(Differs, 200.0, falls)), (Some(Held::Against), 1));
        assert_eq!(of(step(NoDifferenceShown, -20.0, falls)), (Some(Held::Open), 0));
        assert_eq!(of(step(Differs, 200.0, None)), (None, 0));
    }
}
