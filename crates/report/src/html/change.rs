//! What changed between the records of two sides, on the page.

use super::figure;
use crate::ReportError;
use crate::chart::{self, Table};
use crate::words;
use maud::{Markup, html};
use model::estimate::number;
use model::{Basis, Change, Difference, Estimate, Meta};
use std::collections::BTreeSet;

/// The section of a comparison.
///
/// # Errors
/// If a chart could not be drawn.
pub fn section(change: &Change, meta: Option<&Meta>) -> Result<Markup, ReportError> {
    let mut differs = Table::new(["what", "before", "after"]);
    differs.rows = change
        .differs
        .iter()
        .map(|setting| vec![setting.what.clone(), setting.before.clone(), setting.after.clone()])
        .collect();
    let mut charts = Vec::new();
    for name in judged(change) {
        charts.extend(chart::pair::pair(change, name, meta.and_then(|meta| meta.measure(name)))?);
    }
    Ok(html! {
        section #verdicts aria-label="What changed" {
            article class={ "card state-" (change.state.word()) } {
                h2 { span class={ "pill state-" (change.state.word()) } { (change.state.word().replace('-', " ")) } " " (change.scenario) }
                p.headline { (change.headline) }
                @if !change.because.is_empty() { ul.advice { @for why in &change.because { li { (why) } } } }
                @if !change.next.is_empty() { h3 { "Next" } ul.advice { @for next in &change.next { li { (next) } } } }
            }
            div.charts {
                @for (place, chart) in charts.iter().enumerate() { (figure::figure(chart, &format!("d{place}"))) }
            }
            @if !differs.rows.is_empty() { h3 { "What is not the same" } (figure::scroll(&differs, "what is not the same")) }
            @if !change.arms.is_empty() { h3 { "What changed, figure by figure" } (figure::scroll(&figures(change, meta), "what changed")) }
        }
    })
}

/// The figures that the comparison is decided by.
fn judged(change: &Change) -> BTreeSet<&str> {
    let figures = change.arms.iter().flat_map(|arm| &arm.measures);
    figures.filter(|(_, found)| found.state.is_some()).map(|(name, _)| name.as_str()).collect()
}

/// Every figure of every arm on both sides.
fn figures(change: &Change, meta: Option<&Meta>) -> Table {
    let mut table = Table::new(HEAD);
    for arm in &change.arms {
        let rows = arm
            .measures
            .iter()
            .map(|(name, difference)| row(change.basis, &arm.id, name, difference, meta));
        table.rows.extend(rows.map(Vec::from));
    }
    table.rows.truncate(crate::chart::MOST_ROWS);
    table
}

/// Headings of the figures of a comparison.
pub const HEAD: [&str; 7] =
    ["arm", "figure", "before", "after", "change", "chance of being higher", "verdict"];

/// One figure of an arm on both sides.
pub fn row(
    basis: Basis,
    arm: &str,
    name: &str,
    difference: &Difference,
    meta: Option<&Meta>,
) -> [String; 7] {
    let heading = meta.and_then(|meta| meta.measure(name)).map_or(name, |m| m.heading);
    let over = difference.over.as_ref().map_or_else(String::new, |over| format!(" over {over}"));
    [
        arm.to_owned(),
        format!("{heading}{over}"),
        side(basis, &difference.before),
        side(basis, &difference.after),
        words::shift(&difference.comparison),
        format!("{:.0}%", difference.comparison.superiority * 100.0),
        difference.state.map_or("", model::ChangeState::word).to_owned(),
    ]
}

/// A side with its interval; of a handful of records, which have none, with the range of them.
pub fn side(basis: Basis, estimate: &Estimate) -> String {
    if basis == Basis::Blocks {
        return estimate.to_string();
    }
    let at_least = if estimate.max_at_least { ">= " } else { "" };
    let (symbol, range) = (estimate.unit.symbol(), [estimate.min, estimate.max].map(number));
    let space = if symbol.is_empty() { "" } else { " " };
    format!("{}{space}{symbol} ({} to {at_least}{})", estimate.figure(), range[0], range[1])
}
