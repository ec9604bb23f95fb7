//! KTAP: the output for all verdicts, and how two other programs read it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{BINARY, Place, packed, readers};
use serde_json::{Value, json};
use snapbox::{assert_data_eq, file};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Records of all verdicts, by name. Each has two kselftest exit codes: if an undecided study
/// fails, and if it is skipped.
const RECORDS: [(&str, i32, i32); 5] = [
    ("affected", 1, 1),
    ("not-affected", 0, 0),
    ("inconclusive", 1, 4),
    ("untrustworthy", 1, 4),
    ("skipped", 4, 4),
];

/// A folder with these records.
fn records() -> Place {
    let place = Place::new();
    let golden = |name: &str| packed::read(&packed::golden(name));
    let write = |name: &str, text: String| std::fs::write(place.path(name), text).unwrap();
    write("affected", golden("mmap-lock"));
    write("not-affected", golden("mmap-lock.quiet"));
    write("inconclusive", golden("cpu-quota"));
    let mut tainted: Value = serde_json::from_str(&golden("mmap-lock")).unwrap();
    tainted["machine"]["tainted"] = json!(0);
    let last = tainted["trials"].as_array_mut().unwrap().last_mut().unwrap();
    last["disturbance"]["tainted"] = json!(512);
    write("untrustworthy", tainted.to_string());
    let mut skipped: Value = serde_json::from_str(&golden("mmap-lock")).unwrap();
    skipped["trials"] = json!([]);
    skipped["probed"] = json!([]);
    skipped["ended"] =
        json!({ "not-run": { "missing": { "cpus": { "least": 2, "allowed": 1 } } } });
    write("skipped", skipped.to_string());
    place
}

/// The output of `export` for some records, and its exit code.
fn exported(place: &Place, names: &[&str], more: &[&str]) -> (String, i32) {
    let mut command = place.tailback(&["export", "--format", "ktap"]);
    command.args(more).args(names).current_dir(place.path(""));
    let ran = place.run(command);
    let code = ran.code();
    (ran.out, code)
}

#[test]
fn every_verdict_in_ktap() {
    let place = records();
    let names = RECORDS.map(|(name, ..)| name);
    let (text, code) = exported(&place, &names, &[]);
    assert_eq!(code, 1, "{text}");
    assert_data_eq!(text, file!["golden/export.ktap"]);
    let (text, code) = exported(&place, &names, &["--undecided", "skip"]);
    assert_eq!(code, 1, "{text}");
    assert_data_eq!(text, file!["golden/export.skip.ktap"]);
}

#[test]
fn exit_codes_are_those_of_kselftest() {
    let place = records();
    for (name, failing, skipping) in RECORDS {
        let fails = exported(&place, &[name], &["--undecided", "fail"]);
        assert_eq!(fails.1, failing, "{name}: {}", fails.0);
        let skips = exported(&place, &[name], &["--undecided", "skip"]);
        assert_eq!(skips.1, skipping, "{name}: {}", skips.0);
    }
}

#[test]
fn a_package_for_tap_reads_the_results() {
    let Some(python) = readers::python() else { return };
    let place = records();
    for (more, undecided) in [(&["--undecided", "skip"][..], "skip"), (&[], "not ok")] {
        let names = RECORDS.map(|(name, ..)| name);
        exported(&place, &names, &[more, &["-o", "all.ktap"]].concat());
        let file = place.path("all.ktap");
        let said = readers::read_with(&python, "tap_results.py", &[file.to_str().unwrap()]);
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["planned"], 5, "{said}");
        let wanted = ["not ok", "ok", undecided, undecided, "skip"];
        assert_eq!(said["results"], serde_json::json!(wanted), "{said}");
    }
}

#[test]
fn the_parser_of_linux_reads_the_same_tests() {
    let Some(python) = readers::python() else { return };
    let Some(parser) = readers::fetched("need-kunit-parser") else { return };
    let place = records();
    for (more, undecided) in [(&["--undecided", "skip"][..], "SKIPPED"), (&[], "FAILURE")] {
        let names = RECORDS.map(|(name, ..)| name);
        exported(&place, &names, &[more, &["-o", "all.ktap"]].concat());
        let file = place.path("all.ktap");
        let said = readers::read_with(
            &python,
            "kunit_results.py",
            &[parser.as_str(), file.to_str().unwrap()],
        );
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["errors"], 0, "{said}");
        let tests = said["tests"].as_array().unwrap();
        let results: Vec<&str> = tests.iter().filter_map(|test| test["status"].as_str()).collect();
        assert_eq!(results, ["FAILURE", "SUCCESS", undecided, undecided, "SKIPPED"], "{said}");
        let arms = |place: usize| tests[place]["below"].as_array().unwrap().len();
        assert!((0..4).all(|place| arms(place) >= 2) && arms(4) == 0, "{said}");
    }
}

/// The golden output of `matrix`, which a unit test of that command writes.
const MATRIX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/matrix.ktap");

/// The results of its tests: two affected versions, one that is not affected, and two that gave no
/// record.
const OF_MATRIX: [bool; 5] = [false, false, true, false, false];

#[test]
fn a_package_for_tap_reads_a_matrix() {
    let Some(python) = readers::python() else { return };
    let said = readers::read_with(&python, "tap_results.py", &[MATRIX]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["planned"], OF_MATRIX.len(), "{said}");
    let wanted = OF_MATRIX.map(|passed| if passed { "ok" } else { "not ok" });
    assert_eq!(said["results"], json!(wanted), "{said}");
}

#[test]
fn the_parser_of_linux_reads_the_same_versions_of_a_matrix() {
    let Some(python) = readers::python() else { return };
    let Some(parser) = readers::fetched("need-kunit-parser") else { return };
    let said = readers::read_with(&python, "kunit_results.py", &[parser.as_str(), MATRIX]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["errors"], 0, "{said}");
    let tests = said["tests"].as_array().unwrap();
    let word =
        |name: &str| -> Vec<&str> { tests.iter().filter_map(|test| test[name].as_str()).collect() };
    let wanted = OF_MATRIX.map(|passed| if passed { "SUCCESS" } else { "FAILURE" });
    assert_eq!(word("status"), wanted, "{said}");
    assert_eq!(word("name"), ["debian:7.0", "debian:7.1", "quiet", "broken", "debian:9"]);
    let arms: Vec<bool> =
        tests.iter().map(|test| !test["below"].as_array().unwrap().is_empty()).collect();
    assert_eq!(arms, [true, true, true, false, false], "{said}");
}

/// A program that replaces the binary, made of these lines of sh.
fn program(place: &Place, lines: &str) -> PathBuf {
    let path = place.path("program");
    testing::write_program(&path, &format!("#!/bin/sh\n{lines}\n"));
    path
}

fn deploy(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(folder)
}

#[test]
fn the_selftest_runs_outside_of_a_kernel_tree() {
    let place = Place::new();
    let short = program(&place, &format!("exec {BINARY} \"$@\" --only preempted-holder --time 8s"));
    let mut command = Command::new("make");
    command.args(["--silent", "-C"]).arg(deploy("kselftest")).arg("run_tests");
    command.env("TAILBACK", &short).env("XDG_STATE_HOME", place.path("state"));
    let ran = command.output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(text.starts_with("KTAP version 1\n1..1\n"), "{text}");
    let last = text.lines().next_back().unwrap();
    // make succeeds only if its program does: if the scenario passed.
    let passed = last == "ok 1 preempted-holder";
    let ended = ["not ok 1 preempted-holder", "ok 1 preempted-holder # SKIP "];
    assert!(passed || ended.iter().any(|end| last.starts_with(end)), "{text}");
    assert_eq!(ran.status.success(), passed, "{text}");
    let missing = Command::new(deploy("kselftest").join("tailback.sh"))
        .env("TAILBACK", "/no/such/program")
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(4), "{missing:?}");
}

#[test]
fn the_test_definition_has_a_line_for_each_scenario() {
    let place = records();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/export.skip.ktap");
    let stub = program(&place, &format!("cat {}; exit 1", golden.display()));
    let script = deploy("test-definitions/automated/linux/tailback/tailback.sh");
    let ran = Command::new(script)
        .args(["-p", stub.to_str().unwrap(), "-s", "mmap-lock"])
        .current_dir(place.path(""))
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let lines = std::fs::read_to_string(place.path("output/result.txt")).unwrap();
    let expected =
        "mmap-lock fail\nmmap-lock pass\ncpu-quota skip\nmmap-lock skip\nmmap-lock skip\n";
    assert_eq!(lines, expected);
    for (line, code, expected) in
        [("Bail out! no room", 1, "tailback fail\n"), ("1..0 # SKIP no room", 0, "tailback skip\n")]
    {
        let stub = program(&place, &format!("echo '{line}'; exit 4"));
        let ran = Command::new(deploy("test-definitions/automated/linux/tailback/tailback.sh"))
            .args(["-p", stub.to_str().unwrap()])
            .current_dir(place.path(""))
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(code), "{line}");
        let lines = std::fs::read_to_string(place.path("output/result.txt")).unwrap();
        assert_eq!(lines, expected);
    }
}

#[test]
fn lava_gets_the_results_of_a_test_that_failed_as_a_whole() {
    let place = Place::new();
    let definition = deploy("test-definitions/automated/linux/tailback");
    let read = |name: &str| std::fs::read_to_string(definition.join(name)).unwrap();
    for folder in ["automated/linux/tailback", "automated/utils"] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
    }
    let script = place.path("automated/linux/tailback/tailback.sh");
    testing::write_program(&script, &read("tailback.sh"));
    let send = place.path("automated/utils/send-to-lava.sh");
    testing::write_program(&send, "#!/bin/sh\nsed 's/^/sent /' \"$1\"\n");
    let definition = read("tailback.yaml");
    let (_, steps) = definition.split_once("    steps:\n").unwrap();
    let steps = steps.lines().filter_map(|line| line.trim().strip_prefix("- "));
    let steps = steps.collect::<Vec<&str>>().join("\n");
    for (lines, passes, sent) in [
        ("echo 'Bail out! no room'; exit 1", false, "sent tailback fail\n"),
        ("exit 101", false, "sent tailback fail\n"),
        ("echo 'ok 1 cpu-quota'", true, "sent cpu-quota pass\n"),
    ] {
        let stub = program(&place, lines);
        // LAVA runs the steps in one shell, which ends at the first step that fails.
        let mut lava = Command::new("sh");
        lava.args(["-e", "-c", &steps]).current_dir(place.path(""));
        lava.env("TAILBACK", stub).env("SCENARIOS", "").env("TIME", "1s");
        let ran = lava.output().unwrap();
        assert_eq!(ran.status.success(), passes, "{lines}: {ran:?}");
        assert!(String::from_utf8_lossy(&ran.stdout).ends_with(sent), "{lines}: {ran:?}");
    }
}
