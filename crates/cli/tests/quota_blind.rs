//! `quota-blind` with a real runtime: the BEAM, which the other tests also need.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, assert_refused, erlang_or_skip, groups, turn, two_cpus_or_skip};
use serde_json::Value;
use std::path::{Path, PathBuf};
use testing::root_or_skip;

/// A study of one block, which settles nothing.
const SHORT: [&str; 9] = [
    "run",
    "quota-blind",
    "--runtime",
    "beam",
    "--samples",
    "1",
    "--duration",
    "400ms",
    "--no-probe",
];

fn can_run() -> bool {
    erlang_or_skip() && root_or_skip() && two_cpus_or_skip()
}

#[test]
fn case_and_control_differ_by_what_the_runtime_is_told() {
    if !can_run() {
        return;
    }
    let _turn = turn::take();
    let ran = Place::new().say(&[&SHORT[..], &["--limit-at", "parent", "--json"]].concat());
    let record = ran.json();
    let arm = |id: &str| -> &Value {
        let arms = record["judgement"]["arms"].as_array().unwrap();
        arms.iter().find(|arm| arm["id"] == id).unwrap_or_else(|| panic!("{id}: {ran:?}"))
    };
    let median = |id: &str, name: &str| arm(id)["measures"][name]["median"].as_f64().unwrap();
    // No OTP so far reads the quota of a group above its own.
    assert!(median("default", "cpus") > median("told", "cpus"), "{ran:?}");
    assert_eq!(median("told", "cpus"), 1.0);
    assert!(median("default", "threads") > 1.0 && median("default", "p99") > 0.0, "{ran:?}");
    let settings = |arm: usize| record["plan"]["arms"][arm]["settings"].clone();
    let (mut control, mut case) = (settings(0), settings(1));
    assert_eq!((&control["told"], &case["told"]), (&1.into(), &"none".into()));
    for arm in [&mut control, &mut case] {
        arm["told"] = Value::Null;
    }
    assert_eq!(control, case);
    assert!(case["job-rounds"].as_u64().unwrap() > 0, "{case}");
    let note = &record["trials"][0]["observation"]["notes"][0]["fact"]["values"]["runtime"];
    assert!(note.to_string().contains("BEAM"), "{note}");
    assert_eq!(groups::of_tailback(), Vec::<PathBuf>::new());
}

#[test]
fn in_a_namespace_the_runtime_runs_and_nothing_stays_mounted() {
    if !can_run() {
        return;
    }
    let _turn = turn::take();
    let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let before = mounts();
    let ran = Place::new().say(&[&SHORT[..], &["--limit-at", "namespace", "--json"]].concat());
    assert_eq!(ran.json()["judgement"]["arms"].as_array().unwrap().len(), 2, "{ran:?}");
    assert_eq!(mounts(), before);
    assert_eq!(groups::of_tailback(), Vec::<PathBuf>::new());
}

#[test]
fn what_a_killed_run_leaves_goes_with_the_next() {
    if !can_run() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let long = ["--duration", "60s", "--request-rounds", "1000", "--job-rounds", "1000"];
    let mut words = SHORT.to_vec();
    words.truncate(6);
    let mut tool = place.tailback(&[&words[..], &long].concat()).spawn().unwrap();
    let inside = |group: &PathBuf| {
        let pids = std::fs::read_to_string(group.join("cgroup.procs")).ok()?;
        pids.lines().next().map(|pid| pid.parse::<u32>().unwrap())
    };
    let runtime =
        common::wait_for("a runtime in a group", || groups::of_tailback().iter().find_map(inside));
    tool.kill().unwrap();
    tool.wait().unwrap();
    common::wait_for("the runtime to end", || {
        (!Path::new(&format!("/proc/{runtime}/cmdline")).exists()).then_some(())
    });
    place.say(&["host", "restore"]);
    assert_eq!(groups::of_tailback(), Vec::<PathBuf>::new());
}

#[test]
fn a_runtime_that_is_not_there_is_skipped_with_what_installs_it() {
    if !root_or_skip() || !two_cpus_or_skip() {
        return;
    }
    let place = Place::new();
    let args = ["run", "quota-blind", "--runtime", "node", "--program", "/nonexistent", "--json"];
    let ran = place.say(&args);
    let record = ran.json();
    assert_eq!((ran.code(), &record["judgement"]["state"]), (3, &"skipped".into()), "{ran:?}");
    let why = place.said_of(&record);
    assert!(why.contains("/nonexistent: not a program") && why.contains("apt-get"), "{why}");
}

#[test]
fn values_that_make_no_sense_are_refused_in_a_line() {
    assert_refused(
        &["run", "quota-blind"],
        &[
            (&["--runtime", "perl"], 2, "none of beam, jvm, go, node"),
            (&["--limit-at", "moon"], 2, "leaf, parent, namespace"),
            (&["--quota", "50ms"], 2, "not a quota and its period"),
            (&["--quota", "1us/100ms"], 2, "not between 1ms and 1h"),
            (&["--told", "0"], 2, "0 is not between 1 and 1024"),
            (&["--rate", "x"], 2, "not a whole number"),
        ],
    );
}
