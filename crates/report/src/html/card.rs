//! The verdicts at the top of the page: what is wrong and what to change.

use crate::Shown;
use crate::advice::{self, Advice};
use crate::prose::plain;
use maud::{Markup, html};
use model::State;

/// Most changes that a card names. The section of the record has all of them.
pub const MOST_ADVICE: usize = 3;

/// A card for each verdict. The first `drawn` records have a section of their own, to which their
/// cards link.
pub fn cards(shown: &[Shown], drawn: usize) -> Markup {
    html! {
        section #verdicts aria-label="Verdicts" {
            @for (place, one) in shown.iter().enumerate() {
                (card(one, (place < drawn).then_some(place)))
            }
        }
    }
}

fn card(one: &Shown, section: Option<usize>) -> Markup {
    let (state, prose) = (one.record.judgement.state, one.prose());
    let scenario = plain(&one.record.scenario);
    html! {
        article class={ "card state-" (state.word()) } {
            h2 {
                (pill(state)) " "
                @if let Some(place) = section { a href={ "#r" (place) } { (scenario) } } @else { (scenario) }
                @if let Some(meta) = one.meta { span.title { " " (meta.title) } }
            }
            p.headline { (prose.headline()) }
            @for sentence in prose.in_short() { p { (sentence) } }
            (changes(one))
        }
    }
}

/// The verdict as a word with a sign, so that it does not depend on colour alone.
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

/// The first changes to make, or the first next steps.
fn changes(one: &Shown) -> Markup {
    let advice = advice::of(one.record, one.meta);
    let heading = advice::heading(one.record.judgement.state, &advice);
    html! {
        @if !advice.is_empty() { h3 { (heading) } (list(&advice, MOST_ADVICE)) }
    }
}

/// The changes to make, at most `most` of them.
pub fn list(advice: &[Advice], most: usize) -> Markup {
    html! { ol.advice { @for one in advice.iter().take(most) { li { (sentence(one)) } } } }
}

fn sentence(advice: &Advice) -> Markup {
    html! {
        @if let Some(mark) = advice.sure.mark() {
            span.mark.helped[advice.sure.is_shown()] { (mark) }
            " "
        }
        (advice.what)
        @if let Some(command) = &advice.command { code.command { (command) } }
    }
}

/// All records in a table. The first `drawn` rows link to their sections.
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
                                td { @if place < drawn { a href={ "#r" (place) } { (plain(&one.record.scenario)) } } @else { (plain(&one.record.scenario)) } }
                                td { (one.record.judgement.state.word()) }
                                td { (plain(&one.record.machine.kernel)) }
                                td { (plain(&one.record.started)) }
                                td { (plain(one.name)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
