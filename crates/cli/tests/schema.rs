//! The record's JSON schema is written from the types, and the file holds what they say.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use model::Record;
use std::path::PathBuf;

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schema/record.v1.json")
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
        std::fs::write(path(), written()).unwrap();
    }
    let file = std::fs::read_to_string(path()).unwrap();
    assert!(file == written(), "schema/record.v1.json is out of date: run `make golden`");
}

#[test]
fn the_schema_tells_records_from_other_json() {
    let schema: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path()).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let fixture = include_str!("golden/mmap-lock.record.json");
    let good: serde_json::Value = serde_json::from_str(fixture).unwrap();
    let errors: Vec<String> = validator.iter_errors(&good).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let bad = [
        ("schema", serde_json::json!("tailback/record/2")),
        ("trials", serde_json::json!("none")),
        ("verdict", serde_json::json!({ "state": "fine" })),
    ];
    for (key, value) in bad {
        let mut record = good.clone();
        record[key] = value;
        assert!(!validator.is_valid(&record), "{key}");
    }
}
