//! Verdicts of real trials on this kernel.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{OPEN_STUDIES, Place, Ran, Tally, processes, turn};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// Runs a study until this verdict is decided. A study without a settled verdict is tried again,
/// since other programs may have disturbed it.
fn study_that_is(state: &str, args: &[&str]) -> (Place, Ran) {
    let (mut tally, mut unsure) = (Tally::default(), 0);
    loop {
        let place = Place::new();
        let ran = place.say(args);
        let found = ran.json()["judgement"]["state"].as_str().unwrap().to_owned();
        if ["inconclusive", "untrustworthy"].contains(&found.as_str()) {
            unsure += 1;
            assert!(unsure < OPEN_STUDIES, "{found}, not {state}: {ran:?}");
            eprintln!("tried again, since it was {found}: {}", ran.json()["judgement"]["reasons"]);
            wait_for_quiet();
        } else if tally.decides(&ran, state) {
            return (place, ran);
        }
    }
}

/// Gives other programs some time to leave the CPUs. They may never leave, so the wait is
/// limited.
fn wait_for_quiet() {
    for _ in 0..30 {
        let Ok(pressure) = std::fs::read_to_string("/proc/pressure/cpu") else { return };
        let share = pressure.split("avg10=").nth(1).and_then(|rest| rest.split(' ').next());
        if share.and_then(|share| share.parse::<f64>().ok()).is_none_or(|share| share < 5.0) {
            return;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Fails if the record does not fit the schema, or an estimate has no interval.
fn assert_whole(record: &Value) {
    assert_valid(record);
    let arms = record["judgement"]["arms"].as_array().unwrap();
    let ran = |arm: &&Value| {
        let mut trials = record["trials"].as_array().unwrap().iter();
        trials.any(|trial| trial["arm"] == arm["id"])
    };
    let planned = record["plan"]["arms"].as_array().unwrap();
    assert_eq!(arms.len(), planned.iter().filter(ran).count());
    for arm in arms {
        assert_bounded(&arm["hangs"], "hangs");
        // Baselines and fixes are not in every block. Fewer trials give no interval of a median.
        if arm["trials"].as_u64().unwrap() < 6 {
            assert!(arm["role"] == "baseline" || arm["role"] == "fix", "{arm}");
            continue;
        }
        for (name, estimate) in arm["measures"].as_object().unwrap() {
            assert_bounded(estimate, name);
        }
        if arm["role"] == "control" {
            continue;
        }
        assert_bounded(&arm["worse"], "worse");
        let comparisons = arm["against_control"].as_object().unwrap();
        assert_eq!(comparisons.len(), arm["measures"].as_object().unwrap().len());
        comparisons.iter().for_each(|(name, comparison)| assert_bounded(comparison, name));
    }
}

/// Fails unless the interval has both ends, or its upper end is marked as unbounded.
fn assert_bounded(figures: &Value, name: &str) {
    let (low, high) = (figures["low"].as_f64(), figures["high"].as_f64());
    let unbounded = figures["high_unbounded"] == true || figures["shift_at_least"] == true;
    let low = low.unwrap_or_else(|| panic!("{name} has no interval: {figures}"));
    assert!(
        high.is_some_and(|high| low <= high) || high.is_none() && unbounded,
        "{name}: {figures}"
    );
    assert!(figures["confidence"].as_f64().unwrap() >= 0.9, "{name}: {figures}");
}

fn assert_valid(record: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/record.v3.json");
    let validator = jsonschema::validator_for(&common::json(&path)).unwrap();
    let errors: Vec<String> = validator.iter_errors(record).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

/// Fails unless `judge` gives the saved record the same judgement as the run, whatever judgement
/// is in the file.
fn assert_judged_the_same(place: &Place, ran: &Ran) {
    let record = ran.json();
    let records = place.records();
    assert_eq!(records.len(), 1, "{ran:?}");
    assert_eq!(common::json(&records[0]), record);
    let mut lying = record.clone();
    lying["judgement"] = json!({ "state": "skipped", "arms": "none" });
    let lies = place.path("lies.json");
    std::fs::write(&lies, lying.to_string()).unwrap();
    for path in [&records[0], &lies] {
        let judged = place.say(&["judge", "--json", path.to_str().unwrap()]);
        assert_eq!(judged.code(), ran.code(), "{judged:?}");
        assert_eq!(judged.json()["judgement"], record["judgement"]);
    }
}

#[test]
fn readers_of_smaps_stall_this_kernel() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    // Nothing here asks for the verdict of a fix, which takes longer.
    let args = ["run", "mmap-lock", "--quick", "--no-fixes", "--json"];
    let (place, ran) = study_that_is("affected", &args);
    assert_eq!(ran.code(), 1, "{ran:?}");
    let record = ran.json();
    assert_eq!(record["ended"], "complete");
    assert_whole(&record);
    assert_judged_the_same(&place, &ran);
    let [control, busy] = ["twin-10", "busy-10"].map(|arm| median(&record, arm, "stall"));
    // Ten readers on one CPU hold the lock almost always. If they read another process, the
    // mapper hardly stalls.
    assert!(busy > 2.0 * control + 10.0, "{busy} against {control} ms/s");
    processes::wait_until_gone(ran.pid);
}

fn median(record: &Value, arm: &str, measure: &str) -> f64 {
    let arms = record["judgement"]["arms"].as_array().unwrap();
    let arm = arms.iter().find(|result| result["id"] == arm).unwrap();
    arm["measures"][measure]["median"].as_f64().unwrap()
}

#[test]
fn the_control_against_itself_is_not_affected() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let args = ["run", "mmap-lock", "--busy", "0", "--json"];
    let (place, ran) = study_that_is("not-affected", &args);
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert_whole(&ran.json());
    assert_judged_the_same(&place, &ran);
}

/// Two blocks of four short arms with this seed.
fn two_blocks(place: &Place, seed: &str) -> Ran {
    let mut args = vec!["run", "mmap-lock", "--busy", "0,1", "--duration", "50ms"];
    args.extend(["--size", "4MiB", "--hang-after", "20ms", "--samples", "2", "--json"]);
    args.extend(["--seed", seed]);
    place.say(&args)
}

/// Block and arm of each trial, in the order of the runs.
fn order(ran: &Ran) -> Vec<(u64, String)> {
    let record = ran.json();
    let trials = record["trials"].as_array().unwrap().iter();
    trials
        .map(|trial| (trial["block"].as_u64().unwrap(), trial["arm"].as_str().unwrap().to_owned()))
        .collect()
}

#[test]
fn the_seed_repeats_the_order_of_the_arms() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let (one, other) = (common::seed_for(&[2, 0, 1, 3]), common::seed_for(&[1, 3, 2, 0]));
    let first = two_blocks(&place, &one);
    let trials = order(&first);
    assert_eq!(trials.len(), 8, "{first:?}");
    for block in 0..2 {
        let mut arms: Vec<&str> =
            trials.iter().filter(|trial| trial.0 == block).map(|trial| trial.1.as_str()).collect();
        arms.sort_unstable();
        assert_eq!(arms, ["alone", "busy-1", "status-1", "twin-1"], "block {block}");
    }
    assert_eq!(first.json()["plan"]["seed"].to_string(), one);
    assert_eq!(order(&two_blocks(&place, &one)), trials);
    let different = order(&two_blocks(&place, &other));
    assert_ne!(different, trials);
    assert_eq!(different.len(), 8);
    assert_eq!(place.records().len(), 3);
}

#[test]
fn progress_names_blocks_and_seed_and_nothing_is_coloured_in_a_pipe() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let record = place.path("record.json");
    let mut args = vec!["run", "mmap-lock", "--quick", "--duration", "50ms", "--samples", "2"];
    args.extend(["--size", "4MiB", "--seed", "4711", "--record", record.to_str().unwrap()]);
    let ran = place.say(&args);
    let lines = ran.complaints();
    assert!(lines[0].contains("3 arms") && lines[0].ends_with("seed 4711"), "{ran:?}");
    assert!(lines[1].starts_with("block 1: stall in ms/s: busy-10 "), "{ran:?}");
    assert!(lines[2].starts_with("block 2: ") && lines[2].contains("twin-10 "), "{ran:?}");
    assert_eq!(lines[3..], [format!("record: {}", record.display())], "{ran:?}");
    assert!(ran.out.starts_with("mmap-lock: "), "{ran:?}");
    assert!(!ran.out.contains('\x1b') && !ran.err.contains('\x1b'), "{ran:?}");
}

#[test]
fn colours_are_there_and_no_color_drops_them() {
    let place = Place::new();
    let golden = place.golden("mmap-lock");
    let with = |name: &str| {
        let mut command = place.tailback(&["judge", golden.to_str().unwrap()]);
        command.env(name, "1");
        place.run(command).out
    };
    let (coloured, plain) = (with("CLICOLOR_FORCE"), with("NO_COLOR"));
    assert!(coloured.contains('\x1b'), "{coloured}");
    assert!(!plain.contains('\x1b'), "{plain}");
}
