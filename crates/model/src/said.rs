//! Sentences of records of version 1, where version 2 has data.
//!
//! They are told apart by hand and not by `#[serde(untagged)]`: that reads whatever stands there
//! into a generic value first, many times as large as its text, and a record may come from
//! anywhere.

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess};
use std::fmt;
use std::marker::PhantomData;

/// The most reasons, caveats or suggestions that a record may hold: more than a study of a thousand
/// combinations has. An empty text is fifty times as large in memory as in a file.
const MOST: usize = 10_000;

/// The most notes that a trial may hold.
const MOST_NOTES: usize = 20;

/// What stands in a record as data, or as a sentence of version 1.
pub(crate) trait Said: Sized {
    /// The sentence of version 1.
    fn said(sentence: String) -> Self;

    /// Reads the data.
    fn data<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// Reads data, or a sentence.
pub(crate) fn read<'de, T: Said, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(Visitor(PhantomData))
}

/// Reads the reasons, caveats or suggestions of a verdict.
pub(crate) fn list<'de, T: Said, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_seq(List { most: MOST, of: PhantomData })
}

/// Reads the notes of a trial.
pub(crate) fn notes<'de, T: Said, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_seq(List { most: MOST_NOTES, of: PhantomData })
}

/// Reads one.
struct Visitor<T>(PhantomData<T>);

impl<'de, T: Said> de::Visitor<'de> for Visitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("data, or a sentence")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        // A variant that holds nothing is its name alone.
        let name: StrDeserializer<'_, E> = text.into_deserializer();
        Ok(T::data(name).unwrap_or_else(|_| T::said(text.to_owned())))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::data(MapAccessDeserializer::new(map))
    }
}

impl<'de, T: Said> DeserializeSeed<'de> for Visitor<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        read(deserializer)
    }
}

/// Reads a list of no more than so many.
struct List<T> {
    most: usize,
    of: PhantomData<T>,
}

impl<'de, T: Said> de::Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {}", self.most)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(Visitor(PhantomData))? {
            if all.len() == self.most {
                return Err(de::Error::custom(format!("a list of more than {}", self.most)));
            }
            all.push(item);
        }
        Ok(all)
    }
}

/// Makes an enum with a variant `Said`, whose serde derives have `remote = "Self"`, read and write
/// that variant as a plain text: the derives make functions of the type, and not the traits.
macro_rules! data_or_said {
    ($type:ident) => {
        impl $crate::said::Said for $type {
            fn said(sentence: String) -> Self {
                $type::Said(sentence)
            }

            fn data<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $type::deserialize(deserializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::said::read(deserializer)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $type::Said(sentence) => serializer.serialize_str(sentence),
                    data => $type::serialize(data, serializer),
                }
            }
        }
    };
}

pub(crate) use data_or_said;
