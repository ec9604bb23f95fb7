//! A series with few columns as lines over time.

use super::axis::Axis;
use super::frame::{Frame, Line};
use super::pick::evenly;
use super::{Chart, Table, WIDTH, heat, palette};
use crate::ReportError;
use model::{Judged, Series, Trial};

/// Most columns that are drawn as lines. A series with more columns becomes a heat map.
pub const MOST_LINES: usize = 4;

/// Most moments that are drawn.
const MOST_MOMENTS: usize = 300;

/// The lines of one series of one trial; `what` describes the series. The time axis ends at
/// `until_ms`, so that charts below one another share it.
///
/// # Errors
/// If the drawing library fails.
pub fn lines(
    trial: &Trial,
    series: &Series,
    what: &str,
    until_ms: f64,
    most: f64,
) -> Result<Chart, ReportError> {
    let unit = series.unit.symbol();
    let x = Axis::linear([0.0, until_ms].into_iter(), "ms after the load was released");
    let y = Axis::linear([0.0, most].into_iter(), unit);
    let columns = 0..series.columns.len().min(MOST_LINES);
    let drawn: Vec<Line> = columns.map(|column| line(series, column)).collect();
    let frame = Frame { height: 400, ..Frame::new(x, y) };
    let (body, _) = frame.draw("series", &drawn)?;
    let names = series.columns.iter().take(MOST_LINES).enumerate();
    let comma = if unit.is_empty() { "" } else { ", " };
    Ok(Chart {
        title: format!("{what}{comma}{unit}: {}", trial.arm),
        about: format!(
            "{what} over one trial of {} (block {}, the trial with the median judged figure).",
            trial.arm,
            trial.block + 1
        ),
        body,
        size: (WIDTH, frame.height),
        legend: names.map(|(place, name)| (palette::of_thing(place), name.clone())).collect(),
        table: heat::table(series),
        left_out: (series.rows.len() > MOST_MOMENTS).then(|| {
            format!("{MOST_MOMENTS} of {} moments are drawn, evenly spaced.", series.rows.len())
        }),
    })
}

/// A series of one column, with one line per arm; `what` describes it. None without arms.
///
/// # Errors
/// If the drawing library fails.
pub fn arms(
    record: &Judged,
    drawn: &[(&Trial, &Series)],
    what: &str,
) -> Result<Option<Chart>, ReportError> {
    let Some((_, first)) = drawn.first() else { return Ok(None) };
    let unit = first.unit.symbol();
    let moments = drawn.iter().flat_map(|(_, series)| series.at_ms.iter().copied());
    let x = Axis::linear(moments, "ms after the load was released");
    let most = heat::most(drawn.iter().map(|(_, series)| *series));
    let y = Axis::linear([0.0, most].into_iter(), unit);
    let color = |trial: &Trial| palette::of_arm(&record.plan.arms, &trial.arm);
    let path =
        |(trial, series): &(&Trial, &Series)| Line { color: color(trial), ..line(series, 0) };
    let frame = Frame { height: 400, ..Frame::new(x, y) };
    let (body, _) = frame.draw("series", &drawn.iter().map(path).collect::<Vec<_>>())?;
    let comma = if unit.is_empty() { "" } else { ", " };
    let moments_of_longest = drawn.iter().map(|(_, series)| series.rows.len()).max().unwrap_or(0);
    let blocks =
        drawn.iter().map(|(trial, _)| format!("{} (block {})", trial.arm, trial.block + 1));
    Ok(Some(Chart {
        title: format!("{what}{comma}{unit}"),
        about: format!(
            "{what} over one trial of each arm, the trial with the median judged figure: {}.",
            blocks.collect::<Vec<String>>().join(", ")
        ),
        body,
        size: (WIDTH, frame.height),
        legend: drawn.iter().map(|(trial, _)| (color(trial), trial.arm.clone())).collect(),
        table: beside(drawn),
        left_out: (moments_of_longest > MOST_MOMENTS)
            .then(|| format!("Up to {MOST_MOMENTS} moments of an arm are drawn, evenly spaced.")),
    }))
}

/// The figures of these arms at some moments.
fn beside(drawn: &[(&Trial, &Series)]) -> Table {
    let mut table = Table::new(["arm", "ms", "figure"]);
    for (trial, series) in drawn {
        let rows = heat::table(series).rows.into_iter();
        table.rows.extend(rows.map(|row| {
            let mut cells = vec![trial.arm.clone()];
            cells.extend(row);
            cells
        }));
    }
    table
}

fn line(series: &Series, column: usize) -> Line {
    let moments = evenly(series.rows.len(), MOST_MOMENTS).into_iter();
    let points = moments.filter_map(|at| {
        let figure = series.rows[at].get(column).copied()??;
        figure.is_finite().then_some((series.at_ms[at], figure))
    });
    Line { color: palette::of_thing(column), points: points.collect() }
}
