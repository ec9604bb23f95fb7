//! One figure over many records, as a chart.

use super::axis::Axis;
use super::draw::{all, dot};
use super::frame::{Frame, Line};
use super::{Chart, Table, WIDTH, interval, palette};
use crate::ReportError;
use crate::history::Line as Past;
use maud::html;

/// Most records that are drawn.
const MOST: usize = 200;

/// The figure of each record, oldest first. None if no record has the figure.
///
/// # Errors
/// If the drawing library fails.
pub fn history(past: &[Past]) -> Result<Option<Chart>, ReportError> {
    let records = past.len();
    let picked = super::pick::evenly(records, MOST);
    let past: Vec<&Past> = picked.iter().map(|at| &past[*at]).collect();
    let Some(first) = past.first() else { return Ok(None) };
    let unit = first.estimate.unit.symbol();
    let figures: Vec<f64> = past.iter().map(|p| p.estimate.median).collect();
    let mut x = Axis::slots(past.len());
    x.title = "records, oldest first".to_owned();
    let reached = interval::figures(past.iter().map(|past| &past.estimate));
    let frame = Frame::new(x, Axis::fitting(&reached, unit));
    let place = |at: usize| at as f64 + 0.5;
    let path = figures.iter().enumerate().map(|(at, figure)| (place(at), *figure)).collect();
    let (mut body, plane) =
        frame.draw("history", &[Line { color: palette::CONTROL, points: path }])?;
    body.push_str(&all(past.iter().enumerate().map(|(at, past)| {
        let (x, e) = (plane.x(place(at)), &past.estimate);
        let title = format!("{}, {}: {e}, {}", past.started, past.kernel, past.verdict.word());
        html! {
            g class=(format!("state-{}", past.verdict.word())) {
                (interval::upright(e, x, &plane))
                (dot(x, plane.y(e.median), e.median_at_least, &title))
            }
        }
    })));
    let mut table = Table::new(["started", "kernel", "arm", "median", "interval", "verdict"]);
    table.rows = past.iter().map(|past| past.cells().to_vec()).collect();
    let comma = if unit.is_empty() { "" } else { ", " };
    Ok(Some(Chart {
        title: format!("{} of {}{comma}{unit}", first.measure, first.scenario),
        about: "Each dot is a record with its interval, oldest first. The records were not \
                measured in turns, so the machine itself may have changed between them."
            .to_owned(),
        body,
        size: (WIDTH, frame.height),
        legend: Vec::new(),
        table,
        left_out: (records > MOST)
            .then(|| format!("{MOST} of {records} records are drawn and listed, evenly spaced.")),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::testing::estimate;
    use model::{Estimate, State, Unit};

    fn record(high: f64) -> Past {
        let middle = estimate(10.0, Unit::Milliseconds);
        Past {
            scenario: "some-stall".to_owned(),
            measure: "lost".to_owned(),
            started: "2026-11-21T10:00:00Z".to_owned(),
            kernel: "6.18.0".to_owned(),
            arm: "case".to_owned(),
            estimate: Estimate { high: Some(high), ..middle },
            verdict: State::Affected,
            path: "a.json".to_owned(),
        }
    }

    #[test]
    fn records_that_are_not_drawn_are_counted() {
        let of = |records: usize| history(&vec![record(10.0); records]).unwrap().unwrap();
        assert_eq!(of(MOST).left_out, None);
        let many = of(MOST + 1);
        assert!(many.left_out.unwrap().starts_with("200 of 201 records are drawn"));
        assert_eq!(many.table.rows.len(), MOST);
    }

    #[test]
    fn the_axis_reaches_the_ends_of_intervals() {
        let chart = history(&[record(10.0), record(900.0)]).unwrap().unwrap();
        assert!(chart.body.contains("1000"), "{}", chart.body);
    }
}
