//! Figures with their units and intervals, as written in sentences and tables.

use crate::estimate::number;
use crate::{Amount, Comparison, Estimate, Meta, Unit};
use os::terminal::line as plain;
use std::fmt;

/// A figure with its unit: `985 ms/s`, `4%`, `3/s`, `128 MiB`.
pub fn figure(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => bytes(value),
        _ => format!("{}{}", number(value), suffix(unit)),
    }
}

/// The unit as written after a figure.
fn suffix(unit: Unit) -> String {
    match unit {
        Unit::Percent | Unit::PerSecond => unit.symbol().to_owned(),
        Unit::Count | Unit::Ratio => String::new(),
        _ => format!(" {}", unit.symbol()),
    }
}

fn bytes(value: f64) -> String {
    let scales = [(f64::from(1 << 30), "GiB"), (f64::from(1 << 20), "MiB"), (1024.0, "KiB")];
    match scales.into_iter().find(|(scale, _)| value.abs() >= *scale) {
        Some((scale, name)) => format!("{} {name}", number(value / scale)),
        None => format!("{} B", number(value)),
    }
}

/// A share in per cent: `5%`.
pub fn percent(share: f64) -> String {
    format!("{}%", number(share * 100.0))
}

/// `1 block`, `3 blocks`.
pub fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Names as a list: `a, b and c`.
pub fn listed<T: ToString>(names: &[T]) -> String {
    let names: Vec<String> = names.iter().map(|name| plain(&name.to_string())).collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A median with its interval: `985 ms/s [970, 992]`. Without an interval it says why there is
/// none.
pub fn estimate(estimate: &Estimate) -> String {
    format!("{} {}", median(estimate), estimate.interval())
}

/// A median without its interval: `985 ms/s`, or `>= 985 ms/s` if trials were cut off.
pub fn median(estimate: &Estimate) -> String {
    bounded(estimate.median, estimate.unit, estimate.median_at_least)
}

fn bounded(value: f64, unit: Unit, at_least: bool) -> String {
    format!("{}{}", if at_least { ">= " } else { "" }, figure(value, unit))
}

/// A figure that was computed from others: `1.02 ms [0.8, 1.2]`, `>= 5 ms`.
pub fn amount(amount: &Amount) -> String {
    let interval = amount
        .interval
        .map(|(low, high)| format!(" [{}, {}]", number(low), number(high)))
        .unwrap_or_default();
    format!("{}{interval}", bounded(amount.value, amount.unit, amount.at_least))
}

/// A computed figure without its interval.
pub fn amount_alone(amount: &Amount) -> String {
    bounded(amount.value, amount.unit, amount.at_least)
}

/// A shift with its interval: `+985 ms/s [970, 992]`.
pub fn shift(shift: &Comparison) -> String {
    let interval = match (shift.low, shift.high) {
        (Some(low), Some(high)) => format!("[{}, {}]", number(low), number(high)),
        (Some(low), None) => format!("[{}, ..)", number(low)),
        (None, Some(high)) => format!("(.., {}]", number(high)),
        (None, None) => "[no interval]".to_owned(),
    };
    format!("{} {interval}", shift_alone(shift))
}

/// A shift without its interval: `+985 ms/s`.
pub fn shift_alone(shift: &Comparison) -> String {
    let bound = if shift.shift_at_least { ">= " } else { "" };
    format!("{bound}{}", signed(shift.shift, shift.unit))
}

/// A difference with its sign: `+985 ms/s`.
pub fn signed(value: f64, unit: Unit) -> String {
    let sign = if value > 0.0 && number(value) != "0" { "+" } else { "" };
    format!("{sign}{}", figure(value, unit))
}

/// Written as by [`estimate()`]; `{:#}` leaves the interval out.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&if f.alternate() { median(self) } else { estimate(self) })
    }
}

/// Written as by [`amount()`]; `{:#}` leaves the interval out.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&if f.alternate() { amount_alone(self) } else { amount(self) })
    }
}

/// The name of a figure for readers: its heading, if the scenario is known.
pub fn heading(measure: &str, meta: Option<&Meta>) -> String {
    let known = meta.and_then(|meta| meta.measure(measure));
    known.map_or_else(|| plain(measure), |measure| measure.heading.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(shift: f64, low: Option<f64>, high: Option<f64>) -> Comparison {
        Comparison {
            unit: Unit::MillisecondsPerSecond,
            shift,
            shift_at_least: false,
            low,
            high,
            confidence: 0.95,
            superiority: 1.0,
            superiority_low: None,
            superiority_high: None,
            p_value: None,
        }
    }

    #[test]
    fn figures_have_three_digits_and_their_unit() {
        assert_eq!(figure(3.0, Unit::MillisecondsPerSecond), "3 ms/s");
        assert_eq!(figure(3.0, Unit::PerSecond), "3/s");
        assert_eq!(figure(3.0, Unit::Count), "3");
        assert_eq!(figure(99.96, Unit::Percent), "100%");
        assert_eq!(figure(134_217_728.0, Unit::Bytes), "128 MiB");
        assert_eq!(figure(12.0, Unit::Bytes), "12 B");
        assert_eq!(percent(0.975), "97.5%");
        assert_eq!(plural(1, "block"), "1 block");
        assert_eq!(plural(0, "block"), "0 blocks");
    }

    #[test]
    fn a_shift_has_its_sign_and_its_ends() {
        assert_eq!(shift(&comparison(985.0, Some(970.0), Some(992.0))), "+985 ms/s [970, 992]");
        assert_eq!(shift(&comparison(-3.0, None, Some(-1.0))), "-3 ms/s (.., -1]");
        assert_eq!(shift(&comparison(0.0, None, None)), "0 ms/s [no interval]");
        let cut = Comparison { shift_at_least: true, ..comparison(9.0, Some(8.0), None) };
        assert_eq!(shift(&cut), ">= +9 ms/s [8, ..)");
    }

    #[test]
    fn names_are_listed_and_cleaned() {
        let names = |all: &[&str]| listed(&all.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
        assert_eq!(names(&["a", "b\u{1b}", "c"]), "a, b  and c");
        assert_eq!(names(&["a"]), "a");
        assert_eq!(names(&[]), "none");
    }
}
