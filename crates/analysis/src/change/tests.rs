//! Records with figures of their own, held against each other.

use super::*;
use model::record::{Plan, SCHEMA as RECORD, Tool};
use model::{Arm, Knob, Machine, Measure, Observation, Settings, Surroundings, Value, Verdict};

const META: Meta = Meta {
    id: "s",
    title: "",
    about: "",
    who: "",
    mends: &[],
    tags: &[],
    needs: model::Needs { cpus: 1, root: false },
    knobs: &[
        knob("file", Kind::ProcFile, "maps"),
        knob("flags", Kind::Words, ""),
        knob("cpu", Kind::Cpu, "auto"),
        knob("busy", Kind::Number { min: 0, max: 99 }, "1"),
    ],
    measures: &[],
    judging: Judging {
        measure: std::borrow::Cow::Borrowed("lost"),
        margin: 1.0,
        control_limit: 50.0,
        wants_cpu: true,
        error_rate: 0.05,
        confidence: 0.95,
    },
};

use model::Kind;

const fn knob(name: &'static str, kind: Kind, default: &'static str) -> Knob {
    Knob { name, kind, default, quick: None, help: "" }
}

/// A record whose case loses so much in each of its trials, and its control nothing.
fn record(case: &[f64], settings: &[(&str, &str)]) -> Record {
    let arms = ["control", "case"].map(|id| Arm {
        id: id.to_owned(),
        role: if id == "control" { Role::Control } else { Role::Case },
        against: None,
        settings: Settings(
            settings.iter().map(|(k, v)| ((*k).to_owned(), Value::Text((*v).to_owned()))).collect(),
        ),
        change: None,
    });
    let trials = case.iter().enumerate().flat_map(|(block, lost)| {
        [("control", 0.0), ("case", *lost)].map(|(arm, lost)| trial(block, arm, lost))
    });
    Record {
        factorial: None,
        probed: Vec::new(),
        schema: RECORD.to_owned(),
        tool: Tool { name: String::new(), version: String::new(), argv: Vec::new() },
        scenario: "s".to_owned(),
        started: String::new(),
        elapsed_s: 0.0,
        progress: Progress::Complete,
        plan: Plan {
            arms: arms.to_vec(),
            seed: 1,
            min_blocks: 1,
            max_blocks: 1,
            stop_when_settled: true,
            error_rate: None,
            settle_fixes: false,
            judging: META.judging.clone(),
            also: Vec::new(),
            left_out: Vec::new(),
        },
        host: Machine::default(),
        trials: trials.collect(),
        arms: Vec::new(),
        verdict: Verdict {
            state: State::Affected,
            kind: None,
            headline: String::new(),
            because: Vec::new(),
            next: Vec::new(),
            measure: None,
            open: Vec::new(),
            fixes: Vec::new(),
            test: None,
        },
    }
}

fn trial(block: usize, arm: &str, lost: f64) -> Trial {
    let mut observation = Observation::default();
    observation.measures.insert("lost".to_owned(), Measure::exact(lost, Unit::Milliseconds));
    Trial {
        block: u32::try_from(block).unwrap(),
        arm: arm.to_owned(),
        started_ms: 0.0,
        took_ms: 0.0,
        observation,
        surroundings: Surroundings::default(),
    }
}

fn between(before: &Record, after: &Record, across: &[String]) -> Change {
    let pair = Pair { before: (before, "a"), after: (after, "b"), meta: Some(&META), across };
    change(&pair)
}

const LITTLE: [f64; 8] = [10.0, 11.0, 9.0, 10.5, 9.5, 10.2, 10.8, 9.9];
const MUCH: [f64; 8] = [90.0, 91.0, 89.0, 90.5, 89.5, 90.2, 90.8, 89.9];

#[test]
fn the_second_is_held_against_the_first() {
    let (little, much) = (record(&LITTLE, &[]), record(&MUCH, &[]));
    let worse = between(&little, &much, &[]);
    assert_eq!(worse.state, ChangeState::Worse);
    let comparison = &worse.arms[1].measures["lost"].comparison;
    assert!(comparison.low.unwrap() > 70.0 && comparison.high.unwrap() < 90.0, "{comparison:?}");
    assert_eq!(between(&much, &little, &[]).state, ChangeState::Better);
    let same = between(&little, &little, &[]);
    assert_eq!(same.state, ChangeState::NoDifferenceShown);
    assert!(same.because.iter().any(|why| why.contains("not made in turns")), "{same:?}");
}

#[test]
fn a_difference_within_the_margin_is_none() {
    let slightly = LITTLE.map(|lost| lost + 0.5);
    let change = between(&record(&[10.0; 8], &[]), &record(&[10.5; 8], &[]), &[]);
    assert_eq!(change.state, ChangeState::NoDifferenceShown);
    let change = between(&record(&LITTLE, &[]), &record(&slightly, &[]), &[]);
    assert_eq!(change.state, ChangeState::NoDifferenceShown);
}

#[test]
fn a_handful_of_trials_says_nothing() {
    let change = between(&record(&LITTLE[..2], &[]), &record(&MUCH[..2], &[]), &[]);
    assert_eq!(change.state, ChangeState::NoDifferenceShown);
    assert!(change.because.iter().any(|why| why.contains("too few trials")), "{change:?}");
}

#[test]
fn one_file_may_differ_and_an_amount_may_not() {
    let of = |settings: &[(&str, &str)]| record(&LITTLE, settings);
    let maps = of(&[("file", "maps"), ("busy", "10"), ("cpu", "0"), ("flags", "")]);
    type Case = (&'static [(&'static str, &'static str)], &'static [&'static str], bool);
    let cases: [Case; 6] = [
        (&[("file", "smaps"), ("busy", "10"), ("cpu", "0"), ("flags", "")], &[], true),
        (&[("file", "maps"), ("busy", "10"), ("cpu", "1"), ("flags", "")], &[], true),
        (&[("file", "maps"), ("busy", "20"), ("cpu", "0"), ("flags", "")], &[], false),
        (&[("file", "maps"), ("busy", "20"), ("cpu", "0"), ("flags", "")], &["busy"], true),
        (&[("file", "smaps"), ("busy", "10"), ("cpu", "0"), ("flags", "x")], &[], false),
        (&[("file", "smaps"), ("busy", "20"), ("cpu", "0"), ("flags", "")], &["busy"], false),
    ];
    for (settings, across, comparable) in cases {
        let across: Vec<String> = across.iter().map(|knob| (*knob).to_owned()).collect();
        let change = between(&maps, &of(settings), &across);
        let found = change.state != ChangeState::NotComparable;
        assert_eq!(found, comparable, "{settings:?} {across:?} {:?}", change.because);
        assert!(found || change.next[0].contains("--across"), "{:?}", change.next);
    }
}

#[test]
fn what_proves_nothing_is_not_compared() {
    let good = record(&LITTLE, &[]);
    let mut disturbed = good.clone();
    disturbed.verdict.state = State::Untrustworthy;
    let mut empty = good.clone();
    empty.trials.clear();
    let mut other = good.clone();
    other.scenario = "t".to_owned();
    let mut judged = good.clone();
    judged.plan.judging.margin = 2.0;
    for bad in [disturbed, empty, other, judged] {
        assert_eq!(between(&good, &bad, &[]).state, ChangeState::NotComparable);
        assert_eq!(between(&bad, &good, &[]).state, ChangeState::NotComparable);
    }
}

#[test]
fn without_a_difference_worse_and_better_are_rare() {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(11);
    let mut draw = || (0..10).map(|_| rng.random_range(0.0..100.0)).collect::<Vec<f64>>();
    let wrong = (0..400)
        .filter(|_| {
            let change = between(&record(&draw(), &[]), &record(&draw(), &[]), &[]);
            change.state != ChangeState::NoDifferenceShown
        })
        .count();
    // 5% are 20; three standard errors above that are 33.
    assert!(wrong <= 33, "{wrong} of 400");
}
