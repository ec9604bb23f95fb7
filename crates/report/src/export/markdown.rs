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

/// A text that means nothing to Markdown.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => plain.push_str("&lt;"),
            '>' => plain.push_str("&gt;"),
            '&' => plain.push_str("&amp;"),
            // Nobody shall be called by what stands in a record.
            '@' => plain.push_str("&#64;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' | '~' => plain.extend(['\\', c]),
            c if c.is_control() => plain.push(' '),
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_table_stays_a_table() {
        let mut record = testing::record();
        record.arms[1].id = "a|b\n<img> @all".to_owned();
        let text = markdown(&[&record]);
        let row = text.lines().find(|line| line.contains("img")).unwrap();
        assert!(row.starts_with("| a\\|b &lt;img&gt; &#64;all |"), "{row}");
    }
}
