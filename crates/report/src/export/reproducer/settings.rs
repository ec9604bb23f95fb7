//! What the settings of an arm are in C.

use model::{Arm, Settings, Value, units};
use std::time::Duration;

/// Names and values of `#define`s.
pub type Defines = Vec<(&'static str, String)>;

/// The settings of an arm; one that an older record has not is at its default.
#[derive(Debug, Clone, Copy)]
pub struct Read<'a> {
    arm: &'a Arm,
    defaults: &'a Settings,
}

impl<'a> Read<'a> {
    /// Of an arm, among these defaults.
    pub fn new(arm: &'a Arm, defaults: &'a Settings) -> Self {
        Read { arm, defaults }
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

    /// A size in bytes.
    ///
    /// # Errors
    /// If it is none.
    pub fn bytes(self, name: &str) -> Result<String, String> {
        let value = self.text(name);
        let bytes = units::parse_size(&value).map_err(|why| format!("--{name}: {why}"))?;
        Ok(format!("{bytes}ULL"))
    }

    /// A time in whole milliseconds.
    ///
    /// # Errors
    /// If it is none.
    pub fn ms(self, name: &str) -> Result<String, String> {
        Ok(self.time(name)?.as_millis().to_string())
    }

    /// A time in whole microseconds.
    ///
    /// # Errors
    /// If it is none.
    pub fn us(self, name: &str) -> Result<String, String> {
        Ok(self.time(name)?.as_micros().to_string())
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
