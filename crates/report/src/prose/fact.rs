//! Facts that only a scenario knows, in the sentences of that scenario.
//!
//! If this version has no sentence for a fact, or if the fact lacks a value, its id is shown with
//! its values.

use model::estimate::number;
use model::prose::figures::{self, listed};
use model::prose::sentence::ended;
use model::{Amount, Comparison, Estimate, Fact, Meta};
use os::terminal::line as plain;
use serde_json::Value;

/// The fact as a sentence.
pub fn fact(fact: &Fact, meta: Option<&Meta>) -> String {
    ended(&phrase(fact, meta))
}

/// The fact in a few words, as part of a sentence.
pub fn phrase(fact: &Fact, meta: Option<&Meta>) -> String {
    meta.and_then(|meta| (meta.sentence)(fact).ok()).unwrap_or_else(|| bare(fact))
}

/// The id and the values, for a fact without a sentence.
fn bare(fact: &Fact) -> String {
    let one = |(name, value): (&String, &Value)| format!("{} {}", plain(name), of_value(value));
    let values: Vec<String> = fact.values.iter().map(one).collect();
    match values.is_empty() {
        true => plain(&fact.id),
        false => format!("{}: {}", plain(&fact.id), values.join(", ")),
    }
}

/// A value in its format; a figure has its interval.
fn of_value(value: &Value) -> String {
    let figure = || {
        let of = || value.clone();
        let estimate = serde_json::from_value::<Estimate>(of()).map(|one| one.to_string());
        let amount = || serde_json::from_value::<Amount>(of()).map(|one| one.to_string());
        let shift = || serde_json::from_value::<Comparison>(of()).map(|one| figures::shift(&one));
        estimate.or_else(|_| amount()).or_else(|_| shift()).ok()
    };
    match value {
        Value::String(name) => plain(name),
        Value::Array(all) => listed(&all.iter().map(of_value).collect::<Vec<_>>()),
        Value::Object(_) => figure().unwrap_or_else(|| plain(&value.to_string())),
        Value::Number(count) if !count.is_u64() => number(count.as_f64().unwrap_or_default()),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Unit;

    #[test]
    fn a_fact_without_a_sentence_is_shown_by_its_id() {
        let mut unknown = Fact::new("new\u{202e}one");
        let took = Amount { interval: Some((0.8, 1.2)), ..Amount::exact(1.0, Unit::Milliseconds) };
        unknown.values = [
            ("cost".to_owned(), Value::from(3)),
            ("file".to_owned(), Value::from("maps\u{1b}[2J")),
            ("names".to_owned(), Value::from(vec!["a", "b"])),
            ("part".to_owned(), Value::from(0.25)),
            ("took".to_owned(), serde_json::to_value(took).unwrap()),
            ("what".to_owned(), Value::from_iter([("a\u{1b}", 1)])),
        ]
        .into();
        assert_eq!(
            fact(&unknown, None),
            "new one: cost 3, file maps [2J, names a and b, part 0.25, took 1 ms [0.8, 1.2], what \
             {\"a\\u001b\":1}."
        );
        assert_eq!(fact(&Fact::new("alone"), None), "alone.");
    }
}
