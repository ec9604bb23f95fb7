//! Records made to exhaust the machine or to steer the terminal. Each command must end within one
//! gigabyte of address space, and print nothing that a terminal would obey.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::{Place, Ran, affected_record};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use std::os::unix::process::CommandExt;

/// Limit of address space for any command on any record, in bytes.
const MOST: u64 = 1 << 30;

/// Runs a command on a record, within this limit.
fn bounded(place: &Place, words: &[&str], text: &str) -> Ran {
    let path = place.path("hostile.json");
    std::fs::write(&path, text).unwrap();
    let mut command = place.tailback(&[words, &[path.to_str().unwrap()]].concat());
    let limit = || {
        let maximum = getrlimit(Resource::As).maximum;
        setrlimit(Resource::As, Rlimit { current: Some(MOST), maximum }).map_err(Into::into)
    };
    // SAFETY: between fork and exec it makes two system calls, and allocates nothing.
    unsafe { command.pre_exec(limit) };
    place.run(command)
}

const COMMANDS: &[&[&str]] =
    &[&["judge"], &["report", "-o", "-"], &["explain"], &["export", "--format", "csv"]];

/// Fails if any command is killed, aborts or panics.
fn assert_bounded(text: &str) {
    let place = Place::new();
    for words in COMMANDS {
        let ran = bounded(&place, words, text);
        ran.assert_no_panic();
        assert!(ran.status.code().is_some(), "{words:?}: {:?} {}", ran.status, ran.err);
    }
}

#[test]
fn a_forged_length_of_a_histogram_is_not_believed() {
    let mut record = affected_record();
    for trial in record["trials"].as_array_mut().unwrap() {
        for latency in trial["observation"]["latencies"].as_object_mut().unwrap().values_mut() {
            let mut bytes = STANDARD.decode(latency["data"].as_str().unwrap()).unwrap();
            bytes[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
            latency["data"] = json!(STANDARD.encode(bytes));
        }
    }
    assert_bounded(&record.to_string());
}

#[test]
fn fields_that_nobody_knows_take_no_memory() {
    let mut text = affected_record().to_string();
    // A map of one entry takes ninety times as much memory as text.
    let nested = "{\"\":0},".repeat(2_000_000);
    text.truncate(text.trim_end().len() - 1);
    assert_bounded(&format!("{text},\"unknown\":[{nested}0]}}"));
}

#[test]
fn facts_take_no_more_memory_than_their_text_deserves() {
    // The judgement is skipped, and a note of the wrong type need not be read to its end.
    let sentences = "\"\",".repeat(20_000_000);
    let numbers = "0,".repeat(30_000_000);
    let values: Vec<String> =
        (0..2_500_000).map(|name| format!("\"{name}\":{{\"count\":1}}")).collect();
    let values = values.join(",");
    let record = affected_record();
    for (place, hostile) in [
        ("/judgement/reasons", format!("[{sentences}\"\"]")),
        ("/judgement/reasons", format!("[[{numbers}0]]")),
        ("/judgement/headline/scenario/values", format!("{{{values}}}")),
        ("/trials/0/observation/notes", format!("[{sentences}\"\"]")),
        ("/trials/0/observation/notes", format!("[{}0]", "{\"said\":\"\"},".repeat(5_000_000))),
    ] {
        let mut record = record.clone();
        if place.ends_with("notes") {
            record["trials"][0]["observation"]["notes"] = json!([]);
        }
        *record.pointer_mut(place).unwrap() = json!("HOSTILE");
        let text = record.to_string().replacen("\"HOSTILE\"", &hostile, 1);
        assert!(text.len() < 64 << 20, "{place}: {}", text.len());
        let ran = bounded(&Place::new(), &["judge"], &text);
        ran.assert_no_panic();
        assert!(ran.status.code().is_some(), "{place}: {:?} {}", ran.status, ran.err);
    }
}

#[test]
fn six_thousand_blocks_are_judged() {
    let mut record = affected_record();
    let trials = record["trials"].as_array().unwrap().clone();
    let of = |arm: &Value| trials.iter().find(|trial| trial["arm"] == *arm).unwrap().clone();
    let arms: Vec<Value> =
        record["plan"]["arms"].as_array().unwrap().iter().map(|arm| arm["id"].clone()).collect();
    let mut many = Vec::new();
    for block in 0..6000 {
        for arm in &arms {
            let mut trial = of(arm);
            trial["block"] = json!(block);
            trial["observation"]["latencies"] = json!({});
            trial["observation"]["stalls"] = json!([]);
            many.push(trial);
        }
    }
    record["trials"] = json!(many);
    assert_bounded(&record.to_string());
}

#[test]
fn a_record_beyond_the_limit_is_refused_by_every_command_with_the_limit() {
    let text = format!("{}{}", affected_record(), " ".repeat(64 << 20));
    let place = Place::new();
    for words in COMMANDS {
        let ran = bounded(&place, words, &text);
        assert_eq!(ran.code(), 2, "{ran:?}");
        assert!(ran.err.contains("larger than 64 MiB"), "{ran:?}");
    }
}

#[test]
fn nothing_of_a_record_steers_the_terminal() {
    let mut record = affected_record();
    let hostile = "x\u{1b}[2J\u{9b}31m\u{202e}\u{2066}\u{2028}\ry";
    record["machine"]["kernel"] = json!(hostile);
    record["tool"]["version"] = json!(hostile);
    record["tool"]["argv"] = json!(["tailback", "run", "mmap-lock", hostile]);
    let (place, text) = (Place::new(), record.to_string());
    let commands: [&[&str]; 7] = [
        &["judge"],
        &["judge", "--json"],
        &["explain"],
        &["explain", "--json"],
        &["report", "-o", "-"],
        &["export", "--format", "csv"],
        &["export", "--format", "markdown"],
    ];
    for words in commands {
        let ran = bounded(&place, words, &text);
        ran.assert_no_panic();
        let steers = |c: char| os::terminal::steers(c) && c != '\n' && c != '\t';
        assert!(!ran.out.chars().any(steers), "{words:?}: {:?}", ran.out);
        assert!(!ran.err.chars().any(steers), "{words:?}: {:?}", ran.err);
    }
}

/// The record of a study in which every text is this one, except texts that must be known words.
fn hostile_study(text: &str) -> Value {
    fn replace(value: &mut Value, key: &str, text: &str) {
        const KNOWN: [&str; 7] = ["schema", "scenario", "role", "state", "unit", "ended", "data"];
        match value {
            Value::Object(map) => map.iter_mut().for_each(|(key, value)| replace(value, key, text)),
            Value::Array(list) => list.iter_mut().for_each(|value| replace(value, key, text)),
            Value::String(old) if !KNOWN.contains(&key) => text.clone_into(old),
            _ => {}
        }
    }
    let golden = common::packed::read(&common::packed::golden("study"));
    let mut record = serde_json::from_str(&golden).unwrap();
    replace(&mut record, "", text);
    record
}

#[test]
fn combinations_that_share_an_arm_are_refused() {
    let place = Place::new();
    let text = hostile_study("one").to_string();
    for words in COMMANDS {
        let ran = bounded(&place, words, &text);
        ran.assert_no_panic();
        assert_eq!(ran.code(), 2, "{ran:?}");
        assert!(ran.err.contains("two cells are of arm `one`"), "{ran:?}");
    }
}

#[test]
fn no_text_of_a_record_steers_a_page() {
    let place = Place::new();
    let mut record = hostile_study("<script>x\u{1b}[2J\u{9b}31m\u{202e}\u{2066}\u{200b}</script>");
    // Only one arm per cell, since the record would be refused otherwise. The rest is unchanged.
    record["factorial"]["cells"].as_array_mut().unwrap().truncate(1);
    // In a file, because standard output is cleaned once more.
    let page = place.path("page.html");
    let ran = bounded(&place, &["report", "-o", page.to_str().unwrap()], &record.to_string());
    ran.assert_no_panic();
    assert_eq!(ran.code(), 0, "{ran:?}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && !page.contains("<script"));
    let steers = |c: &char| os::terminal::steers(*c) && *c != '\n' && *c != '\t';
    assert_eq!(page.chars().find(steers), None);
}
