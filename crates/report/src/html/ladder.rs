//! A ladder of versions on the page.

use super::figure;
use crate::ReportError;
use crate::chart;
use crate::prose::ladder as prose;
use maud::{Markup, html};
use model::ladder::Ladder;
use model::{Judged, Meta};

/// The section for the ladder of these runs.
///
/// # Errors
/// If the chart could not be drawn.
pub fn section<'r>(
    ladder: &Ladder,
    runs: impl Iterator<Item = &'r Judged>,
    meta: Option<&'r Meta>,
) -> Result<Markup, ReportError> {
    let chart = chart::ladder::ladder(ladder, meta)?;
    let steps = chart::ladder::steps(ladder);
    let mut said = prose::boundaries(ladder);
    said.extend(prose::shown_by_all(runs, meta));
    Ok(html! {
        section #verdicts aria-label="Versions" {
            article.card {
                h2 { "Where it changes" }
                ul.advice { @for line in &said { li { (line) } } }
                p.note { (prose::NOTE) }
            }
            div.charts { @if let Some(chart) = &chart { (figure::figure(chart, "ladder")) } }
            @if !steps.rows.is_empty() { h3 { "From each version to the next" } (figure::scroll(&steps, "from each version to the next")) }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use model::{Missed, State, Test, Unit};

    #[test]
    fn a_run_without_a_stall_says_what_would_have_shown() {
        let mut calm = record();
        calm.judgement.state = State::NotAffected;
        let missed = Missed {
            shown_above: 4.0,
            unit: Unit::MillisecondsPerSecond,
            freeze_ms: Some(3.0),
            share: 0.3,
            trial_ms: None,
            warm_up_ms: None,
            every_s: 0.9,
            confidence: 0.95,
        };
        calm.judgement.test = Some(Test { missed: Some(missed), ..Test::default() });
        let with = section(&model::testing::ladder(Vec::new()), [&calm].into_iter(), None);
        assert!(with.unwrap().into_string().contains("In each run without a stall"));
        let without = section(&model::testing::ladder(Vec::new()), [].into_iter(), None);
        assert!(!without.unwrap().into_string().contains("In each run without a stall"));
    }
}
