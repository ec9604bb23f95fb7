//! Lists of values, separated by semicolons.

use super::text;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Values separated by semicolons, such as `dirty; +sfwi 10`. Each value makes an arm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List<T>(Vec<T>);

impl<T> List<T> {
    /// A list of these values.
    pub fn new(parts: Vec<T>) -> Self {
        List(parts)
    }

    /// All values.
    pub fn parts(&self) -> &[T] {
        &self.0
    }
}

impl<T: fmt::Display> fmt::Display for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(T::to_string).collect();
        f.write_str(&parts.join("; "))
    }
}

impl<T: FromStr<Err = String>> FromStr for List<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text::words(text)?;
        let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
        parts.map(str::parse).collect::<Result<_, _>>().map(List)
    }
}

impl<T: fmt::Display> Serialize for List<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        text::serialize(self, to)
    }
}

impl<'de, T: FromStr<Err = String>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text::deserialize(from)
    }
}
