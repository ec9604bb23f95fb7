//! Options in the form of the originals: long names, with the value as the next argument.
//!
//! Scripts may search for the messages, so the messages of a library will not do here.

use crate::exit::{Failure, USAGE};
use crate::output;

/// The rest of a program's command line.
pub struct Options<'a> {
    words: std::slice::Iter<'a, String>,
    usage: &'a str,
}

/// The next word of a command line.
pub enum Next<'a> {
    /// An option or an argument.
    Word(&'a str),
    /// `--help` or `-h`: the usage was printed.
    Help,
    /// The end of the command line.
    End,
}

impl<'a> Options<'a> {
    /// Reads these arguments. `usage` is printed for `--help` and after a mistake.
    pub fn new(words: &'a [String], usage: &'a str) -> Self {
        Options { words: words.iter(), usage }
    }

    /// The next argument.
    pub fn next(&mut self) -> Next<'a> {
        match self.words.next().map(String::as_str) {
            None => Next::End,
            Some("--help" | "-h") => {
                output::help(self.usage);
                Next::Help
            }
            Some(word) => Next::Word(word),
        }
    }

    /// The unread arguments.
    pub fn rest(&self) -> &'a [String] {
        self.words.as_slice()
    }

    /// The value of an option.
    pub fn text(&mut self, option: &str) -> Result<&'a str, Failure> {
        match self.words.next() {
            Some(value) => Ok(value),
            None => Err(self.mistake(&format!("Error: {option} needs a value."))),
        }
    }

    /// The value of an option that is a whole number up to `most`.
    pub fn number(&mut self, option: &str, most: u64) -> Result<u64, Failure> {
        let text = self.text(option)?;
        let Some(number) = parse(text) else {
            return Err(self.mistake(&format!("Error: {option} {text} non-numeric.")));
        };
        if number > most {
            return Err(self.mistake(&format!("Error: {option} {text} is more than {most}.")));
        }
        Ok(number)
    }

    /// The error for an unknown argument.
    pub fn unknown(&self, word: &str) -> Failure {
        self.mistake(&format!("Unknown argument {word}"))
    }

    /// The error for a mistake. The usage goes to standard error before it.
    pub fn mistake(&self, line: &str) -> Failure {
        output::note(self.usage.trim_end());
        Failure { line: line.to_owned(), code: USAGE }
    }
}

/// A decimal number, or a hexadecimal number after `0x`.
fn parse(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal_or_hexadecimal() {
        assert_eq!(parse("10"), Some(10));
        assert_eq!(parse("0x10"), Some(16));
        for bad in ["", "-1", "+1", "1s", "0x", "99999999999999999999"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
