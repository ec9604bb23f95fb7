//! `busy-wait` on real VMs, with a real quota.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, erlang_or_skip, root_or_skip, sure, turn};

#[test]
fn under_a_quota_the_defaults_stall_and_no_busy_waiting_mends_it() {
    if !erlang_or_skip() || !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let args = ["run", "busy-wait", "--schedulers", "8", "--quick", "--no-probe", "--json"];
    let Some(ran) = sure(&args) else { return };
    let verdict = &ran.json()["verdict"];
    assert_eq!((ran.code(), &verdict["state"]), (1, &"affected".into()), "{ran:?}");
    assert_eq!(verdict["kind"], "latency-under-quota");
    let fix = &verdict["fixes"][0];
    assert_eq!(fix["change"], "+sbwt none +sbwtdcpu none +sbwtdio none");
    let p99 = |side: &str| fix[side]["p99"]["median"].as_f64().unwrap();
    assert!(p99("with") < p99("without"), "{fix}");
}

#[test]
fn the_same_flags_twice_are_not_affected() {
    if !erlang_or_skip() {
        return;
    }
    let _turn = turn::take();
    let mut args = vec!["run", "busy-wait", "--quota", "none", "--duration", "300ms", "--json"];
    for flag in ["--sbwt", "--sbwtdcpu", "--sbwtdio"] {
        args.extend([flag, "default"]);
    }
    let Some(ran) = sure(&args) else { return };
    assert_eq!(ran.json()["verdict"]["state"], "not-affected", "{ran:?}");
}

#[test]
fn flags_that_the_vm_refuses_are_left_out_in_its_own_words() {
    if !erlang_or_skip() {
        return;
    }
    let _turn = turn::take();
    let args = ["run", "busy-wait", "--sbwt", "very_low", "--quota", "none", "--samples", "1"];
    let record = Place::new().say(&[&args[..], &["--duration", "200ms", "--json"]].concat()).json();
    let why = record["plan"]["left_out"][0]["why"].as_str().unwrap();
    assert!(why.contains("very_low") && why.contains("refuses"), "{why}");
}
