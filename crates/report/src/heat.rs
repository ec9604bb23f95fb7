//! A series as a heat map of characters: one line per column, time from left to right.

use model::Series;
use os::terminal::line as plain;
use std::fmt::Write as _;

/// Shades from zero to the largest figure of the map.
const SHADES: &[u8] = b" .:-=+*#%@";

/// A bin of time without a figure.
const NO_SAMPLE: char = '?';

/// Most lines of a map; a VM may have hundreds of schedulers.
const MOST_LINES: usize = 32;

/// The series as lines of text no wider than `width`, with a title and a legend of the shades.
/// Empty if the series has no figure.
pub fn heat_map(series: &Series, title: &str, width: usize) -> String {
    let (Some(until), Some(most)) = (series.at_ms.last(), most(series)) else {
        return String::new();
    };
    let shown = series.columns.len().min(MOST_LINES);
    let label = series.columns.iter().take(shown).map(|name| name.chars().count()).max();
    let label = label.unwrap_or(0).min(24);
    let bins = width.saturating_sub(label + 7).clamp(10, series.at_ms.len().max(10));
    let mut text = String::new();
    let _ = writeln!(
        text,
        "  {}: from 0 (blank) to {} (@), `{NO_SAMPLE}` where there was no sample; 0 to {} ms",
        plain(title),
        model::estimate::number(most),
        model::estimate::number(*until)
    );
    for column in 0..shown {
        let cells: String =
            binned(series, column, bins, *until).map(|value| shade(value, most)).collect();
        let name: String = plain(&series.columns[column]).chars().take(label).collect();
        let _ = writeln!(text, "  {name:>label$} |{cells}|");
    }
    if series.columns.len() > shown {
        let _ = writeln!(text, "  and {} more", series.columns.len() - shown);
    }
    text
}

fn most(series: &Series) -> Option<f64> {
    let figures = series.rows.iter().flatten().flatten();
    figures.copied().filter(|figure| figure.is_finite()).reduce(f64::max)
}

/// The largest figure of a column in each time bin.
fn binned(
    series: &Series,
    column: usize,
    bins: usize,
    until: f64,
) -> impl Iterator<Item = Option<f64>> {
    let mut binned = vec![None; bins];
    for (at, row) in series.at_ms.iter().zip(&series.rows) {
        let bin = ((at / until.max(1e-9)) * bins as f64).max(0.0) as usize;
        if let Some(value) = row.get(column).copied().flatten() {
            let cell: &mut Option<f64> = &mut binned[bin.min(bins - 1)];
            *cell = Some(cell.map_or(value, |before| before.max(value)));
        }
    }
    binned.into_iter()
}

fn shade(value: Option<f64>, most: f64) -> char {
    let Some(value) = value else { return NO_SAMPLE };
    if most <= 0.0 || value <= 0.0 {
        return ' ';
    }
    // Every figure above zero is visible.
    let steps = (SHADES.len() - 1) as f64;
    let step = (value / most * steps).ceil().clamp(1.0, steps);
    char::from(SHADES[step as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Unit;
    use proptest::prelude::*;

    #[test]
    fn a_map_has_a_line_for_each_column_and_says_what_its_shades_mean() {
        let columns = vec!["scheduler 1".to_owned(), "scheduler 2".to_owned()];
        let mut series = Series::new(Unit::Count, columns);
        for moment in 0..10u32 {
            let queued = f64::from(18 - 2 * moment);
            let second = (moment != 4).then_some(0.0);
            series.push(f64::from(moment) * 10.0, vec![Some(queued), second]);
        }
        let text = heat_map(&series, "processes in the run queue", 40);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].contains("to 18 (@)") && lines[0].contains("0 to 90 ms"), "{text}");
        assert!(lines[1].starts_with("  scheduler 1 |@"), "{text}");
        assert_eq!(lines[2].matches('?').count(), 1, "{text}");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert_eq!(heat_map(&Series::new(Unit::Count, vec!["a".into()]), "x", 80), "");
    }

    proptest! {
        #[test]
        fn no_series_makes_it_panic(
            rows in prop::collection::vec((any::<f64>(), prop::option::of(any::<f64>())), 0..40),
            width in 0usize..200,
        ) {
            let mut series = Series::new(Unit::Count, vec!["a".into(), "b".into()]);
            for (at, value) in rows {
                series.push(at, vec![value, Some(1.0)]);
            }
            let _ = heat_map(&series, "x", width);
        }
    }
}
