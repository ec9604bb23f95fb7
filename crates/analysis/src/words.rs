//! Figures in sentences.

pub(crate) use model::estimate::number;
use model::{ArmResult, Comparison, Judging, Unit};

/// A figure in three significant digits with its unit.
pub(crate) fn figure(value: f64, unit: Unit) -> String {
    let symbol = unit.symbol();
    let space = if symbol.is_empty() || symbol.starts_with('/') { "" } else { " " };
    format!("{}{space}{symbol}", number(value))
}

/// A share in per cent.
pub(crate) fn percent(share: f64) -> String {
    format!("{}%", number(share * 100.0))
}

/// `1 block`, `3 blocks`.
pub(crate) fn plural(count: impl Into<f64>, noun: &str) -> String {
    let count = count.into();
    format!("{count} {noun}{}", if count == 1.0 { "" } else { "s" })
}

/// Unit of the judged figure, from the first arm that has it.
pub(crate) fn judged_unit(judging: &Judging, arms: &[ArmResult]) -> Unit {
    let estimate = arms.iter().find_map(|arm| arm.measures.get(judging.measure.as_ref()));
    estimate.map_or(Unit::Ratio, |estimate| estimate.unit)
}

/// A shift with its interval.
pub(crate) fn shift(comparison: &Comparison) -> String {
    let shift = at_least(comparison.shift, comparison.shift_at_least, comparison.unit);
    // A shift with one end has lost the other to trials that were cut off.
    let open = comparison.low.is_some() && comparison.high.is_none();
    let ends = (comparison.low, comparison.high, open);
    format!("{shift}{}", interval(ends, comparison.confidence, comparison.unit))
}

fn at_least(value: f64, at_least: bool, unit: Unit) -> String {
    format!("{}{}", if at_least { "at least " } else { "" }, figure(value, unit))
}

fn interval(ends: (Option<f64>, Option<f64>, bool), confidence: f64, unit: Unit) -> String {
    let confidence = percent(confidence);
    match ends {
        (Some(low), Some(high), _) => {
            format!(" ({confidence} interval {} to {})", number(low), figure(high, unit))
        }
        (Some(low), None, true) => {
            format!(" ({confidence} interval {} and above)", figure(low, unit))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0001, "0"),
            (0.1234, "0.123"),
            (1.5, "1.5"),
            (99.96, "100"),
            (947.4, "947"),
            (12345.6, "12346"),
            (1e12, "1.00e12"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(figure(3.0, Unit::MillisecondsPerSecond), "3 ms/s");
        assert_eq!(figure(3.0, Unit::PerSecond), "3/s");
        assert_eq!(figure(3.0, Unit::Count), "3");
        assert_eq!(percent(0.975), "97.5%");
        assert_eq!(plural(1u32, "block"), "1 block");
        assert_eq!(plural(2u32, "block"), "2 blocks");
    }
}
