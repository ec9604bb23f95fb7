//! The arms of a record for a program: their parameters by type, and what their nodes ran with.

use super::quoted::quoted;
use model::{Arm, Trial, Vm};
use scenarios::params::{Auto, Counts, Params, Size, Time};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// The longest trial of a script, in milliseconds.
const LONGEST_TRIAL_MS: u64 = 600_000;

/// Names and values of definitions.
pub type Defines = Vec<(&'static str, String)>;

/// An arm of a record, and the trials of the record.
#[derive(Debug, Clone, Copy)]
pub struct Read<'a> {
    arm: &'a Arm,
    trials: &'a [Trial],
}

impl<'a> Read<'a> {
    /// Of an arm among these trials.
    pub fn new(arm: &'a Arm, trials: &'a [Trial]) -> Self {
        Read { arm, trials }
    }

    /// The arm's name.
    pub fn arm(self) -> &'a str {
        &self.arm.id
    }

    /// The arm's parameters. A parameter that an older record lacks has its default.
    ///
    /// # Errors
    /// If the settings belong to another scenario or version.
    pub fn params<P: Params>(self) -> Result<P, String> {
        P::read(&self.arm.settings)
    }

    /// The VM of the arm.
    fn vm(self) -> Result<&'a Vm, String> {
        let mut trials = self.trials.iter().filter(|trial| trial.arm == self.arm.id);
        let vm = trials.find_map(|trial| trial.observation.vm.as_ref());
        vm.ok_or_else(|| "the record does not say which Erlang VM it was made with".to_owned())
    }

    /// The release of the arm's OTP, as an Erlang string.
    ///
    /// # Errors
    /// If no trial of the arm has recorded it.
    pub fn otp(self) -> Result<String, String> {
        Ok(quoted(&self.vm()?.otp))
    }

    /// The emulator flags of the arm's nodes, as an Erlang list.
    ///
    /// # Errors
    /// If no trial of the arm says them, or they are not plain flags of the emulator. A record may
    /// come from anybody, and other flags run commands.
    pub fn flags(self) -> Result<String, String> {
        let flags = &self.vm()?.flags;
        if !are_plain_flags(flags) {
            return Err(format!("there is none with these emulator flags: {}", flags.join(" ")));
        }
        let words: Vec<String> = flags.iter().map(|word| quoted(word)).collect();
        Ok(format!("[{}]", words.join(", ")))
    }
}

/// How long a trial takes at most, in milliseconds.
///
/// # Errors
/// If a script does not wait that long.
pub fn trial_ms(ms: u64) -> Result<String, String> {
    match ms <= LONGEST_TRIAL_MS {
        true => Ok(ms.to_string()),
        false => Err("there is none with trials of more than 10 minutes".to_owned()),
    }
}

/// One parameter, with its flag for messages. Made by [`field`].
pub struct Field<'a, T> {
    /// The name of the struct's field.
    pub name: &'static str,
    /// Its value.
    pub value: &'a T,
}

/// A field of parameters: `field!(case.quota)`. The compiler checks its name.
macro_rules! field {
    ($params:ident . $name:ident) => {
        $crate::export::reproducer::settings::Field {
            name: stringify!($name),
            value: &$params.$name,
        }
    };
}

/// Refuses a control that differs from the case in one of these fields.
macro_rules! alike {
    ($control:ident, $case:ident: $($name:ident),+) => {
        $( if $control.$name != $case.$name {
            let flag = $crate::export::reproducer::settings::flag(stringify!($name));
            return Err(format!("control and case differ in {flag}"));
        } )+
    };
}

pub(super) use {alike, field};

/// The flag of a field.
pub fn flag(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

impl<T: PartialEq + Display> Field<'_, T> {
    /// Refuses every other value: a small program does not have it.
    ///
    /// # Errors
    /// If the parameter has another value.
    pub fn is(&self, value: &T) -> Result<(), String> {
        self.is_one_of(std::slice::from_ref(value))
    }

    /// Refuses all values but these.
    ///
    /// # Errors
    /// If the parameter has another value.
    pub fn is_one_of(&self, values: &[T]) -> Result<(), String> {
        if values.contains(self.value) {
            return Ok(());
        }
        let values: Vec<String> = values.iter().map(T::to_string).collect();
        Err(format!("{}; run it with {}", self.none(), values.join(" or ")))
    }
}

impl<T: Display> Field<'_, T> {
    /// That there is no reproducer with this value.
    pub fn none(&self) -> String {
        format!("there is none with {} {}", flag(self.name), self.value)
    }
}

/// A parameter that may be a whole number.
pub trait Whole: Display {
    /// The number; None where the scenario chooses it, or where there are several.
    fn whole(&self) -> Option<i64>;
}

impl Whole for u32 {
    fn whole(&self) -> Option<i64> {
        Some((*self).into())
    }
}

impl Whole for i32 {
    fn whole(&self) -> Option<i64> {
        Some((*self).into())
    }
}

impl Whole for Auto<u32> {
    fn whole(&self) -> Option<i64> {
        self.get().map(i64::from)
    }
}

impl Whole for Counts {
    fn whole(&self) -> Option<i64> {
        self.single().map(i64::from)
    }
}

impl<T: Whole> Field<'_, T> {
    /// The number, which has to be in this range: a record may come from anybody.
    ///
    /// # Errors
    /// If there is no single number, or it is out of range.
    pub fn within(&self, range: RangeInclusive<i64>) -> Result<i64, String> {
        match self.value.whole() {
            None => Err(format!("{} {}: not a whole number", flag(self.name), self.value)),
            Some(number) if range.contains(&number) => Ok(number),
            Some(_) => Err(format!("{}: {} to {}", self.none(), range.start(), range.end())),
        }
    }
}

/// A time in whole microseconds.
pub fn us(time: Time) -> u64 {
    os::time::whole_us(time.get())
}

/// A time in whole milliseconds.
pub fn ms(time: Time) -> u64 {
    os::time::whole_ms(time.get())
}

/// A size in bytes, as a C constant.
pub fn bytes(size: Size) -> String {
    format!("{}ULL", size.get())
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
