//! Choices: enums whose words are defined once, by clap.

use clap::ValueEnum;
use clap::builder::{PossibleValue, TypedValueParser};
use std::ffi::OsStr;
use std::marker::PhantomData;

/// Parses one of the words of an enum. The message for any other text lists all words.
///
/// clap's own parser would be enough, except for its message, which has two lines.
#[derive(Debug)]
pub struct OneOf<T>(PhantomData<fn() -> T>);

impl<T> OneOf<T> {
    pub(crate) const NEW: Self = OneOf(PhantomData);
}

impl<T> Clone for OneOf<T> {
    fn clone(&self) -> Self {
        OneOf::NEW
    }
}

impl<T: ValueEnum + Clone + Send + Sync + 'static> TypedValueParser for OneOf<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let read = |text: &str| read::<T>(text);
        read.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(T::value_variants().iter().filter_map(T::to_possible_value)))
    }
}

/// Parses a word.
pub(crate) fn read<T: ValueEnum + Clone>(text: &str) -> Result<T, String> {
    let text = text.trim();
    let mut all = T::value_variants().iter();
    all.find(|one| word(*one) == text).cloned().ok_or_else(|| {
        let words: Vec<String> = T::value_variants().iter().map(word).collect();
        format!("`{text}` is none of {}", words.join(", "))
    })
}

/// The word of a value.
pub(crate) fn word<T: ValueEnum>(value: &T) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Makes enums choices. clap, serde and messages all write the variants with clap's names.
macro_rules! choice {
    ($($type:ty),+ $(,)?) => {$(
        impl clap::builder::ValueParserFactory for $type {
            type Parser = $crate::params::OneOf<$type>;

            fn value_parser() -> Self::Parser {
                $crate::params::OneOf::NEW
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&$crate::params::word(self))
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                $crate::params::read_word(text)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let word = <String as serde::Deserialize>::deserialize(from)?;
                word.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

pub(crate) use choice;

/// A choice between yes and no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum YesNo {
    /// Yes
    Yes,
    /// No
    No,
}

choice!(YesNo);

impl YesNo {
    /// Whether it is yes.
    pub fn is_yes(self) -> bool {
        self == YesNo::Yes
    }
}
