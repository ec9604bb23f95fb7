//! Durations and sizes as people write them: `300ms`, `128MiB`.

use std::time::Duration;

/// Units of time with their factors to nanoseconds, largest first.
const TIME: &[(&str, u128)] = &[
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Units of size with their factors to bytes, largest first. They are powers of 1024, as memory
/// is sold.
const SIZE: &[(&str, u128)] =
    &[("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Other spellings of the size units that people type.
const SIZE_ALIASES: &[(&str, &str)] = &[
    ("T", "TiB"),
    ("TB", "TiB"),
    ("G", "GiB"),
    ("GB", "GiB"),
    ("M", "MiB"),
    ("MB", "MiB"),
    ("K", "KiB"),
    ("KB", "KiB"),
    ("kB", "KiB"),
];

/// Reads a duration with its unit (`10us`, `300ms`, `1.5s`, `2min`). A bare `0` needs no unit.
///
/// # Errors
/// A sentence that says what is wrong with `text`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let nanos = parse_with(text, TIME, &[]).ok_or_else(|| {
        format!("`{text}` is not a duration; write it with a unit, as in 300ms or 2s")
    })?;
    u64::try_from(nanos)
        .map(Duration::from_nanos)
        .map_err(|_| format!("`{text}` is longer than 584 years"))
}

/// Writes a duration in the largest unit that gives a whole number: `300ms`, `1500us`.
pub fn format_duration(duration: Duration) -> String {
    format_with(duration.as_nanos(), TIME, "0s")
}

/// Reads a size with its unit (`128MiB`, `20G`); units are powers of 1024.
///
/// # Errors
/// A sentence that says what is wrong with `text`.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let bytes = parse_with(text, SIZE, SIZE_ALIASES).ok_or_else(|| {
        format!("`{text}` is not a size; write it with a unit, as in 128MiB or 2GiB")
    })?;
    u64::try_from(bytes).map_err(|_| format!("`{text}` is beyond any address space"))
}

/// Writes a size in the largest unit that gives a whole number: `128MiB`.
pub fn format_size(bytes: u64) -> String {
    format_with(u128::from(bytes), SIZE, "0B")
}

fn parse_with(text: &str, units: &[(&str, u128)], aliases: &[(&str, &str)]) -> Option<u128> {
    let text = text.trim();
    if text == "0" {
        return Some(0);
    }
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = text.split_at(split);
    let unit = unit.trim_start();
    let unit = aliases.iter().find(|(alias, _)| *alias == unit).map_or(unit, |(_, name)| name);
    let factor = units.iter().find(|(name, _)| *name == unit)?.1;
    scale(number, factor)
}

/// Computes `number * factor` in whole numbers, so that `0.3s` is 300 ms and not a nanosecond
/// less.
fn scale(number: &str, factor: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || number.len() > 24 {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let digits = u32::try_from(fraction.len()).ok()?;
    let part = part.checked_mul(factor)? / 10u128.checked_pow(digits)?;
    whole.checked_mul(factor)?.checked_add(part)
}

fn format_with(amount: u128, units: &[(&str, u128)], zero: &str) -> String {
    units
        .iter()
        .find(|(_, factor)| amount > 0 && amount.is_multiple_of(*factor))
        .map_or_else(|| zero.to_owned(), |(name, factor)| format!("{}{name}", amount / factor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_as_people_write_them() {
        assert_eq!(parse_duration("0.3s"), Ok(Duration::from_millis(300)));
        assert_eq!(parse_duration("10us"), Ok(Duration::from_micros(10)));
        assert_eq!(parse_duration(" 2 min "), Ok(Duration::from_secs(120)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        for wrong in ["", "5", "s", ".s", "-1s", "1.2.3s", "1e3s", "9999999999999h"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_as_people_write_them() {
        assert_eq!(parse_size("128MiB"), Ok(128 << 20));
        assert_eq!(parse_size("2G"), Ok(2 << 30));
        assert_eq!(format_size(1536 << 10), "1536KiB");
        assert!(parse_size("99999999999TiB").is_err());
    }

    proptest! {
        #[test]
        fn a_duration_survives_writing_and_reading(nanos in 0..u64::MAX) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn a_size_survives_writing_and_reading(bytes in any::<u64>()) {
            prop_assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
        }

        #[test]
        fn no_text_makes_the_readers_panic(text in ".*") {
            let _ = parse_duration(&text);
            let _ = parse_size(&text);
        }
    }
}
