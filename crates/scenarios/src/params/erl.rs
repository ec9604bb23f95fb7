//! Values for scenarios that run an Erlang VM: emulator flags and OTPs.

use super::open::Auto;
use super::text::{self, as_text, is_strange};
use beam::{Flags, suite_of};
use std::fmt;
use std::str::FromStr;

/// Emulator flags, such as `+S 4:4 +sbwt none`. May be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErlFlags(String);

impl ErlFlags {
    /// The flags as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there are no flags.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These flags, followed by others.
    pub fn and(&self, others: &ErlFlags) -> ErlFlags {
        match (self.is_empty(), others.is_empty()) {
            (true, _) => others.clone(),
            (_, true) => self.clone(),
            _ => ErlFlags(format!("{self} {others}")),
        }
    }
}

impl fmt::Display for ErlFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ErlFlags {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = text::words(text)?;
        Flags::parse(&words).map_err(|error| error.to_string())?;
        Ok(ErlFlags(words))
    }
}

/// The value of one emulator flag, or `default` to leave the flag out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FlagValue {
    /// The flag is left out, so the VM's own default applies.
    #[default]
    Default,
    /// The flag gets this value.
    Is(String),
}

impl FlagValue {
    /// The word for the VM's own default.
    const DEFAULT: &str = "default";

    /// The value that turns busy waiting off.
    pub fn none() -> Self {
        FlagValue::Is("none".to_owned())
    }
}

impl fmt::Display for FlagValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FlagValue::Default => Self::DEFAULT,
            FlagValue::Is(value) => value,
        })
    }
}

impl FromStr for FlagValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_:.,-".contains(c);
        let is_value =
            (1..=64).contains(&text.len()) && !text.starts_with('-') && text.chars().all(is_plain);
        match text {
            Self::DEFAULT => Ok(FlagValue::Default),
            _ if is_value => Ok(FlagValue::Is(text.to_owned())),
            _ => Err(format!("`{text}` is not the value of an emulator flag, nor default")),
        }
    }
}

/// OTPs, separated by commas: `debian:trixie` for the OTP of a suite, the path of an `erl`, or the
/// folder of an installation. `auto` means the `erl` on the PATH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs(Vec<Auto<String>>);

impl Programs {
    /// A single OTP, selected by this word.
    pub fn one(word: &str) -> Self {
        Programs(vec![Auto::Is(word.to_owned())])
    }

    /// The words. None means the program on the PATH.
    pub fn words(&self) -> Vec<Option<String>> {
        self.0.iter().map(|word| word.value().map(ToString::to_string)).collect()
    }

    /// The OTPs that a suggested run names. A Debian suite is kept: it was asked for by name, and
    /// another OTP may not show the stall. A path is left out, so that the run takes `auto`: it may
    /// be the path of the `erl` that was found on this machine.
    pub(crate) fn asked_by_name(&self) -> Self {
        let is_suite =
            |word: &Auto<String>| word.value().is_some_and(|word| suite_of(word).is_some());
        if self.0.iter().all(is_suite) { self.clone() } else { Programs::default() }
    }
}

impl Default for Programs {
    fn default() -> Self {
        Programs(vec![Auto::Auto])
    }
}

impl fmt::Display for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&paths.join(","))
    }
}

impl FromStr for Programs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is not a list of OTPs (debian:trixie, or paths), separated by commas")
        };
        let path = |path: &str| match path.trim() {
            "" => Err(wrong()),
            path => Auto::read(path, |path| Ok(path.to_owned())),
        };
        match is_strange(text) {
            true => Err(wrong()),
            false => text.split(',').map(path).collect::<Result<_, _>>().map(Programs),
        }
    }
}

as_text!(ErlFlags, FlagValue, Programs);
