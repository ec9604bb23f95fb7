//! Verdicts of `mailbox-flood` on a real VM.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::trials::{figure, trials};
use common::{Place, erlang_or_skip, files, helped, says, says_with, turn};

#[test]
fn a_port_that_is_flooded_collapses_and_a_dam_helps() {
    if !erlang_or_skip() {
        return;
    }
    let _turn = turn::take();
    // Twelve blocks show that a fix helps. That it fixes takes more.
    let args = ["run", "mailbox-flood", "--sink", "port", "--fixes", "credit", "--json"];
    let args = [&args[..], &["--samples", "12"]].concat();
    let shows = |record: &serde_json::Value| helped(&record["judgement"]["fixes"][0]);
    let Some(ran) = says_with("affected", &args, shows) else { return };
    let record = ran.json();
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    let verdict = &record["judgement"];
    assert_eq!(verdict["state"], "affected");
    let said = Place::new().said_of(&record);
    assert!(said.contains("with 100,000 messages queued, a write takes"), "{said}");
    assert!(said.contains("tailback_sink_port:answer/1"), "{said}");
    assert_eq!(verdict["fixes"][0]["change"]["scenario"]["id"], "credit");
    for trial in trials(&record, "credit-dam") {
        assert!(figure(trial, "both_high") <= 1000.0);
    }
    // Other work on the machine can hide the slope of one trial, and keep its senders from sending.
    let ascending = |arm: &str, name: &str| {
        let of_arm = trials(&record, arm).into_iter();
        let mut all: Vec<f64> = of_arm.map(|trial| figure(trial, name)).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    // As many messages wait as in the flood, but not for the server.
    for trial in trials(&record, "control") {
        assert!(figure(trial, "server_high") <= 100.0);
    }
    for (arm, name, least) in
        [("control", "dam_high", 2_000.0), ("direct", "both_high", 2_000.0), ("direct", "fit", 1.0)]
    {
        let all = ascending(arm, name);
        assert!(all[all.len() / 2] > least, "{name} of {arm}: {all:?}");
    }
    for trial in trials(&record, "direct") {
        let seen = &trial["observation"];
        assert_eq!(seen["series"]["cost"]["against"], "cost_lengths");
        assert!(seen["series"]["cost"]["rows"].as_array().is_some_and(|rows| rows.len() == 4));
        assert!(!seen["series"]["queues"]["rows"].as_array().unwrap().is_empty());
    }
}

#[test]
fn a_file_does_not_and_leaves_no_file() {
    if !erlang_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let folder = place.path("sinks");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.to_str().unwrap();
    let args = ["run", "mailbox-flood", "--sink", "file", "--fixes", "", "--folder", folder];
    let args = [&args[..], &["--json"]].concat();
    let Some(ran) = says("not-affected", &args) else { return };
    assert_eq!(ran.status.code(), Some(0));
    assert_eq!(files(&place.path("sinks")).len(), 0);
}

#[test]
fn a_decoy_is_not_affected_beside_a_decoy() {
    if !erlang_or_skip() {
        return;
    }
    let _turn = turn::take();
    let args = ["run", "mailbox-flood", "--mailbox", "decoy", "--sink", "file", "--json"];
    says("not-affected", &args);
}

#[test]
fn otps_take_turns_and_one_that_is_not_there_keeps_none_from_being_compared() {
    if !erlang_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    // The same OTP with another name.
    let other = place.path("other-erl");
    testing::write_program(&other, "#!/bin/sh\nexec erl \"$@\"\n");
    let otps = format!("auto,/no/such/erl,{}", other.display());
    let args = ["matrix", "mailbox-flood", "--quick", "--otps", &otps, "--", "--samples", "2"];
    let load = ["--sink", "file", "--fixes", "", "--no-probe", "--duration", "500ms"];
    let ran = place.say(&[&args[..], &load].concat());
    let blocks: Vec<&str> =
        ran.err.lines().filter_map(|line| line.split_once(": block ").map(|line| line.0)).collect();
    let other = other.to_str().unwrap();
    assert_eq!(blocks, ["auto", other, "auto", other], "{ran:?}");
    assert!(ran.err.lines().any(|line| line.contains("/no/such/erl: ")), "{ran:?}");
    assert!(ran.out.contains("No boundary") && !ran.out.contains("not compared"), "{ran:?}");
}
