//! Ladders of records with made-up figures.

use super::*;
use crate::change::tests::{META, record};
use crate::estimate_arms;
use model::ladder::Direction;
use model::{Judging, Measure, Unit};

/// A record of a version whose case loses about this much.
fn at(level: f64, state: State) -> Judged {
    let case: Vec<f64> = (0..8).map(|place| level + f64::from(place)).collect();
    let mut record = record(&case, &[]);
    record.judgement.arms = estimate_arms(&record.plan, &record.trials);
    record.judgement.state = state;
    record
}

fn of<'a>(records: &'a [(&'a str, Option<Judged>)]) -> Ladder {
    let version = |(name, record): &'a (&'a str, Option<Judged>)| Version {
        name,
        release: name,
        record: record.as_ref(),
    };
    let versions: Vec<Version> = records.iter().map(version).collect();
    ladder(&versions, None, None)
}

#[test]
fn the_boundary_is_where_the_effect_changes_by_more_than_the_margin() {
    let affected = |level| Some(at(level, State::Affected));
    let records = [
        ("6.16", affected(500.0)),
        ("6.17", affected(300.0)),
        ("7.0", affected(301.0)),
        ("7.2", Some(at(0.0, State::NotAffected))),
    ];
    let ladder = of(&records);
    assert_eq!((ladder.arm.as_deref(), ladder.measure.as_deref()), (Some("case"), Some("lost")));
    let differ: Vec<(&str, &str)> = ladder
        .steps
        .iter()
        .filter(|step| step.differs())
        .map(|step| (step.from.as_str(), step.to.as_str()))
        .collect();
    assert_eq!(differ, [("6.16", "6.17"), ("7.0", "7.2")]);
    // The larger one is repeated first.
    let [largest, smaller] = [2, 0].map(Between::Neighbours);
    assert_eq!(to_repeat(&ladder), [largest, smaller, Between::Ends]);
    let whole = ladder.whole.as_ref().unwrap();
    assert_eq!((whole.from.as_str(), whole.to.as_str(), whole.differs()), ("6.16", "7.2", true));
    let last = &ladder.steps[2];
    assert_eq!(last.verdicts, Some((State::Affected, State::NotAffected)));
    assert!(!last.is_boundary() && last.direction().is_none(), "no fresh run has shown it");
    let shift = last.shift.as_ref().unwrap();
    assert!(shift.low.unwrap() <= -290.0 && shift.high.unwrap() < -250.0, "{shift:?}");
    let would_show = ladder.would_show.unwrap();
    assert!((5.0..100.0).contains(&would_show), "{would_show}");
}

#[test]
fn fresh_runs_that_differ_as_the_first_did_make_a_boundary() {
    let records = [("a", Some(at(500.0, State::Affected))), ("b", Some(at(0.0, State::Affected)))];
    let mut ladder = of(&records);
    let again = to_repeat(&ladder);
    assert_eq!(again, [Between::Neighbours(0)]);
    let first = ladder.clone();
    let mut repeating = Repeating::new(&first, again[0], 1, None, None).unwrap();
    while !repeating.is_over() {
        assert!(repeating.add(&at(480.0, State::Affected), &at(3.0, State::Affected)));
    }
    let step = again[0].of_mut(&mut ladder).unwrap();
    step.repeated = Some(repeating.end());
    assert_eq!(step.direction(), Some(Direction::Falls));
    assert_eq!(step.repeated.as_ref().unwrap().pairs.len(), 5);
    // A run without a figure makes no pair.
    let mut repeating = Repeating::new(&first, again[0], 1, None, None).unwrap();
    assert!(!repeating.add(&at(480.0, State::Untrustworthy), &at(3.0, State::Affected)));
    let runs = records.iter().map(|(_, record)| ("a", record.as_ref().unwrap()));
    add_spread(&mut ladder, runs);
    let spread = ladder.spread.unwrap();
    assert!((spread.versions, spread.runs) == (1, 2) && spread.most > 400.0, "{spread:?}");
}

#[test]
fn the_error_rate_is_split_over_the_pairs() {
    let many: Vec<(String, Option<Judged>)> =
        (0..9).map(|place| (format!("7.{place}"), Some(at(5.0, State::Affected)))).collect();
    let many: Vec<(&str, Option<Judged>)> =
        many.iter().map(|(name, record)| (name.as_str(), record.clone())).collect();
    let few = of(&many[..2]);
    let all = of(&many);
    let confidence = |ladder: &Ladder| ladder.steps[0].shift.as_ref().unwrap().confidence;
    assert!(confidence(&few) >= 0.95 && confidence(&all) > confidence(&few));
    assert!(confidence(&all) >= 1.0 - 0.05 / 8.0, "{}", confidence(&all));
}

#[test]
fn a_version_without_a_record_is_stepped_over() {
    let affected = |level| Some(at(level, State::Affected));
    let ladder = of(&[("a", affected(5.0)), ("b", None), ("c", affected(500.0))]);
    assert_eq!(ladder.rungs.len(), 3);
    assert_eq!(ladder.rungs[1].verdict, None);
    assert_eq!((ladder.steps.len(), ladder.steps[0].to.as_str()), (1, "c"));
    assert_eq!(of(&[("a", None)]).steps, []);
    // A version that was skipped does not prevent a comparison of the others either.
    let mut skipped = at(5.0, State::Skipped);
    skipped.trials.clear();
    skipped.plan.arms.clear();
    let ladder = of(&[("a", affected(5.0)), ("b", Some(skipped)), ("c", affected(500.0))]);
    assert_eq!(ladder.rungs[1].verdict, Some(State::Skipped));
    assert_eq!((ladder.steps.len(), ladder.arm.as_deref()), (1, Some("case")));
}

#[test]
fn what_cannot_be_trusted_is_not_compared_and_says_why() {
    let ladder =
        of(&[("a", Some(at(5.0, State::Untrustworthy))), ("b", Some(at(500.0, State::Affected)))]);
    let step = &ladder.steps[0];
    assert!(!step.differs() && step.shift.is_none() && !step.reasons.is_empty(), "{step:?}");
}

#[test]
fn a_boundary_is_one_of_the_figure_that_is_followed() {
    let with_late = |late: f64| {
        let mut record = at(500.0, State::Affected);
        let judging = Judging { measure: "late".into(), ..record.plan.judging.clone() };
        record.plan.also.push(judging);
        for trial in &mut record.trials {
            let late = if trial.arm == "case" { late } else { 0.0 };
            let late = Measure::exact(late, Unit::MillisecondsPerSecond);
            trial.observation.measures.insert("late".to_owned(), late);
        }
        record.judgement.arms = estimate_arms(&record.plan, &record.trials);
        record
    };
    let ladder = of(&[("a", Some(with_late(10.0))), ("b", Some(with_late(900.0)))]);
    assert_eq!(ladder.measure.as_deref(), Some("lost"));
    assert_eq!(ladder.steps[0].state, ChangeState::NoDifferenceShown, "{:?}", ladder.steps[0]);
}

#[test]
fn what_each_run_set_by_itself_is_told_and_keeps_nobody_from_comparing() {
    let at_rate = |level: f64, rate: &str| {
        let case: Vec<f64> = (0..8).map(|place| level + f64::from(place)).collect();
        let mut record = record(&case, &[("busy", rate)]);
        record.judgement.arms = estimate_arms(&record.plan, &record.trials);
        record.judgement.state = State::Affected;
        record
    };
    let (before, after) = (at_rate(500.0, "8600"), at_rate(300.0, "7600"));
    let versions = [("a", &before), ("b", &after)].map(|(name, record)| Version {
        name,
        release: name,
        record: Some(record),
    });
    let ladder = ladder(&versions, Some(&META), None);
    let step = &ladder.steps[0];
    assert!(step.differs(), "{step:?}");
    assert_eq!(step.own.len(), 1);
    assert_eq!(step.own[0].what, SettingName::Parameter("busy".to_owned()));
}
