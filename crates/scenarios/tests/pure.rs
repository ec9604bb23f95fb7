//! Judging depends only on the facts: it reads no verdict, and the same facts give the same
//! judgement.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use model::record::{Cause, Ended};
use model::testing::{facts, plan, trial};
use model::{
    Caveat, Factorial, Facts, Judgement, Judging, Measure, Plan, Problem, Reason, Role, State, Unit,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tailback_scenarios::{ALL, blocks_left, judge, judged};

/// A study of a scenario whose case loses `lost` in each of `blocks` blocks.
fn study(scenario: &str, blocks: u32, lost: f64) -> Facts {
    let plan = plan(&[("control", Role::Control), ("case", Role::Case)]);
    let of_block = |block| [trial(block, "control", 0.0), trial(block, "case", lost)];
    facts(scenario, plan, (0..blocks).flat_map(of_block).collect())
}

#[test]
fn the_same_facts_give_the_same_judgement() {
    let ends = [
        Ended::Running,
        Ended::Complete,
        Ended::Interrupted,
        Ended::Broken(Box::new(Cause::Broke(Problem::CpusUnread))),
        Ended::NotRun(Box::new(Cause::Interrupted)),
    ];
    for scenario in ALL.iter().map(|scenario| scenario.meta().id).chain(["unknown"]) {
        for (blocks, lost) in [(0, 0.0), (3, 900.0), (12, 900.0), (24, 0.0)] {
            for ended in &ends {
                let facts = Facts { ended: ended.clone(), ..study(scenario, blocks, lost) };
                let before = facts.clone();
                assert_eq!(judge(&facts), judge(&facts), "{scenario}, {blocks} blocks, {ended:?}");
                assert_eq!(facts, before);
            }
        }
    }
}

#[test]
fn what_a_file_says_of_a_judgement_is_not_read() {
    let record = judged(study(ALL[0].meta().id, 12, 900.0));
    let lying = record.to_json().replacen("\"affected\"", "\"not-affected\"", 1);
    assert_ne!(lying, record.to_json());
    let read = Facts::from_json(&lying).unwrap();
    assert_eq!(judge(&read), record.judgement);
}

/// The names of all values in a JSON document.
fn keys(value: &serde_json::Value, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(all) => {
            for (key, inner) in all {
                found.insert(key.clone());
                keys(inner, found);
            }
        }
        serde_json::Value::Array(all) => all.iter().for_each(|inner| keys(inner, found)),
        _ => {}
    }
}

#[test]
fn facts_have_no_place_for_a_verdict() {
    let record = judged(study(ALL[0].meta().id, 12, 900.0));
    let (mut of_facts, mut of_file) = (BTreeSet::new(), BTreeSet::new());
    keys(&serde_json::to_value(&record.facts).unwrap(), &mut of_facts);
    keys(&serde_json::from_str(&record.to_json()).unwrap(), &mut of_file);
    for key in ["judgement", "headline", "state", "reasons", "suggestions", "against_control"] {
        assert!(!of_facts.contains(key), "facts have {key}");
    }
    assert!(of_file.contains("judgement") && of_file.contains("headline"), "{of_file:?}");
}

/// Files and folders that may read a finished judgement: a brief reports it, the others compare
/// finished records or explain one. No other file of the two crates uses them.
const AFTER_JUDGING: [&str; 4] = [
    "scenarios/src/brief.rs",
    "analysis/src/change",
    "analysis/src/explain",
    "analysis/src/ladder",
];

/// All Rust files in a folder and below it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, mut files): (Vec<PathBuf>, Vec<PathBuf>) =
        entries.partition(|path| path.is_dir());
    files.retain(|path| path.extension().is_some_and(|end| end == "rs"));
    files.extend(folders.iter().flat_map(|folder| sources(folder)));
    files
}

#[test]
fn nothing_that_judges_reads_a_verdict() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut judging = 0;
    let mut after = 0;
    for path in ["scenarios/src", "analysis/src"].iter().flat_map(|one| sources(&crates.join(one)))
    {
        let name = path.strip_prefix(crates).unwrap().to_str().unwrap();
        if AFTER_JUDGING.iter().any(|begin| name.starts_with(begin)) {
            after += 1;
            continue;
        }
        judging += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        // Tests may look at a judgement.
        let code = text.split("#[cfg(test)]").next().unwrap();
        for word in [".judgement", "&Judged", "crate::change", "crate::explain", "crate::ladder"] {
            assert!(!code.contains(word), "{name} has {word}");
        }
    }
    assert!(judging > 150 && after >= 10, "{judging} and {after} files were looked at");
}

#[test]
fn a_study_without_a_block_takes_as_few_as_a_verdict_can() {
    let of = |blocks: u32| {
        let facts = study("mmap-lock", blocks, 0.0);
        (blocks_left(&facts.plan, &judge(&facts), blocks), facts.plan.min_blocks)
    };
    let (left, fewest) = of(0);
    assert_eq!(left, fewest);
    let (left, fewest) = of(1);
    assert!(left > fewest, "{left}: not-affected takes more");
}

#[test]
fn blocks_that_would_not_show_a_stall_are_outnumbered_by_ten_to_one() {
    let facts = study("mmap-lock", 20, 0.0);
    let left = |caveat: Caveat| {
        let judgement = Judgement { caveats: vec![caveat], ..judge(&facts) };
        blocks_left(&facts.plan, &judgement, 20)
    };
    let [arm, control] = ["case", "control"].map(str::to_owned);
    let [case, measure] = [arm.clone(), "late".to_owned()];
    let hung = Caveat::ControlHung { arm, control: control.clone(), blocks: 3, lacking: 2 };
    assert_eq!(left(hung), 30);
    let (blocks, control_blocks) = (4, 1);
    let lacking = Caveat::FigureLacking { arm: case, measure, blocks, control, control_blocks };
    assert_eq!(left(lacking), 10);
}

#[test]
fn a_control_without_room_for_a_stall_clears_nothing() {
    // The margin is 1 ms/s, and noise of the control may hide 50.
    let of = |control: f64, other: f64| {
        let arms = [("control", Role::Control), ("case", Role::Case), ("other", Role::Case)];
        let of_block = |block| {
            let levels = [("control", control), ("case", control), ("other", other)];
            levels.map(|(arm, lost)| trial(block, arm, lost))
        };
        judge(&facts("preempted-holder", plan(&arms), (0..14).flat_map(of_block).collect()))
    };
    let says = |judgement: &Judgement, id: &str| {
        judgement.arms.iter().find(|arm| arm.id == id).unwrap().state.unwrap()
    };
    assert_eq!(of(949.0, 949.0).state, State::NotAffected);
    let full = of(950.0, 950.0);
    assert_eq!((full.state, says(&full, "case")), (State::Inconclusive, State::Inconclusive));
    assert!(matches!(&full.reasons[0], Reason::ControlStalls { .. }), "{full:?}");
    let beside = of(950.0, 1000.0);
    assert_eq!((beside.state, says(&beside, "case")), (State::Affected, State::Inconclusive));
    let beside = of(949.0, 1000.0);
    assert_eq!((beside.state, says(&beside, "case")), (State::Affected, State::NotAffected));
}

#[test]
fn an_arm_is_cleared_by_all_figures_or_by_none() {
    let late = "late";
    let mut plan = plan(&[("control", Role::Control), ("one", Role::Case), ("other", Role::Case)]);
    let judging = Judging { measure: late.into(), ..plan.judging.clone() };
    plan.also.push(judging);
    let says = |late_of_other: &dyn Fn(u32) -> f64| {
        let of_block = |block: u32| {
            let of_arm = |(arm, lost, lateness): (&str, f64, f64)| {
                let mut trial = trial(block, arm, lost);
                let figure = Measure::exact(lateness, Unit::MillisecondsPerSecond);
                trial.observation.measures.insert(late.to_owned(), figure);
                trial
            };
            let other = late_of_other(block);
            [("control", 0.0, 0.0), ("one", 900.0, 0.0), ("other", 0.0, other)].map(of_arm)
        };
        let judged =
            judge(&facts("preempted-holder", plan.clone(), (0..14).flat_map(of_block).collect()));
        assert_eq!(judged.state, State::Affected);
        let state = |id: &str| judged.arms.iter().find(|arm| arm.id == id).unwrap().state;
        (state("one").unwrap(), state("other").unwrap())
    };
    assert_eq!(says(&|_| 0.0), (State::Affected, State::NotAffected));
    assert_eq!(says(&|_| 400.0), (State::Affected, State::Inconclusive));
    let open = says(&|block| if block % 2 == 0 { 400.0 } else { 0.0 });
    assert_eq!(open.0, State::Affected);
    assert_ne!(open.1, State::NotAffected);
}

#[test]
fn a_figure_that_more_blocks_may_settle_is_open_beside_one_that_is_too_noisy() {
    let late = "late";
    let mut plan = plan(&[("control", Role::Control), ("case", Role::Case)]);
    plan.also.push(Judging { measure: late.into(), ..plan.judging.clone() });
    let of_block = |block: u32| {
        // The control stalls in one block of four, and the case is late in one of five.
        let lost = if block.is_multiple_of(4) { 900.0 } else { 0.0 };
        let lateness = if block.is_multiple_of(5) { 400.0 } else { 0.0 };
        [("control", lost, 0.0), ("case", 0.0, lateness)].map(|(arm, lost, lateness)| {
            let mut trial = trial(block, arm, lost);
            let figure = Measure::exact(lateness, Unit::MillisecondsPerSecond);
            trial.observation.measures.insert(late.to_owned(), figure);
            trial
        })
    };
    let judged =
        judge(&facts("preempted-holder", plan.clone(), (0..20).flat_map(of_block).collect()));
    assert_eq!(judged.state, State::Inconclusive);
    let test = judged.test.unwrap();
    assert!(test.e_value_not_affected >= test.threshold_not_affected.unwrap(), "{test:?}");
    assert_eq!(judged.open, [late]);
}

#[test]
fn an_arm_of_a_study_is_not_cleared_by_the_margin_of_another() {
    let scenario = tailback_scenarios::find("mmap-lock").unwrap();
    let lost = Unit::MillisecondsPerSecond;
    let mut plan = plan(&[("control", Role::Control), ("case", Role::Case)]);
    plan.arms.iter_mut().for_each(|arm| arm.settings = scenario.meta().defaults(false));
    let own = scenario.judging(&plan.arms[1].settings).remove(0);
    let says = |margin: f64, in_study: bool| {
        let plan = Plan { judging: Judging { margin, ..own.clone() }, ..plan.clone() };
        let of_block = |block| {
            ["control", "case"].map(|arm| {
                let mut trial = trial(block, arm, 0.0);
                let measures = &mut trial.observation.measures;
                measures.insert(own.measure.to_string(), Measure::exact(0.0, lost));
                measures.insert("scan_bytes".to_owned(), Measure::exact(1.0, Unit::Bytes));
                trial
            })
        };
        let study = facts("mmap-lock", plan, (0..14).flat_map(of_block).collect());
        let factorial = in_study.then(Factorial::default);
        judge(&Facts { factorial, ..study }).state
    };
    assert_eq!(says(own.margin, true), State::NotAffected);
    assert_eq!(says(own.margin + 0.1, true), State::Inconclusive);
    assert_eq!(says(own.margin + 0.1, false), State::NotAffected, "an older record");
}
