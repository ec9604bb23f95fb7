//! What a scenario says about its own outcome, as data: the sentence by its id, and the values in
//! it.
//!
//! Each scenario has an enum of its facts, and one `match` that makes their sentences. A record
//! holds them as [`Fact`]. That form has no English, and no other scenario or version has to
//! understand it.

use crate::measure::Unit;
use os::terminal::line as plain;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// One fact as a record holds it: its name and its values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact {
    /// Its name, unique in its scenario.
    pub id: String,
    /// Its values by name; an optional value may be absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "read_values")]
    pub values: BTreeMap<String, Value>,
}

/// All facts of a scenario: an enum that serde writes with its name under `id` and its values under
/// `values`.
pub trait Sentence: Serialize + DeserializeOwned {
    /// The fact as a sentence, or as a phrase without a capital and without a full stop.
    fn sentence(&self) -> String;
}

/// The sentence of a fact, made with the enum of its scenario.
///
/// # Errors
/// Says what is wrong if this version does not know the fact, or if a value is missing.
pub fn sentence<T: Sentence>(fact: &Fact) -> Result<String, String> {
    fact.read().map(|own: T| own.sentence()).map_err(|error| error.to_string())
}

impl Fact {
    /// A fact without values.
    pub fn new(id: &str) -> Self {
        Fact { id: id.to_owned(), values: BTreeMap::new() }
    }

    /// The fact as a value of its scenario's enum.
    ///
    /// # Errors
    /// If the enum has no such fact, or if a value is missing.
    pub fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        let mut both = Map::from_iter([("id".to_owned(), Value::from(self.id.as_str()))]);
        if !self.values.is_empty() {
            both.insert("values".to_owned(), self.values.clone().into_iter().collect());
        }
        T::deserialize(Value::Object(both))
    }
}

impl<T: Sentence> From<T> for Fact {
    fn from(own: T) -> Self {
        let mut both = match serde_json::to_value(own) {
            Ok(Value::Object(both)) => both,
            _ => Map::new(),
        };
        let id = both.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let values = match both.remove("values") {
            Some(Value::Object(values)) => values,
            _ => Map::new(),
        };
        Fact { id, values: values.into_iter().filter(|(_, value)| !value.is_null()).collect() }
    }
}

/// A name, a path or the words of another program. It is cleaned each time it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name(pub String);

impl<T: ToString + ?Sized> From<&T> for Name {
    fn from(name: &T) -> Self {
        Name(name.to_string())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plain(&self.0))
    }
}

/// A figure with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Amount {
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// The true figure is this or more, because trials were cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// The ends of its interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

impl Amount {
    /// A figure without an interval.
    pub fn exact(value: f64, unit: Unit) -> Self {
        Amount { value, unit, at_least: false, interval: None }
    }
}

/// A note about a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// A fact that the scenario reports about the trial.
    Fact(Fact),
    /// In the words of an older record.
    Said(String),
}

impl From<Fact> for Note {
    fn from(fact: Fact) -> Self {
        Note::Fact(fact)
    }
}

/// The most values that a fact may hold, with the values inside lists and figures. The limit is
/// needed because a value takes much more room in memory than in a file.
const MOST_VALUES: usize = 1_000;

/// Reads the values of a fact, at most [`MOST_VALUES`].
fn read_values<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Value>, D::Error> {
    let mut left = MOST_VALUES;
    match (Bounded { left: &mut left }).deserialize(deserializer)? {
        Value::Object(all) => Ok(all.into_iter().collect()),
        _ => Err(de::Error::custom("the values of a fact have names")),
    }
}

/// Reads one JSON value with at most `left` parts.
struct Bounded<'a> {
    left: &'a mut usize,
}

impl Bounded<'_> {
    fn take<E: de::Error>(&mut self) -> Result<(), E> {
        let too_many = || E::custom(format!("a fact of more than {MOST_VALUES} values"));
        *self.left = self.left.checked_sub(1).ok_or_else(too_many)?;
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> de::Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of a fact")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(Bounded { left: self.left })? {
            self.take()?;
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(name) = items.next_key::<String>()? {
            self.take()?;
            all.insert(name, items.next_value_seed(Bounded { left: self.left })?);
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "id", content = "values", rename_all = "kebab-case")]
    enum Own {
        Alone,
        TwoWords { file: Name, readers: Option<u64> },
        Bare(Option<Inside>),
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Inside {
        took: Amount,
    }

    impl Sentence for Own {
        fn sentence(&self) -> String {
            format!("{self:?}")
        }
    }

    #[test]
    fn each_fact_comes_back_from_its_record() {
        let took = Amount::exact(3.0, Unit::Milliseconds);
        for (own, json) in [
            (Own::Alone, r#"{"id":"alone"}"#),
            (
                Own::TwoWords { file: "maps".into(), readers: None },
                r#"{"id":"two-words","values":{"file":"maps"}}"#,
            ),
            (Own::Bare(None), r#"{"id":"bare"}"#),
            (
                Own::Bare(Some(Inside { took })),
                r#"{"id":"bare","values":{"took":{"unit":"ms","value":3.0}}}"#,
            ),
        ] {
            let known = own.sentence();
            let fact = Fact::from(own);
            assert_eq!(serde_json::to_string(&fact).unwrap(), json);
            let read: Fact = serde_json::from_str(json).unwrap();
            assert_eq!((&read, sentence::<Own>(&read)), (&fact, Ok(known)));
        }
        let missing = sentence::<Own>(&Fact::new("two-words")).unwrap_err();
        assert!(missing.contains("values"), "{missing}");
        assert!(sentence::<Own>(&Fact::new("other")).is_err());
    }

    #[test]
    fn a_fact_of_too_many_values_is_refused() {
        let nested = format!(r#"{{"id":"x","values":{{"all":[{}0]}}}}"#, "[],".repeat(1_000));
        let error = serde_json::from_str::<Fact>(&nested).unwrap_err();
        assert!(error.to_string().contains("more than 1000 values"), "{error}");
        assert!(serde_json::from_str::<Fact>(r#"{"id":"x","values":[]}"#).is_err());
    }
}
