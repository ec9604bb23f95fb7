//! What the factors of a study did, as a table.

use crate::text::{Look, align_right, bare, heading};
use model::estimate::number;
use model::factorial::{Effect, Factorial, Shift};
use model::scenario::MeasureMeta;
use model::{Meta, Record};
use os::terminal::line as plain;
use std::fmt::Write as _;

/// The table with what is to be known of its figures; nothing for a record of no such study.
pub(crate) fn table(record: &Record, meta: Option<&Meta>, look: Look) -> String {
    let Some(factorial) = &record.factorial else { return String::new() };
    if factorial.effects.is_empty() {
        return String::new();
    }
    let measures = meta.map_or(&[][..], |meta| meta.measures);
    let shown = |measure: &&MeasureMeta| {
        factorial.effects.iter().any(|effect| effect.measures.contains_key(measure.name))
    };
    let columns: Vec<&MeasureMeta> = measures.iter().filter(shown).collect();
    let mut text = format!("\n  What each level did, against {}:\n", control(factorial));
    let _ = write!(text, "\n{}\n", rows(&factorial.effects, &columns));
    for sentence in notes(factorial) {
        let _ = writeln!(text, "{}", look.wrap(&sentence, "  ", "  "));
    }
    text
}

fn control(factorial: &Factorial) -> String {
    let levels = factorial.factors.iter().zip(&factorial.control);
    let words: Vec<String> =
        levels.map(|(factor, level)| plain(&format!("{}={level}", factor.name))).collect();
    words.join(",")
}

fn rows(effects: &[Effect], columns: &[&MeasureMeta]) -> String {
    let mut table = bare();
    let mut header = ["factor", "change"].map(str::to_owned).to_vec();
    header.extend(columns.iter().map(|measure| heading(measure)));
    table.set_header(header);
    for effect in effects {
        let join = |words: Vec<String>, with: &str| plain(&words.join(with));
        let factors = effect.changes.iter().map(|change| change.factor.clone()).collect();
        let changes =
            effect.changes.iter().map(|change| format!("{} to {}", change.from, change.to));
        let mut row = vec![join(factors, " x "), join(changes.collect(), ", ")];
        row.extend(
            columns.iter().map(|measure| {
                effect.measures.get(measure.name).map_or_else(|| "-".to_owned(), cell)
            }),
        );
        table.add_row(row);
    }
    align_right(&mut table, 2..2 + columns.len());
    let lines: Vec<String> = table.lines().map(|line| format!("  {}", line.trim_end())).collect();
    lines.join("\n")
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

fn notes(factorial: &Factorial) -> Vec<String> {
    let shifts = || factorial.effects.iter().flat_map(|effect| effect.measures.values());
    let with_ends = shifts().filter(|shift| shift.low.is_some() || shift.high.is_some()).count();
    let mut notes = vec![
        "Changes are taken within blocks, as the mean over the levels of the other factors, and \
         estimated over blocks (Hodges-Lehmann)."
            .to_owned(),
    ];
    if with_ends == 0 {
        notes.push("So few blocks give no intervals; six do.".to_owned());
    } else {
        let lowest = shifts().map(|shift| shift.confidence).fold(1.0, f64::min) * 100.0;
        notes.push(format!(
            "Each interval holds with {}% or more by itself; * marks those that leave out zero. If \
             no level did anything, about {} of these {with_ends} would be marked all the same.",
            number(lowest),
            number(with_ends as f64 * (1.0 - lowest / 100.0))
        ));
    }
    let figures = |effect: &Effect| effect.measures.len();
    let most = factorial.effects.iter().map(figures).max().unwrap_or(0);
    if factorial.effects.iter().any(|effect| figures(effect) < most) {
        notes.push(
            "A change of which nothing is known, since trials were cut off on both sides of it, is \
             shown as -."
                .to_owned(),
        );
    }
    if factorial.effects.iter().any(|effect| effect.changes.len() > 1) {
        notes.push(
            "A row of two factors is what they did together beyond the sum of each.".to_owned(),
        );
    }
    if factorial.effects_left_out > 0 {
        notes.push(format!("{} more effects were not worked out.", factorial.effects_left_out));
    }
    if factorial.sittings.len() > 1 {
        notes.push(format!("The blocks were run in {} sittings.", factorial.sittings.len()));
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
