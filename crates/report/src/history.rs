//! One figure over many records, as text.

use crate::Look;
use model::{Estimate, State};
use os::terminal::line as plain;
use std::fmt::Write as _;

/// Columns of the bar that shows a figure beside the others.
const BAR: usize = 24;

/// What one record says of one figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its scenario.
    pub scenario: String,
    /// The figure.
    pub measure: String,
    /// When its study began (RFC 3339, UTC).
    pub started: String,
    /// The kernel it ran on.
    pub kernel: String,
    /// The arm that the figure is of.
    pub arm: String,
    /// The figure.
    pub estimate: Estimate,
    /// The verdict of the record.
    pub verdict: State,
    /// Its file.
    pub path: String,
}

impl Line {
    /// When, kernel, arm, median, interval and verdict, as cells of a table.
    pub fn cells(&self) -> [String; 6] {
        [
            self.started.clone(),
            self.kernel.clone(),
            self.arm.clone(),
            self.estimate.figure(),
            self.estimate.interval(),
            self.verdict.word().to_owned(),
        ]
    }
}

/// A table of records of one scenario, oldest first, each with a bar as long as its figure.
pub fn text(lines: &[Line], look: Look) -> String {
    let Some(first) = lines.first() else { return String::new() };
    let unit = first.estimate.unit.symbol();
    let comma = if unit.is_empty() { "" } else { ", " };
    let mut text = format!("{}: {}{comma}{unit}\n", plain(&first.scenario), plain(&first.measure));
    let most = lines.iter().map(|line| line.estimate.median).fold(0.0, f64::max);
    let mut table = crate::text::bare();
    table.set_header(["started", "kernel", "arm", "median", "interval", "verdict", ""]);
    for line in lines {
        let mut row = line.cells().map(|cell| plain(&cell)).to_vec();
        row.push(bar(line.estimate.median, most));
        table.add_row(row);
    }
    crate::text::align_right(&mut table, 3..4);
    for line in table.lines() {
        let _ = writeln!(text, "  {}", crate::text::paint_states(line.trim_end(), look));
    }
    text
}

fn bar(figure: f64, most: f64) -> String {
    let part = if most > 0.0 { (figure / most).clamp(0.0, 1.0) } else { 0.0 };
    "#".repeat((part * BAR as f64).round() as usize)
}
