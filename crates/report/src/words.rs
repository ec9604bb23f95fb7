//! Figures in words.

use model::Comparison;
use model::estimate::number;

/// A shift with its interval: `+985 ms/s [970, 992]`.
pub fn shift(comparison: &Comparison) -> String {
    let figure = number(comparison.shift);
    let sign = if comparison.shift > 0.0 && figure != "0" { "+" } else { "" };
    let bound = if comparison.shift_at_least { ">= " } else { "" };
    let symbol = comparison.unit.symbol();
    let space = if symbol.is_empty() { "" } else { " " };
    let interval = match (comparison.low, comparison.high) {
        (Some(low), Some(high)) => format!("[{}, {}]", number(low), number(high)),
        (Some(low), None) => format!("[{}, ..)", number(low)),
        (None, Some(high)) => format!("(.., {}]", number(high)),
        (None, None) => "[no interval]".to_owned(),
    };
    format!("{bound}{sign}{figure}{space}{symbol} {interval}")
}
