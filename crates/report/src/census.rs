//! The census of a fleet as text, about one screen of a terminal.

use crate::grid::{Cell, Column, Grid};
use crate::look::Look;
use crate::prose::{census as prose, plain};
use anstyle::{AnsiColor, Style};
use model::Census;
use model::census::{Counts, ScenarioCensus};
use std::fmt::Write as _;

/// Most lines of the whole text.
const MOST_LINES: usize = 20;

/// Most groups that are shown.
const MOST_GROUPS: usize = 5;

/// Most scenarios for which the differences between hosts are explained.
const MOST_TOLD: usize = 3;

/// The census as text; with `why`, all of its lists.
pub fn census(census: &Census, look: Look) -> String {
    let mut text = format!("{}\n", prose::headline(census));
    text += &table(&census.scenarios, look);
    if census.scenarios.iter().any(|one| one.share.is_some()) {
        text += &look.wrap(&prose::about(census), "  ", "  ");
        text.push('\n');
    }
    let mut below = String::new();
    let of = |say: &dyn Fn(&ScenarioCensus) -> Option<String>| -> Vec<String> {
        let each = census.scenarios.iter();
        each.filter_map(|one| Some(format!("{}: {}", plain(&one.scenario), say(one)?))).collect()
    };
    let named = look.most(3);
    section(&mut below, "Told by", of(&prose::telling), MOST_TOLD, look);
    let caveat = census.scenarios.iter().find_map(prose::caveat).map(str::to_owned);
    section(&mut below, "Caveat", caveat.into_iter().collect(), 1, look);
    section(&mut below, "Worst", of(&|one| prose::worst(one, named)), 1, look);
    let odd = of(&|one| one.odd.as_ref().map(|odd| prose::odd(odd, named)));
    section(&mut below, "Unlike", odd, 1, look);
    if let Some(since) = &census.since {
        section(&mut below, "Since", prose::since(since, look.width / 2), 2, look);
    }
    section(&mut below, "Claims", prose::claims(&census.set_aside, named), 2, look);
    let aside = Some(prose::set_aside(&census.set_aside)).filter(|aside| !aside.is_empty());
    section(&mut below, "Set aside", aside.into_iter().collect(), 1, look);
    let taken = text.lines().count() + below.lines().count();
    let left = MOST_LINES.saturating_sub(taken + 1).clamp(2, MOST_GROUPS);
    text + &groups(census, left, look) + &below
}

/// A table with one row per scenario. With `why` the undecided hosts are split by their answer;
/// an answer that no host gave has no column. Unreachable hosts are unreachable for every
/// scenario.
fn table(scenarios: &[ScenarioCensus], look: Look) -> String {
    type Count = fn(&Counts) -> u64;
    let others: [(&str, Count); 4] = [
        ("incon.", |hosts| hosts.inconclusive),
        ("untr.", |hosts| hosts.untrustworthy),
        ("skip.", |hosts| hosts.skipped),
        ("none", |hosts| hosts.not_measured),
    ];
    let any = |count: &Count| scenarios.iter().any(|one| count(&one.hosts) > 0);
    let shown: Vec<&(&str, Count)> =
        others.iter().filter(|(_, count)| look.why && any(count)).collect();
    let mut columns = vec![
        Column::left("scenario"),
        Column::right("affected"),
        Column::right("clear"),
        Column::right("undecided"),
    ];
    columns.extend(shown.iter().map(|(title, _)| Column::right(*title)));
    columns.extend(["share", "this fleet", "fleets like it"].map(Column::left));
    let mut grid = Grid::new(columns);
    for one in scenarios {
        let affected = match one.hosts.affected {
            0 => Cell::from("0"),
            some => Cell::painted(some.to_string(), AnsiColor::Red),
        };
        let mut cells = vec![
            Cell::from(plain(&one.scenario)),
            affected,
            Cell::from(one.hosts.clear.to_string()),
            Cell::from(one.hosts.undecided().to_string()),
        ];
        cells.extend(shown.iter().map(|(_, count)| Cell::from(count(&one.hosts).to_string())));
        let shares = [prose::rate, prose::this_fleet, prose::fleets_like_it];
        cells.extend(shares.map(|say| Cell::from(one.share.as_ref().map_or("-".to_owned(), say))));
        grid.row(cells);
    }
    let parts = grid.parts(look.width, 1);
    parts.iter().map(|part| part.text(look)).collect()
}

/// The groups of hosts, at most `most` of them.
fn groups(census: &Census, most: usize, look: Look) -> String {
    let mut text = look.paint(Style::new().bold(), "Same answers");
    text.push('\n');
    let shown = census.groups.iter().take(look.most(most));
    let digits = census.groups.first().map_or(1, |group| group.hosts.count.to_string().len());
    for group in shown {
        let mut line = format!("  {:>digits$}  {}", group.hosts.count, prose::answers(group));
        let room = look.width.saturating_sub(line.chars().count() + 3);
        let names = prose::names(&group.hosts, room.saturating_sub(3));
        if !names.is_empty() && names.chars().count() < room {
            line += &format!("  {names}");
        }
        let alike = prose::alike(group);
        let room = look.width.saturating_sub(line.chars().count() + 4);
        if !alike.is_empty() && (look.why || alike.chars().count() <= room) {
            line += &format!(" ({alike})");
        }
        let _ = writeln!(text, "{}", if look.why { line } else { short(&line, look.width) });
    }
    text
}

/// The line, cut to the width.
fn short(line: &str, width: usize) -> String {
    match line.chars().count() > width {
        true => line.chars().take(width.saturating_sub(2)).chain("..".chars()).collect(),
        false => line.to_owned(),
    }
}

/// Lines below a title; with `why` all of them, uncut.
fn section(text: &mut String, title: &str, lines: Vec<String>, most: usize, look: Look) {
    let indent = "           ";
    for (place, line) in lines.iter().take(look.most(most)).enumerate() {
        let title = if place == 0 { title } else { "" };
        let wrapped = look.wrap(line, &format!("{title:<11}"), indent);
        let lines: Vec<&str> = wrapped.lines().collect();
        let shown = if look.why { lines.len() } else { lines.len().min(3) };
        for (place, line) in lines[..shown].iter().enumerate() {
            let is_cut = place + 1 == shown && shown < lines.len();
            let line =
                if is_cut { short(&format!("{line} .."), look.width) } else { (*line).to_owned() };
            let _ = writeln!(text, "{line}");
        }
    }
}
