//! `group-move`, for real. Whether a move waits here depends on the kernel, on other programs that
//! move processes, and on favordynmods, which nothing shows any more once it was on. So these tests
//! take either verdict about the case, if its figures support it. `guest.rs` has tests of guests
//! where a move has to wait.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, Ran, assert_refused, groups, processes, turn};
use host::Roots;
use host::cgroup::ParentGroup;
use serde_json::Value;
use std::path::PathBuf;

/// Whether groups can be made here. If not, prints that the test is skipped.
fn groups_or_skip() -> bool {
    let home = ParentGroup::find(&Roots::real());
    testing::has_or_skip(home.is_ok(), format_args!("no group can be made: {home:?}"))
}

/// The medians of a figure in two arms.
fn medians(record: &Value, arms: [&str; 2], figure: &str) -> [f64; 2] {
    let results = record["judgement"]["arms"].as_array().unwrap();
    arms.map(|id| {
        let arm = results.iter().find(|one| one["id"] == id).unwrap();
        arm["measures"][figure]["median"].as_f64().unwrap()
    })
}

/// Fails if the figures of case and control contradict the verdict.
fn assert_fits(ran: &Ran) {
    ran.assert_no_panic();
    let record = ran.json();
    let [control, case] = medians(&record, ["other-file", "case"], "lost");
    match record["judgement"]["state"].as_str().unwrap() {
        "affected" => assert!(case > control, "{control} and {case}: {ran:?}"),
        "not-affected" => assert!(case < control + 50.0, "{control} and {case}: {ran:?}"),
        _ => {}
    }
}

#[test]
fn moves_and_other_writes_are_timed_and_no_group_is_left() {
    let _turn = turn::take();
    if !groups_or_skip() {
        return;
    }
    let ran = Place::new().say(&["run", "group-move", "--quick", "--samples", "9", "--json"]);
    assert_eq!(groups::of_tailback(), Vec::<PathBuf>::new());
    assert_fits(&ran);
    let record = ran.json();
    for rate in medians(&record, ["other-file", "case"], "calls") {
        // The usual pause leaves room for ten calls a second.
        assert!(rate > 0.0 && rate < 11.0, "{rate}");
    }
    // The fix is an arm, or it is left out with its reason.
    let [arms, left_out] =
        ["arms", "left_out"].map(|list| record["plan"][list].as_array().map_or(0, Vec::len));
    assert_eq!(arms + left_out, 3, "{}", record["plan"]);
}

#[test]
fn two_arms_that_move_nothing_do_not_differ() {
    let _turn = turn::take();
    if !groups_or_skip() {
        return;
    }
    let args = ["run", "group-move", "--by", "other-file", "--quick", "--no-fixes", "--json"];
    assert_fits(&common::never_affected(&args));
}

#[test]
fn killed_it_leaves_no_group() {
    let _turn = turn::take();
    if !groups_or_skip() {
        return;
    }
    let place = Place::new();
    let args = ["run", "group-move", "--duration", "20s", "--samples", "1", "--no-probe"];
    let mut tool = place.tailback(&args).spawn().unwrap();
    let there = || (groups::of_run(tool.id()).len() >= 2).then_some(());
    common::wait_for("two groups", there);
    tool.kill().unwrap();
    tool.wait().unwrap();
    place.say(&["host", "restore"]);
    assert_eq!(groups::of_run(tool.id()), Vec::<PathBuf>::new());
}

#[test]
fn a_mover_that_dies_is_an_error_and_no_stall() {
    let _turn = turn::take();
    if !groups_or_skip() {
        return;
    }
    let place = Place::new();
    let args = ["run", "group-move", "--duration", "20s", "--samples", "1", "--no-probe"];
    let running = place.start(place.tailback(&args));
    let is_mover = |one: &processes::Process| one.argv.iter().any(|word| word == "group-mover");
    let find = || processes::of(running.pid()).into_iter().find(is_mover);
    processes::kill(&common::wait_for("a mover", find));
    let ran = running.end();
    assert!(![0, 1].contains(&ran.code()), "{ran:?}");
    assert!(ran.err.contains("group mover"), "{ran:?}");
    assert_eq!(groups::of_run(ran.pid), Vec::<PathBuf>::new());
}

#[test]
fn what_no_trial_can_be_made_of_is_refused_in_one_line() {
    assert_refused(
        &["run", "group-move"],
        &[
            (&["--by", "walk"], 2, "move, clone-into, other-file"),
            (&["--gap", "2s"], 2, "--gap"),
            (&["--gap", "500ms"], 2, "take 200ms or less"),
            (&["--duration", "1ms"], 2, "--duration"),
            (&["--fixes", "swap"], 2, "--fixes"),
        ],
    );
}
