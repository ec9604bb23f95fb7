//! `memory-high`, for real on a machine with the v2 memory controller and with PSI. On a machine
//! with cgroup v1, its error message. `guest.rs` runs it in a guest.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, assert_refused, groups, says_with, turn};
use host::Roots;
use host::cgroup::{CgroupError, ParentGroup};

#[test]
fn work_above_its_limit_stands_still_or_the_machine_is_told_what_it_lacks() {
    let _turn = turn::take();
    match ParentGroup::find_memory(&Roots::real()) {
        Ok(_) if !common::counts_waits_for_memory() => {}
        Ok(_) => {
            work_above_its_limit_stands_still();
            killed_it_leaves_no_group();
        }
        Err(CgroupError::MemoryOfV1) => a_machine_with_cgroup_v1_is_told_so(),
        Err(missing) => testing::skipped(format_args!("no group can be limited: {missing:?}")),
    }
}

/// Also with its fix, `memory.max` and a restart.
fn work_above_its_limit_stands_still() {
    let args = ["run", "memory-high", "--quick", "--json"];
    // A fix has its own test, which other work on the machine can leave open.
    let shows = |record: &serde_json::Value| outcome(record) != "not-shown";
    let Some(ran) = says_with("affected", &args, shows) else { return };
    assert_eq!(ran.json()["judgement"]["state"], "affected", "{ran:?}");
}

/// The outcome of the first fix.
fn outcome(record: &serde_json::Value) -> &str {
    record["judgement"]["fixes"][0]["outcome"].as_str().unwrap()
}

/// After a kill, `host restore` leaves no group of the run.
fn killed_it_leaves_no_group() {
    let place = Place::new();
    let args = ["run", "memory-high", "--duration", "20s", "--samples", "1", "--no-probe"];
    let mut tool = place.tailback(&args).spawn().unwrap();
    let there = || (!groups::of_run(tool.id()).is_empty()).then_some(());
    common::wait_for("a group to be made", there);
    tool.kill().unwrap();
    tool.wait().unwrap();
    place.say(&["host", "restore"]);
    assert_eq!(groups::of_run(tool.id()), Vec::<std::path::PathBuf>::new());
}

/// The message is one line, with the command to run it in a guest.
fn a_machine_with_cgroup_v1_is_told_so() {
    let ran = Place::new().say(&["run", "memory-high"]);
    assert_eq!(ran.status.code(), Some(3), "{ran:?}");
    let line = ran.err.lines().find(|line| line.contains("cgroup v1")).unwrap();
    assert!(line.contains("tailback vm --kernel debian:6.12 -- run memory-high"), "{ran:?}");
}

#[test]
fn what_no_trial_can_be_made_of_is_refused_in_one_line() {
    assert_refused(
        &["run", "memory-high"],
        &[
            (&["--limit", "1MiB"], 2, "not between 16MiB and 1TiB"),
            (&["--need", "much"], 2, "--need"),
            (&["--unit", "1KiB"], 2, "not between 4KiB and 64MiB"),
            (&["--by", "low"], 2, "high, max"),
            (&["--swap", "some"], 2, "yes, no"),
        ],
    );
}
