//! The comparison of two sets of records, on the page.

use super::figure;
use crate::ReportError;
use crate::chart::{self, Table};
use crate::prose::change as prose;
use crate::prose::{Step, plain};
use maud::{Markup, html};
use model::prose::figures::{self, heading};
use model::{Basis, Change, ChangeState, Difference, Meta};
use std::collections::BTreeSet;

/// Where the rows are that a table has no room for.
const REST: &str = "tailback compare --json lists all";

/// The section of a comparison.
///
/// # Errors
/// If a chart could not be drawn.
pub fn section(change: &Change, meta: Option<&Meta>) -> Result<Markup, ReportError> {
    let mut differs = Table::new(["what", "before", "after"]);
    differs.rows = change.differs.iter().map(|setting| prose::setting(setting).into()).collect();
    let cut_differs = figure::cut(&mut differs, REST);
    let mut every = every_figure(change, meta);
    let cut_every = figure::cut(&mut every, REST);
    let (reasons, steps) = (prose::reasons(change, meta), prose::suggestions(change));
    let mut charts = Vec::new();
    for name in judged(change) {
        charts.extend(chart::pair::pair(change, name, meta.and_then(|meta| meta.measure(name)))?);
    }
    Ok(html! {
        section #verdicts aria-label="What changed" {
            article class={ "card state-" (change.state.word()) } {
                h2 { span class={ "pill state-" (change.state.word()) } { (change.state.word().replace('-', " ")) } " " (plain(&change.scenario)) }
                p.headline { (prose::headline(change, meta)) }
                @if !steps.is_empty() { h3 { "Next" } (next(&steps)) }
                @if !reasons.is_empty() { h3 { "Why" } ul.advice { @for why in &reasons { li { (why) } } } }
            }
            div.charts {
                @for (place, chart) in charts.iter().enumerate() { (figure::figure(chart, &format!("d{place}"))) }
            }
            @if !differs.rows.is_empty() { h3 { "What is not the same" } (figure::scroll(&differs, "what is not the same")) }
            @if let Some(note) = &cut_differs { p.note { (note) } }
            @if !change.arms.is_empty() {
                h3 { "Every figure" }
                p.note { (prose::note(change.basis)) }
                (figure::scroll(&every, "every figure"))
                @if let Some(note) = &cut_every { p.note { (note) } }
            }
        }
    })
}

fn next(steps: &[Step]) -> Markup {
    html! {
        ul.advice {
            @for step in steps { li { (step.what) @if let Some(command) = &step.command { code.command { (command) } } } }
        }
    }
}

/// The names of the figures that decide the comparison.
fn judged(change: &Change) -> BTreeSet<&str> {
    let figures = change.arms.iter().flat_map(|arm| &arm.measures);
    figures.filter(|(_, found)| found.state.is_some()).map(|(name, _)| name.as_str()).collect()
}

/// Every figure of every arm on both sides.
fn every_figure(change: &Change, meta: Option<&Meta>) -> Table {
    let mut table = Table::new([
        "arm",
        "figure",
        "before",
        "after",
        "change",
        "chance of being higher",
        "verdict",
    ]);
    for arm in &change.arms {
        let figures = arm.measures.iter();
        let rows =
            figures.map(|(name, found)| row(change.basis, &arm.id, (name, found), meta).into());
        table.rows.extend(rows);
    }
    table
}

/// One figure of an arm on both sides.
fn row(
    basis: Basis,
    arm: &str,
    (name, found): (&str, &Difference),
    meta: Option<&Meta>,
) -> [String; 7] {
    let over = found.over.as_deref().map(|over| format!(" over {}", plain(over)));
    [
        plain(arm),
        format!("{}{}", heading(name, meta), over.unwrap_or_default()),
        prose::side(basis, &found.before),
        prose::side(basis, &found.after),
        figures::shift(&found.comparison),
        figures::percent(found.comparison.superiority),
        found.state.map_or("", ChangeState::word).to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::testing::change;
    use model::change::{Setting, SettingName};

    #[test]
    fn the_page_says_what_the_text_says() {
        let worse = change(ChangeState::Worse, Basis::Pairs);
        let page = section(&worse, None).unwrap().into_string();
        for sentence in [prose::headline(&worse, None), prose::suggestions(&worse)[0].what.clone()]
        {
            let escaped = sentence.replace('"', "&quot;");
            assert!(page.contains(&escaped), "{sentence}: {page}");
        }
        assert!(page.contains("tailback compare --run") && page.contains("900 ms/s (898 to 902)"));
    }

    #[test]
    fn a_table_without_all_rows_says_so() {
        let mut many = change(ChangeState::Differs, Basis::Blocks);
        assert!(!section(&many, None).unwrap().into_string().contains("rows are listed"));
        let case = &mut many.arms[1];
        let plain = Difference { state: None, ..case.measures["lost"].clone() };
        for number in 0..250 {
            case.measures.insert(format!("figure{number}"), plain.clone());
            many.differs.push(Setting {
                what: SettingName::Parameter(format!("parameter{number}")),
                arms: Vec::new(),
                before: Some("one".into()),
                after: None,
            });
        }
        let page = section(&many, None).unwrap().into_string();
        for rows in ["200 of 250 rows are listed; tailback", "200 of 252 rows are listed; tailback"]
        {
            assert!(page.contains(rows), "{rows}: {page}");
        }
    }

    #[test]
    fn words_of_others_are_no_markup() {
        let mut hostile = change(ChangeState::Differs, Basis::Blocks);
        hostile.scenario = "<script>".to_owned();
        for arm in &mut hostile.arms {
            arm.id = "<img>".to_owned();
        }
        let page = section(&hostile, None).unwrap().into_string();
        assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
    }
}
