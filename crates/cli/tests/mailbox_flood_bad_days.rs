//! Failures during `mailbox-flood` on a real VM. Nothing here depends on what else the machine
//! does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::trials::{figure, trials};
use common::{Place, erlang_or_skip, processes, wait_for};

#[test]
fn behind_the_dam_nothing_is_lost_when_the_server_is_killed() {
    if !erlang_or_skip() {
        return;
    }
    let args = [
        "run",
        "mailbox-flood",
        "--messages",
        "60",
        "--duration",
        "60s",
        "--kill-after",
        "30ms",
        "--fixes",
        "credit",
        "--samples",
        "1",
        "--json",
    ];
    let record = Place::new().say(&args).json();
    let dam = trials(&record, "credit-dam")[0];
    assert_eq!(figure(dam, "lost"), 0.0);
    assert_eq!(figure(dam, "out_of_order"), 0.0);
    // At most one window of messages comes twice.
    assert!(figure(dam, "duplicated") <= 32.0, "{dam}");
    assert!(figure(trials(&record, "direct")[0], "lost") > 0.0);
    let said = Place::new().said_of(&record);
    assert!(said.contains("credit-dam") && said.contains("killed"), "{said}");
}

#[test]
fn a_handful_of_messages_is_no_verdict() {
    if !erlang_or_skip() {
        return;
    }
    let args = ["run", "mailbox-flood", "--senders", "2", "--messages", "5", "--fixes", ""];
    let ran = Place::new().say(&[&args[..], &["--samples", "2"]].concat());
    assert_eq!(ran.status.code(), Some(4), "{ran:?}");
    assert!(ran.out.contains("too few"), "{}", ran.out);
}

#[test]
fn what_cannot_be_run_is_said_in_one_line() {
    if !erlang_or_skip() {
        return;
    }
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--sink", "smoke"], 2, "port"),
        (&["--senders", "0"], 2, "between 1 and"),
        (&["--messages", "-1"], 2, "between 1 and"),
        (&["--messages", "10000000"], 2, "more than 100000000"),
        (&["--fixes", "prayer"], 2, "off_heap, threshold, credit"),
        (&["--pace", "one-at-a-time", "--dam", "credit"], 2, "--dam"),
        (&["--mailbox", "decoy", "--dam", "credit"], 2, "--mailbox"),
        (&["--sink", "file", "--folder", "/no/such", "--samples", "1"], 2, "/no/such"),
        (&["--flags", "+nonsense 1"], 2, "refuses +nonsense 1"),
        (&["--erl", "/nowhere/erl"], 3, "/nowhere/erl"),
    ];
    common::assert_refused(&["run", "mailbox-flood"], cases);
}

#[test]
fn more_messages_than_the_memory_may_hold_end_the_study() {
    if !erlang_or_skip() {
        return;
    }
    let args = ["run", "mailbox-flood", "--messages", "100000", "--duration", "10min"];
    let limit = ["--memory-limit", "128MiB", "--pace", "flood", "--fixes", "", "--samples", "1"];
    let ran = Place::new().say(&[&args[..], &limit].concat());
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    let line = ran.wrongs().join("\n");
    assert!(line.contains("memory") && line.contains("--memory-limit"), "{line}");
}

#[test]
fn no_vm_and_no_port_program_is_left_when_the_tool_is_killed() {
    if !erlang_or_skip() {
        return;
    }
    let place = Place::new();
    let args = ["run", "mailbox-flood", "--duration", "60s", "--fixes", "", "--samples", "1"];
    let running = place.start(place.tailback(&args));
    let is_port = |one: &processes::Process| one.name == "cat";
    wait_for("a port program", || processes::below(running.pid()).into_iter().find(is_port));
    let family = processes::below(running.pid());
    running.signal(rustix::process::Signal::KILL);
    let _ = running.end();
    processes::wait_until_all_gone(&family);
}

#[test]
fn the_lines_and_the_profile_of_the_original() {
    if !erlang_or_skip() {
        return;
    }
    let place = Place::new();
    let file = place.path("a.log");
    let file = file.to_str().unwrap();
    let args = ["compat", "msgq-flood", "--sink", "port", "--lines", "1", file, "10", "2000"];
    let ran = place.say(&args);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines[0], "DateTime\t\t\tdam msgq (diff)\tserver msgq (diff)");
    let columns: Vec<&str> = lines[1].split('\t').collect();
    assert!(columns[0].ends_with('Z') && columns[1] == "- (0)", "{}", lines[1]);
    assert!(columns[2].ends_with(" (0)"), "{}", lines[1]);
    let refused = place.say(&["compat", "msgq-flood", "--lines", "1", file, "0", "5"]);
    assert_eq!(refused.code(), 2, "{refused:?}");
    let args = ["compat", "msgq-flood-profile", "--queued", "5000", "--for", "200"];
    let ran = place.say(&args);
    if ran.code() == 3 && ran.err.contains("erlang-tools") {
        testing::skipped("no profiler");
        return;
    }
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.out.starts_with("FUNCTION"), "{}", ran.out);
    assert!(ran.out.contains("gen_server:") && ran.out.contains("tailback_sink_port:answer/1"));
}
