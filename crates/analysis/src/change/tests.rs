//! Compares records with made-up figures.

use super::*;
use model::change::{Purpose, Setting, SettingName, SettingValue, Turn, When};
use model::record::Plan;
use model::testing::plan;
use model::{
    Arm, Disturbance, Doubt, Headline, Judged, Judgement, Judging, Measure, Meta, Observation,
    Parameter, ParameterKind, Parameters, Reason, Settings, State, Trial, Unit, Value, Vm,
};
use std::sync::LazyLock;

pub(crate) const META: Meta = Meta {
    id: "s",
    title: "",
    about: "",
    who: "",
    fixes: &[],
    sentence: |_| Err(String::new()),
    series: &[],
    tags: &[],
    needs: model::Needs { cpus: 1, root: false },
    parameters: Parameters {
        all: || PARAMETERS.as_slice(),
        read: |_, text| Ok(Value::Text(text.to_owned())),
    },
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

static PARAMETERS: LazyLock<[Parameter; 4]> = LazyLock::new(|| {
    [
        ("file", ParameterKind::Word, "maps"),
        ("flags", ParameterKind::Flags, ""),
        ("cpu", ParameterKind::Cpu, "auto"),
        ("busy", ParameterKind::Amount, "1"),
    ]
    .map(|(name, kind, default)| {
        let default = Value::Text(default.to_owned());
        Parameter { name, former: None, kind, quick: default.clone(), default }
    })
});

/// A record whose case loses this much in each of its trials, and whose control loses nothing.
pub(crate) fn record(case: &[f64], settings: &[(&str, &str)]) -> Judged {
    let blocks: Vec<(f64, f64)> = case.iter().map(|lost| (0.0, *lost)).collect();
    of_blocks(&blocks, settings)
}

/// A record whose control and case lose these amounts, block by block.
pub(super) fn of_blocks(blocks: &[(f64, f64)], settings: &[(&str, &str)]) -> Judged {
    let arms = ["control", "case"].map(|id| Arm {
        id: id.to_owned(),
        role: if id == "control" { Role::Control } else { Role::Case },
        against: None,
        settings: Settings(
            settings.iter().map(|(k, v)| ((*k).to_owned(), Value::Text((*v).to_owned()))).collect(),
        ),
        change: None,
    });
    let trials = blocks.iter().enumerate().flat_map(|(block, (control, case))| {
        [("control", *control), ("case", *case)].map(|(arm, lost)| trial(block, arm, lost))
    });
    let plan = Plan { arms: arms.to_vec(), judging: META.judging.clone(), ..plan(&[]) };
    let facts = model::testing::facts("s", plan, trials.collect());
    let judgement = Judgement::new(State::Affected, Headline::NotMeasured);
    Judged { facts, judgement }
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
        disturbance: Disturbance::default(),
    }
}

fn between(before: &Judged, after: &Judged, across: &[String]) -> Change {
    let (before, after) = ([(before, "a")], [(after, "b")]);
    change(&Sides { before: &before, after: &after, meta: Some(&META), across, among: 1 })
}

/// Records of pairs in random order: before, after, before, after.
pub(super) fn in_pairs(records: &[Judged]) -> Change {
    let mut records = records.to_vec();
    for (place, record) in records.iter_mut().enumerate() {
        let (number, first) = (u32::try_from(place / 2).unwrap(), place % 2 == 0);
        record.pair = Some(model::Pair { seed: 7, number, first });
    }
    in_order(&["before", "after"].repeat(records.len() / 2), &records)
}

/// Records with times in the order of the list.
pub(super) fn in_order(order: &[&str], records: &[Judged]) -> Change {
    let mut records = records.to_vec();
    for (place, record) in records.iter_mut().enumerate() {
        record.started = format!("2026-11-21T10:{place:02}:00Z");
    }
    let side = |wanted: &str| -> Vec<(&Judged, &str)> {
        let of_side = order.iter().zip(&records).filter(|(side, _)| **side == wanted);
        of_side.map(|(side, record)| (record, *side)).collect()
    };
    let (before, after) = (side("before"), side("after"));
    change(&Sides { before: &before, after: &after, meta: Some(&META), across: &[], among: 1 })
}

const LITTLE: [f64; 8] = [10.0, 11.0, 9.0, 10.5, 9.5, 10.2, 10.8, 9.9];
const MUCH: [f64; 8] = [90.0, 91.0, 89.0, 90.5, 89.5, 90.2, 90.8, 89.9];

#[test]
fn one_record_a_side_says_that_the_runs_differ_and_no_more() {
    let (little, much) = (record(&LITTLE, &[]), record(&MUCH, &[]));
    for (before, after) in [(&little, &much), (&much, &little)] {
        let found = between(before, after, &[]);
        assert_eq!((found.state, found.basis), (ChangeState::Differs, Basis::Blocks));
        assert_eq!(found.state.exit_code(), 0);
        let purpose = Purpose::Cause;
        let pairs = ChangeSuggestion::MakePairs { pairs: 8, purpose };
        assert_eq!(found.suggestions, [pairs]);
        let difference = &found.arms[1].measures["lost"];
        let largest = ChangeHeadline::Largest {
            arm: "case".to_owned(),
            measure: "lost".to_owned(),
            difference: Box::new(difference.clone()),
        };
        assert_eq!(found.headline, largest);
        assert_eq!(found.reasons[0], ChangeReason::OneRecordEach);
        assert_eq!(difference.margin, Some(1.0));
        assert_eq!(difference.over.as_deref(), Some("control"));
        let comparison = &difference.comparison;
        let ends = [comparison.low.unwrap().abs(), comparison.high.unwrap().abs()];
        assert!(ends.iter().all(|end| (70.0..90.0).contains(end)), "{comparison:?}");
    }
    let same = between(&little, &little, &[]);
    assert_eq!(same.state, ChangeState::NoDifferenceShown);
}

#[test]
fn what_control_and_case_share_is_no_change() {
    let moved = |by: f64| -> Vec<(f64, f64)> { LITTLE.map(|lost| (by, by + lost)).to_vec() };
    let found = between(&of_blocks(&moved(0.0), &[]), &of_blocks(&moved(300.0), &[]), &[]);
    assert_eq!(found.state, ChangeState::NoDifferenceShown);
    let is_control = |reason: &ChangeReason| {
        matches!(reason, ChangeReason::ControlChanged { arm, shift, .. }
            if arm == "control" && shift.shift == 300.0)
    };
    assert!(found.reasons.iter().any(is_control), "{found:?}");
}

/// Each case has its own control. A baseline is never subtracted.
#[test]
fn a_case_is_held_against_its_own_control() {
    let of = |by: f64| {
        let mut record = record(&LITTLE, &[]);
        for (id, role, against) in [
            ("alone", Role::Baseline, None),
            ("twin", Role::Control, None),
            ("other", Role::Case, Some("twin".to_owned())),
        ] {
            let arm = Arm { id: id.to_owned(), role, against, ..record.plan.arms[0].clone() };
            record.plan.arms.push(arm);
        }
        for (block, lost) in LITTLE.iter().enumerate() {
            record.trials.push(trial(block, "alone", 2.0 * by));
            record.trials.push(trial(block, "twin", by));
            record.trials.push(trial(block, "other", by + lost));
        }
        record
    };
    let found = between(&of(0.0), &of(300.0), &[]);
    assert_eq!(found.state, ChangeState::NoDifferenceShown);
    let other = found.arms.iter().find(|arm| arm.id == "other").unwrap();
    assert_eq!(other.measures["lost"].over.as_deref(), Some("twin"));
    let mut elsewhere = of(0.0);
    elsewhere.plan.arms[4].against = None;
    let found = between(&of(0.0), &elsewhere, &[]);
    assert_eq!(found.state, ChangeState::NotComparable);
    let with = |record: &str, has: &str| RecordWith {
        record: record.to_owned(),
        has: Some(has.to_owned()),
    };
    let (record, other) = (with("a", "twin"), with("b", "control"));
    let reason = ChangeReason::OtherControl { arm: "other".to_owned(), record, other };
    assert_eq!(found.reasons, [reason]);
}

/// Pairs of runs in which the runs of a side differ a little.
fn pairs_of(before: &[f64], after: &[f64], pairs: usize) -> Vec<Judged> {
    let noise = |place: usize, lost: &[f64]| -> Judged {
        let lost: Vec<f64> = lost.iter().map(|lost| lost + place as f64 / 10.0).collect();
        record(&lost, &[])
    };
    (0..pairs).flat_map(|place| [noise(place, before), noise(place + 1, after)]).collect()
}

#[test]
fn several_pairs_say_worse_and_better() {
    let worse = in_pairs(&pairs_of(&LITTLE, &MUCH, 6));
    assert_eq!((worse.state, worse.basis), (ChangeState::Worse, Basis::Pairs));
    assert_eq!((worse.state.exit_code(), worse.before.len()), (1, 6));
    let difference = &worse.arms[1].measures["lost"];
    assert_eq!((difference.before.trials, difference.comparison.superiority), (6, 1.0));
    assert!(matches!(worse.reasons[..], [ChangeReason::Claim { .. }]), "{worse:?}");
    assert_eq!(in_pairs(&pairs_of(&MUCH, &LITTLE, 6)).state, ChangeState::Better);
    assert_eq!(in_pairs(&pairs_of(&LITTLE, &LITTLE, 6)).state, ChangeState::NoDifferenceShown);
    let few = in_pairs(&pairs_of(&LITTLE, &MUCH, 5));
    assert_eq!((few.state, few.basis), (ChangeState::Differs, Basis::Blocks));
    let reason = ChangeReason::TooFewPairs { pairs: 5, needed: 6, judged: 1, confidence: 0.95 };
    assert_eq!(few.reasons[0], reason);
    let purpose = Purpose::Cause;
    assert_eq!(few.suggestions, [ChangeSuggestion::MakePairs { pairs: 8, purpose }]);
}

/// An offset that both runs of a pair share is not a difference between them.
#[test]
fn pairs_far_apart_show_a_small_change() {
    let blocks = |by: f64| LITTLE.map(|lost| lost + by);
    let records = |change: f64| -> Vec<Judged> {
        let pair = |place: f64| {
            [record(&blocks(100.0 * place), &[]), record(&blocks(100.0 * place + change), &[])]
        };
        (0..6).flat_map(|place| pair(f64::from(place))).collect()
    };
    let worse = in_pairs(&records(3.0));
    assert_eq!(worse.state, ChangeState::Worse);
    assert!((worse.arms[1].measures["lost"].comparison.shift - 3.0).abs() < 1e-9);
    assert_eq!(in_pairs(&records(0.5)).state, ChangeState::NoDifferenceShown, "within the margin");
}

#[test]
fn a_run_without_its_pair_is_left_out_and_told() {
    let records = pairs_of(&LITTLE, &MUCH, 7);
    let named: Vec<(&Judged, &str)> = records.iter().map(|record| (record, "r")).collect();
    let mut owned: Vec<Judged> = records.clone();
    for (place, record) in owned.iter_mut().enumerate() {
        let number = u32::try_from(place / 2).unwrap();
        record.pair = Some(model::Pair { seed: 7, number, first: place % 2 == 1 });
    }
    let side = |odd: usize| -> Vec<(&Judged, &str)> {
        owned.iter().skip(odd).step_by(2).map(|record| (record, "r")).collect()
    };
    let (before, after) = (side(0), side(1));
    let of = |before: &[(&Judged, &str)], after: &[(&Judged, &str)]| {
        change(&Sides { before, after, meta: Some(&META), across: &[], among: 1 })
    };
    let found = of(&before, &after[1..]);
    assert_eq!((found.state, found.basis), (ChangeState::Worse, Basis::Pairs));
    assert_eq!(found.arms[1].measures["lost"].before.trials, 6);
    assert_eq!(found.reasons[0], ChangeReason::Unpaired { before: 1, after: 0 });
    // The same records, without their statements about pairs and without times.
    assert_eq!(of(&named[..8], &named[8..]).reasons[0], ChangeReason::OrderUnknown);
}

#[test]
fn records_that_were_not_made_in_pairs_say_that_they_differ_at_most() {
    let records =
        [vec![record(&LITTLE, &[]); 8], vec![record(&MUCH, &[]); 8]].map(|side| side[..7].to_vec());
    let (b, a) = ("before", "after");
    let made = |order: &[&str]| {
        let in_time: Vec<Judged> =
            order.iter().map(|side| records[usize::from(*side == a)][0].clone()).collect();
        in_order(order, &in_time)
    };
    let found = made(&[[b; 7], [a; 7]].concat());
    assert_eq!(found.state, ChangeState::Differs);
    let turn = |side| Turn { side, records: 7 };
    let order = vec![turn(When::Before), turn(When::After)];
    assert_eq!(found.reasons[0], ChangeReason::NotInTurns { order });
    // The first side has to change from pair to pair.
    let strict = made(&[b, a].repeat(7));
    assert_eq!(strict.state, ChangeState::Differs);
    assert!(matches!(strict.reasons[0], ChangeReason::FixedOrder { .. }), "{strict:?}");
    let turned = made(&[[b, a, a, b].repeat(3), vec![b, a]].concat());
    assert_eq!(turned.state, ChangeState::Worse);
    assert_eq!(turned.reasons[0], ChangeReason::OrderByHand);
    // Half of the error rate needs one more pair.
    let few = made(&[b, a, a, b].repeat(3));
    assert_eq!(few.state, ChangeState::Differs);
    let reason = ChangeReason::TooFewPairs { pairs: 6, needed: 7, judged: 1, confidence: 0.95 };
    assert_eq!(few.reasons[0], reason);
}

#[test]
fn a_record_that_is_named_twice_is_no_second_run() {
    let records: Vec<Judged> = [LITTLE, MUCH, MUCH].map(|lost| record(&lost, &[])).into();
    let named: Vec<(&Judged, &str)> = records.iter().map(|record| (record, "r")).collect();
    let (before, after) = (&named[..1], &named[1..]);
    let found = change(&Sides { before, after, meta: Some(&META), across: &[], among: 1 });
    assert_eq!(found.state, ChangeState::NotComparable);
    assert!(matches!(found.reasons[0], ChangeReason::SameRecord { .. }), "{found:?}");
}

#[test]
fn records_without_times_say_that_they_differ_at_most() {
    let runs: Vec<Judged> = (0..8)
        .map(|place| {
            let side = if place < 4 { LITTLE } else { MUCH };
            record(&side.map(|lost| lost + f64::from(place) / 10.0), &[])
        })
        .collect();
    let named: Vec<(&Judged, &str)> = runs.iter().map(|run| (run, "r")).collect();
    let sides =
        Sides { before: &named[..4], after: &named[4..], meta: Some(&META), across: &[], among: 1 };
    let found = change(&sides);
    assert_eq!(found.state, ChangeState::Differs);
    assert_eq!(found.reasons[0], ChangeReason::OrderUnknown);
}

#[test]
fn records_of_one_side_are_of_one_set_up() {
    let mut records = vec![record(&LITTLE, &[]); 8];
    records[4].machine.kernel = "6.1".to_owned();
    let found = in_pairs(&records);
    assert_eq!(found.state, ChangeState::NotComparable);
    let is_kernel = |reason: &ChangeReason| {
        matches!(reason, ChangeReason::MixedSide { setting, .. }
            if setting.what == SettingName::Kernel && setting.after == Some("6.1".into()))
    };
    assert!(is_kernel(&found.reasons[0]), "{found:?}");
}

/// However little a trial had read when it hung, it ranks above all others.
#[test]
fn a_trial_that_hung_ranks_above_all() {
    let mut hung = record(&LITTLE, &[]);
    for trial in hung.trials.iter_mut().filter(|trial| trial.arm == "case") {
        trial.observation.hang = true;
        trial
            .observation
            .measures
            .insert("lost".to_owned(), Measure::exact(0.0, Unit::Milliseconds));
    }
    let mut hung: Vec<Judged> =
        std::iter::repeat_n([record(&LITTLE, &[]), hung], 6).flatten().collect();
    assert_eq!(in_pairs(&hung).state, ChangeState::Worse);
    let lower = LITTLE.map(|lost| lost - 8.0);
    hung.iter_mut().step_by(2).for_each(|before| *before = record(&lower, &[]));
    hung[0] = record(&[2.0, 2.0, 11.0, 2.0, 2.0, 2.0, 2.0, 2.0], &[]);
    assert_eq!(in_pairs(&hung).state, ChangeState::Worse);
}

/// Pairs of runs. In the runs after the change, the case hangs in every trial and had lost nothing
/// when it was stopped, or its figure is lost.
fn that_hang_after(with_figure: bool) -> Vec<Judged> {
    let mut records = pairs_of(&[0.6], &[0.0], 8);
    for after in records.iter_mut().skip(1).step_by(2) {
        for trial in after.facts.trials.iter_mut().filter(|trial| trial.arm == "case") {
            trial.observation.hang = true;
            let measures = &mut trial.observation.measures;
            measures.clear();
            if with_figure {
                let least = Measure::at_least(0.0, Unit::Milliseconds);
                measures.insert("lost".to_owned(), least);
            }
        }
    }
    records
}

#[test]
fn a_case_that_hangs_after_the_change_is_worse_though_nothing_was_lost_before() {
    for with_figure in [true, false] {
        let change = in_pairs(&that_hang_after(with_figure));
        assert_eq!(change.state, ChangeState::Worse, "{with_figure}");
        let hung = |reason: &ChangeReason| matches!(reason, ChangeReason::Hung { .. });
        assert!(change.reasons.iter().any(hung), "{change:?}");
        let mut records = that_hang_after(with_figure);
        records.chunks_mut(2).for_each(|pair| pair.swap(0, 1));
        assert_eq!(in_pairs(&records).state, ChangeState::Better, "{with_figure}");
    }
}

#[test]
fn what_only_one_side_has_is_told_and_a_wash_out_is_in_the_way() {
    let before = record(&[5.0; 8], &[]);
    let mut after = before.clone();
    let mut extra = after.facts.plan.arms[1].clone();
    extra.id = "extra".to_owned();
    after.facts.plan.arms.push(extra);
    let change = between(&before, &after, &[]);
    let arms = vec!["extra".to_owned()];
    assert!(change.reasons.contains(&ChangeReason::OneSided { arms }), "{change:?}");
    let mut washed = before.clone();
    washed.facts.plan.wash_out = true;
    let change = between(&before, &washed, &[]);
    assert_eq!(change.state, ChangeState::NotComparable);
    let by = vec!["wash-out".to_owned()];
    assert!(change.reasons.contains(&ChangeReason::Confounded { by }), "{change:?}");
    let across = ["wash-out".to_owned()];
    assert_ne!(between(&before, &washed, &across).state, ChangeState::NotComparable);
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
    let reason = ChangeReason::NoInterval { arms: vec!["case".to_owned()] };
    assert!(change.reasons.contains(&reason), "{change:?}");
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
        let across: Vec<String> = across.iter().map(|name| (*name).to_owned()).collect();
        let change = between(&maps, &of(settings), &across);
        let found = change.state != ChangeState::NotComparable;
        assert_eq!(found, comparable, "{settings:?} {across:?} {:?}", change.reasons);
        assert!(found || is_across(&change), "{:?}", change.suggestions);
    }
}

/// Whether the change lists what `--across` would have to name.
fn is_across(change: &Change) -> bool {
    let named = |suggestion: &ChangeSuggestion| matches!(suggestion, ChangeSuggestion::Across { names } if !names.is_empty());
    change.suggestions.iter().any(named)
}

#[test]
fn all_that_is_in_the_way_is_named_with_what_was_named_before() {
    let here = record(&LITTLE, &[("busy", "10")]);
    let mut there = record(&LITTLE, &[("busy", "20")]);
    there.machine.kernel = "6.1".to_owned();
    there.machine.arch = "arm".to_owned();
    let change = between(&here, &there, &["host".to_owned()]);
    let by: Vec<String> = ["busy", "kernel"].map(str::to_owned).into();
    assert_eq!(change.reasons, [ChangeReason::Confounded { by }]);
    let names: Vec<String> = ["host", "busy", "kernel"].map(str::to_owned).into();
    assert_eq!(change.suggestions, [ChangeSuggestion::Across { names }]);
    assert_eq!(change.headline, ChangeHeadline::NotComparable);
}

#[test]
fn what_proves_nothing_is_not_compared() {
    let good = record(&LITTLE, &[]);
    let mut disturbed = good.clone();
    disturbed.judgement.state = State::Untrustworthy;
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

/// The same record with lost time as its figure, untrustworthy for this doubt.
fn doubtful(case: &[f64], doubt: Doubt) -> Judged {
    let mut record = record(case, &[]);
    for trial in &mut record.trials {
        for measure in trial.observation.measures.values_mut() {
            measure.unit = Unit::MillisecondsPerSecond;
        }
    }
    let mut result = model::testing::result("case", Role::Case, Some(State::Untrustworthy));
    let lost = model::testing::estimate(case[0], Unit::MillisecondsPerSecond);
    result.measures.insert("lost".to_owned(), lost);
    record.judgement.arms.push(result);
    record.judgement.state = State::Untrustworthy;
    record.judgement.reasons.push(Reason::Doubt(doubt));
    record
}

#[test]
fn time_without_a_cpu_widens_the_margin_and_other_doubts_forbid_to_compare() {
    let without = |ms_per_s| Doubt::NoCpu { arm: None, ms_per_s };
    let little = doubtful(&LITTLE, without(29.0));
    let states =
        [40.0, 60.0].map(|away| between(&little, &doubtful(&MUCH, without(away)), &[]).state);
    assert_eq!(states, [ChangeState::Differs, ChangeState::NoDifferenceShown], "80 ms/s apart");
    let tainted = doubtful(&MUCH, Doubt::Tainted { flags: 1 });
    assert_eq!(between(&little, &tainted, &[]).state, ChangeState::NotComparable);
    let mut broken = doubtful(&MUCH, without(29.0));
    broken.judgement.reasons.push(Reason::Broke { error: Box::new(model::Problem::CpusUnread) });
    assert_eq!(between(&little, &broken, &[]).state, ChangeState::NotComparable);
    let mut several = doubtful(&MUCH, without(29.0));
    let judging = several.plan.judging.clone();
    several.plan.also.push(judging);
    assert_eq!(between(&several, &several, &[]).state, ChangeState::NotComparable);
    let absurd = doubtful(&MUCH, without(f64::NAN));
    assert_eq!(between(&little, &absurd, &[]).state, ChangeState::NotComparable);
}

#[test]
fn another_machine_has_to_be_asked_for_and_another_kernel_has_not() {
    let here = record(&LITTLE, &[]);
    let with = |alter: fn(&mut Judged)| {
        let mut there = here.clone();
        there.machine.memory_bytes = Some(8 << 30);
        alter(&mut there);
        there
    };
    let mut here = here.clone();
    here.machine.memory_bytes = Some((8 << 30) + (100 << 20));
    type Case = (fn(&mut Judged), &'static [&'static str], bool);
    let cases: [Case; 9] = [
        (|_| {}, &[], true),
        (|r| r.machine.kernel = "6.1".to_owned(), &[], true),
        (|r| r.machine.cpu_model = Some("other".to_owned()), &[], false),
        (|r| r.machine.cpu_model = Some("other".to_owned()), &["host"], true),
        (|r| r.machine.memory_bytes = Some(2 << 30), &[], false),
        (|r| r.machine.virtualised = Some(true), &[], false),
        (|r| r.tool.version = "9".to_owned(), &[], false),
        (
            |r| (r.machine.kernel, r.machine.arch) = ("6.1".to_owned(), "arm".to_owned()),
            &["host"],
            false,
        ),
        (
            |r| (r.machine.kernel, r.machine.arch) = ("6.1".to_owned(), "arm".to_owned()),
            &["host", "kernel"],
            true,
        ),
    ];
    for (place, (alter, across, comparable)) in cases.into_iter().enumerate() {
        let across: Vec<String> = across.iter().map(|name| (*name).to_owned()).collect();
        let change = between(&here, &with(alter), &across);
        let found = change.state != ChangeState::NotComparable;
        assert_eq!(found, comparable, "case {place}: {:?}", change.reasons);
        assert!(found || is_across(&change), "{:?}", change.suggestions);
    }
}

fn with_vms(order: [&str; 2], otp: &str, flags: [&str; 2]) -> Judged {
    let mut record = record(&LITTLE, &[]);
    // The order within a block is random, so either arm may have run last or first.
    record
        .trials
        .sort_by_key(|trial| (trial.block, order.iter().position(|arm| *arm == trial.arm)));
    for trial in &mut record.trials {
        let flag = flags[usize::from(trial.arm == "case")];
        let flags = vec!["+S".to_owned(), flag.to_owned()];
        trial.observation.vm = Some(Vm { otp: otp.to_owned(), flags, ..Vm::default() });
    }
    record
}

#[test]
fn flags_and_releases_are_held_against_each_other_arm_by_arm() {
    let one = with_vms(["control", "case"], "25", ["1:1", "2:2"]);
    let turned = with_vms(["case", "control"], "25", ["1:1", "2:2"]);
    assert_eq!(between(&one, &turned, &[]).differs, []);
    let other = with_vms(["case", "control"], "27", ["1:1", "4:4"]);
    let words = |words: &[&str]| {
        Some(SettingValue::Words(words.iter().map(|word| (*word).to_owned()).collect()))
    };
    let setting = |what, arms: &[&str], before, after| Setting {
        what,
        arms: arms.iter().map(|arm| (*arm).to_owned()).collect(),
        before,
        after,
    };
    assert_eq!(
        between(&one, &other, &[]).differs,
        [
            setting(SettingName::Otp, &[], words(&["25", ""]), words(&["27", ""])),
            setting(
                SettingName::EmulatorFlags,
                &["case"],
                words(&["+S", "2:2"]),
                words(&["+S", "4:4"])
            )
        ]
    );
}
