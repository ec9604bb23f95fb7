//! Typed parameters of a scenario.
//!
//! A knob is declared once, here, in the words that flags, help, man page, completions and the
//! record all use.

use crate::units;
use os::terminal::steers;
use serde::{Deserialize, Serialize};

/// One parameter of a scenario.
#[derive(Debug, Clone)]
pub struct Knob {
    /// Name: the flag without its dashes, and the key in the record.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Its value where nobody says otherwise, written as on the command line.
    pub default: &'static str,
    /// Another default for `--quick`, or the same.
    pub quick: Option<&'static str>,
    /// One line of help, without a full stop.
    pub help: &'static str,
}

/// What values a knob takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number within limits.
    Number {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// A whole number within limits, or `auto` where the scenario chooses one.
    NumberOrAuto {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// Whole numbers within limits, separated by commas; each makes an arm.
    Numbers {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
        /// How many may be given.
        most: usize,
    },
    /// A number with up to three decimals, or `none`; limits in thousandths.
    Decimal {
        /// Smallest value, in thousandths.
        min_milli: u32,
        /// Largest value, in thousandths.
        max_milli: u32,
    },
    /// A duration with its unit; limits in nanoseconds.
    Duration {
        /// Shortest, in nanoseconds.
        min_ns: u64,
        /// Longest, in nanoseconds.
        max_ns: u64,
    },
    /// A size with its unit; limits in bytes.
    Size {
        /// Smallest, in bytes.
        min: u64,
        /// Largest, in bytes.
        max: u64,
    },
    /// The number of a CPU, or `auto`.
    Cpu,
    /// The name of a file in `/proc/PID`.
    ProcFile,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// Words for a program's command line, as `+S 4:4 +sbwt none`; may be empty.
    Words,
    /// Paths of programs, separated by commas; `auto` for the one that the PATH finds.
    Programs,
    /// The path of a folder, or `auto` for that of temporary files.
    Folder,
}

/// The value of a knob, as it stands in the record: durations and sizes keep their unit.
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

impl Knob {
    /// Reads a value of this knob, in its canonical form.
    ///
    /// # Errors
    /// A sentence that says what is wrong with `text` and what would be right.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        self.kind.parse(text)
    }

    /// The default of this knob, for a quick or an ordinary run.
    ///
    /// # Panics
    /// If the declaration's default is not one of its own values; a test of the scenario list
    /// excludes it.
    pub fn default_value(&self, quick: bool) -> Value {
        let text = if quick { self.quick.unwrap_or(self.default) } else { self.default };
        match self.parse(text) {
            Ok(value) => value,
            Err(error) => panic!("knob {}: bad default: {error}", self.name),
        }
    }
}

impl Kind {
    /// What stands for the value in a usage line.
    pub fn placeholder(&self) -> &'static str {
        match self {
            Kind::Number { .. } | Kind::NumberOrAuto { .. } => "N",
            Kind::Numbers { .. } => "N,..",
            Kind::Decimal { .. } => "X",
            Kind::Duration { .. } => "TIME",
            Kind::Size { .. } => "SIZE",
            Kind::Cpu => "CPU",
            Kind::ProcFile => "FILE",
            Kind::Choice(_) => "WORD",
            Kind::Words => "FLAGS",
            Kind::Programs => "PATH,..",
            Kind::Folder => "FOLDER",
        }
    }

    /// Reads a value of this kind, in its canonical form.
    ///
    /// # Errors
    /// A sentence that says what is wrong with `text` and what would be right.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        match *self {
            Kind::NumberOrAuto { .. } if text == "auto" => Ok(Value::Text(text.to_owned())),
            Kind::Number { min, max } | Kind::NumberOrAuto { min, max } => {
                parse_number(text, min, max).map(Value::Number)
            }
            Kind::Numbers { min, max, most } => parse_numbers(text, min, max, most),
            Kind::Decimal { .. } if text == "none" => Ok(Value::Text(text.to_owned())),
            Kind::Decimal { min_milli, max_milli } => parse_decimal(text, min_milli, max_milli),
            Kind::Duration { min_ns, max_ns } => parse_duration(text, min_ns, max_ns),
            Kind::Size { min, max } => parse_size(text, min, max),
            Kind::Cpu if text == "auto" => Ok(Value::Text(text.to_owned())),
            Kind::Cpu => parse_number(text, 0, 1 << 20).map(Value::Number).map_err(|_| {
                format!("`{text}` is not the number of a CPU; write a number or auto")
            }),
            Kind::ProcFile => parse_proc_file(text),
            Kind::Choice(words) if words.contains(&text) => Ok(Value::Text(text.to_owned())),
            Kind::Choice(words) => Err(format!("`{text}` is none of {}", words.join(", "))),
            Kind::Words => parse_words(text),
            Kind::Programs => parse_programs(text),
            Kind::Folder => parse_folder(text),
        }
    }
}

fn parse_number(text: &str, min: i64, max: i64) -> Result<i64, String> {
    let number: i64 = text.parse().map_err(|_| format!("`{text}` is not a whole number"))?;
    if (min..=max).contains(&number) {
        Ok(number)
    } else {
        Err(format!("{number} is not between {min} and {max}"))
    }
}

fn parse_decimal(text: &str, min: u32, max: u32) -> Result<Value, String> {
    let milli = |milli: u32| f64::from(milli) / 1e3;
    let plain = |c: char| c.is_ascii_digit() || c == '.';
    let number: f64 = match text.chars().all(plain) {
        true => text.parse().map_err(|_| format!("`{text}` is not a number"))?,
        false => return Err(format!("`{text}` is not a number, nor none")),
    };
    if !(milli(min)..=milli(max)).contains(&number) {
        return Err(format!("{number} is not between {} and {}", milli(min), milli(max)));
    }
    let rounded = (number * 1e3).round() / 1e3;
    Ok(Value::Text(rounded.to_string()))
}

fn parse_numbers(text: &str, min: i64, max: i64, most: usize) -> Result<Value, String> {
    let numbers = text
        .split(',')
        .map(|word| parse_number(word.trim(), min, max))
        .collect::<Result<Vec<_>, _>>()?;
    if numbers.len() > most {
        return Err(format!("{} values are too many; at most {most}", numbers.len()));
    }
    Ok(Value::Numbers(numbers))
}

fn parse_duration(text: &str, min_ns: u64, max_ns: u64) -> Result<Value, String> {
    let duration = units::parse_duration(text)?;
    let (min, max) =
        (std::time::Duration::from_nanos(min_ns), std::time::Duration::from_nanos(max_ns));
    if (min..=max).contains(&duration) {
        Ok(Value::Text(units::format_duration(duration)))
    } else {
        Err(format!(
            "{} is not between {} and {}",
            units::format_duration(duration),
            units::format_duration(min),
            units::format_duration(max)
        ))
    }
}

fn parse_size(text: &str, min: u64, max: u64) -> Result<Value, String> {
    let size = units::parse_size(text)?;
    if (min..=max).contains(&size) {
        Ok(Value::Text(units::format_size(size)))
    } else {
        Err(format!(
            "{} is not between {} and {}",
            units::format_size(size),
            units::format_size(min),
            units::format_size(max)
        ))
    }
}

/// The longest command line and the longest path that are taken, in bytes.
const MOST_TEXT: usize = 4096;

fn parse_words(text: &str) -> Result<Value, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if text.len() > MOST_TEXT || text.chars().any(|c| steers(c) && !c.is_whitespace()) {
        return Err("it is too long, or has control characters in it".to_owned());
    }
    Ok(Value::Text(words.join(" ")))
}

fn parse_programs(text: &str) -> Result<Value, String> {
    let paths: Vec<&str> = text.split(',').map(str::trim).collect();
    let sound = |path: &&str| !path.is_empty() && !path.chars().any(steers);
    match text.len() <= MOST_TEXT && paths.iter().all(sound) {
        true => Ok(Value::Text(paths.join(","))),
        false => Err(format!("`{text}` is not a list of paths, separated by commas")),
    }
}

fn parse_folder(text: &str) -> Result<Value, String> {
    match text.is_empty() || text.len() > MOST_TEXT || text.chars().any(steers) {
        false => Ok(Value::Text(text.to_owned())),
        true => Err(format!("`{text}` is not the path of a folder, nor auto")),
    }
}

/// Folders of /proc/PID that lead to other files than the process's own.
const LEADS_AWAY: [&str; 7] = ["fd", "root", "cwd", "exe", "task", "map_files", "ns"];

/// A name below /proc/PID: one path component, or components below it such as `net/dev`.
fn parse_proc_file(text: &str) -> Result<Value, String> {
    let first = text.split('/').next().unwrap_or_default();
    if LEADS_AWAY.contains(&first) {
        return Err(format!("`{text}` leads away from the process's own files"));
    }
    let plain = |part: &str| {
        !part.is_empty()
            && part != "."
            && part != ".."
            && part.len() <= 64
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
    };
    if text.split('/').all(plain) && text.split('/').count() <= 4 {
        Ok(Value::Text(text.to_owned()))
    } else {
        Err(format!("`{text}` is not the name of a file in /proc/PID, such as smaps or maps"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_checked_and_made_canonical() {
        let duration = Kind::Duration { min_ns: 1_000_000, max_ns: 60_000_000_000 };
        assert_eq!(duration.parse("0.3s"), Ok(Value::Text("300ms".into())));
        assert_eq!(duration.parse("2min"), Err("2min is not between 1ms and 1min".into()));
        let list = Kind::Numbers { min: 0, max: 1000, most: 3 };
        assert_eq!(list.parse("0, 10"), Ok(Value::Numbers(vec![0, 10])));
        assert!(list.parse("0,1,2,3").is_err());
        assert!(list.parse("").is_err());
        assert!(list.parse("1,,2").is_err());
        assert_eq!(Kind::Cpu.parse("auto"), Ok(Value::Text("auto".into())));
        assert!(Kind::Cpu.parse("-1").is_err());
    }

    #[test]
    fn a_proc_file_cannot_leave_its_process() {
        for bad in ["", "/etc/passwd", "../1/smaps", "a/../../b", "x y", "a//b", "fd/1", "root/x"] {
            assert!(Kind::ProcFile.parse(bad).is_err(), "{bad}");
        }
        for good in ["smaps", "net/dev", "smaps_rollup"] {
            assert!(Kind::ProcFile.parse(good).is_ok(), "{good}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_can_be_written_and_read_again(text in "[0-9a-zA-Z,._/ -]{0,24}") {
            for kind in [
                Kind::Number { min: -20, max: 19 },
                Kind::Numbers { min: 0, max: 9999, most: 9 },
                Kind::Duration { min_ns: 0, max_ns: u64::MAX },
                Kind::Size { min: 0, max: u64::MAX },
                Kind::Cpu,
                Kind::ProcFile,
                Kind::NumberOrAuto { min: 1, max: 99 },
                Kind::Decimal { min_milli: 10, max_milli: 99_000 },
                Kind::Words,
                Kind::Programs,
                Kind::Folder,
            ] {
                if let Ok(value) = kind.parse(&text) {
                    prop_assert_eq!(kind.parse(&value.to_string()), Ok(value));
                }
            }
        }
    }
}
