//! Values that are written as text, both in a record and on the command line.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};
use std::fmt::Display;
use std::str::FromStr;

/// The longest text of a value, in bytes.
pub(super) const MOST: usize = 4096;

/// Writes a value as its text.
pub(super) fn serialize<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

/// Reads a value from its text.
pub(super) fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: FromStr<Err = String>,
    D: Deserializer<'de>,
{
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}

/// Makes serde write types as text and read them from text.
macro_rules! as_text {
    ($($type:ty),+ $(,)?) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                $crate::params::text::serialize(self, to)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::params::text::deserialize(from)
            }
        }
    )+};
}

pub(super) use as_text;

/// Whether a text is too long or contains control characters.
pub(super) fn is_strange(text: &str) -> bool {
    text.len() > MOST || text.chars().any(os::terminal::steers)
}

/// The words of a text, with single spaces between them.
///
/// # Errors
/// If the text is too long or contains control characters.
pub(super) fn words(text: &str) -> Result<String, String> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.len() > MOST || is_strange(&words) {
        true => Err("it is too long, or has control characters in it".to_owned()),
        false => Ok(words),
    }
}
