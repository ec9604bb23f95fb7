//! The record's JSON schema is written from the types, and the file holds what they say.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code, reason = "it also writes, for other tests")]
#[path = "common/packed.rs"]
mod packed;

use jsonschema::Validator;
use model::Record;
use serde_json::Value;
use std::path::PathBuf;

fn path(version: u32) -> PathBuf {
    let schemas = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schema");
    schemas.join(format!("record.v{version}.json"))
}

fn validator(version: u32) -> Validator {
    let schema = std::fs::read_to_string(path(version)).unwrap();
    jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap()
}

fn assert_valid(validator: &Validator, record: &Value) {
    let errors: Vec<String> = validator.iter_errors(record).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

fn written() -> String {
    let mut schema = schemars::schema_for!(Record);
    schema.insert("$id".to_owned(), model::record::SCHEMA.into());
    let id = serde_json::json!({ "const": model::record::SCHEMA });
    if let Some(properties) = schema.get_mut("properties").and_then(|p| p.as_object_mut()) {
        properties.insert("schema".to_owned(), id);
    }
    format!("{:#}\n", schema.to_value())
}

#[test]
fn the_file_is_what_the_types_say() {
    if std::env::var_os("TAILBACK_GOLDEN").is_some() {
        std::fs::write(path(2), written()).unwrap();
    }
    let file = std::fs::read_to_string(path(2)).unwrap();
    assert!(file == written(), "schema/record.v2.json is out of date: run `make golden`");
}

#[test]
fn the_schema_tells_records_from_other_json() {
    let validator = validator(2);
    let good: Value = serde_json::from_str(&packed::read(&packed::golden("mmap-lock"))).unwrap();
    assert_valid(&validator, &good);
    let bad = [
        ("schema", serde_json::json!("tailback/record/1")),
        ("trials", serde_json::json!("none")),
        ("verdict", serde_json::json!({ "state": "fine" })),
    ];
    for (key, value) in bad {
        let mut record = good.clone();
        record[key] = value;
        assert!(!validator.is_valid(&record), "{key}");
    }
    let mut record = good;
    record["verdict"]["reasons"][0] = serde_json::json!({ "no-such-reason": {} });
    assert!(!validator.is_valid(&record));
    record["verdict"]["reasons"][0] = serde_json::json!("A sentence of version 1.");
    assert_valid(&validator, &record);
}

#[test]
fn a_record_of_version_1_keeps_to_its_schema_and_is_written_by_the_new_one() {
    let (old, new) = (validator(1), validator(2));
    for name in ["mmap-lock", "mmap-lock.quiet", "study", "cpu-quota"] {
        let text = packed::read(&packed::of_version_1(name));
        assert_valid(&old, &serde_json::from_str(&text).unwrap());
        let written = Record::from_json(&text).unwrap().to_json();
        assert_valid(&new, &serde_json::from_str(&written).unwrap());
    }
}
