//! Evidence of real Erlang nodes: what the record shows about their schedulers, and what it
//! cannot show.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, erlang_or_skip, turn};
use serde_json::Value;
use testing::root_or_skip;

/// Runs one block of a scenario, and a trial with probes of each arm. Returns the record.
fn probed(place: &Place, prefix: &[&str], args: &[&str]) -> Value {
    let record = place.path("record.json");
    let more = ["--samples", "1", "--no-fixes", "--probe", "--record", record.to_str().unwrap()];
    let args = [&["run"], args, &more[..]].concat();
    let command = match prefix {
        [] => place.tailback(&args),
        [program, rest @ ..] => {
            let mut command = place.program(program);
            command.args([rest, &[common::BINARY], &args[..]].concat());
            command
        }
    };
    let ran = place.run(command);
    assert!(record.exists(), "{ran:?}");
    common::json(&record)
}

/// The evidence of the trial with probes of an arm.
fn evidence<'a>(record: &'a Value, arm: &str) -> &'a Value {
    let trials = record["probed"].as_array().unwrap().iter().map(|one| &one["trial"]);
    let trial = trials.clone().find(|trial| trial["arm"] == arm);
    &trial.unwrap_or_else(|| panic!("no {arm} among {:?}", trials))["observation"]["evidence"]
}

/// A figure of the VM's schedulers, and its source.
fn figure<'a>(evidence: &'a Value, name: &str) -> Option<(f64, &'a Value)> {
    let figures = evidence["vm"]["figures"].as_array().unwrap();
    let figure = figures.iter().find(|figure| figure["name"] == name)?;
    Some((figure["measure"]["value"].as_f64().unwrap(), &figure["source"]))
}

/// Whether the evidence comes from eBPF programs.
fn is_traced(evidence: &Value) -> bool {
    evidence["sources"].to_string().contains("probe")
}

/// Whether eBPF programs were there. If not, the evidence must mark calls of futex as unknown,
/// and the test prints that its rest is skipped.
fn traced_or_skip(evidence: &Value) -> bool {
    let traced = is_traced(evidence);
    if !traced {
        assert!(evidence["missing"].to_string().contains("vm-schedulers"), "{evidence}");
        assert_eq!(figure(evidence, "futex_calls"), None);
        assert_eq!(figure(evidence, "ran").unwrap().1, "thread-files");
        testing::skipped(format_args!("in part: {}", evidence["missing"][0]));
    }
    traced
}

#[test]
fn under_a_quota_the_record_says_what_schedulers_spun_called_and_waited() {
    if !erlang_or_skip() || !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let record = probed(&place, &[], &["busy-wait", "--quick", "--schedulers", "8"]);
    let seen = evidence(&record, "defaults-quota");
    assert!(figure(seen, "spun").is_some(), "{seen}");
    if !traced_or_skip(seen) {
        return;
    }
    let (calls, source) = figure(seen, "futex_calls").unwrap();
    assert!(calls > 0.0 && source["probe"] == "futex", "{calls} from {source}");
    let (delayed, caught) = (figure(seen, "delayed").unwrap().0, figure(seen, "caught").unwrap().0);
    assert!(caught <= delayed, "{caught} of {delayed}");
    let (ran, _) = figure(seen, "ran").unwrap();
    let schedulers = seen["threads"].as_array().unwrap().iter().filter(|thread| {
        thread["task"]["part"].as_str().is_some_and(|part| part.ends_with("scheduler"))
    });
    let sum: f64 = schedulers.map(|thread| thread["running_ns"].as_f64().unwrap()).sum();
    assert!((sum / 1e6 - ran).abs() < 1e-3, "{sum} ns beside {ran} ms");
    assert_eq!(seen["quota"]["source"]["probe"], "scheduler");
    for stretch in seen["quota"]["timeline"].as_array().into_iter().flatten() {
        assert!(stretch["until_ms"].as_f64() > stretch["from_ms"].as_f64(), "{stretch}");
    }
    let ran = place.say(&["explain", place.path("record.json").to_str().unwrap()]);
    let words = ran.out.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(words.contains("The schedulers called futex"), "{ran:?}");
}

#[test]
fn what_native_functions_sleep_is_told_from_the_sleep_of_idle_schedulers() {
    if !erlang_or_skip() || !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let (processes, calls, sleep_us) = (20.0, 2.0, 10_000.0);
    let args = ["blocking-nif", "--mode", "nif_sleep", "--processes", "20", "--calls", "2"];
    let record = probed(&Place::new(), &[], &[&args[..], &["--work", "10000"]].concat());
    let seen = evidence(&record, "nif_sleep");
    if !traced_or_skip(seen) {
        return;
    }
    // None of this time is in futex or in a poll. It is a little less than requested if the
    // machine loses its CPU between setting the timer and falling asleep.
    let (slept, _) = figure(seen, "slept_elsewhere").unwrap();
    let asked = processes * calls * sleep_us / 1e3;
    assert!(slept >= 0.5 * asked, "{slept} of {asked} ms");
}

#[test]
fn a_flood_has_evidence_of_its_schedulers_without_privilege_too() {
    if !erlang_or_skip() || !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let place = Place::new();
    // Code is run from this folder, so no other user may write to it.
    let own = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(own.path(), Some(65534), Some(65534)).unwrap();
    let cache = format!("XDG_CACHE_HOME={}", own.path().display());
    let prefix = [&nobody[..], &["env", &cache]].concat();
    let record = probed(&place, &prefix, &["mailbox-flood", "--quick"]);
    let seen = evidence(&record, "direct");
    assert!(!is_traced(seen), "{seen}");
    assert!(figure(seen, "ran").unwrap().0 > 0.0, "{seen}");
    let missing = seen["missing"].to_string();
    assert!(missing.contains("privilege") || missing.contains("not-built"), "{missing}");
}
