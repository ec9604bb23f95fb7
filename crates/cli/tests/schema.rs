//! The JSON schemas of record, brief record and census are made from the types, and the schema
//! files are up to date.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code, reason = "it also writes, for other tests")]
#[path = "common/packed.rs"]
mod packed;

use jsonschema::Validator;
use model::{Brief, Census, Facts, Judged};
use serde_json::Value;
use std::path::PathBuf;

fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schema").join(file)
}

fn validator() -> Validator {
    let schema = std::fs::read_to_string(path("record.v3.json")).unwrap();
    jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap()
}

fn assert_valid(validator: &Validator, record: &Value) {
    let errors: Vec<String> = validator.iter_errors(record).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

/// The schema of a type, with this name.
fn written<T: schemars::JsonSchema>(name: &str) -> String {
    let mut schema = schemars::schema_for!(T);
    schema.insert("$id".to_owned(), name.into());
    let id = serde_json::json!({ "const": name });
    if let Some(properties) = schema.get_mut("properties").and_then(|p| p.as_object_mut()) {
        properties.insert("schema".to_owned(), id);
    }
    format!("{:#}\n", schema.to_value())
}

/// Checks that a schema file fits its type, and makes a validator of it.
fn held<T: schemars::JsonSchema>(file: &str, name: &str) -> Validator {
    let path = path(file);
    let written = written::<T>(name);
    if std::env::var_os("TAILBACK_GOLDEN").is_some() {
        std::fs::write(&path, &written).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text == written, "schema/{file} is out of date: run `make golden`");
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
}

#[test]
fn a_brief_keeps_to_its_schema_and_its_size_and_is_judged_as_its_record() {
    let validator = held::<Brief>("brief.v1.json", model::brief::SCHEMA);
    for name in ["mmap-lock", "mmap-lock.quiet", "study", "cpu-quota", "example"] {
        let facts = Facts::from_json(&packed::read(&packed::golden(name))).unwrap();
        let record = scenarios::judged(facts);
        let identity = model::Identity::of(&record.machine, Vec::new());
        let brief = scenarios::brief(&record, identity, None);
        let line = brief.to_line();
        assert!(line.len() <= model::brief::MOST_BYTES, "{name}: {}", line.len());
        assert_valid(&validator, &serde_json::from_str(&line).unwrap());
        let judged = analysis::sufficient::judge_brief(&brief);
        assert_eq!(judged, Some(record.judgement.state), "{name}");
    }
    assert!(!validator.is_valid(&serde_json::json!({ "schema": model::brief::SCHEMA })));
}

#[test]
fn a_census_keeps_to_its_schema() {
    let validator = held::<Census>("census.v1.json", model::census::SCHEMA);
    let mut fleet = Vec::new();
    let world = census::simulated::World::of(2000, 1, true);
    census::simulated::write(world, &mut fleet).unwrap();
    let options = census::Options {
        scenarios: &["mmap-lock"],
        judge: scenarios::judge,
        now: 1_796_083_200,
        threads: 1,
        trials: None,
        hashing: None,
    };
    let found = census::read_bytes(&fleet, "host0000000.jsonl", census::Given::Found, options);
    let fleet = census::read_bytes(&fleet, "fleet.jsonl", census::Given::Named, options);
    let alone = census::summary::census(&found, None, None, "1", "now");
    assert_eq!(alone.hosts, 1);
    let listed = |name: &str, owner: Option<&str>| census::summary::Listed {
        name: name.to_owned(),
        owner: owner.map(str::to_owned),
    };
    let inventory = [listed("nowhere", None), listed("host0000001", Some("rack1"))];
    let first = census::summary::census(&fleet, Some(&inventory), None, "1", "now");
    let second = census::summary::census(&fleet, None, Some(&first), "1", "now");
    for one in [first, second, alone] {
        let text = serde_json::to_string(&one).unwrap();
        assert_valid(&validator, &serde_json::from_str(&text).unwrap());
        // Sums of figures depend on the last written digit, so all digits are written.
        assert_eq!(serde_json::from_str::<Census>(&text).unwrap(), one);
    }
}

#[test]
fn the_file_is_what_the_types_say() {
    held::<Judged>("record.v3.json", model::record::SCHEMA);
}

#[test]
fn the_schema_tells_records_from_other_json() {
    let validator = validator();
    let good: Value = serde_json::from_str(&packed::read(&packed::golden("mmap-lock"))).unwrap();
    assert_valid(&validator, &good);
    let bad = [
        ("schema", serde_json::json!("tailback/record/1")),
        ("trials", serde_json::json!("none")),
        ("judgement", serde_json::json!({ "state": "fine" })),
        ("judgement", serde_json::json!({ "state": "affected" })),
    ];
    for (key, value) in bad {
        let mut record = good.clone();
        record[key] = value;
        assert!(!validator.is_valid(&record), "{key}");
    }
    let mut record = good;
    record["judgement"]["reasons"][0] = serde_json::json!({ "no-such-reason": {} });
    assert!(!validator.is_valid(&record));
}
