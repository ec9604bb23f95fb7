//! A table for an issue.

use crate::advice;
use model::{ArmResult, Record};
use std::fmt::Write as _;

/// A heading, the verdict and a table of the arms for each record.
pub fn markdown(records: &[&Record]) -> String {
    let parts: Vec<String> = records.iter().map(|record| one(record)).collect();
    parts.join("\n")
}

fn one(record: &Record) -> String {
    let verdict = &record.verdict;
    let mut text = format!(
        "### {}: {}\n\n{}\n",
        plain(&record.scenario),
        verdict.state,
        plain(&verdict.headline)
    );
    let measures = measures(record);
    if !record.arms.is_empty() {
        let _ = write!(text, "\n| arm | verdict | hung |");
        for name in &measures {
            let _ = write!(text, " {} |", plain(&heading(record, name)));
        }
        let _ = writeln!(text, "\n|---|---|---|{}", "---:|".repeat(measures.len()));
    }
    for arm in &record.arms {
        let state = arm.state.map_or("-", model::State::word);
        let _ = write!(text, "| {} | {state} | {} |", plain(&arm.id), arm.hangs);
        for name in &measures {
            let _ = write!(text, " {} |", cell(arm, name));
        }
        text.push('\n');
    }
    for fix in &verdict.fixes {
        let _ = writeln!(text, "\n- {}", plain(&advice::of_fix(fix, None)));
    }
    let _ = writeln!(
        text,
        "\n{}; tailback {}, seed {}. Medians over trials with {:.0}% intervals. Again: `{}`",
        plain(&crate::text::host(&record.host)),
        plain(&record.tool.version),
        record.plan.seed,
        record.plan.judging.confidence * 100.0,
        crate::again::command(record).replace('`', "'")
    );
    text
}

/// The judged figures first, then up to four more.
fn measures(record: &Record) -> Vec<&str> {
    let judged = record.verdict.measure.as_deref().unwrap_or(&record.plan.judging.measure);
    let mut names = vec![judged];
    names.extend(record.plan.also.iter().map(|judging| judging.measure.as_ref()));
    let all = record.arms.iter().flat_map(|arm| arm.measures.keys()).map(String::as_str);
    for name in all {
        if names.len() < 5 && !names.contains(&name) {
            names.push(name);
        }
    }
    names.dedup();
    names
}

fn heading(record: &Record, name: &str) -> String {
    let unit =
        record.arms.iter().find_map(|arm| arm.measures.get(name)).map_or("", |e| e.unit.symbol());
    if unit.is_empty() { name.to_owned() } else { format!("{name}, {unit}") }
}

fn cell(arm: &ArmResult, name: &str) -> String {
    let estimate = arm.measures.get(name);
    estimate.map_or_else(|| "-".to_owned(), |e| plain(&format!("{} {}", e.figure(), e.interval())))
}

/// A text that means nothing to Markdown or HTML.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // Nobody shall be called by what stands in a record; an interval may keep its brackets,
            // which make a link only in front of these.
            '<' | '>' | '&' | '@' | '|' | '`' | '*' | '~' | '\\' => entity(&mut plain, c),
            ']' if chars.peek().is_some_and(|next| "([:".contains(*next)) => entity(&mut plain, c),
            c if os::terminal::steers(c) => plain.push(' '),
            c => plain.push(c),
        }
    }
    plain
}

fn entity(text: &mut String, c: char) {
    let _ = write!(text, "&#{};", u32::from(c));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_table_stays_a_table() {
        let mut record = testing::record();
        record.arms[1].id = "a|b\n<img> @all [x](http://y)".to_owned();
        let text = markdown(&[&record]);
        let row = text.lines().find(|line| line.contains("img")).unwrap();
        assert!(row.starts_with("| a&#124;b &#60;img&#62; &#64;all [x&#93;(http://y) |"), "{row}");
    }
}
