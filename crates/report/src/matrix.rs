//! A table of kernels and their verdicts.

use crate::text::{Look, bare, paint_states};
use std::fmt::Write as _;

/// Lays the rows out: kernel, release, verdict, effect, expectation, fix.
pub fn matrix(rows: impl Iterator<Item = [String; 6]>, look: Look) -> String {
    let mut table = bare();
    table.set_header(["kernel", "release", "verdict", "effect", "expected", "fixed by"]);
    for row in rows {
        table.add_row(row);
    }
    let mut text = String::new();
    for line in table.lines() {
        let _ = writeln!(text, "  {}", paint_states(line.trim_end(), look));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_stands_in_its_columns() {
        let row = ["debian:6.1", "6.1.0", "affected", "busy-10 968", "affected", "-"];
        let text = matrix([row.map(str::to_owned)].into_iter(), Look::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!(lines[0].find("verdict"), lines[1].find("affected"));
    }
}
