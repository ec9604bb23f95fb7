//! Values that a word may replace.

use crate::ScenarioError;
use model::problem::ArmsProblem;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A value, or a word in its place. The arguments: type, variant, word, meaning of the word, and
/// documentation of the value.
macro_rules! or_word {
    ($name:ident, $variant:ident, $word:literal, $means:literal, $value:literal) => {
        #[doc = concat!("A value, or `", $word, "` ", $means, ".")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name<T> {
            #[doc = concat!("`", $word, "` ", $means, ".")]
            $variant,
            #[doc = $value]
            Is(T),
        }

        impl<T> $name<T> {
            /// The value. None if the word replaces it.
            pub const fn value(&self) -> Option<&T> {
                match self {
                    $name::$variant => None,
                    $name::Is(value) => Some(value),
                }
            }
        }

        impl<T: Copy> $name<T> {
            /// A copy of the value. None if the word replaces it.
            pub fn get(&self) -> Option<T> {
                self.value().copied()
            }
        }

        impl<T: fmt::Display> fmt::Display for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $name::$variant => f.write_str($word),
                    $name::Is(value) => value.fmt(f),
                }
            }
        }

        impl<T: FromStr<Err = String>> FromStr for $name<T> {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::read(text, T::from_str)
            }
        }

        impl<T> $name<T> {
            /// Parses the word, or a value by `read`.
            pub(super) fn read(
                text: &str,
                read: impl FnOnce(&str) -> Result<T, String>,
            ) -> Result<Self, String> {
                match text.trim() == $word {
                    true => Ok($name::$variant),
                    false => read(text)
                        .map($name::Is)
                        .map_err(|why| format!(concat!("{}; or write ", $word), why)),
                }
            }
        }

        impl<T: Serialize> Serialize for $name<T> {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                match self {
                    $name::$variant => to.serialize_str($word),
                    $name::Is(value) => value.serialize(to),
                }
            }
        }

        impl<'de, T: Deserialize<'de>> Deserialize<'de> for $name<T> {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                #[derive(Deserialize)]
                enum Word {
                    #[serde(rename = $word)]
                    Word,
                }
                #[derive(Deserialize)]
                #[serde(untagged)]
                enum Written<T> {
                    Word(Word),
                    Value(T),
                }
                Ok(match Written::deserialize(from)? {
                    Written::Word(Word::Word) => $name::$variant,
                    Written::Value(value) => $name::Is(value),
                })
            }
        }
    };
}

or_word!(Auto, Auto, "auto", "where the scenario chooses", "What was asked for, or chosen.");
or_word!(OrNone, None, "none", "for nothing of the kind", "So much.");

impl<T: Copy> Auto<T> {
    /// The value in the settings of an arm, where nothing may be open.
    ///
    /// # Errors
    /// If the value is open. `option` is the flag for the message.
    pub(crate) fn chosen(&self, option: &str) -> Result<T, ScenarioError> {
        let open = || ArmsProblem::NotOneValue { option: option.to_owned() }.into();
        self.get().ok_or_else(|| ScenarioError::Broken(open()))
    }

    /// The value, or `other` if it is open.
    pub(crate) fn or(self, other: T) -> Self {
        Auto::Is(self.get().unwrap_or(other))
    }
}
