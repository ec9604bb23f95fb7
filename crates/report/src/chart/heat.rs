//! A series with many columns as a heat map: time from left to right, one row per column.

use super::axis::Axis;
use super::draw::{all, n, short, words};
use super::frame::{Frame, LETTERS, Plane};
use super::pick::evenly;
use super::{Chart, MOST_ROWS, Table, WIDTH};
use crate::ReportError;
use maud::{Markup, html};
use model::estimate::number;
use model::{Series, Trial};

/// Most rows that are drawn.
const MOST_LANES: usize = 24;

/// Most time bins.
const MOST_STEPS: usize = 60;

/// Number of shades between zero and the maximum.
const SHADES: f64 = 6.0;

/// A row of cells: the start and the end of each cell, and its figure.
struct Lane<'a> {
    name: &'a str,
    cells: Vec<(f64, f64, f64)>,
}

/// The heat map of one series of one trial; `what` describes the series. `most` is the figure of
/// the darkest shade, so that several maps can share it.
///
/// # Errors
/// If the drawing library fails.
pub fn heat(trial: &Trial, series: &Series, what: &str, most: f64) -> Result<Chart, ReportError> {
    let picked = evenly(series.columns.len(), MOST_LANES);
    let lanes: Vec<Lane> = picked.iter().map(|column| lane(series, *column)).collect();
    let height = (460 / lanes.len().max(1)).clamp(20, 52);
    let frame = Frame {
        x: Axis::linear(series.at_ms.iter().copied(), "ms after the load was released"),
        y: Axis::slots(1),
        height: u32::try_from(height * lanes.len()).unwrap_or(480) + LETTERS * 4,
        left: 190,
    };
    let (mut body, plane) = frame.draw("heat map", &[])?;
    let rows = lanes.iter().enumerate().map(|(place, lane)| {
        draw(lane, (plane.top + (height * place) as f64, height as f64), &plane, (most, series))
    });
    body.push_str(&all(rows));
    let shown = series.columns.len();
    Ok(Chart {
        title: format!("{what}: {}", trial.arm),
        about: format!(
            "{what} in one trial of {} (block {}, the trial with the median judged figure); darker \
             means more, up to {}{}.",
            trial.arm,
            trial.block + 1,
            number(most),
            behind(series.unit.symbol())
        ),
        body,
        size: (WIDTH, frame.height),
        legend: Vec::new(),
        table: table(series),
        left_out: (shown > MOST_LANES)
            .then(|| format!("{MOST_LANES} of {shown} rows are drawn, evenly spaced.")),
    })
}

fn lane(series: &Series, column: usize) -> Lane<'_> {
    let moments = series.at_ms.len();
    let step = moments.div_ceil(MOST_STEPS).max(1);
    let mut cells: Vec<(f64, f64, f64)> = Vec::new();
    for from in (0..moments).step_by(step) {
        let until = (from + step).min(moments);
        let figures = series.rows[from..until].iter().filter_map(|row| row.get(column).copied()?);
        // A bin shows its maximum, since peaks are what matters.
        let Some(figure) = figures.reduce(f64::max) else { continue };
        let start = series.at_ms[from];
        let end = series.at_ms.get(until).copied().unwrap_or_else(|| series.at_ms[moments - 1]);
        match cells.last_mut() {
            Some((_, last, same)) if *same == figure && *last == start => *last = end,
            _ => cells.push((start, end, figure)),
        }
    }
    Lane { name: series.columns.get(column).map_or("", String::as_str), cells }
}

fn draw(
    lane: &Lane,
    (top, height): (f64, f64),
    plane: &Plane,
    (most, series): (f64, &Series),
) -> Markup {
    let unit = series.unit.symbol();
    html! {
        (words("lane-name", (plane.left - 10.0, top + height / 2.0 + 9.0), &short(lane.name, 12)))
        @for (from, until, figure) in &lane.cells {
            @let shade = shade(*figure, most);
            @let (left, right) = (plane.x(*from), plane.x(*until));
            @if shade > 0 {
                path class=(format!("h{shade}")) d=(format!("M{} {}h{}v{}h-{}z", n(left), n(top), n((right - left).max(1.0)), n(height - 2.0), n((right - left).max(1.0)))) {
                    title { (lane.name) ", " (number(*from)) " to " (number(*until)) " ms: " (number(*figure)) " " (unit) }
                }
            }
        }
    }
}

/// A unit as it follows a figure.
fn behind(symbol: &str) -> String {
    if symbol.is_empty() { String::new() } else { format!(" {symbol}") }
}

/// The shade of a figure; 0 for zero.
fn shade(figure: f64, most: f64) -> u8 {
    let part = if most > 0.0 { figure / most } else { 0.0 };
    if part.is_finite() { (part.clamp(0.0, 1.0) * SHADES).ceil() as u8 } else { 0 }
}

/// The largest figure of these series.
pub fn most<'a>(series: impl Iterator<Item = &'a Series>) -> f64 {
    let figures = series.flat_map(|series| series.rows.iter().flatten().copied().flatten());
    figures.filter(|figure| figure.is_finite()).fold(0.0, f64::max)
}

/// Some moments of a series with all its columns, as many as fit the page.
pub fn table(series: &Series) -> Table {
    let columns = evenly(series.columns.len(), MOST_LANES);
    let mut table = Table { head: vec!["ms".to_owned()], rows: Vec::new() };
    table.head.extend(columns.iter().map(|column| series.columns[*column].clone()));
    for at in evenly(series.rows.len(), MOST_ROWS / 4) {
        let cell = |column: &usize| {
            series.rows[at].get(*column).copied().flatten().map_or_else(|| "-".to_owned(), number)
        };
        let mut row = vec![number(series.at_ms[at])];
        row.extend(columns.iter().map(cell));
        table.rows.push(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Unit;

    #[test]
    fn a_peak_survives_the_merging_of_moments() {
        let mut series = Series::new(Unit::Count, vec!["a".into()]);
        (0..1000)
            .for_each(|i| series.push(f64::from(i), vec![Some(f64::from(i32::from(i == 500)))]));
        let lane = lane(&series, 0);
        assert!(lane.cells.len() <= 3, "{:?}", lane.cells);
        assert!(lane.cells.iter().any(|cell| cell.2 == 1.0));
        assert_eq!(
            (shade(0.0, 5.0), shade(5.0, 5.0), shade(f64::NAN, 5.0), shade(1.0, 0.0)),
            (0, 6, 0, 0)
        );
    }
}
