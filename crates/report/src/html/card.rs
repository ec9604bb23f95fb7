//! The verdicts on top of the page: what is wrong and what to change.

use super::Shown;
use crate::advice::{self, Advice, Sure};
use maud::{Markup, html};
use model::{Record, State};

/// Changes that a card names at most.
const MOST_ADVICE: usize = 3;

/// A card for each verdict.
pub fn cards(shown: &[Shown]) -> Markup {
    html! {
        section #verdicts aria-label="Verdicts" {
            @for (place, one) in shown.iter().enumerate() { (card(one, place)) }
        }
    }
}

fn card(one: &Shown, place: usize) -> Markup {
    let verdict = &one.record.verdict;
    html! {
        article class={ "card state-" (verdict.state.word()) } {
            h2 {
                (pill(verdict.state)) " "
                a href={ "#r" (place) } { (one.record.scenario) }
                @if let Some(meta) = one.meta { span.title { " " (meta.title) } }
            }
            p.headline { (verdict.headline) }
            (changes(one))
        }
    }
}

/// The verdict as a word with a sign, so that it is not told by colour alone.
pub fn pill(state: State) -> Markup {
    let sign = match state {
        State::Affected => "✖",
        State::NotAffected => "✔",
        State::Inconclusive => "?",
        State::Untrustworthy => "!",
        State::Skipped => "–",
    };
    html! { span class={ "pill state-" (state.word()) } { (sign) " " (state.word().replace('-', " ")) } }
}

fn changes(one: &Shown) -> Markup {
    let advice = advice::of(one.record, one.meta);
    if advice.is_empty() {
        return next(one.record);
    }
    let sure = advice.iter().any(|advice| advice.sure != Sure::Try);
    html! {
        h3 { @if sure { "What to change" } @else { "What may fix it; each command measures whether it does here" } }
        ol.advice { @for advice in advice.iter().take(MOST_ADVICE) { li { (sentence(advice)) } } }
    }
}

fn sentence(advice: &Advice) -> Markup {
    let mark = match advice.sure {
        Sure::Fixed => Some("fixed here"),
        Sure::Helped => Some("helped here"),
        Sure::Try => None,
    };
    html! {
        @if let Some(mark) = mark { span.mark { (mark) } " " }
        (advice.what)
        @if let Some(command) = &advice.command { code.command { (command) } }
    }
}

/// Next steps of a study that found no stall, or could not tell.
fn next(record: &Record) -> Markup {
    let unsure = matches!(record.verdict.state, State::Inconclusive | State::Untrustworthy);
    html! {
        @if unsure { @for why in record.verdict.because.iter().take(2) { p { (why) } } }
        @if !record.verdict.next.is_empty() {
            h3 { "Next" }
            ul.advice {
                @for sentence in record.verdict.next.iter().take(MOST_ADVICE) {
                    @let (what, command) = advice::with_command(sentence);
                    li { (what) @if let Some(command) = command { code.command { (command) } } }
                }
            }
        }
    }
}

/// All records in a table; the first `drawn` have a section to go to.
pub fn table(shown: &[Shown], drawn: usize) -> Markup {
    html! {
        details.all open[shown.len() <= 12] {
            summary { "All " (shown.len()) " records" }
            div.scroll tabindex="0" role="region" aria-label="All records" {
                table {
                    thead { tr { th { "scenario" } th { "verdict" } th { "kernel" } th { "started" } th { "file" } } }
                    tbody {
                        @for (place, one) in shown.iter().enumerate() {
                            tr {
                                td { @if place < drawn { a href={ "#r" (place) } { (one.record.scenario) } } @else { (one.record.scenario) } }
                                td { (one.record.verdict.state.word()) }
                                td { (one.record.host.kernel) }
                                td { (one.record.started) }
                                td { (one.name) }
                            }
                        }
                    }
                }
            }
        }
    }
}
