//! `tailback study` from outside: the files of studies/, bad files, and continuing after a kill.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, Ran, Running, processes, turn};
use runner::studies::Design;
use rustix::process::Signal;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The folder of the studies that come with tailback.
fn studies() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../studies")
}

/// A copy of the published rows that a test may change.
fn rows(place: &Place) -> PathBuf {
    let path = place.path("proc-vs-map.toml");
    std::fs::copy(studies().join("proc-vs-map.toml"), &path).unwrap();
    path
}

fn write(place: &Place, text: &str) -> String {
    let path = place.path("bad.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Runs a study that must be refused with one line, before anything runs.
fn refused(place: &Place, args: &[&str]) -> String {
    let records = place.records();
    let ran = place.say(args);
    assert_eq!(ran.code(), 2, "{ran:?}");
    assert!(ran.out.is_empty() && ran.complaints().len() == 1, "{ran:?}");
    assert_eq!(place.records(), records, "nothing is run");
    ran.err
}

#[test]
fn every_study_that_comes_with_tailback_is_one_in_both_its_forms() {
    let files = common::files(&studies());
    assert!(files.len() >= 2, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for quick in [false, true] {
            let design = Design::read(&text, &file, quick).unwrap();
            let name = file.file_stem().unwrap().to_str().unwrap();
            assert_eq!(design.name, name);
            assert!(design.combinations(&file).unwrap() >= 2, "{name}");
        }
    }
}

#[test]
fn the_examples_of_the_manual_are_studies() {
    let manual = include_str!("../../../docs/studies.md");
    let examples: Vec<&str> =
        manual.split("```toml\n").skip(1).filter_map(|text| text.split("```").next()).collect();
    assert_eq!(examples.len(), 3);
    for example in examples {
        // One example leaves out the line that all studies need.
        let scenario = "scenario = \"mmap-lock\"\n";
        let text = match example.contains("scenario =") {
            true => example.to_owned(),
            false => format!("{scenario}{example}"),
        };
        for quick in [false, true] {
            let read = Design::read(&text, Path::new("manual.toml"), quick);
            assert!(read.is_ok(), "{read:?}: {text}");
        }
    }
}

#[test]
fn a_dry_run_lists_arms_and_time_and_runs_nothing() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let place = Place::new();
    let ran = place.say(&["study", rows(&place).to_str().unwrap(), "--dry-run"]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    for words in ["busy=0 ", "control of busy=1000 ", "the control", "9 arms, 9 blocks of about "] {
        assert!(ran.out.contains(words), "{words}: {ran:?}");
    }
    assert!(ran.err.is_empty() && place.records().is_empty(), "{ran:?}");
}

#[test]
fn what_is_wrong_in_a_file_is_one_line_with_its_place() {
    let place = Place::new();
    let wrong = |text: &str| refused(&place, &["study", &write(&place, text)]);
    let message = wrong("scenario = \"mmap-lock\"\nfactors.busi = [0, 1]\n");
    assert!(
        message.contains("bad.toml:2:9: ") && message.contains("did you mean `busy`?"),
        "{message}"
    );
    let message = wrong("scenario = \"mmap-lock\"\nblock = 3\nfactors.busy = [0, 1]\n");
    assert!(message.contains("bad.toml:2:1: unknown key `block`"), "{message}");
    let message = wrong("scenario = \"mmap-lock\"\nfactors.busy = []\n");
    assert!(message.contains("bad.toml:2:16: factor `busy` has no level"), "{message}");
    assert!(refused(&place, &["study", "/nonexistent.toml"]).contains("/nonexistent.toml"));
    assert!(refused(&place, &["study", "/"]).contains("name a study file"));
}

#[test]
fn a_study_of_many_arms_or_of_hours_needs_a_yes() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let place = Place::new();
    let list = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let of = |busy: usize, more: &str| {
        write(
            &place,
            &format!("scenario = \"mmap-lock\"\n[factors]\nbusy = [{}]\n{more}", list(busy)),
        )
    };
    let many = refused(&place, &["study", &of(101, "")]);
    assert!(many.contains("201 arms") && many.contains("give --yes"), "{many}");
    let long = refused(&place, &["study", &of(2, "[fixed]\nduration = \"20min\"\n")]);
    assert!(long.contains("give --yes"), "{long}");
    let nice = format!("nice = [{}]\nsize = [\"1MiB\", \"2MiB\"]\n", list(20));
    let too_many = refused(&place, &["study", &of(1000, &nice), "--yes"]);
    assert!(too_many.contains("40000 arms"), "{too_many}");
}

#[test]
fn a_level_that_this_machine_refuses_is_left_out_and_said() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let place = Place::new();
    let text = "scenario = \"mmap-lock\"\n[fixed]\nbusy = 1\n[factors]\nprocfile = [\"maps\", \"nosuch\"]\n";
    let ran = place.say(&["study", &write(&place, text), "--dry-run"]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.out.contains("left out: procfile=nosuch: "), "{ran:?}");
    let control = text.replace("[\"maps\", \"nosuch\"]", "[\"nosuch\", \"maps\"]");
    let message = refused(&place, &["study", &write(&place, &control)]);
    assert!(message.contains("the control procfile=nosuch cannot be run"), "{message}");
}

/// A study of a node that uses this program as its `erl`, and the file that the program writes
/// when it runs.
fn with_program(place: &Place, more: &str) -> (String, PathBuf) {
    let (program, ran) = (place.path("erl"), place.path("was-run"));
    let script = format!("#!/bin/sh\necho run >> {}\nexit 1\n", ran.display());
    testing::write_program(&program, &script);
    let text = format!(
        "scenario = \"blocking-nif\"\nblocks = 1\n[fixed]\notp = {program:?}\n[factors]\n\
         mode = [\"bignum_yield\", \"bignum\"]\n{more}"
    );
    (write(place, &text), ran)
}

#[test]
fn a_dry_run_executes_nothing_and_says_what_needs_trust() {
    let place = Place::new();
    let (file, was_run) = with_program(&place, "");
    // The dry run works without an erl on the PATH.
    let ran = place.say(&["study", &file, "--dry-run"]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.out.contains("mode=bignum ") && ran.out.contains("4 arms, 1 blocks"), "{ran:?}");
    assert!(ran.out.contains("needs --trust: `fixed.otp` runs the program "), "{ran:?}");
    assert!(!was_run.exists(), "a dry run has executed a program");
}

#[test]
fn what_a_study_file_does_beyond_its_load_needs_trust() {
    let place = Place::new();
    let (file, was_run) = with_program(&place, "");
    let message = refused(&place, &["study", &file, "--yes"]);
    assert!(
        message.contains("`fixed.otp` runs the program") && message.contains("--trust"),
        "{message}"
    );
    assert!(!was_run.exists(), "a program was run that nobody trusts");
    let trusted = place.say(&["study", &file, "--yes", "--trust"]);
    assert_ne!(trusted.code(), 0, "{trusted:?}");
    let has_erl = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|folder| folder.join("erl").is_file());
    assert_eq!(was_run.exists(), has_erl, "{trusted:?}");

    let rows = |more: &str| {
        write(&place, &format!("scenario = \"mmap-lock\"\n{more}\nfactors.busy = [0, 1]\n"))
    };
    let output = place.path("over.txt");
    for (more, key) in [
        (format!("output.report = {output:?}"), "`output.report`"),
        (format!("output.folder = {:?}", place.path("kept")), "`output.folder`"),
        ("factors.kernel = [\"/boot/vmlinuz\"]".to_owned(), "`factors.kernel`"),
        ("factors.kernel = [\"built:plain\"]\nguest.root = \"/\"".to_owned(), "`guest.root`"),
    ] {
        let message = refused(&place, &["study", &rows(&more)]);
        assert!(message.contains(key) && message.contains("give --trust"), "{message}");
    }
    std::fs::write(&output, "somebody's letter\n").unwrap();
    let study = rows(&format!("output.report = {output:?}"));
    let message = refused(&place, &["study", &study, "--trust"]);
    assert!(message.contains("not a report of tailback, and is not overwritten"), "{message}");
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "somebody's letter\n");
    assert!(!place.path("kept").exists());
}

/// Starts the quick settings of the published rows.
fn start<'a>(place: &'a Place, file: &Path) -> Running<'a> {
    place.start(place.tailback(&["study", file.to_str().unwrap(), "--quick"]))
}

/// Waits until a block of it was saved, and ends it in the next block.
fn end_after_a_block(place: &Place, file: &Path, signal: Signal) -> (Ran, Vec<Value>) {
    let running = start(place, file);
    common::wait_for("a saved block", || (!place.records().is_empty()).then_some(()));
    running.signal(signal);
    let ran = running.end();
    processes::wait_until_gone(ran.pid);
    (ran, trials(place))
}

/// The trials of the only record.
fn trials(place: &Place) -> Vec<Value> {
    let records = place.records();
    assert_eq!(records.len(), 1, "{records:?}");
    common::json(&records[0])["trials"].as_array().unwrap().clone()
}

/// Number of arms in the quick settings, and of blocks.
const ARMS: usize = 5;
const BLOCKS: usize = 6;

#[test]
fn a_killed_study_goes_on_where_it_was_and_ends_in_a_table() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let file = rows(&place);
    let (ran, before) = end_after_a_block(&place, &file, Signal::KILL);
    assert_eq!(ran.status.code(), None, "{ran:?}");
    assert!(before.len() >= ARMS && before.len().is_multiple_of(ARMS), "{}", before.len());
    assert!(before.len() < ARMS * BLOCKS, "it was killed in the middle");

    let ran = start(&place, &file).end();
    assert!([0, 1, 4].contains(&ran.code()), "{ran:?}");
    let blocks = before.len() / ARMS;
    assert!(ran.err.contains(&format!("resumes after block {blocks}: ")), "{ran:?}");
    assert!(ran.out.contains("Effect of each level, compared with busy=0 "), "{ran:?}");
    assert!(ran.out.contains("0 to 10"), "{ran:?}");
    let said = place.said_of(&common::json(&place.records()[0]));
    assert!(said.contains("run in 2 parts"), "{said}");
    let after = trials(&place);
    assert_eq!(after.len(), ARMS * BLOCKS);
    assert_eq!(after[..before.len()], before[..], "what was measured before stays");

    let again = start(&place, &file).end();
    assert!(again.err.contains("the study is already complete"), "{again:?}");
    assert_eq!((again.code(), trials(&place)), (ran.code(), after));
}

#[test]
fn a_study_whose_file_has_changed_is_refused_until_told_otherwise() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let file = rows(&place);
    let (ran, before) = end_after_a_block(&place, &file, Signal::INT);
    assert_eq!(ran.code(), 130, "{ran:?}");
    assert!(ran.err.contains("resumes after the last whole block"), "{ran:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("[0, 1, 10]", "[0, 10]")).unwrap();

    let name = file.to_str().unwrap();
    let message = refused(&place, &["study", name, "--quick"]);
    assert!(
        message.contains("another text of its file") && message.contains("--fresh"),
        "{message}"
    );
    let record = place.records()[0].to_str().unwrap().to_owned();
    let message = refused(&place, &["study", name, "--quick", "-o", &record]);
    assert!(message.contains("the study file has changed since"), "{message}");
    assert_eq!(trials(&place), before, "a refusal costs nothing");

    let args = ["study", name, "--quick", "-o", &record, "--fresh", "--samples", "1"];
    let fresh = place.say(&args);
    assert!([0, 1, 4].contains(&fresh.code()), "{fresh:?}");
    assert_eq!(trials(&place).len(), 3, "--fresh starts from scratch, with the file as it is now");
}

#[test]
fn a_study_is_not_run_twice_at_once() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let file = rows(&place);
    let running = start(&place, &file);
    processes::mapper(running.pid());
    let second = std::process::Command::new(common::BINARY)
        .args(["study", file.to_str().unwrap(), "--quick"])
        .env("XDG_STATE_HOME", place.path("state"))
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(2), "{message}");
    assert!(message.contains("another tailback is running this study"), "{message}");
    running.signal(Signal::INT);
    processes::wait_until_gone(running.end().pid);
}

#[test]
fn a_report_goes_where_the_file_says() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let (folder, report) = (place.path("kept"), place.path("report.txt"));
    let text = format!(
        "scenario = \"mmap-lock\"\nblocks = 1\n[fixed]\nduration = \"20ms\"\nhang-after = \"20ms\"\n\
         [factors]\nbusy = [0, 1]\n[output]\nfolder = {folder:?}\nreport = {report:?}\n"
    );
    let ran = place.say(&["study", &write(&place, &text), "--seed", "5", "--trust"]);
    assert!([0, 1, 4].contains(&ran.code()), "{ran:?}");
    let kept = common::files(&folder);
    assert_eq!(kept.len(), 1, "{kept:?}");
    let record = common::json(&kept[0]);
    assert_eq!(record["plan"]["seed"], 5);
    assert_eq!(record["factorial"]["cells"].as_array().unwrap().len(), 2);
    assert!(std::fs::read_to_string(&report).unwrap().starts_with("mmap-lock: "));
}
