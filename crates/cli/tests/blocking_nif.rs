//! Verdicts of `blocking-nif` on a real VM.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{erlang_or_skip, helped, says, says_with, turn};
use serde_json::{Value, json};

fn fix<'a>(record: &'a Value, flags: &str) -> &'a Value {
    let change = json!({ "flags": flags });
    let fixes = record["judgement"]["fixes"].as_array().unwrap();
    fixes.iter().find(|fix| fix["change"] == change).unwrap_or_else(|| panic!("{fixes:?}"))
}

#[test]
fn a_native_function_that_sleeps_makes_schedulers_collapse_and_two_flags_help() {
    if !erlang_or_skip() {
        return;
    }
    let _turn = turn::take();
    let fixes = "+sfwi 10; +swt very_low";
    let args = ["run", "blocking-nif", "--fixes", fixes, "--no-probe", "--json"];
    let both = ["+sfwi 10", "+swt very_low"];
    let is_faster = |fix: &Value| {
        let wall = |side: &str| fix[side]["wall"]["median"].as_f64().unwrap();
        wall("with") < 0.8 * wall("without")
    };
    let shows = |record: &Value| {
        both.iter().map(|flags| fix(record, flags)).all(|fix| helped(fix) && is_faster(fix))
    };
    let Some(ran) = says_with("affected", &args, shows) else { return };
    let record = ran.json();
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    assert_eq!(record["judgement"]["state"], "affected");
    assert_eq!(record["judgement"]["kind"], "collapse");
    let case =
        record["trials"].as_array().unwrap().iter().find(|trial| trial["arm"] == "nif_sleep");
    let seen = &case.unwrap()["observation"];
    assert!(seen["series"]["run_queues"]["rows"].as_array().is_some_and(|rows| !rows.is_empty()));
    assert!(seen["series"]["scheduler_threads"]["columns"].as_array().unwrap().len() >= 2);
    assert_eq!(seen["vm"]["schedulers_online"], 2.max(seen["vm"]["schedulers"].as_i64().unwrap()));
}

#[test]
fn the_same_work_on_dirty_schedulers_does_not() {
    if !erlang_or_skip() {
        return;
    }
    let _turn = turn::take();
    let args = ["run", "blocking-nif", "--mode", "nif_dirty", "--work", "5000", "--json"];
    let Some(ran) = says("not-affected", &args) else { return };
    assert_eq!(ran.status.code(), Some(0));
}

#[test]
fn calls_that_yield_are_not_affected_beside_calls_that_yield() {
    if !erlang_or_skip() {
        return;
    }
    let _turn = turn::take();
    let args = ["run", "blocking-nif", "--mode", "nif_yield", "--json"];
    says("not-affected", &args);
}
