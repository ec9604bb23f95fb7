//! Records of version 1 of the schema. They can be read, shown and judged again, with the same
//! verdicts and figures.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, packed};
use serde_json::Value;
use std::path::PathBuf;

/// The records, and the exit codes of their verdicts.
const RECORDS: [(&str, i32); 4] =
    [("mmap-lock", 1), ("mmap-lock.quiet", 0), ("study", 1), ("cpu-quota", 4)];

/// A record of version 1 as it was written, and a file of this place with it.
fn unpacked(place: &Place, name: &str) -> (Value, PathBuf) {
    let text = packed::read(&packed::of_version_1(name));
    let path = place.path(&format!("{name}.json"));
    std::fs::write(&path, &text).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(record["schema"], "tailback/record/1");
    (record, path)
}

/// The results of an arm, without the evidence of the test: the rules for evidence may improve.
fn shown(arm: &Value) -> [&Value; 7] {
    ["id", "role", "state", "trials", "hangs", "measures", "against_control"].map(|key| &arm[key])
}

#[test]
fn judged_again_they_have_the_same_verdicts_and_figures() {
    let place = Place::new();
    for (name, code) in RECORDS {
        let (old, path) = unpacked(&place, name);
        let ran = place.say(&["judge", "--json", path.to_str().unwrap()]);
        assert_eq!(ran.code(), code, "{name}: {ran:?}");
        let new = ran.json();
        assert_eq!(new["schema"], "tailback/record/3", "{name}");
        for key in ["state", "kind", "measure"] {
            assert_eq!(new["judgement"][key], old["verdict"][key], "{name}: {key}");
        }
        let arms = |arms: &Value| arms["arms"].as_array().unwrap().clone();
        let (arms_now, arms_then) = (arms(&new["judgement"]), arms(&old));
        assert_eq!(arms_now.len(), arms_then.len(), "{name}");
        for (new, old) in arms_now.iter().zip(&arms_then) {
            assert_eq!(shown(new), shown(old), "{name}: {}", old["id"]);
        }
        for (now, then) in [
            ("scenario", "scenario"),
            ("started", "started"),
            ("elapsed_s", "elapsed_s"),
            ("machine", "host"),
        ] {
            assert_eq!(new[now], old[then], "{name}: {now}");
        }
        let measured = |record: &Value| -> Vec<Value> {
            let trials = record["trials"].as_array().unwrap().iter();
            trials.map(|trial| trial["observation"]["measures"].clone()).collect()
        };
        assert_eq!(measured(&new), measured(&old), "{name}");
    }
}

#[test]
fn other_formats_of_them_are_those_of_the_records_of_today() {
    let place = Place::new();
    for (name, _) in RECORDS {
        let (_, old) = unpacked(&place, name);
        let new = place.golden(name);
        let csv = |path: &PathBuf| {
            let ran = place.say(&["export", "--format", "csv", path.to_str().unwrap()]);
            assert_eq!(ran.code(), 0, "{name}: {ran:?}");
            ran.out
        };
        assert_eq!(csv(&old), csv(&new), "{name}");
        let ran = place.say(&["compare", old.to_str().unwrap(), new.to_str().unwrap()]);
        assert_eq!(ran.code(), 0, "{name}: {ran:?}");
    }
}
