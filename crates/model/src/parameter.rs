//! Parameters of scenarios, as everything but the scenario itself needs them: by name, with plain
//! values.
//!
//! A scenario declares its parameters as one struct of types (`scenarios::params`); what stands
//! here is made from that struct, and is what study files, comparisons and reports go by.

use serde::{Deserialize, Serialize};

/// The word of a value that the scenario chooses itself.
pub const AUTO: &str = "auto";

/// One parameter of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Name: the flag without its dashes, and the key in the record.
    pub name: &'static str,
    /// The name that it had in older versions, which is read as well.
    pub former: Option<&'static str>,
    /// What its values are to others.
    pub kind: ParameterKind,
    /// Its value where nobody says otherwise.
    pub default: Value,
    /// Its value in a quick run; the default again for most.
    pub quick: Value,
}

/// The parameters of a scenario, to be asked for by name.
#[derive(Debug, Clone, Copy)]
pub struct Parameters {
    /// Describes them, in the order of the help.
    pub all: fn() -> &'static [Parameter],
    /// Reads a value of the one of that name, as it would stand on the command line; else says what
    /// is wrong with it.
    pub read: fn(name: &str, text: &str) -> Result<Value, String>,
}

/// What the values of a parameter are to others than the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// Where something runs: the number of a CPU.
    Cpu,
    /// Programs that are run.
    Programs,
    /// A folder that is written to.
    Folder,
    /// Words that a program gets, or may get, on its command line.
    Flags,
    /// A word that chooses, or the name of a file.
    Word,
    /// How much, how many, how long.
    Amount,
}

/// The value of a parameter, as it stands in the record: durations and sizes keep their unit.
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
    /// Whether it is left to the scenario: `auto`.
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
