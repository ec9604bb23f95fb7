//! `held-mutex`, for real.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, assert_refused, groups, processes, says, turn};
use std::path::PathBuf;

fn medians(ran: &common::Ran, figure: &str) -> [f64; 2] {
    let record = ran.json();
    ["usual", "case"].map(|id| {
        let arms = record["judgement"]["arms"].as_array().unwrap();
        let arm = arms.iter().find(|one| one["id"] == id).unwrap();
        arm["measures"][figure]["median"].as_f64().unwrap()
    })
}

#[test]
fn a_holder_at_nice_19_keeps_others_asleep_and_short_sections_do_not() {
    let _turn = turn::take();
    if !common::two_cpus_or_skip() {
        return;
    }
    let args = ["run", "held-mutex", "--no-fixes", "--quick", "--json"];
    if let Some(ran) = says("affected", &args) {
        let [usual, case] = medians(&ran, "off_cpu");
        assert!(case > 2.0 * usual, "the holder had no CPU: {usual} and {case}");
    }
    // With another program, a holder at nice 19 also loses its CPU inside some longer sections.
    let short = [&args[..], &["--inside", "20us", "--rest", "400us"]].concat();
    says("not-affected", &short);
}

#[test]
fn a_throttled_holder_keeps_others_asleep_and_leaves_no_group() {
    let _turn = turn::take();
    if !common::two_cpus_or_skip() || !testing::root_or_skip() {
        return;
    }
    let args = ["run", "held-mutex", "--by", "quota", "--no-fixes", "--quick", "--json"];
    let args = [&args[..], &["--no-probe"]].concat();
    let ran = says("affected", &args);
    assert_eq!(groups::of_tailback(), Vec::<PathBuf>::new());
    let Some(ran) = ran else { return };
    let [usual, case] = medians(&ran, "worst");
    assert!(case > 2.0 * usual, "the longest wait: {usual} and {case}");
}

#[test]
fn an_idle_holder_keeps_others_asleep() {
    let _turn = turn::take();
    if !common::two_cpus_or_skip() {
        return;
    }
    let args = ["run", "held-mutex", "--by", "idle", "--no-fixes", "--quick", "--json"];
    let Some(ran) = says("affected", &[&args[..], &["--no-probe"]].concat()) else { return };
    let [usual, case] = medians(&ran, "off_cpu");
    assert!(case > 2.0 * usual, "the holder had no CPU: {usual} and {case}");
}

#[test]
fn killed_it_leaves_no_group() {
    let _turn = turn::take();
    if !common::two_cpus_or_skip() || groups::parent_or_skip().is_none() {
        return;
    }
    let place = Place::new();
    let args = ["run", "held-mutex", "--by", "quota", "--duration", "20s", "--samples", "1"];
    let mut tool = place.tailback(&[&args[..], &["--no-probe"]].concat()).spawn().unwrap();
    common::wait_for("a group", || (!groups::of_run(tool.id()).is_empty()).then_some(()));
    tool.kill().unwrap();
    tool.wait().unwrap();
    place.say(&["host", "restore"]);
    assert_eq!(groups::of_run(tool.id()), Vec::<PathBuf>::new());
}

#[test]
fn a_holder_like_the_others_keeps_nobody_asleep() {
    let _turn = turn::take();
    if !common::two_cpus_or_skip() {
        return;
    }
    let args = ["run", "held-mutex", "--held-up", "no", "--no-fixes", "--quick", "--json"];
    says("not-affected", &args);
}

#[test]
fn a_holder_that_dies_is_an_error_and_no_stall() {
    let _turn = turn::take();
    if !common::two_cpus_or_skip() {
        return;
    }
    let place = Place::new();
    let args = ["run", "held-mutex", "--duration", "20s", "--samples", "1", "--no-probe"];
    let running = place.start(place.tailback(&args));
    let is_holder = |one: &processes::Process| one.argv.iter().any(|word| word == "mutex-holder");
    let find = || processes::of(running.pid()).into_iter().find(is_holder);
    processes::kill(&common::wait_for("a holder", find));
    let ran = running.end();
    assert!(![0, 1].contains(&ran.code()), "{ran:?}");
    assert!(ran.err.contains("mutex holder"), "{ran:?}");
}

#[test]
fn at_another_nice_value_of_its_own_it_is_skipped_with_the_reason() {
    let place = Place::new();
    let mut nice = place.program("nice");
    nice.args(["-n", "5", env!("CARGO_BIN_EXE_tailback"), "run", "held-mutex", "--quick"]);
    let ran = place.run(nice);
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert!(ran.err.contains("run it at nice 0"), "{ran:?}");
}

#[test]
fn what_no_trial_can_be_made_of_is_refused_in_one_line() {
    assert_refused(
        &["run", "held-mutex"],
        &[
            (&["--by", "magic"], 2, "nice, idle, quota"),
            (&["--nice", "20"], 2, "--nice"),
            (&["--rivals", "9"], 2, "--rivals"),
            (&["--quota", "much"], 2, "--quota"),
            (&["--inside", "1us"], 2, "--inside"),
        ],
    );
}
