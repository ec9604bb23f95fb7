//! What the settings of an arm are in a program.

use super::quoted::quoted;
use model::{Arm, Settings, Trial, Value, Vm, units};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The longest trial that a script waits for, in milliseconds.
const LONGEST_TRIAL_MS: u64 = 600_000;

/// Names and values of definitions.
pub type Defines = Vec<(&'static str, String)>;

/// The settings of an arm; one that an older record has not is at its default.
#[derive(Debug, Clone, Copy)]
pub struct Read<'a> {
    arm: &'a Arm,
    defaults: &'a Settings,
    trials: &'a [Trial],
}

impl<'a> Read<'a> {
    /// Of an arm, among these defaults and trials.
    pub fn new(arm: &'a Arm, defaults: &'a Settings, trials: &'a [Trial]) -> Self {
        Read { arm, defaults, trials }
    }

    /// The arm's name.
    pub fn arm(self) -> &'a str {
        &self.arm.id
    }

    /// A value as it is written.
    pub fn text(self, name: &str) -> String {
        let own = self.arm.settings.0.get(name);
        own.or_else(|| self.defaults.0.get(name)).map(Value::to_string).unwrap_or_default()
    }

    /// A whole number.
    ///
    /// # Errors
    /// If it is none, or far beyond what a small program does.
    pub fn number(self, name: &str) -> Result<i64, String> {
        let value = self.text(name);
        let number = value.parse().map_err(|_| format!("--{name} {value}: no whole number"))?;
        match (-20..=200).contains(&number) {
            true => Ok(number),
            false => Err(format!("there is none with --{name} {value}: at most 200")),
        }
    }

    /// A whole number from this range.
    ///
    /// # Errors
    /// If it is none, or out of range.
    pub fn count(self, name: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
        let value = self.text(name);
        let number = value.parse().map_err(|_| format!("--{name} {value}: no whole number"))?;
        match range.contains(&number) {
            true => Ok(number),
            false => {
                let (least, most) = (range.start(), range.end());
                Err(format!("there is none with --{name} {value}: from {least} to {most}"))
            }
        }
    }

    /// How long a trial takes at most, in milliseconds.
    ///
    /// # Errors
    /// If a script does not wait for so long.
    pub fn trial_ms(self, ms: u64) -> Result<String, String> {
        match ms <= LONGEST_TRIAL_MS {
            true => Ok(ms.to_string()),
            false => Err("there is none with trials of more than 10 minutes".to_owned()),
        }
    }

    /// Refuses an arm that differs from another one in one of these settings.
    ///
    /// # Errors
    /// If it does.
    pub fn is_as(self, other: Read, names: &[&str]) -> Result<(), String> {
        match names.iter().find(|name| self.text(name) != other.text(name)) {
            None => Ok(()),
            Some(name) => Err(format!("control and case differ in --{name}")),
        }
    }

    /// One of these words.
    ///
    /// # Errors
    /// If it is another.
    pub fn one_of(self, name: &str, words: &[&str]) -> Result<String, String> {
        let own = self.text(name);
        match words.contains(&own.as_str()) {
            true => Ok(own),
            false => Err(format!(
                "there is none with --{name} {own}; run it with {}",
                words.join(" or ")
            )),
        }
    }

    /// The node of the arm.
    fn vm(self) -> Result<&'a Vm, String> {
        let mut trials = self.trials.iter().filter(|trial| trial.arm == self.arm.id);
        let vm = trials.find_map(|trial| trial.observation.vm.as_ref());
        vm.ok_or_else(|| "the record does not say with which emulator it was made".to_owned())
    }

    /// The release of the arm's OTP, as a text of Erlang's.
    ///
    /// # Errors
    /// If no trial of the arm says it.
    pub fn otp(self) -> Result<String, String> {
        Ok(quoted(&self.vm()?.otp))
    }

    /// The emulator flags of the arm's nodes, as a list of Erlang's.
    ///
    /// # Errors
    /// If no trial of the arm says them, or they are no plain flags of the emulator: a record may
    /// be anybody's, and other flags run commands.
    pub fn flags(self) -> Result<String, String> {
        let flags = &self.vm()?.flags;
        if !are_plain_flags(flags) {
            return Err(format!("there is none with these emulator flags: {}", flags.join(" ")));
        }
        let words: Vec<String> = flags.iter().map(|word| quoted(word)).collect();
        Ok(format!("[{}]", words.join(", ")))
    }

    /// A size in bytes.
    ///
    /// # Errors
    /// If it is none.
    pub fn size(self, name: &str) -> Result<u64, String> {
        units::parse_size(&self.text(name)).map_err(|why| format!("--{name}: {why}"))
    }

    /// A size in bytes, as a number of C's.
    ///
    /// # Errors
    /// If it is none.
    pub fn bytes(self, name: &str) -> Result<String, String> {
        Ok(format!("{}ULL", self.size(name)?))
    }

    /// A time in whole milliseconds.
    ///
    /// # Errors
    /// If it is none.
    pub fn ms(self, name: &str) -> Result<String, String> {
        Ok(self.millis(name)?.to_string())
    }

    /// The same as a number.
    ///
    /// # Errors
    /// If it is none.
    pub fn millis(self, name: &str) -> Result<u64, String> {
        let ms = self.time(name)?.as_millis();
        u64::try_from(ms).map_err(|_| format!("--{name}: too long"))
    }

    /// A time in whole microseconds.
    ///
    /// # Errors
    /// If it is none.
    pub fn us(self, name: &str) -> Result<String, String> {
        Ok(self.micros(name)?.to_string())
    }

    /// The same as a number.
    ///
    /// # Errors
    /// If it is none.
    pub fn micros(self, name: &str) -> Result<u64, String> {
        let us = self.time(name)?.as_micros();
        u64::try_from(us).map_err(|_| format!("--{name}: too long"))
    }

    fn time(self, name: &str) -> Result<Duration, String> {
        units::parse_duration(&self.text(name)).map_err(|why| format!("--{name}: {why}"))
    }

    /// Refuses what a small program does not do.
    ///
    /// # Errors
    /// If the setting has another value.
    pub fn is(self, name: &str, value: &str) -> Result<(), String> {
        let own = self.text(name);
        match own == value {
            true => Ok(()),
            false => Err(format!("there is none with --{name} {own}; run it with {value}")),
        }
    }
}

/// Whether these are flags of the emulator, each with one value at most: `+S 2:2 +sbwt none`.
fn are_plain_flags(words: &[String]) -> bool {
    let is_flag = |word: &str| {
        word.strip_prefix('+').is_some_and(|name| {
            name.len() > 1 && name.chars().all(|c| c.is_ascii_alphanumeric())
                || ["A", "K", "P", "Q", "S", "t"].contains(&name)
        })
    };
    let is_value = |word: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || ":_.,".contains(c);
        !word.is_empty() && word.chars().all(plain)
    };
    let mut may_be_value = false;
    words.iter().all(|word| {
        let fits = is_flag(word) || may_be_value && is_value(word);
        may_be_value = is_flag(word);
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_flags_of_the_emulator_are_taken() {
        let taken = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            are_plain_flags(&words)
        };
        for flags in ["", "+S 2:2", "+S 8:8 +sbwt none +A 4", "+sub true +sfwi 10", "+SDcpu 2:2"] {
            assert!(taken(flags), "{flags}");
        }
        for flags in [
            "-run os cmd ls",
            "+S 2:2 -run",
            "+S 2:2 /tmp/evil",
            "+S 2:2 tmp",
            "2:2",
            "+S -s",
            "+V",
            "+",
            "+S \"",
            "+sbwt none\"])",
        ] {
            assert!(!taken(flags), "{flags}");
        }
    }
}
