//! Failures during `blocking-nif` on a real VM. Nothing here depends on what else the machine
//! does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, erlang_or_skip, processes, wait_for};

#[test]
fn work_beyond_the_time_limit_is_a_hang_with_every_judged_figure() {
    if !erlang_or_skip() {
        return;
    }
    let args = ["run", "blocking-nif", "--work", "5000000", "--time-limit", "1s", "--fixes", ""];
    let ran = Place::new().say(&[&args[..], &["--samples", "1", "--json"]].concat());
    assert!([1, 4].contains(&ran.code()), "{ran:?}");
    let record = ran.json();
    let trials = record["trials"].as_array().unwrap();
    assert_eq!(trials.len(), record["plan"]["arms"].as_array().unwrap().len(), "{ran:?}");
    for trial in trials {
        let seen = &trial["observation"];
        assert_eq!(seen["hang"], true, "{seen}");
        for measure in ["asleep", "unfairness", "late"] {
            assert_eq!(seen["measures"][measure]["at_least"], true, "{seen}");
        }
    }
}

#[test]
fn what_cannot_be_run_is_said_in_one_line() {
    if !erlang_or_skip() {
        return;
    }
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--mode", "smoke"], 2, "nif_sleep"),
        (&["--processes", "0"], 2, "between 1 and"),
        (&["--work", "-1"], 2, "between 0 and"),
        (&["--calls", "-1"], 2, "between 0 and"),
        (&["--fixes", "prayer"], 2, "dirty, charge"),
        (&["--flags", "+nonsense 1"], 2, "+nonsense 1: bad"),
        (&["--flags", "-setcookie secret"], 2, "without distribution"),
        (&["--erl", "/nowhere/erl"], 3, "/nowhere/erl"),
        (&["--erl", "/bin/true"], 2, "/bin/true"),
        (&["--erl", "auto,auto"], 2, "two arms"),
        (&["--processes", "2000000", "--samples", "1"], 2, "+P"),
    ];
    common::assert_refused(&["run", "blocking-nif"], cases);
}

#[test]
fn without_an_erlang_the_need_is_named() {
    let place = Place::new();
    let mut command = place.tailback(&["run", "blocking-nif"]);
    command.env("PATH", place.path("nothing"));
    let ran = place.run(command);
    assert_eq!(ran.status.code(), Some(3), "{ran:?}");
    assert!(ran.err.contains("erl") && ran.err.contains("erlang-base"), "{}", ran.err);
}

#[test]
fn flags_that_an_otp_refuses_leave_an_arm_out_in_its_own_words() {
    if !erlang_or_skip() {
        return;
    }
    let args = [
        "run",
        "blocking-nif",
        "--fixes",
        "+swt nonsense",
        "--samples",
        "1",
        "--work",
        "1000",
        "--json",
    ];
    let record = Place::new().say(&args).json();
    let left_out = &record["plan"]["left_out"][0];
    assert_eq!(left_out["id"], "swt-nonsense");
    let refused = &left_out["why"]["flags"];
    assert_eq!(refused["flags"], "+swt nonsense", "{left_out}");
    assert!(refused["why"].as_str().unwrap().contains("nonsense"), "{left_out}");
}

#[test]
fn no_work_at_all_is_no_verdict() {
    if !erlang_or_skip() {
        return;
    }
    let args = ["run", "blocking-nif", "--work", "0", "--calls", "0", "--samples", "2", "--json"];
    let ran = Place::new().say(&args);
    assert_eq!(ran.status.code(), Some(4), "{ran:?}");
}

#[test]
fn a_node_that_is_killed_ends_the_study_and_is_named() {
    if !erlang_or_skip() {
        return;
    }
    let place = Place::new();
    let args = ["run", "blocking-nif", "--work", "100000", "--samples", "3"];
    let running = place.start(place.tailback(&args));
    let vm = vm_of(running.pid());
    processes::kill(&vm);
    let ran = running.end();
    assert_eq!(ran.code(), 4, "{ran:?}");
    assert!(ran.err.contains("signal 9") && ran.err.contains(&vm.pid.to_string()), "{}", ran.err);
}

#[test]
fn no_vm_is_left_when_the_tool_is_killed() {
    if !erlang_or_skip() {
        return;
    }
    let place = Place::new();
    let args = ["run", "blocking-nif", "--work", "100000", "--samples", "3"];
    let running = place.start(place.tailback(&args));
    let _ = vm_of(running.pid());
    let family = processes::below(running.pid());
    running.signal(rustix::process::Signal::KILL);
    let _ = running.end();
    processes::wait_until_all_gone(&family);
}

/// The VM of a trial, once it runs. A VM that is only asked for its version does not count.
fn vm_of(tool: u32) -> processes::Process {
    let driven = |one: &processes::Process| {
        one.name == "beam.smp" && one.argv.iter().any(|word| word == "tailback_port")
    };
    wait_for("a VM", || processes::below(tool).into_iter().find(driven))
}
