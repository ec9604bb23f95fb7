//! One series against another one of the same trial, such as a cost against the length of a
//! queue.

use super::axis::Axis;
use super::draw::{all, dot};
use super::frame::Frame;
use super::pick::evenly;
use super::{Chart, MOST_ROWS, Table, WIDTH, palette};
use crate::ReportError;
use crate::prose;
use maud::html;
use model::estimate::number;
use model::{Judged, Meta, Series, Trial};

/// Most dots of an arm.
const MOST_DOTS: usize = 150;

/// A dot: the figure of the other series, and the figure of this one.
type Point = (f64, f64);

/// The series of this name against the series that it depends on, with one trial of each arm.
/// None if there is nothing to draw.
///
/// # Errors
/// If the drawing library fails.
pub fn scatter(
    record: &Judged,
    name: &str,
    trials: &[&Trial],
    meta: Option<&Meta>,
) -> Result<Option<Chart>, ReportError> {
    let found: Vec<(&Trial, &Series, &Series, Vec<Point>)> =
        trials.iter().filter_map(|trial| pairs(trial, name)).collect();
    let Some((_, series, axis, _)) = found.first() else { return Ok(None) };
    let what = prose::series(name, series, meta);
    let against = prose::series(series.against.as_deref().unwrap_or_default(), axis, meta);
    let all_points = || found.iter().flat_map(|(.., points)| points);
    if all_points().next().is_none() {
        return Ok(None);
    }
    let x: Vec<f64> = all_points().map(|point| point.0).collect();
    let y: Vec<f64> = all_points().map(|point| point.1).collect();
    let frame = Frame::new(Axis::fitting(&x, &against), Axis::fitting(&y, ""));
    let (mut body, plane) = frame.draw(name, &[])?;
    let marks = found.iter().map(|(trial, series, _, points)| {
        let color = palette::of_arm(&record.plan.arms, &trial.arm);
        let unit = series.unit.symbol();
        html! {
            g class=(format!("p{}", color.0)) {
                @for at in evenly(points.len(), MOST_DOTS) {
                    @let (x, y) = points[at];
                    (dot(plane.x(x), plane.y(y), false, &format!("{}: {} {unit} at {}", trial.arm, number(y), number(x))))
                }
            }
        }
    });
    body.push_str(&all(marks));
    let symbol = series.unit.symbol();
    let comma = if symbol.is_empty() { "" } else { ", " };
    Ok(Some(Chart {
        title: format!("{what}{comma}{symbol}, against {against}"),
        about: format!("Each dot is a moment of a trial: {what} against {against}."),
        body,
        size: (WIDTH, frame.height),
        legend: super::strip::legend(&record.plan.arms, found.iter().map(|(t, ..)| t.arm.as_str())),
        table: table(&found),
        left_out: all_points()
            .nth(MOST_DOTS)
            .map(|_| format!("Up to {MOST_DOTS} moments of a trial are drawn, evenly spaced.")),
    }))
}

fn pairs<'a>(
    trial: &'a Trial,
    name: &str,
) -> Option<(&'a Trial, &'a Series, &'a Series, Vec<Point>)> {
    let series = trial.observation.series.get(name)?;
    let against = trial.observation.series.get(series.against.as_deref()?)?;
    if against.rows.len() != series.rows.len() {
        return None;
    }
    let first = |row: &Vec<Option<f64>>| row.first().copied().flatten().filter(|f| f.is_finite());
    let pairs = against.rows.iter().zip(&series.rows);
    let points = pairs.filter_map(|(x, y)| Some((first(x)?, first(y)?))).collect();
    Some((trial, series, against, points))
}

fn table(found: &[(&Trial, &Series, &Series, Vec<Point>)]) -> Table {
    let mut table = Table::new(["arm", "at", "figure"]);
    for (trial, _, _, points) in found {
        for at in evenly(points.len(), MOST_ROWS / 4) {
            table.rows.push(vec![trial.arm.clone(), number(points[at].0), number(points[at].1)]);
        }
    }
    table
}
