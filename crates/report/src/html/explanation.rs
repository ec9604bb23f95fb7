//! The explanation of who held up whom, on the page.

use super::figure;
use crate::chart::Table;
use crate::prose::explanation as prose;
use crate::prose::{not_seen, plain};
use maud::{Markup, html};
use model::estimate::number;
use model::explanation::{Cause, Cost};
use model::{Explanation, Meta, State};

/// Most entries of each list of evidence and of missing evidence.
const MOST: usize = 12;

/// What `tailback explain` says about a record. Without evidence, only the reason why there is
/// none.
pub fn block(explanation: Option<&Explanation>, meta: Option<&Meta>) -> Markup {
    let Some(explanation) = explanation else { return html! {} };
    if let Cause::Verdict(_) = explanation.cause {
        return without_evidence(explanation, meta);
    }
    html! {
        h3 { "Who held up whom" }
        p.evidence { (prose::cause(explanation, meta)) }
        @if !explanation.shares.is_empty() {
            (figure::scroll(&shares(explanation), "where the time of all waits went"))
        }
        @if !explanation.evidence.is_empty() {
            ul.advice { @for seen in explanation.evidence.iter().take(MOST) { li { (prose::seen(seen)) } } }
        }
        p.note {
            @if let Some(arm) = &explanation.arm { "Seen in a trial of " (plain(arm)) " with probes. " }
            @for source in explanation.sources.iter().take(MOST) { "From " (not_seen::source(source)) " " }
            @for cost in explanation.cost.iter().flat_map(|cost: &Cost| prose::cost(cost, true, meta)) { "Probes: " (cost) " " }
            (missing(explanation, meta))
        }
    }
}

fn missing(explanation: &Explanation, meta: Option<&Meta>) -> Markup {
    html! {
        @for missing in explanation.missing.iter().take(MOST) { "Missing: " (not_seen::missing(missing, meta)) " " }
    }
}

fn without_evidence(explanation: &Explanation, meta: Option<&Meta>) -> Markup {
    html! {
        @if explanation.state == State::Affected && !explanation.missing.is_empty() {
            h3 { "Who held up whom" }
            p.note { (missing(explanation, meta)) }
        }
    }
}

fn shares(explanation: &Explanation) -> Table {
    let mut table = Table::new(["of all waits", "ms", "what happened"]);
    table.rows = explanation
        .shares
        .iter()
        .map(|share| {
            let ms = number(share.ns as f64 / 1e6);
            let happened = prose::share(share.what, &explanation.evidence);
            vec![format!("{:.1}%", share.percent), ms, happened]
        })
        .collect();
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::testing::explanation;
    use model::Headline;

    #[test]
    fn the_page_says_what_the_text_says() {
        let explanation = explanation();
        let page = block(Some(&explanation), None).into_string();
        for sentence in [prose::cause(&explanation, None), prose::seen(&explanation.evidence[0])] {
            assert!(page.contains(&sentence), "{sentence}: {page}");
        }
        assert!(page.contains("Seen in a trial of case") && page.contains("no holder is known"));
        assert!(!page.contains('\u{1b}'), "{page}");
        assert_eq!(block(None, None).into_string(), "");
    }

    #[test]
    fn without_evidence_it_is_said_where_it_matters() {
        let mut none =
            Explanation { cause: Cause::Verdict(Headline::NotMeasured), ..explanation() };
        assert!(block(Some(&none), None).into_string().contains("Missing: kernel stacks"));
        none.state = State::NotAffected;
        assert_eq!(block(Some(&none), None).into_string(), "");
    }
}
