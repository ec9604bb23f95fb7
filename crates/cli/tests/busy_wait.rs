//! `busy-wait` on real VMs, with a real quota.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, erlang_or_skip, helped, never_affected, says_with, turn};
use serde_json::{Value, json};
use testing::root_or_skip;

/// The flags that switch off busy waiting.
const NONE: &str = "+sbwt none +sbwtdcpu none +sbwtdio none";

#[test]
fn under_a_quota_the_defaults_stall_and_no_busy_waiting_fixes_it() {
    if !erlang_or_skip() || !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let args = ["run", "busy-wait", "--schedulers", "8", "--quick", "--no-probe", "--json"];
    let shows = |record: &Value| helped(&record["judgement"]["fixes"][0]);
    let Some(ran) = says_with("affected", &args, shows) else { return };
    let record = ran.json();
    let verdict = &record["judgement"];
    assert_eq!((ran.code(), &verdict["state"]), (1, &"affected".into()), "{ran:?}");
    assert_eq!(verdict["kind"], "latency-under-quota");
    let fix = &verdict["fixes"][0];
    assert_eq!((&fix["arm"], &fix["change"]), (&"flags-quota".into(), &json!({ "flags": NONE })));
    // Control and case differ only in the flags. Both hold the calibrated load.
    let arms = record["plan"]["arms"].as_array().unwrap();
    let setting = |arm: usize, name: &str| arms[arm]["settings"][name].clone();
    assert_eq!((&arms[0]["role"], &arms[1]["role"]), (&"control".into(), &"case".into()));
    assert!(setting(0, "rate").as_u64().is_some(), "{arms:?}");
    for name in ["rate", "workers", "quota", "period", "schedulers", "duration"] {
        assert_eq!(setting(0, name), setting(1, name), "{name}");
    }
}

#[test]
fn the_same_flags_twice_are_never_affected() {
    if !erlang_or_skip() || !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    // The smallest number of blocks that can give `affected` if there is an effect.
    let args = ["run", "busy-wait", "--flags", NONE, "--quick", "--samples", "6", "--json"];
    let ran = never_affected(&args);
    assert!(ran.json()["judgement"]["fixes"][0].is_null(), "{ran:?}");
}

#[test]
fn without_a_quota_nothing_is_said_of_one() {
    if !erlang_or_skip() {
        return;
    }
    let _turn = turn::take();
    let args = ["run", "busy-wait", "--quota", "none", "--samples", "1", "--duration", "200ms"];
    let ran = Place::new().say(&[&args[..], &["--json"]].concat());
    let record = ran.json();
    assert_eq!(record["plan"]["arms"].as_array().unwrap().len(), 2, "{ran:?}");
    assert_ne!(record["judgement"]["state"], "not-affected", "{ran:?}");
}

#[test]
fn flags_that_the_vm_refuses_skip_the_scenario_in_its_own_words() {
    if !erlang_or_skip() {
        return;
    }
    let args = ["run", "busy-wait", "--sbwt", "very_low", "--quota", "none", "--json"];
    let ran = Place::new().say(&args);
    let record = ran.json();
    assert_eq!((ran.code(), &record["judgement"]["state"]), (3, &"skipped".into()), "{ran:?}");
    let why = Place::new().said_of(&record);
    assert!(why.contains("very_low") && why.contains("refuses"), "{why}");
}
