//! The effects of the factors of a study, as a table.

use crate::cells::column;
use crate::grid::{Cell, Column, Grid};
use crate::look::Look;
use model::estimate::number;
use model::factorial::{Effect, Effects, Factorial, Shift};
use model::scenario::MeasureMeta;
use model::{Judged, Meta};
use os::terminal::line as plain;
use std::fmt::Write as _;

/// Rows in a short answer.
const SHORT: usize = 8;

/// The table, with notes on its figures. Empty if the study was not factorial.
pub(crate) fn table(record: &Judged, meta: Option<&Meta>, look: Look) -> String {
    let Some(factorial) = &record.factorial else { return String::new() };
    let Some(all) = record.judgement.effects.as_ref().filter(|all| !all.shown.is_empty()) else {
        return String::new();
    };
    let measures = meta.map_or(&[][..], |meta| meta.measures);
    let judged = record.judgement.measure.as_deref().unwrap_or(&record.plan.judging.measure);
    let shown = |measure: &&MeasureMeta| {
        all.shown.iter().any(|effect| effect.measures.contains_key(measure.name))
    };
    let mut columns: Vec<&MeasureMeta> = measures.iter().filter(shown).collect();
    // The judged figure comes first: a short answer may have room for that column only.
    columns.sort_by_key(|measure| measure.name != judged);
    let title = format!(
        "Effect of each level, compared with {} (*: the interval excludes zero):",
        control(factorial)
    );
    let mut text = format!("\n{}\n\n", look.wrap(&title, "  ", "  "));
    let most = if look.why { all.shown.len() } else { SHORT };
    let effects: Vec<&Effect> = all.shown.iter().take(most).collect();
    let left_out = all.shown.len() - effects.len();
    let parts = rows(&effects, &columns).parts(look.width, 2);
    let parts: Vec<String> = parts
        .iter()
        .take(if look.why { parts.len() } else { 1 })
        .map(|part| part.text(look))
        .collect();
    text.push_str(&parts.join("\n"));
    if left_out > 0 {
        let _ = writeln!(text, "  {left_out} more changes: --why");
    }
    for sentence in notes(factorial, all).iter().filter(|_| look.why) {
        let _ = writeln!(text, "{}", look.wrap(sentence, "  ", "  "));
    }
    text
}

fn control(factorial: &Factorial) -> String {
    let levels = factorial.factors.iter().zip(&factorial.control);
    let words: Vec<String> =
        levels.map(|(factor, level)| plain(&format!("{}={level}", factor.name))).collect();
    words.join(",")
}

fn rows(effects: &[&Effect], measures: &[&MeasureMeta]) -> Grid {
    let mut columns = vec![Column::left("factor"), Column::left("change")];
    columns.extend(measures.iter().map(|measure| column(measure)));
    let mut grid = Grid::new(columns);
    for effect in effects {
        let join = |words: Vec<String>, with: &str| plain(&words.join(with));
        let factors = effect.changes.iter().map(|change| change.factor.clone()).collect();
        let changes =
            effect.changes.iter().map(|change| format!("{} to {}", change.from, change.to));
        let mut row = vec![join(factors, " x "), join(changes.collect(), ", ")];
        row.extend(
            measures.iter().map(|measure| {
                effect.measures.get(measure.name).map_or_else(|| "-".to_owned(), cell)
            }),
        );
        grid.row(row.into_iter().map(Cell::from).collect());
    }
    grid
}

/// `+12 [3, 20] *`.
fn cell(shift: &Shift) -> String {
    let bound = match (shift.at_least, shift.at_most) {
        (true, _) => ">= ",
        (_, true) => "<= ",
        _ => "",
    };
    let sign = if shift.shift > 0.0 { "+" } else { "" };
    let interval = match (shift.low, shift.high) {
        (Some(low), Some(high)) => format!(" [{}, {}]", number(low), number(high)),
        (Some(low), None) => format!(" [{}, ..)", number(low)),
        (None, Some(high)) => format!(" (.., {}]", number(high)),
        (None, None) => String::new(),
    };
    let clear = if shift.clear() { " *" } else { "" };
    format!("{bound}{sign}{}{interval}{clear}", number(shift.shift))
}

fn notes(factorial: &Factorial, all: &Effects) -> Vec<String> {
    let shifts = || all.shown.iter().flat_map(|effect| effect.measures.values());
    let with_ends = shifts().filter(|shift| shift.low.is_some() || shift.high.is_some()).count();
    let mut notes = vec![
        "Each change is taken within a block, as the mean over the levels of the other factors, \
         and estimated over all blocks (Hodges-Lehmann)."
            .to_owned(),
    ];
    if with_ends == 0 {
        notes.push("Intervals need six blocks.".to_owned());
    } else {
        let lowest = shifts().map(|shift| shift.confidence).fold(1.0, f64::min) * 100.0;
        notes.push(format!(
            "Each interval by itself holds with {}% or more; * marks intervals that exclude zero. \
             If no level had an effect, about {} of these {with_ends} would still be marked.",
            number(lowest),
            number(with_ends as f64 * (1.0 - lowest / 100.0))
        ));
    }
    let figures = |effect: &Effect| effect.measures.len();
    let most = all.shown.iter().map(figures).max().unwrap_or(0);
    if all.shown.iter().any(|effect| figures(effect) < most) {
        notes.push(
            "A change is shown as - if it cannot be estimated: trials on both sides were cut off."
                .to_owned(),
        );
    }
    if all.shown.iter().any(|effect| effect.changes.len() > 1) {
        notes.push(
            "A row with two factors is their joint effect beyond the sum of their single effects."
                .to_owned(),
        );
    }
    if all.left_out > 0 {
        notes.push(format!("{} more effects were not computed.", all.left_out));
    }
    if factorial.sittings.len() > 1 {
        notes.push(format!("The study was run in {} parts.", factorial.sittings.len()));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Unit;

    fn shift(shift: f64, low: Option<f64>, high: Option<f64>) -> Shift {
        Shift {
            unit: Unit::Milliseconds,
            blocks: 6,
            shift,
            at_least: false,
            at_most: false,
            low,
            high,
            confidence: 0.96875,
        }
    }

    #[test]
    fn a_change_has_its_sign_its_ends_and_a_mark_where_it_is_clear() {
        assert_eq!(cell(&shift(12.0, Some(3.0), Some(20.0))), "+12 [3, 20] *");
        assert_eq!(cell(&shift(-1.0, Some(-3.0), Some(0.5))), "-1 [-3, 0.5]");
        assert_eq!(cell(&shift(0.0, None, None)), "0");
        let cut = Shift { at_least: true, ..shift(12.0, Some(3.0), None) };
        assert_eq!(cell(&cut), ">= +12 [3, ..) *");
        let cut = Shift { at_most: true, ..shift(-12.0, None, Some(-3.0)) };
        assert_eq!(cell(&cut), "<= -12 (.., -3] *");
    }
}
