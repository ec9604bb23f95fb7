//! A table of versions with their verdicts, and the versions between which the effect changes.

use crate::grid::{Cell, Column, Grid};
use crate::look::Look;
use crate::prose::plain;
use model::State;
use std::fmt::Write as _;

/// A version and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The name that was used to request the version.
    pub name: String,
    /// Its kernel release.
    pub release: String,
    /// Its verdict, or the reason why its guest ended without one.
    pub result: Result<State, String>,
    /// The difference of the followed arm over its control.
    pub effect: Option<String>,
    /// The verdict that was expected.
    pub expected: Option<String>,
    /// The effect of each change that was tried.
    pub fixes: Vec<String>,
}

/// The table of these rows.
pub fn matrix(rows: impl Iterator<Item = Row>, look: Look) -> String {
    let titles = ["version", "verdict", "effect", "expected", "release"];
    let mut grid = Grid::new(titles.map(Column::left).to_vec());
    for row in rows {
        let or_dash = |text: Option<String>| Cell::from(text.as_deref().map_or("-".into(), plain));
        grid.row(vec![
            Cell::from(plain(&row.name)),
            row.result.map_or_else(|ending| Cell::from(plain(&ending)), Cell::state),
            or_dash(row.effect),
            or_dash(row.expected),
            Cell::from(plain(numbers(&row.release))),
        ]);
    }
    let parts = grid.parts(look.width, 1);
    parts.iter().map(|part| part.text(look)).collect::<Vec<String>>().join("\n")
}

/// The leading version number of a release. The full release is in the JSON.
pub(crate) fn numbers(release: &str) -> &str {
    let end = release.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    match end.map_or(release, |end| &release[..end]) {
        "" => release,
        numbers => numbers,
    }
}

/// The lines below the table.
pub fn below_matrix(said: &[String], look: Look) -> String {
    let mut text = String::new();
    for line in said {
        let _ = writeln!(text, "{}", look.wrap(line, "  ", "    "));
    }
    text
}

/// The table and the lines below it, as Markdown.
pub fn matrix_markdown(rows: impl Iterator<Item = Row>, said: &[String]) -> String {
    let rows: Vec<Row> = rows.collect();
    let with_fixes = rows.iter().any(|row| !row.fixes.is_empty());
    let mut titles = vec!["version", "release", "verdict", "effect (95%)"];
    titles.extend(with_fixes.then_some("with a change"));
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(&titles.iter().map(|title| (*title).to_owned()).collect::<Vec<_>>());
    let _ = writeln!(text, "|{}", "---|".repeat(titles.len()));
    let cell = |text: &str| plain(text).replace('|', "\\|");
    for row in rows {
        let result = row.result.map_or_else(|ending| ending, |state| state.word().to_owned());
        let effect = row.effect.unwrap_or_else(|| "-".to_owned());
        let mut cells =
            vec![cell(&row.name), cell(numbers(&row.release)), cell(&result), cell(&effect)];
        cells.extend(with_fixes.then(|| cell(&row.fixes.join("; "))));
        text.push_str(&line(&cells));
    }
    for line in said {
        let _ = writeln!(text, "\n{line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_stands_in_its_columns() {
        let row = Row {
            name: "debian:6.1".to_owned(),
            release: "6.1.0-56-cloud-amd64".to_owned(),
            result: Ok(State::Affected),
            effect: Some("+968 ms/s [960, 970]".to_owned()),
            expected: None,
            fixes: Vec::new(),
        };
        let other = Row { result: Err("panic".to_owned()), ..row.clone() };
        let text = matrix([row, other].into_iter(), Look { width: 100, ..Look::default() });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(lines[0].find("verdict"), lines[1].find("affected"));
        assert_eq!(lines[0].find("verdict"), lines[2].find("panic"));
        assert!(lines[1].ends_with("6.1.0"), "{text}");
    }

    #[test]
    fn the_table_of_a_document_has_a_line_a_version() {
        let row = Row {
            name: "a|b".to_owned(),
            release: "7.2.12+deb13".to_owned(),
            result: Ok(State::Affected),
            effect: None,
            expected: None,
            fixes: Vec::new(),
        };
        let text = matrix_markdown([row.clone()].into_iter(), &[]);
        assert!(text.ends_with("| a\\|b | 7.2.12 | affected | - |\n"), "{text}");
        let fixed = Row { fixes: vec!["+S 1: fixed here".to_owned(); 2], ..row.clone() };
        let text = matrix_markdown([row.clone(), fixed].into_iter(), &[]);
        assert!(
            text.starts_with("| version | release | verdict | effect (95%) | with a change |\n")
        );
        assert!(
            text.ends_with("| affected | - | +S 1: fixed here; +S 1: fixed here |\n"),
            "{text}"
        );
        let text = matrix_markdown([row].into_iter(), &["No boundary.".to_owned()]);
        assert!(text.ends_with("| affected | - |\n\nNo boundary.\n"), "{text}");
    }
}
