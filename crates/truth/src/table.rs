//! Writes truth/table.md: one line per row, and why its answer is known.

use crate::standing::{Progress, Standing};
use crate::tally::Tally;
use crate::{Answer, Row};
use std::fmt::Write;

const INTRODUCTION: &str = "\
# Each row of the known answers

Written by `make truth`; do not edit it. [Known answers](../docs/truth.md) says what the words mean
and how many rows are right. A share behind an answer is the largest share of runs that may give it.
A `+` behind a build: sources were changed after that commit. *Stale*: another judge answered, or
the row asked something else then, so it does not count. Answers of an unknown build are from the
page of 2026-11-23, which did not keep the build of each row. That page was once edited by hand,
which removed one undecided answer.
";

/// The page.
pub fn text(rows: &[Standing]) -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str(
        "\n| row | where | runs | answers | wanted | forbidden | median s | mean blocks | build | day |\n\
         |---|---|---:|---|---|---|---:|---:|---|---|\n",
    );
    rows.iter().for_each(|standing| line(standing, &mut text));
    text.push_str("\n## Why each answer is known\n\n| row | what is run | why |\n|---|---|---|\n");
    for Standing { row, .. } in rows {
        let (what, place) = row.what_and_where();
        let place = place.map_or_else(String::new, |place| format!(", {place}"));
        let line = format!("`{what}`{place}").replace('|', "\\|");
        let _ = writeln!(text, "| {} | {line} | {} |", row.id, row.why);
    }
    text
}

fn line(standing: &Standing, text: &mut String) {
    let Standing { row, tally, .. } = standing;
    let days = standing.shown().iter().map(|line| line.day.as_str());
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        row.id,
        row.place(),
        runs(standing),
        answers(standing),
        row.wanted.map_or_else(String::new, |wanted| wanted.to_string()),
        row.forbidden.iter().map(|a| with_share(row, *a)).collect::<Vec<_>>().join(", "),
        tenths(tally.seconds),
        tenths(tally.blocks),
        standing.builds(),
        days.max().unwrap_or_default(),
    );
}

fn tenths(number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| format!("{number:.1}"))
}

fn runs(standing: &Standing) -> String {
    match standing.progress() {
        Progress::Complete => standing.tally.runs.to_string(),
        _ => format!("{} of {}", standing.tally.runs, standing.row.runs),
    }
}

fn answers(standing: &Standing) -> String {
    let Standing { row, tally, .. } = standing;
    let words = match standing.progress() {
        Progress::Stale => format!("stale: {}", Tally::of(row, &standing.stale).words()),
        _ => tally.words(),
    };
    match tally.wrong.as_slice() {
        [] => words,
        wrong => {
            let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
            format!("{words} **WRONG: {}**", wrong.join(", "))
        }
    }
}

/// An answer, with the largest allowed share of runs if there is one.
pub fn with_share(row: &Row, answer: Answer) -> String {
    match row.at_most.get(&answer) {
        // One decimal if the percentage is not whole, such as 2.5%.
        Some(most) => format!("{answer} ({}%)", (1000.0 * most).round() / 10.0),
        None => answer.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::line;
    use crate::history::{History, Line};
    use crate::row::{parse, tests::ROW};
    use std::collections::BTreeMap;

    #[test]
    fn a_line_marks_what_is_wrong_what_is_missing_and_what_is_stale() {
        let folder = tempfile::tempdir().unwrap();
        let named = |name: &str| ROW.replace("status-idle", name);
        let rows = parse(&[ROW, &named("other"), &named("old")].concat()).unwrap();
        let mut history = History::read(&folder.path().join("h")).unwrap();
        history.add(line(&rows[0], Answer::NotAffected)).unwrap();
        history.add(line(&rows[0], Answer::Affected)).unwrap();
        history.add(Line { judge: None, ..line(&rows[2], Answer::Inconclusive) }).unwrap();
        let rows: Vec<Standing> = rows.iter().map(|row| Standing::of(row, &history)).collect();
        let text = text(&rows);
        let wrong = "| status-idle | idle host | 2 of 10 | affected 1, not-affected 1 **WRONG: \
                     affected** | not-affected | affected | 2.0 |  | 73bdb32e | 2026-11-25 |";
        assert!(text.contains(wrong), "{text}");
        let missing =
            "| other | idle host | 0 of 10 | not run yet | not-affected | affected |  |  |  |";
        assert!(text.contains(missing), "{text}");
        assert!(text.contains("| old | idle host | 0 of 10 | stale: inconclusive 1 |"), "{text}");
        assert!(text.contains("| `tailback run mmap-lock --procfile status --busy '0,10'`, idle"));
    }

    #[test]
    fn a_share_has_a_fraction_where_it_needs_one() {
        let mut row = parse(ROW).unwrap().remove(0);
        row.at_most = BTreeMap::from([(Answer::Affected, 0.025), (Answer::Inconclusive, 0.2)]);
        assert_eq!(with_share(&row, Answer::Affected), "affected (2.5%)");
        assert_eq!(with_share(&row, Answer::Inconclusive), "inconclusive (20%)");
        assert_eq!(with_share(&row, Answer::NotAffected), "not-affected");
    }
}
