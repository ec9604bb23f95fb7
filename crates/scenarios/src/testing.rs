//! Facts held against the sentences that their scenario declares.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::ScenarioError;
use minijinja::{Environment, UndefinedBehavior, Value};
use model::{Fact, FactValue, Meta, Problem, Settings};

/// The templates' language, with filters that show what they are given.
pub(crate) fn templates() -> Environment<'static> {
    let mut templates = Environment::empty();
    // An absent value may be asked for, and not shown.
    templates.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    templates.add_filter("figure", |value: Value| value);
    templates.add_filter("count", |value: Value, noun: String| format!("{value} {noun}s"));
    templates
}

/// A fact's sentence, with estimates and other figures as `?`; fails where its scenario declares no
/// such sentence, or one that needs other values.
pub(crate) fn told(meta: &Meta, fact: &Fact) -> String {
    let Some(sentence) = meta.sentence(&fact.id) else { panic!("{}: no sentence", fact.id) };
    let value = |value: &FactValue| match value {
        FactValue::Count(count) => Value::from(*count),
        FactValue::Holds(holds) => Value::from(*holds),
        FactValue::Name(name) => Value::from(name.clone()),
        FactValue::Names(names) => Value::from(names.join(", ")),
        _ => Value::from("?"),
    };
    for name in fact.values.keys() {
        assert!(sentence.text.contains(name.as_str()), "{}: {name} is not told", fact.id);
    }
    let values: Value = fact.values.iter().map(|(name, one)| (name.clone(), value(one))).collect();
    templates().render_str(sentence.text, values).unwrap()
}

/// Why a setting is refused, in the scenario's own sentence; fails where something else is said.
pub(crate) fn refused<T: std::fmt::Debug>(meta: &Meta, result: Result<T, ScenarioError>) -> String {
    match result {
        Err(ScenarioError::Unusable(Problem::Scenario(fact))) => told(meta, &fact),
        other => panic!("{other:?}"),
    }
}

/// The defaults of a scenario with some parameters changed, as on the command line.
pub(crate) fn settings(meta: &Meta, changed: &[(&str, &str)]) -> Settings {
    let mut settings = meta.defaults(false);
    for (name, text) in changed {
        settings.set(name, meta.read(name, text).unwrap());
    }
    settings
}

/// The value of a parameter, as text.
pub(crate) fn value_of(settings: &Settings, name: &str) -> Option<String> {
    let Settings(values) = settings;
    values.get(name).map(ToString::to_string)
}
