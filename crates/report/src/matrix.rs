//! A table of kernels and their verdicts.

use crate::grid::{Cell, Column, Grid};
use crate::look::Look;
use crate::prose::plain;
use model::State;

/// A kernel and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The name that the kernel was asked for by.
    pub kernel: String,
    /// Its release.
    pub release: String,
    /// Its verdict, or how else its guest ended.
    pub result: Result<State, String>,
    /// What the worst arm has over its control.
    pub effect: Option<String>,
    /// The verdict that was expected.
    pub expected: Option<String>,
    /// The commits that fix what it shows.
    pub fixed_by: String,
}

/// Lays the rows out.
pub fn matrix(rows: impl Iterator<Item = Row>, look: Look) -> String {
    let titles = ["kernel", "verdict", "effect", "expected", "fixed by", "release"];
    let mut grid = Grid::new(titles.map(Column::left).to_vec());
    for row in rows {
        let or_dash = |text: Option<String>| Cell::from(text.as_deref().map_or("-".into(), plain));
        grid.row(vec![
            Cell::from(plain(&row.kernel)),
            row.result.map_or_else(|ending| Cell::from(plain(&ending)), Cell::state),
            or_dash(row.effect),
            or_dash(row.expected),
            Cell::from(plain(&row.fixed_by)),
            Cell::from(plain(&row.release)),
        ]);
    }
    let parts = grid.parts(look.width, 1);
    parts.iter().map(|part| part.text(look)).collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_stands_in_its_columns() {
        let row = Row {
            kernel: "debian:6.1".to_owned(),
            release: "6.1.0".to_owned(),
            result: Ok(State::Affected),
            effect: Some("busy-10 +968 ms/s [960, 970]".to_owned()),
            expected: None,
            fixed_by: "none known".to_owned(),
        };
        let other = Row { result: Err("panic".to_owned()), ..row.clone() };
        let text = matrix([row, other].into_iter(), Look { width: 100, ..Look::default() });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(lines[0].find("verdict"), lines[1].find("affected"));
        assert_eq!(lines[0].find("verdict"), lines[2].find("panic"));
    }
}
