//! Parsers for values on the command line, with a range.

use super::open::{Auto, OrNone};
use super::values::{Counts, Time};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Parses a value in a range.
pub(crate) fn between<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr<Err = String> + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text: &str| {
        let value: T = text.parse()?;
        match range.contains(&value) {
            true => Ok(value),
            false => Err(outside(&value, range.start(), range.end())),
        }
    }
}

/// Parses a whole number in a range.
pub(crate) fn whole<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: Copy + Into<i64> + TryFrom<i64> + Send + Sync + 'static,
{
    let (least, most): (i64, i64) = ((*range.start()).into(), (*range.end()).into());
    move |text: &str| {
        let number = number(text, least, most)?;
        // A number between two values of a type is a value of that type.
        T::try_from(number).map_err(|_| outside(&number, &least, &most))
    }
}

/// Parses a list of at most `most` whole numbers in a range.
pub(crate) fn counts(
    range: RangeInclusive<u32>,
    most: usize,
) -> impl Fn(&str) -> Result<Counts, String> + Clone + Send + Sync + 'static {
    let read = whole(range);
    move |text: &str| {
        let numbers = text.split(',').map(&read).collect::<Result<Vec<u32>, String>>()?;
        match numbers.len() <= most {
            true => Ok(Counts::new(numbers)),
            false => Err(format!("{} values are too many; at most {most}", numbers.len())),
        }
    }
}

/// Parses a time in a range, in whole milliseconds.
pub(crate) fn whole_ms(
    range: RangeInclusive<Time>,
) -> impl Fn(&str) -> Result<Time, String> + Clone + Send + Sync + 'static {
    multiples(range, 1_000_000, "milliseconds")
}

/// Parses a time in a range, in whole microseconds.
pub(crate) fn whole_us(
    range: RangeInclusive<Time>,
) -> impl Fn(&str) -> Result<Time, String> + Clone + Send + Sync + 'static {
    multiples(range, 1_000, "microseconds")
}

/// Refuses a time that is not a multiple of the unit. Otherwise the code that uses it would
/// silently round it.
fn multiples(
    range: RangeInclusive<Time>,
    ns: u128,
    unit: &'static str,
) -> impl Fn(&str) -> Result<Time, String> + Clone + Send + Sync + 'static {
    let read = between(range);
    move |text: &str| {
        let time = read(text)?;
        match time.get().as_nanos().is_multiple_of(ns) {
            true => Ok(time),
            false => Err(format!("whole {unit} only")),
        }
    }
}

/// Parses `auto`, or a value.
pub(crate) fn auto<T: 'static>(
    read: impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<Auto<T>, String> + Clone + Send + Sync + 'static {
    move |text: &str| Auto::read(text, &read)
}

/// Parses `none`, or a value.
pub(crate) fn or_none<T: 'static>(
    read: impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<OrNone<T>, String> + Clone + Send + Sync + 'static {
    move |text: &str| OrNone::read(text, &read)
}

/// Parses a value that is written in the source code.
///
/// # Panics
/// If the text is not a valid value. A test evaluates every declaration.
pub(crate) fn literal<T: FromStr<Err = String>>(text: &'static str) -> T {
    match text.parse() {
        Ok(value) => value,
        Err(error) => panic!("`{text}`: {error}"),
    }
}

fn number(text: &str, least: i64, most: i64) -> Result<i64, String> {
    let text = text.trim();
    let number = text.parse().map_err(|_| format!("`{text}` is not a whole number"))?;
    match (least..=most).contains(&number) {
        true => Ok(number),
        false => Err(outside(&number, &least, &most)),
    }
}

fn outside<T: Display>(value: &T, least: &T, most: &T) -> String {
    format!("{value} is not between {least} and {most}")
}
