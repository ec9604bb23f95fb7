//! All English of the tool about its facts, in one file. Each variant has sample values.
//!
//! Read `golden/sentences.txt` aloud. A variant without a sample fails the test, since serde
//! lists all variants of a type.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod advice;
mod census;
mod live;
mod others;
mod scenarios;
mod verdicts;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use snapbox::{assert_data_eq, file};
use std::collections::BTreeSet;

/// One line: place, variant, sentence.
type Lines = Vec<(String, String, String)>;

#[test]
fn every_sentence_stands_in_one_file() {
    let mut all = Vec::new();
    all.extend(scenarios::lines());
    all.extend(verdicts::lines());
    all.extend(others::lines());
    all.extend(live::lines());
    all.extend(census::lines());
    all.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
    let text: String =
        all.iter().map(|(place, name, said)| format!("{place} {name}: {said}\n")).collect();
    assert_data_eq!(text, file!["../golden/sentences.txt"].raw());
}

/// The sentences of a type. The samples have the form of a record. Fails if a variant has no
/// sample.
fn of<T: DeserializeOwned>(place: &str, samples: &[Value], say: impl Fn(&T) -> String) -> Lines {
    let refused = serde_json::from_value::<T>(json!({ "?": null })).err().unwrap().to_string();
    let lines: Lines = samples
        .iter()
        .map(|sample| {
            let read = serde_json::from_value(sample.clone());
            let read = read.unwrap_or_else(|error| panic!("{sample}: {error}"));
            (place.to_owned(), name_of(sample), say(&read))
        })
        .collect();
    assert_all(place, &refused, &lines);
    lines
}

/// The variant of a sample: its text, or its only key.
fn name_of(sample: &Value) -> String {
    let key = sample.as_object().and_then(|all| all.keys().next());
    sample.as_str().or(key.map(String::as_str)).unwrap().to_owned()
}

/// Compares the samples with the variant names. serde quotes all of them when it refuses an
/// unknown name, after that name.
fn assert_all(place: &str, refusal: &str, lines: &Lines) {
    let known = refusal.split('`').skip(1).step_by(2).skip(1);
    // Sentences in words of an older record are not from this version.
    let known: BTreeSet<&str> = known.filter(|name| *name != "said").collect();
    let sampled: BTreeSet<&str> = lines.iter().map(|(_, name, _)| name.as_str()).collect();
    let without: Vec<_> = known.difference(&sampled).collect();
    assert!(known.len() > 1 && without.is_empty(), "{place}: no sample of {without:?}: {refusal}");
}

/// An estimate in this unit, with an interval around it.
fn estimate(median: f64, unit: &str) -> Value {
    json!({ "unit": unit, "trials": 12, "median": median, "low": median * 0.9, "high": median * 1.1,
        "confidence": 0.95, "min": median * 0.8, "max": median * 1.2 })
}

/// A figure without an interval.
fn amount(value: f64, unit: &str) -> Value {
    json!({ "value": value, "unit": unit })
}

/// A shift with an interval around it. All trials are on that side.
fn shift(by: f64, unit: &str) -> Value {
    let around = 0.1 * by.abs();
    let superiority = if by > 0.0 { 1.0 } else { 0.0 };
    json!({ "unit": unit, "shift": by, "low": by - around, "high": by + around,
        "confidence": 0.95, "superiority": superiority })
}
