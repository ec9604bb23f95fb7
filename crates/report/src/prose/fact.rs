//! Facts that only a scenario knows: its own sentences, with the values of the record.
//!
//! A sentence is a template of the scenario's declaration: `{{ x }}` writes a value by its type,
//! `{{ x|figure }}` leaves its interval out, `{{ n|count("reader") }}` counts, and `{% if x %}`
//! asks whether there is one. A fact that this version has no sentence for, or that lacks a value,
//! is shown by its id with what values it has.

use minijinja::value::{Object, ObjectRepr};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};
use model::prose::figures;
use model::prose::sentence::ended;
use model::{Fact, FactValue, Meta};
use os::terminal::line as plain;
use std::fmt;
use std::sync::Arc;

/// The fact as a sentence.
pub fn fact(fact: &Fact, meta: Option<&Meta>) -> String {
    ended(&phrase(fact, meta))
}

/// The fact in a few words, as part of a sentence.
pub fn phrase(fact: &Fact, meta: Option<&Meta>) -> String {
    let known = meta.and_then(|meta| meta.sentence(&fact.id));
    known.and_then(|sentence| filled(sentence.text, fact).ok()).unwrap_or_else(|| bare(fact))
}

/// A template with the values of a fact.
fn filled(template: &str, fact: &Fact) -> Result<String, Error> {
    let values: Value =
        fact.values.iter().map(|(name, value)| (name.clone(), shown(value))).collect();
    environment().render_str(template, values)
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    // What is asked for may be absent, what is written may not.
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.add_filter("figure", without_interval);
    environment.add_filter("count", counted);
    environment
}

/// The id and the values, for a fact without a sentence.
fn bare(fact: &Fact) -> String {
    let values: Vec<String> = fact
        .values
        .iter()
        .map(|(name, value)| format!("{} {}", plain(name), of_value(value)))
        .collect();
    match values.is_empty() {
        true => plain(&fact.id),
        false => format!("{}: {}", plain(&fact.id), values.join(", ")),
    }
}

/// A value by its type, with its interval.
fn of_value(value: &FactValue) -> String {
    match value {
        FactValue::Estimate(estimate) => figures::estimate(estimate),
        FactValue::Shift(shift) => figures::shift(shift),
        FactValue::Amount(amount) => figures::amount(amount),
        FactValue::Count(count) => count.to_string(),
        FactValue::Share(share) => figures::percent(*share),
        FactValue::Name(name) => plain(name),
        FactValue::Names(names) => figures::listed(names),
        FactValue::Holds(holds) => holds.to_string(),
    }
}

/// A value as templates see it: plain words, counts and truths can be compared there.
fn shown(value: &FactValue) -> Value {
    match value {
        FactValue::Count(count) => Value::from(*count),
        FactValue::Name(name) => Value::from(plain(name)),
        FactValue::Holds(holds) => Value::from(*holds),
        other => Value::from_object(Figure(other.clone())),
    }
}

/// A value that knows how it is written.
#[derive(Debug)]
struct Figure(FactValue);

impl Object for Figure {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn is_true(self: &Arc<Self>) -> bool {
        !matches!(&self.0, FactValue::Names(names) if names.is_empty())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&of_value(&self.0))
    }
}

fn without_interval(value: &Value) -> Result<String, Error> {
    match value.downcast_object_ref::<Figure>().map(|figure| &figure.0) {
        Some(FactValue::Estimate(estimate)) => Ok(figures::median(estimate)),
        Some(FactValue::Shift(shift)) => Ok(figures::shift_alone(shift)),
        Some(FactValue::Amount(amount)) => Ok(figures::amount_alone(amount)),
        Some(other) => Ok(of_value(other)),
        None if value.is_undefined() => Err(absent()),
        None => Ok(value.to_string()),
    }
}

fn counted(value: &Value, noun: String) -> Result<String, Error> {
    let median = match value.downcast_object_ref::<Figure>().map(|figure| &figure.0) {
        Some(FactValue::Estimate(estimate)) => Some(estimate.median),
        Some(FactValue::Amount(amount)) => Some(amount.value),
        _ => None,
    };
    match (u64::try_from(value.clone()), median) {
        (Ok(count), _) => Ok(figures::plural(count, &noun)),
        (Err(_), Some(median)) => {
            let ending = if median == 1.0 { "" } else { "s" };
            Ok(format!("{} {noun}{ending}", model::estimate::number(median)))
        }
        (Err(_), None) => Err(absent()),
    }
}

fn absent() -> Error {
    Error::new(ErrorKind::UndefinedError, "a value is missing")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Amount, Unit};

    fn said(template: &str, fact: &Fact) -> Option<String> {
        filled(template, fact).ok()
    }

    fn sample() -> Fact {
        let amount = Amount {
            value: 1.02,
            unit: Unit::Milliseconds,
            at_least: false,
            interval: Some((0.8, 1.2)),
        };
        Fact::new("sample")
            .with("took", amount)
            .with("readers", 10u64)
            .with("one", 1u64)
            .with("file", "smaps\u{1b}[2J")
            .with("share", FactValue::Share(0.05))
            .with("names", FactValue::Names(vec!["a".to_owned(), "b".to_owned()]))
            .with("holds", true)
    }

    #[test]
    fn values_are_written_by_their_type() {
        let cases = [
            ("{{ took }}", "1.02 ms [0.8, 1.2]"),
            ("{{ took|figure }}", "1.02 ms"),
            (
                "{{ readers|count(\"reader\") }}, {{ one|count(\"spinner\") }}",
                "10 readers, 1 spinner",
            ),
            ("/proc/PID/{{ file }}", "/proc/PID/smaps [2J"),
            ("{{ share }} of {{ names }}", "5% of a and b"),
            ("{% if holds %}yes{% endif %}{% if nothing %}no{% endif %}", "yes"),
            ("{% if readers == 10 %}ten{% else %}other{% endif %}", "ten"),
        ];
        for (template, expected) in cases {
            assert_eq!(said(template, &sample()).as_deref(), Some(expected), "{template}");
        }
    }

    #[test]
    fn a_value_that_is_missing_is_no_empty_place_in_a_sentence() {
        for template in ["{{ nothing }}", "{{ nothing|figure }}", "{{ nothing|count(\"x\") }}"] {
            assert_eq!(said(template, &sample()), None, "{template}");
        }
    }

    #[test]
    fn a_fact_without_a_sentence_is_shown_by_its_id() {
        let unknown = Fact::new("new\u{202e}one").with("cost", 3u64).with("file", "maps");
        assert_eq!(fact(&unknown, None), "new one: cost 3, file maps.");
        assert_eq!(fact(&Fact::new("alone"), None), "alone.");
    }

    #[test]
    fn what_stands_in_a_value_is_no_template() {
        let evil = Fact::new("x").with("file", "{{ 7 * 7 }}{% if");
        assert_eq!(said("{{ file }}", &evil).as_deref(), Some("{{ 7 * 7 }}{% if"));
    }
}
