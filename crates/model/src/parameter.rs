//! Parameters of scenarios for all code outside of the scenario: by name, with plain values.
//!
//! A scenario declares its parameters as one typed struct (`scenarios::params`). The types here
//! are made from that struct. Study files, comparisons and reports use them.

use serde::{Deserialize, Serialize};

/// The word for a value that the scenario chooses itself.
pub const AUTO: &str = "auto";

/// One parameter of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Name: the flag without its dashes, and the key in the record.
    pub name: &'static str,
    /// The name that it had in older versions. It is still accepted.
    pub former: Option<&'static str>,
    /// What its values mean outside of the scenario.
    pub kind: ParameterKind,
    /// Its value if the user gives none.
    pub default: Value,
    /// Its value in a quick run; the default for most parameters.
    pub quick: Value,
}

/// The parameters of a scenario, by name.
#[derive(Debug, Clone, Copy)]
pub struct Parameters {
    /// The parameters, in the order of the help.
    pub all: fn() -> &'static [Parameter],
    /// Reads a value of the parameter with this name, as written on the command line. Otherwise
    /// says what is wrong with it.
    pub read: fn(name: &str, text: &str) -> Result<Value, String>,
}

/// What the values of a parameter mean outside of the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// The number of a CPU on which something runs.
    Cpu,
    /// Programs that are run.
    Programs,
    /// A folder to which something is written.
    Folder,
    /// Words that are passed, or may be passed, to a program on its command line.
    Flags,
    /// A word that selects something, or the name of a file.
    Word,
    /// A number, a size or a duration.
    Amount,
}

/// The value of a parameter as the record holds it: durations and sizes keep their unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Value {
    /// A whole number.
    Number(i64),
    /// Several whole numbers.
    Numbers(Vec<i64>),
    /// A word, or a duration or size with its unit.
    Text(String),
}

impl Value {
    /// Whether the scenario chooses the value itself: `auto`.
    pub fn is_open(&self) -> bool {
        matches!(self, Value::Text(text) if text == AUTO)
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Text(text) => f.write_str(text),
            Value::Numbers(numbers) => {
                let words: Vec<String> = numbers.iter().map(i64::to_string).collect();
                f.write_str(&words.join(","))
            }
        }
    }
}
