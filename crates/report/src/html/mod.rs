//! An offline page: one file without scripts and without references to other files.

mod card;
mod census;
mod change;
mod data;
mod environment;
mod explanation;
mod figure;
mod ladder;
mod section;
mod style;

use crate::history::Line;
use crate::prose::plain;
use crate::{ReportError, Shown};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use model::ladder::Ladder;
use model::{Census, Change};

/// The note below stalls on the page: where they come from, and what they do not show.
const PROVOKED: &str = "Provoked here by tailback's own load. Run tailback watch to see whether \
                        work is held up in normal operation.";

/// The largest page, in bytes, without its table of all records.
const MOST_BYTES: usize = 1_300_000;

/// Most verdicts with a card of their own. The others are in a table.
const MOST_CARDS: usize = 40;

/// Most records in the table.
const MOST_LISTED: usize = 1_000;

/// A page of some records.
///
/// Records that do not fit are only in the table of verdicts, and the page says so.
///
/// # Errors
/// If a chart could not be drawn.
pub fn page(shown: &[Shown]) -> Result<String, ReportError> {
    let mut sections = String::new();
    let mut drawn = 0;
    for (place, one) in shown.iter().enumerate() {
        if sections.len() > MOST_BYTES * 3 / 4 {
            break;
        }
        let PreEscaped(section) = section::section(one, place, shown.len())?;
        if sections.len() + section.len() > MOST_BYTES {
            break;
        }
        sections.push_str(&section);
        drawn += 1;
    }
    let body = html! {
        (header(shown))
        main {
            (card::cards(&shown[..shown.len().min(MOST_CARDS)], drawn))
            @if shown.len() > 1 { (card::table(&shown[..shown.len().min(MOST_LISTED)], drawn)) }
            @if drawn < shown.len() {
                p.note { (drawn) " of " (shown.len()) " records are drawn here; to draw the others, make a page of fewer records." }
            }
            (PreEscaped(sections))
        }
    };
    Ok(document(&title(shown), &body))
}

/// A page with the comparison of two sets of records, and as many of the records as fit.
///
/// # Errors
/// If a chart could not be drawn.
pub fn change_page(change: &Change, shown: &[Shown]) -> Result<String, ReportError> {
    let meta = shown.first().and_then(|one| one.meta);
    let main = with_records(change::section(change, meta)?, shown)?;
    let body = html! {
        header { p.brand { "tailback" } h1 { (plain(&change.scenario)) ": " (change.state.word().replace('-', " ")) } }
        (main)
    };
    Ok(document(&format!("{}: {}", change.scenario, change.state.word()), &body))
}

/// A page of one scenario in several versions: the ladder, its boundaries, and as many of the
/// records as fit.
///
/// # Errors
/// If a chart could not be drawn.
pub fn ladder_page(ladder: &Ladder, shown: &[Shown]) -> Result<String, ReportError> {
    let meta = shown.first().and_then(|one| one.meta);
    let runs = shown.iter().map(|one| one.record);
    let main = with_records(ladder::section(ladder, runs, meta)?, shown)?;
    let body = html! {
        header { p.brand { "tailback" } h1 { (plain(&ladder.scenario)) ", version by version" } }
        (main)
    };
    Ok(document(&format!("{}, version by version", ladder.scenario), &body))
}

/// A page with the census of a fleet.
pub fn census_page(census: &Census) -> String {
    let body = html! {
        header {
            p.brand { "tailback" }
            h1 { "Census" }
            p.sub { (crate::prose::census::headline(census)) }
            p.sub { "Taken " (plain(&census.taken)) }
        }
        main { (census::section(census)) }
    };
    document("Census", &body)
}

/// A section, followed by as many of the records as fit.
fn with_records(first: Markup, shown: &[Shown]) -> Result<Markup, ReportError> {
    let PreEscaped(mut sections) = first;
    let mut drawn = 0;
    for (place, one) in shown.iter().enumerate() {
        let PreEscaped(section) = section::section(one, place, shown.len())?;
        if sections.len() + section.len() > MOST_BYTES {
            break;
        }
        sections.push_str(&section);
        drawn += 1;
    }
    Ok(html! {
        main {
            (PreEscaped(sections))
            @if drawn < shown.len() {
                p.note { (drawn) " of " (shown.len()) " records are drawn here; tailback report makes a page of the others." }
            }
        }
    })
}

/// A page of one figure over many records, a chart for each scenario.
///
/// # Errors
/// If a chart could not be drawn.
pub fn history_page(histories: &[Vec<Line>]) -> Result<String, ReportError> {
    let mut charts = Vec::new();
    for lines in histories {
        charts.extend(crate::chart::history::history(lines)?);
    }
    let body = html! {
        header { p.brand { "tailback" } h1 { "History" } }
        main { div #verdicts .charts {
            @for (place, chart) in charts.iter().enumerate() { (figure::figure(chart, &format!("h{place}"))) }
        } }
    };
    Ok(document("History", &body))
}

fn document(title: &str, body: &Markup) -> String {
    // No scripts and no external content: even injected markup could not do anything.
    let policy =
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (plain(title)) " - tailback" }
                style { (PreEscaped(style::sheet())) }
            }
            body {
                a.skip href="#verdicts" { "Skip to the verdicts" }
                (body)
                footer { p { "Made by tailback " (env!("CARGO_PKG_VERSION")) " from records alone; nothing on this page is loaded from elsewhere." } }
            }
        }
    };
    // Applied once to the whole page: no character of a record changes the direction of the text
    // around it.
    os::terminal::lines(&page.into_string())
}

fn title(shown: &[Shown]) -> String {
    match shown {
        [one] => format!("{}: {}", one.record.scenario, one.record.judgement.state.word()),
        _ => headline(shown),
    }
}

fn headline(shown: &[Shown]) -> String {
    let mut names: Vec<String> = provoked(shown).map(|one| plain(&one.record.scenario)).collect();
    names.sort_unstable();
    names.dedup();
    match (names.as_slice(), shown) {
        (_, []) => "No record".to_owned(),
        ([one], _) => format!("{one} can stall work here"),
        ([first, second], _) => format!("{first} and {second} can stall work here"),
        ([], [one]) => {
            let state = one.record.judgement.state.word().replace('-', " ");
            format!("{}: {state}", plain(&one.record.scenario))
        }
        ([], all) => without_stall(all),
        (some, _) => format!("{} known stalls can hold up work here", some.len()),
    }
}

/// The headline of several records, none of which provoked a stall. A study without a verdict says
/// nothing, and a watch may have found a stall that nobody provoked.
fn without_stall(all: &[Shown]) -> String {
    let states = || all.iter().map(|one| one.record.judgement.state);
    let count = |state: model::State| states().filter(|own| *own == state).count();
    let found = count(model::State::Affected);
    let clear = count(model::State::NotAffected);
    let open = all.len() - found - clear;
    match (found, clear, open) {
        (0, _, 0) => format!("None of {} studies shows a stall", all.len()),
        (0, 0, _) => format!("None of {} studies is settled", all.len()),
        (0, ..) => format!("No stall in {clear} of {} studies; {open} not settled", all.len()),
        _ => format!("Stalls of a live system in {found} of {} records", all.len()),
    }
}

/// The studies that show a stall. Records of live systems are left out: their stalls were not
/// provoked.
fn provoked<'a>(shown: &'a [Shown<'a>]) -> impl Iterator<Item = &'a Shown<'a>> {
    let affected = |one: &&Shown| one.record.judgement.state == model::State::Affected;
    shown.iter().filter(affected).filter(|one| one.record.live.is_none())
}

fn header(shown: &[Shown]) -> Markup {
    let mut hosts: Vec<String> =
        shown.iter().map(|one| crate::text::host(&one.record.machine)).collect();
    hosts.dedup();
    html! {
        header {
            p.brand { "tailback" }
            h1 { (headline(shown)) }
            @if provoked(shown).next().is_some() { p.sub { (PROVOKED) } }
            @if let [host] = hosts.as_slice() { p.sub { (host) } }
            @if let Some(one) = shown.first() { p.sub { "Measured " (plain(&one.record.started)) @if shown.len() > 1 { ", " (shown.len()) " studies" } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::State;

    #[test]
    fn a_page_says_that_a_stall_was_provoked_where_it_was() {
        let is_told = |record: &model::Judged| {
            let page = page(&[Shown::new(record, None, "a")]).unwrap();
            page.contains("Run tailback watch to see whether")
        };
        let mut record = testing::record();
        record.judgement.state = State::Affected;
        assert!(is_told(&record));
        record.judgement.state = State::NotAffected;
        assert!(!is_told(&record));
        record.judgement.state = State::Affected;
        record.facts.live = Some(model::live::Live::default());
        assert!(!is_told(&record), "a watch provokes nothing");
    }

    #[test]
    fn the_headline_counts_what_is_not_settled_and_what_a_watch_found() {
        use State::{Affected, Inconclusive, NotAffected, Skipped};
        let of = |states: &[State], live: bool| {
            let record = |state: &State| {
                let mut record = testing::record();
                record.judgement.state = *state;
                record.facts.live = live.then(model::live::Live::default);
                record
            };
            let records: Vec<model::Judged> = states.iter().map(record).collect();
            let shown: Vec<Shown> = records.iter().map(|one| Shown::new(one, None, "a")).collect();
            headline(&shown)
        };
        assert_eq!(of(&[NotAffected; 2], false), "None of 2 studies shows a stall");
        assert_eq!(of(&[Skipped, Inconclusive], false), "None of 2 studies is settled");
        let some = of(&[NotAffected, Skipped, NotAffected], false);
        assert_eq!(some, "No stall in 2 of 3 studies; 1 not settled");
        let live = of(&[Affected, NotAffected], true);
        assert_eq!(live, "Stalls of a live system in 1 of 2 records");
    }

    #[test]
    fn every_link_inside_a_page_leads_somewhere() {
        let record = testing::record();
        let shown = [Shown::new(&record, None, "a"), Shown::new(&record, None, "b")];
        let cards = card::cards(&shown, 1).into_string();
        assert!(cards.contains("href=\"#r0\"") && !cards.contains("href=\"#r1\""), "{cards}");
        let history = history_page(&[]).unwrap();
        assert!(history.contains("href=\"#verdicts\"") && history.contains("id=\"verdicts\""));
    }
}
