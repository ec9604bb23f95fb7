//! One figure over many records, as a chart.

use super::axis::Axis;
use super::draw::{all, dot, line};
use super::frame::{Frame, Line};
use super::{Chart, Table, WIDTH, palette};
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
    let picked = super::pick::evenly(past.len(), MOST);
    let past: Vec<&Past> = picked.iter().map(|at| &past[*at]).collect();
    let Some(first) = past.first() else { return Ok(None) };
    let unit = first.estimate.unit.symbol();
    let figures: Vec<f64> = past.iter().map(|p| p.estimate.median).collect();
    let mut x = Axis::slots(past.len());
    x.title = "records, oldest first".to_owned();
    let frame = Frame::new(x, Axis::fitting(&figures, unit));
    let place = |at: usize| at as f64 + 0.5;
    let path = figures.iter().enumerate().map(|(at, figure)| (place(at), *figure)).collect();
    let (mut body, plane) =
        frame.draw("history", &[Line { color: palette::CONTROL, points: path }])?;
    body.push_str(&all(past.iter().enumerate().map(|(at, past)| {
        let (x, e) = (plane.x(place(at)), &past.estimate);
        let title = format!("{}, {}: {e}, {}", past.started, past.kernel, past.verdict.word());
        html! {
            g class=(format!("state-{}", past.verdict.word())) {
                @if let (Some(low), Some(high)) = (e.low, e.high) {
                    (line("interval", (x, plane.y(low)), (x, plane.y(high))))
                }
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
        left_out: None,
    }))
}
