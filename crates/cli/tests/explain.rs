//! Evidence of real trials, and explanations of records.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, Ran};
use serde_json::Value;

/// One trial of each of two arms. The verdict does not matter here.
const STUDY: [&str; 10] = [
    "run",
    "mmap-lock",
    "--procfile",
    "smaps",
    "--busy",
    "10",
    "--no-fixes",
    "--samples",
    "1",
    "--record",
];

/// Whether the evidence comes from eBPF programs.
fn is_traced(evidence: &Value) -> bool {
    evidence["sources"].to_string().contains("probe")
}

/// Whether eBPF programs work here. If not, the evidence has to give the reason, and the test
/// prints that it is skipped.
fn traced_or_skip(evidence: &Value) -> bool {
    let missing = &evidence["missing"];
    assert!(is_traced(evidence) || !missing.as_array().unwrap().is_empty(), "{evidence}");
    testing::has_or_skip(is_traced(evidence), format_args!("no eBPF here: {missing}"))
}

fn study(place: &Place, more: &[&str], prefix: &[&str]) -> (Ran, Value) {
    let record = place.path("record.json");
    let args = [&STUDY[..], &[record.to_str().unwrap()], more].concat();
    let ran = match prefix {
        [] => place.say(&args),
        [program, rest @ ..] => {
            let mut command = place.program(program);
            command.args([rest, &[common::BINARY], &args[..]].concat());
            place.run(command)
        }
    };
    let text = std::fs::read_to_string(&record).unwrap_or_else(|_| panic!("no record: {ran:?}"));
    (ran, serde_json::from_str(&text).unwrap())
}

fn explained(place: &Place) -> (Ran, Value) {
    let record = place.path("record.json");
    let ran = place.say(&["explain", record.to_str().unwrap(), "--json"]);
    let explanation = ran.json();
    (ran, explanation)
}

/// A trial with spinners and probes. Its longest wait is explained. On a busy machine, nobody may
/// wait for a holder in a trial, or other programs may have the CPU. So the study is tried five
/// times. `None` without eBPF programs.
fn trial_with_a_holder(place: &Place) -> Option<Value> {
    let mut seen = Vec::new();
    for _ in 0..5 {
        let _ = std::fs::remove_file(place.path("record.json"));
        let (ran, record) = study(place, &["--probe"], &[]);
        let probed = record["probed"].as_array().unwrap_or_else(|| panic!("not probed: {ran:?}"));
        let trial = probed.iter().map(|one| &one["trial"]).find(|t| t["arm"] == "busy-10").unwrap();
        let evidence = &trial["observation"]["evidence"];
        if !traced_or_skip(evidence) {
            return None;
        }
        if is_explained(&evidence["waits"][0]) {
            return Some(trial.clone());
        }
        seen.push(evidence["waits"].to_string());
    }
    panic!("no wait of the mapper has a scanner behind spinners as its holder: {seen:#?}")
}

/// Whether the mapper waited for a scanner that waited behind the spinners. Nearly the whole wait
/// has to be explained: it had holders, or was the waiter's own time.
fn is_explained(wait: &Value) -> bool {
    let holder = &wait["holders"][0];
    let ns = |value: &Value| value.as_f64().unwrap_or(0.0);
    let known = ns(&wait["covered_ns"]) + ns(&wait["split"]["own_ns"]);
    wait["waiter"]["part"] == "mapper"
        && holder["task"]["part"] == "scanner"
        && has_spinners_in_front(holder)
        && known >= 0.9 * ns(&wait["took_ns"])
}

/// Whether a spinner is among the tasks that had this holder's CPU.
fn has_spinners_in_front(holder: &Value) -> bool {
    let is_spinner = |one: &Value| one["name"] == "spinner" && one["kind"] == "part";
    holder["behind"].as_array().is_some_and(|behind| behind.iter().any(is_spinner))
}

/// One study for both, since it takes seconds.
#[test]
fn an_explanation_names_the_holders_and_its_trace_comes_from_the_record_alone() {
    let place = Place::new();
    let Some(trial) = trial_with_a_holder(&place) else { return };
    assert_scanners_held_it_and_spinners_were_in_front(&place, &trial);
    assert_has_trace_and_timeline(&place);
}

fn assert_scanners_held_it_and_spinners_were_in_front(place: &Place, trial: &Value) {
    let evidence = &trial["observation"]["evidence"];
    let wait = &evidence["waits"][0];
    assert_eq!(wait["holders"][0]["mode"], "read", "{wait}");
    let mapper = wait["waiter"]["pid"].clone();
    assert_eq!(wait["resource"], serde_json::json!({ "mmap-lock": { "pid": mapper } }), "{wait}");

    let (_, explanation) = explained(place);
    assert_eq!(explanation["schema"], model::explanation::SCHEMA);
    let holder = &explanation["waits"][0]["holders"][0];
    assert!(holder["overlap_ns"].as_u64().unwrap() > 0, "{holder}");
    let percent: f64 = explanation["shares"]
        .as_array()
        .unwrap()
        .iter()
        .map(|share| share["percent"].as_f64().unwrap())
        .sum();
    assert!((percent - 100.0).abs() < 0.01, "{percent}");
    let share = &explanation["shares"][0];
    assert!(share["ns"].as_u64().is_some() && share["what"].as_str().is_some(), "{share}");
    assert_eq!(explanation["cause"], "longest-wait");
    let ran = place.say(&["explain", place.path("record.json").to_str().unwrap()]);
    let words = ran.out.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(words.contains("held it for reading") && words.contains(" spinners"), "{ran:?}");
}

fn assert_has_trace_and_timeline(place: &Place) {
    let (file, trace) = (place.path("record.json"), place.path("trace.json"));
    let (file, to) = (file.to_str().unwrap(), trace.to_str().unwrap());
    let ran = place.say(&["explain", file, "--timeline", "--perfetto", to]);
    assert!(ran.out.contains("waiting"), "{ran:?}");
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(&trace).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|event| event["ph"] == "X" && event["name"] == "waiting"));
    assert!(events.iter().all(|event| event["dur"].as_f64().is_none_or(|dur| dur >= 0.0)));
}

/// The JSON has the timeline already, so nothing follows it.
#[test]
fn json_stays_json_with_a_timeline() {
    let place = Place::new();
    let record = place.golden("example");
    let ran = place.say(&["explain", record.to_str().unwrap(), "--json", "--timeline"]);
    let explanation = ran.json();
    assert!(!explanation["waits"][0]["timeline"].as_array().unwrap().is_empty(), "{ran:?}");
}

#[test]
fn without_probes_all_else_works_and_it_is_said() {
    let place = Place::new();
    let (ran, record) = study(&place, &["--no-probe"], &[]);
    assert!(record.get("probed").is_none(), "{ran:?}");
    let (ran, explanation) = explained(&place);
    assert_eq!(explanation["missing"][0], "no-probe", "{ran:?}");
}

#[test]
fn without_privilege_figures_of_proc_remain_and_it_is_said_what_is_missing() {
    if !testing::root_or_skip() {
        return;
    }
    let place = Place::new();
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let (ran, record) = study(&place, &["--probe"], &nobody);
    let evidence = &record["probed"][0]["trial"]["observation"]["evidence"];
    assert!(!is_traced(evidence), "{ran:?}");
    let missing = evidence["missing"].to_string();
    assert!(missing.contains("privilege") || missing.contains("not-built"), "{missing}");
    assert!(!evidence["threads"].as_array().unwrap().is_empty(), "{evidence}");
}

#[test]
fn an_arm_that_was_not_probed_is_refused() {
    let place = Place::new();
    let record = place.golden("mmap-lock");
    let record = record.to_str().unwrap();
    let ran = place.say(&["explain", record, "--arm", "busy-7"]);
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    assert!(ran.err.contains("busy-7"), "{ran:?}");
    let ran = place.say(&["explain", record]);
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    assert!(ran.out.contains("Missing: evidence"), "{ran:?}");
}

#[test]
fn calls_of_what_is_not_there_are_refused_in_a_line() {
    let place = Place::new();
    let me = std::process::id().to_string();
    let calls = |pid: &str, lib: &str, symbol: &str| {
        let args = ["probe", "calls", "--pid", pid, "--lib", lib, "--symbol", symbol];
        place.say(&[&args[..], &["--count", "1", "--every", "10ms"]].concat())
    };
    for (pid, lib, symbol, word) in [
        ("4194303", "libc.so.6", "malloc", "no such process"),
        (me.as_str(), "libnothing.so", "malloc", "not mapped"),
    ] {
        let ran = calls(pid, lib, symbol);
        assert_eq!((ran.status.code(), ran.out.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.err.contains(word) && ran.err.lines().count() == 1, "{ran:?}");
    }
}
