//! A ladder of versions on the page.

use super::figure;
use crate::ReportError;
use crate::chart;
use crate::prose::ladder as prose;
use maud::{Markup, html};
use model::Meta;
use model::ladder::Ladder;

/// The section of a ladder.
///
/// # Errors
/// If the chart could not be drawn.
pub fn section(ladder: &Ladder, meta: Option<&Meta>) -> Result<Markup, ReportError> {
    let chart = chart::ladder::ladder(ladder, meta)?;
    let steps = chart::ladder::steps(ladder);
    Ok(html! {
        section #verdicts aria-label="Versions" {
            article.card {
                h2 { "Where it changes" }
                ul.advice { @for line in prose::boundaries(ladder) { li { (line) } } }
                p.note { (prose::NOTE) }
            }
            div.charts { @if let Some(chart) = &chart { (figure::figure(chart, "ladder")) } }
            @if !steps.rows.is_empty() { h3 { "From each to the next" } (figure::scroll(&steps, "from each version to the next")) }
        }
    })
}
