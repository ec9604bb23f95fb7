//! Continuing studies, with a fake scenario that invents its figures.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod fake_scenario;

use fake_scenario::{FAKE, FILE, layout, read, run};
use model::{Ended, Facts, Machine};
use scenarios::mmap_lock::MmapLockParams;
use scenarios::params::Params;
use std::path::{Path, PathBuf};
use tailback_runner::studies::{Design, Standing, StudyError, standing};
use tailback_runner::{End, Event};

/// How far a study has come according to this record.
fn stands(design: &Design, old: Facts, machine: &Machine) -> Result<Standing, StudyError> {
    let layout = layout(design);
    let plan = layout.plan(design, &FAKE, design.seed.unwrap_or(7));
    standing(old, Path::new("old.json"), &layout.factorial, &plan, machine)
}

/// A study of eight blocks that was ended in its third block, as it is on disk.
fn interrupted(design: &Design) -> Facts {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("a.json");
    let second = |event: &Event| matches!(event, Event::TrialEnd { block: 2, arm, .. } if *arm == "busy=1,procfile=maps");
    let (_, end) = run(design, None, &path, second);
    assert!(matches!(end, End::Interrupted));
    Facts::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap()
}

fn exactly(blocks: u32) -> Design {
    let mut design = read(FILE).unwrap();
    design.exactly(blocks);
    design
}

#[test]
fn an_interrupted_study_goes_on_after_its_last_whole_block_and_ends_as_if_it_had_not_been() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let design = exactly(8);
    let old = interrupted(&design);
    assert!((12..18).contains(&old.trials.len()), "the third block is not whole");
    let Ok(Standing::After(2, record)) = stands(&design, old.clone(), &Machine::default()) else {
        panic!("{:?}", stands(&design, old, &Machine::default()))
    };
    assert_eq!(record.trials[..], old.trials[..12]);
    let (record, end) = run(&design, Some(*record), &path, |_| false);
    assert!(matches!(end, End::Complete));
    assert_eq!(record.trials[..12], old.trials[..12], "what was measured stays");
    let (whole, _) = run(&design, None, &path, |_| false);
    let order = |record: &Facts| -> Vec<(u32, String)> {
        record.trials.iter().map(|trial| (trial.block, trial.arm.clone())).collect()
    };
    assert_eq!(order(&record), order(&whole), "the same order, and no block twice or missing");
    assert_eq!((&record.ended, &record.started), (&Ended::Complete, &old.started));
    let factorial = record.factorial.as_ref().unwrap();
    let sittings: Vec<u32> = factorial.sittings.iter().map(|s| s.first_block).collect();
    assert_eq!(sittings, [0, 2]);
    assert_eq!(record.judgement.effects, whole.judgement.effects, "the fake scenario is not noisy");
    assert!(record.trials.windows(2).all(|pair| pair[0].started_ms <= pair[1].started_ms));
    assert_eq!(record.judgement.state, whole.judgement.state);
}

#[test]
fn a_block_in_which_a_trial_hung_is_kept_and_not_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let design = exactly(8);
    let machine = Machine::default();
    let mut old = interrupted(&design);
    assert_eq!(old.trials[12].block, 2, "the third block was begun");
    old.trials[12].observation.hang = true;
    let Ok(Standing::After(3, record)) = stands(&design, old.clone(), &machine) else {
        panic!("{:?}", stands(&design, old, &machine))
    };
    assert_eq!(record.trials, old.trials);
    let (record, end) = run(&design, Some(*record), &folder.path().join("a.json"), |_| false);
    assert!(matches!(end, End::Complete));
    assert_eq!(record.trials[..old.trials.len()], old.trials[..]);
    assert_eq!(record.trials.len(), old.trials.len() + 5 * 6, "five blocks of six arms followed");
    assert!(matches!(stands(&design, record.facts, &machine), Ok(Standing::Complete(_))));
}

#[test]
fn effects_of_a_played_study_are_the_played_ones() {
    let folder = tempfile::tempdir().unwrap();
    let (record, _) = run(&exactly(8), None, &folder.path().join("a.json"), |_| false);
    let figures: Vec<(String, f64)> = record
        .judgement
        .effects
        .unwrap()
        .shown
        .iter()
        .map(|effect| {
            let to: Vec<&str> = effect.changes.iter().map(|change| change.to.as_str()).collect();
            (to.join(" "), effect.measures["stall"].shift)
        })
        .collect();
    let expected =
        [("1", 7.5), ("10", 75.0), ("maps", -110.0 / 6.0), ("1 maps", -5.0), ("10 maps", -50.0)];
    assert_eq!(figures.len(), expected.len());
    for ((name, shift), (expected_name, expected)) in figures.iter().zip(expected) {
        assert_eq!(name, expected_name);
        assert!((shift - expected).abs() < 1e-9, "{name}: {shift}");
    }
}

#[test]
fn a_study_that_was_complete_is_not_run_again_unless_more_blocks_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let (record, _) = run(&exactly(3), None, &folder.path().join("a.json"), |_| false);
    let machine = Machine::default();
    assert!(matches!(
        stands(&exactly(3), record.facts.clone(), &machine),
        Ok(Standing::Complete(_))
    ));
    assert!(matches!(stands(&exactly(9), record.facts, &machine), Ok(Standing::After(3, _))));
}

#[test]
fn a_record_of_something_else_is_refused() {
    let design = exactly(8);
    let old = interrupted(&design);
    let refused = |change: &dyn Fn(&mut Facts), machine: &Machine| {
        let mut old = old.clone();
        change(&mut old);
        stands(&design, old, machine).unwrap_err().to_string()
    };
    let machine = Machine::default();
    let factorial = |change: fn(&mut model::Factorial)| {
        refused(&|old: &mut Facts| change(old.factorial.as_mut().unwrap()), &machine)
    };
    let message = factorial(|factorial| factorial.content = "0".to_owned());
    assert!(
        message.starts_with("old.json: the study file has changed since 2 blocks"),
        "{message}"
    );
    assert!(message.ends_with("--fresh starts from scratch"), "{message}");
    assert!(factorial(|factorial| factorial.name = "x".to_owned()).contains("of study x"));
    assert!(factorial(|factorial| factorial.quick = true).contains("begun with --quick"));
    assert!(refused(&|old| old.factorial = None, &machine).contains("no study file made"));
    assert!(refused(&|old| old.plan.seed = 8, &machine).contains("begun with seed 8"));
    assert!(refused(&|old| old.tool.version = "0.0.1".to_owned(), &machine).contains("0.0.1"));
    let other_nice = |old: &mut Facts| {
        let settings = &mut old.plan.arms[1].settings;
        let params = MmapLockParams::of(settings).unwrap();
        *settings = MmapLockParams { nice: params.nice - 1, ..params }.settings();
    };
    let arms = refused(&other_nice, &machine);
    assert!(arms.contains("are not those"), "{arms}");
    let elsewhere = Machine { kernel: "9.9".to_owned(), ..Machine::default() };
    assert!(refused(&|_| (), &elsewhere).contains("this is 9.9"));
}

#[test]
fn a_record_without_a_whole_block_begins_anew() {
    let design = exactly(8);
    let mut old = interrupted(&design);
    old.trials.truncate(3);
    assert_eq!(stands(&design, old.clone(), &Machine::default()), Ok(Standing::New));
    old.trials.clear();
    assert_eq!(stands(&design, old, &Machine::default()), Ok(Standing::New));
}
