//! What the binary prints, word for word. `make golden` writes the files anew.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use snapbox::{assert_data_eq, file};
use std::path::PathBuf;
use std::process::Command;

/// Standard output of the binary, which has to end with this exit code.
fn printed(args: &[&str], code: i32) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tailback")).args(args).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn golden(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn help() {
    assert_data_eq!(printed(&["--help"], 0), file!["golden/help.txt"]);
}

#[test]
fn help_of_each_command() {
    assert_data_eq!(printed(&["check", "--help"], 0), file!["golden/check.help.txt"]);
    assert_data_eq!(printed(&["judge", "--help"], 0), file!["golden/judge.help.txt"]);
    assert_data_eq!(printed(&["explain", "--help"], 0), file!["golden/explain.help.txt"]);
    assert_data_eq!(
        printed(&["probe", "calls", "--help"], 0),
        file!["golden/probe-calls.help.txt"]
    );
    assert_data_eq!(printed(&["sim", "cpu-quota", "--help"], 0), file!["golden/sim.help.txt"]);
    assert_data_eq!(
        printed(&["run", "cpu-quota", "--help"], 0),
        file!["golden/run-cpu-quota.help.txt"]
    );
    assert_data_eq!(printed(&["compat", "--help"], 0), file!["golden/compat.help.txt"]);
    assert_data_eq!(
        printed(&["run", "mmap-lock", "--help"], 0),
        file!["golden/run-mmap-lock.help.txt"]
    );
}

#[test]
fn a_record_of_an_affected_machine() {
    let text = printed(&["judge", &golden("mmap-lock.record.json")], 1);
    assert_data_eq!(text, file!["golden/mmap-lock.affected.txt"]);
}

#[test]
fn a_record_of_a_machine_that_is_not_affected() {
    let text = printed(&["judge", &golden("mmap-lock.quiet.record.json")], 0);
    assert_data_eq!(text, file!["golden/mmap-lock.not-affected.txt"]);
}

#[test]
fn judging_a_judged_record_changes_nothing() {
    for (name, code) in [("mmap-lock.record.json", 1), ("mmap-lock.quiet.record.json", 0)] {
        let after = printed(&["judge", "--json", &golden(name)], code);
        if std::env::var_os("TAILBACK_GOLDEN").is_some() {
            std::fs::write(golden(name), &after).unwrap();
        }
        let before = std::fs::read_to_string(golden(name)).unwrap();
        assert!(
            before == after,
            "{name}: the record holds another verdict than its trials bear out"
        );
    }
}

#[test]
fn every_knob_is_in_the_man_page_and_in_the_completions() {
    let folder = tempfile::tempdir().unwrap();
    printed(&["man", folder.path().to_str().unwrap()], 0);
    let completions = ["bash", "zsh", "fish"].map(|shell| printed(&["completions", shell], 0));
    for scenario in scenarios::ALL {
        let page = format!("tailback-run-{}.1", scenario.meta().id);
        let man = std::fs::read_to_string(folder.path().join(page)).unwrap();
        assert_knobs(scenario.meta(), &man, &completions);
    }
}

fn assert_knobs(meta: &model::Meta, man: &str, completions: &[String]) {
    for knob in meta.knobs {
        let escaped = format!("\\-\\-{}", knob.name.replace('-', "\\-"));
        assert!(man.contains(&escaped), "{} is not in the man page", knob.name);
        for text in completions {
            assert!(text.contains(knob.name), "{} is not in the completions", knob.name);
        }
    }
}
