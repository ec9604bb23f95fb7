//! `preempted-holder`, for real.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, helped, says, says_with, turn};

#[test]
fn threads_that_spin_are_affected_and_fewer_of_them_fix_it() {
    let _turn = turn::take();
    // Twelve blocks show that a fix helps. That it fixes takes more.
    let args = ["run", "preempted-holder", "--quick", "--json", "--samples", "12"];
    let median = |record: &serde_json::Value, arm: &str, figure: &str| {
        let mut arms = record["judgement"]["arms"].as_array().unwrap().iter();
        arms.find(|one| one["id"] == arm).unwrap()["measures"][figure]["median"].as_f64().unwrap()
    };
    let shows = |record: &serde_json::Value| {
        let mut fixes = record["judgement"]["fixes"].as_array().unwrap().iter();
        let [case, sleep] = ["case", "sleep"].map(|arm| median(record, arm, "rounds"));
        helped(fixes.find(|fix| fix["arm"] == "fewer-threads").unwrap()) && case < 0.8 * sleep
    };
    let Some(ran) = says_with("affected", &args, shows) else { return };
    let record = ran.json();
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    assert_eq!(record["judgement"]["state"], "affected", "{ran:?}");
    assert!(median(&record, "case", "preempted") > 0.0, "{ran:?}");
}

#[test]
fn faults_with_the_lock_held_are_affected_and_are_counted() {
    let _turn = turn::take();
    let args = ["run", "preempted-holder", "--fault", "minor", "--inside", "1us", "--pages", "64"];
    let args =
        [&args[..], &["--fixes", "touch-before", "--quick", "--no-probe", "--json"]].concat();
    let Some(ran) = says("affected", &args) else { return };
    let record = ran.json();
    let arms = record["judgement"]["arms"].as_array().unwrap();
    for arm in arms {
        let median = |figure: &str| arm["measures"][figure]["median"].as_f64().unwrap();
        // All arms have the same page faults. Only where and how the threads wait differs.
        assert!(median("faults") >= 63.0 * median("rounds"), "{arm}");
    }
    assert_eq!(arms.len(), 3, "{ran:?}");
}

#[test]
fn threads_that_sleep_are_not_affected_beside_threads_that_sleep() {
    let _turn = turn::take();
    let args = ["run", "preempted-holder", "--lock", "sleep", "--quick", "--json"];
    let Some(ran) = says("not-affected", &args) else { return };
    assert_eq!(ran.status.code(), Some(0));
}

#[test]
fn more_cpus_than_there_are_are_refused_in_one_line() {
    let ran = Place::new().say(&["run", "preempted-holder", "--on-cpus", "4096"]);
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    assert!(ran.err.contains("--on-cpus 4096: this process may use "), "{ran:?}");
    assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
}
