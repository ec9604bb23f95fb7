//! One figure over many records, as text.

use crate::grid::{Cell, Column, Grid};
use crate::look::Look;
use model::{Estimate, Judged, State};
use os::terminal::line as plain;

/// Width of the bar beside the figures, in columns.
const BAR: usize = 16;

/// The column with the interval, counted from 0.
const INTERVAL: usize = 3;

/// The longest name in a record that is shown, in bytes. Many records are shown together.
const LONGEST_NAME: usize = 4096;

/// One figure of one record.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The scenario of the record.
    pub scenario: String,
    /// The name of the figure.
    pub measure: String,
    /// Start of the study (RFC 3339, UTC).
    pub started: String,
    /// The kernel that the study ran on.
    pub kernel: String,
    /// The arm that has the figure.
    pub arm: String,
    /// The estimate of the figure.
    pub estimate: Estimate,
    /// The verdict of the record.
    pub verdict: State,
    /// The file of the record.
    pub path: String,
}

impl Line {
    /// The figure `measure` of the worst arm of the record in this file; without `measure`, the
    /// judged figure. None if the record does not have the figure, or if one of its names is too
    /// long.
    pub fn new(record: &Judged, path: &str, measure: Option<&str>) -> Option<Line> {
        let judged = record.judgement.measure.as_deref().unwrap_or(&record.plan.judging.measure);
        let arm = model::worst_case(&record.judgement.arms, judged)?;
        let measure = measure.unwrap_or(judged);
        let names = [&record.scenario, measure, &record.started, &record.machine.kernel, &arm.id];
        if names.iter().any(|name| name.len() > LONGEST_NAME) {
            return None;
        }
        Some(Line {
            scenario: record.scenario.clone(),
            measure: measure.to_owned(),
            started: record.started.clone(),
            kernel: record.machine.kernel.clone(),
            arm: arm.id.clone(),
            estimate: arm.measures.get(measure)?.clone(),
            verdict: record.judgement.state,
            path: path.to_owned(),
        })
    }

    /// Start, kernel, arm, median, interval and verdict, as cells of a table.
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

/// A table of records of one scenario, oldest first, each with a bar in proportion to its figure.
pub fn text(lines: &[Line], look: Look) -> String {
    let Some(first) = lines.first() else { return String::new() };
    let unit = first.estimate.unit.symbol();
    let comma = if unit.is_empty() { "" } else { ", " };
    let title = format!("{}: {}{comma}{unit}\n", plain(&first.scenario), plain(&first.measure));
    let most = lines.iter().map(|line| line.estimate.median).fold(0.0, f64::max);
    let mut grid = Grid::new(vec![
        Column::left("started"),
        Column::left("arm"),
        Column::right("median"),
        Column::left("interval"),
        Column::left("verdict"),
        Column::left(""),
        Column::left("kernel"),
    ]);
    for line in lines {
        let [started, kernel, arm, median, interval, _] =
            line.cells().map(|cell| Cell::from(plain(&cell)));
        let (state, bar) = (Cell::state(line.verdict), Cell::from(bar(line.estimate.median, most)));
        grid.row(vec![started, arm, median, interval, state, bar, kernel]);
    }
    // Columns that do not fit beside the figures are left out. The page has all of them.
    let parts = grid.parts_up_to(INTERVAL, look.width, 1);
    let parts: Vec<String> = parts.iter().map(|part| part.text(look)).collect();
    format!("{title}{}", parts.join("\n"))
}

fn bar(figure: f64, most: f64) -> String {
    let part = if most > 0.0 { (figure / most).clamp(0.0, 1.0) } else { 0.0 };
    "#".repeat((part * BAR as f64).round() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_narrow_terminal_has_the_figures_and_leaves_out_what_does_not_fit_beside_them() {
        let lines: Vec<Line> = Line::new(&testing::record(), "a.json", None).into_iter().collect();
        let shown = text(&lines, Look { width: 40, ..Look::default() });
        assert!(shown.contains("900") && shown.contains("[899, 901]"), "{shown}");
        assert!(!shown.contains("6.18.0"), "{shown}");
        assert!(shown.lines().all(|line| line.len() <= 40), "{shown}");
    }
}
