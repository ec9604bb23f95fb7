//! The census of a fleet on the page.

use super::figure;
use crate::chart::Table;
use crate::prose::census as prose;
use crate::prose::plain;
use maud::{Markup, html};
use model::Census;
use model::census::{Counts, ScenarioCensus};

/// Most groups that are shown.
const MOST_GROUPS: usize = 40;

/// Most hosts of a list that are shown.
const MOST_HOSTS: usize = 20;

/// Most characters of folded names in a cell.
const NAMES: usize = 160;

/// Most hosts that a sentence names.
const MOST_NAMED: usize = 5;

/// The section of a census.
pub fn section(census: &Census) -> Markup {
    html! {
        section #verdicts aria-label="Scenarios" {
            @for one in &census.scenarios { (card(one)) }
            p.note { (prose::about(census)) " " (prose::NOTE) }
        }
        section.record aria-label="Hosts with the same answers" {
            h2 { "Hosts with the same answers" }
            (figure::stack(&groups(census), "hosts with the same answers"))
            @if census.groups.len() > MOST_GROUPS || census.hosts_in_other_groups > 0 {
                p.note { "More groups are in the JSON." }
            }
        }
        @if let Some(since) = &census.since {
            section.record aria-label="What changed" {
                h2 { "Since " (plain(&since.taken)) }
                ul.advice { @for line in prose::since(since, NAMES) { li { (line) } } }
            }
        }
        (unreached(census))
        @if !census.set_aside.is_empty() {
            section.record aria-label="Set aside" {
                h2 { "Set aside" }
                (figure::stack(&aside(census), "set aside"))
            }
        }
        section.record aria-label="What was read" {
            h2 { "What was read" }
            (figure::scroll(&read(census), "what was read"))
        }
    }
}

fn card(one: &ScenarioCensus) -> Markup {
    let state = if one.hosts.affected > 0 { "affected" } else { "not-affected" };
    let state = if one.share.is_none() { "inconclusive" } else { state };
    html! {
        article class={ "card state-" (state) } {
            h2 {
                span class={ "pill state-" (state) } { (one.hosts.affected) " affected" }
                " " (plain(&one.scenario))
                @if let Some(share) = &one.share { span.title { " " (prose::rate(share)) " of " (share.of) " hosts with an answer, of " (share.kinds) " kinds" } }
            }
            (bar(&one.hosts))
            @if let Some(share) = &one.share {
                p.headline { "This fleet: " (prose::this_fleet(share)) " affected. Fleets like it: " (prose::fleets_like_it(share)) "." }
            }
            @if let Some(telling) = prose::telling(one) { p.headline { "Told by: " (telling) } }
            @if let Some(caveat) = prose::caveat(one) { p.note { "Caveat: " (caveat) "." } }
            @if let Some(odd) = &one.odd { p { (figure::breakable(&prose::odd(odd, MOST_NAMED))) } }
            @if !one.worst.is_empty() || one.odd.is_some() {
                details { summary { "Hosts and their records" } (figure::stack(&hosts(one), "hosts and their records")) }
            }
        }
    }
}

/// All hosts by their answer, as a bar and in words.
fn bar(counts: &Counts) -> Markup {
    let parts = [
        ("affected", "affected", counts.affected),
        ("not-affected", "clear", counts.clear),
        ("inconclusive", "inconclusive", counts.inconclusive),
        ("untrustworthy", "untrustworthy", counts.untrustworthy),
        ("skipped", "skipped", counts.skipped),
        ("missing", "not measured", counts.not_measured),
        ("missing", "unreachable", counts.unreachable),
    ];
    let all: u64 = parts.iter().map(|(_, _, count)| count).sum();
    let at = |count: u64| 1000.0 * count as f64 / all.max(1) as f64;
    let mut before = 0;
    let rects = parts.map(|(state, _, count)| {
        let from = before;
        before += count;
        (state, format!("{:.2}", at(from)), format!("{:.2}", at(count)))
    });
    html! {
        svg.fleet viewBox="0 0 1000 24" preserveAspectRatio="none" aria-hidden="true" {
            @for (state, from, width) in &rects {
                rect class={ "state-" (state) } x=(from) y="0" height="24" width=(width) {}
            }
        }
        ul.legend {
            @for (state, name, count) in parts {
                @if count > 0 { li { span class={ "chip state-" (state) } {} (count) " " (name) } }
            }
        }
    }
}

fn hosts(one: &ScenarioCensus) -> Table {
    let mut table = Table::new(["host", "why it is listed", "record"]);
    let worst = one.worst.iter().take(MOST_HOSTS).map(|worst| {
        let shift = model::prose::figures::amount_alone(&worst.shift);
        [
            worst.host.clone(),
            format!("loses {shift} more than its control"),
            prose::place(&worst.record),
        ]
    });
    let odd = one.odd.iter().flat_map(|odd| &odd.hosts).take(MOST_HOSTS).map(|host| {
        let state = host.state.word();
        let why = format!("{state}, unlike {} of its kind", host.others);
        [host.host.clone(), why, prose::place(&host.record)]
    });
    table.rows.extend(worst.chain(odd).map(|row| row.to_vec()));
    table
}

fn groups(census: &Census) -> Table {
    let mut table =
        Table::new(["hosts", "answers", "which", "what they have in common", "first record"]);
    let none_alike = census.groups.iter().take(MOST_GROUPS).all(|one| prose::alike(one).is_empty());
    let rows = census.groups.iter().take(MOST_GROUPS).map(|group| {
        vec![
            group.hosts.count.to_string(),
            prose::answers(group),
            prose::names(&group.hosts, NAMES),
            prose::alike(group),
            group.records.first().map(prose::place).unwrap_or_default(),
        ]
    });
    table.rows.extend(rows);
    if none_alike {
        let alike = table.head.len() - 2;
        table.head.remove(alike);
        table.rows.iter_mut().for_each(|row| drop(row.remove(alike)));
    }
    table
}

fn unreached(census: &Census) -> Markup {
    let lists = [
        ("In the inventory without a record", &census.unreachable),
        ("With a record, but not in the inventory", &census.not_in_inventory),
    ];
    html! {
        @for (title, hosts) in lists {
            @if let Some(hosts) = hosts.as_ref().filter(|hosts| hosts.count > 0) {
                section.record aria-label=(title) {
                    h2 { (title) ": " (hosts.count) }
                    p { (figure::breakable(&prose::names(hosts, 4 * NAMES))) }
                }
            }
        }
    }
}

fn aside(census: &Census) -> Table {
    let mut table = Table::new(["records", "why", "some of them"]);
    let rows = census.set_aside.iter().map(|one| {
        let examples: Vec<String> = one.examples.iter().take(5).map(prose::example).collect();
        vec![one.count.to_string(), prose::why(one.why).to_owned(), examples.join(", ")]
    });
    table.rows.extend(rows);
    table
}

fn read(census: &Census) -> Table {
    let mut table = Table::new(["what", "how many"]);
    let read = &census.read;
    let mut rows = vec![
        ("files".to_owned(), read.files),
        ("brief records that count".to_owned(), read.briefs),
        ("records that count".to_owned(), read.records),
    ];
    let versions = read.versions.iter();
    rows.extend(versions.map(|(version, count)| (format!("by tailback {version}"), *count)));
    table.rows.extend(rows.into_iter().map(|(what, count)| vec![what, count.to_string()]));
    table
}
