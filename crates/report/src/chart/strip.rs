//! Every trial as a dot, arm by arm, with the median and its interval above the dots.

use super::axis::Axis;
use super::draw::{all, dot, line, n, short, words};
use super::frame::{Frame, LETTERS, Plane};
use super::pick::{evenly, of_arm};
use super::{Chart, Color, MOST_ROWS, Table, WIDTH, palette};
use crate::ReportError;
use maud::{Markup, html};
use model::estimate::number;
use model::scenario::MeasureMeta;
use model::{Arm, ArmResult, Estimate, Judged, Trial};

/// Most dots of an arm.
const MOST_DOTS: usize = 150;

/// Most arms that are drawn.
const MOST_ARMS: usize = 14;

/// Height of the row of an arm, in drawing units.
const ROW: u32 = 92;

/// The distribution of one figure over the trials. None if no trial has the figure.
///
/// # Errors
/// If the drawing library fails.
pub fn strip(
    record: &Judged,
    name: &str,
    meta: Option<&MeasureMeta>,
) -> Result<Option<Chart>, ReportError> {
    let has = |arm: &&ArmResult| arm.measures.contains_key(name);
    let arms: Vec<&ArmResult> = record.judgement.arms.iter().filter(has).collect();
    let Some(unit) = arms.iter().find_map(|arm| arm.measures.get(name)).map(|e| e.unit) else {
        return Ok(None);
    };
    let drawn = &arms[..arms.len().min(MOST_ARMS)];
    let heading = meta.map_or(name, |meta| meta.heading);
    let title = match unit.symbol() {
        "" => heading.to_owned(),
        symbol => format!("{heading}, {symbol}"),
    };
    let frame = Frame {
        x: Axis::fitting(&values(record, drawn, name), &title),
        y: Axis::slots(drawn.len()),
        height: ROW * u32::try_from(drawn.len()).unwrap_or(1) + LETTERS * 4,
        left: 24,
    };
    let (mut body, plane) = frame.draw(name, &[])?;
    let mut rows = Vec::new();
    for (place, arm) in drawn.iter().enumerate() {
        rows.push(row(record, arm, name, place, &plane));
    }
    body.push_str(&all(rows.into_iter()));
    let most = arms.iter().map(|arm| of_arm(record, &arm.id).len()).max().unwrap_or(0);
    Ok(Some(Chart {
        about: about(meta, &arms, name),
        title,
        body,
        size: (WIDTH, frame.height),
        legend: Vec::new(),
        table: table(&arms, name, unit.symbol()),
        left_out: left_out(arms.len(), most),
    }))
}

fn values(record: &Judged, arms: &[&ArmResult], name: &str) -> Vec<f64> {
    let drawn = |trial: &&Trial| arms.iter().any(|arm| arm.id == trial.arm);
    let trials = record.trials.iter().filter(drawn);
    let figures = trials.filter_map(|trial| trial.observation.measures.get(name));
    figures.map(|figure| figure.value).filter(|value| value.is_finite()).collect()
}

fn row(record: &Judged, arm: &ArmResult, name: &str, place: usize, plane: &Plane) -> Markup {
    let top = plane.top + f64::from(ROW) * place as f64;
    let middle = top + 64.0;
    let color = palette::of_arm(&record.plan.arms, &arm.id);
    let estimate = arm.measures.get(name);
    let sentence = estimate.map_or_else(String::new, ToString::to_string);
    let edge = (plane.left, plane.right);
    html! {
        g class=(format!("p{}", color.0)) {
            (words("label", (edge.0, top + 32.0), &short(&arm.id, 22)))
            (words("value", (edge.1, top + 32.0), &short(&sentence, 34)))
            (dots(record, &arm.id, name, middle, plane))
            @if let Some(estimate) = estimate { (interval(estimate, middle, plane, &arm.id)) }
        }
    }
}

fn dots(record: &Judged, arm: &str, name: &str, middle: f64, plane: &Plane) -> Markup {
    let trials = of_arm(record, arm);
    let figures: Vec<_> = trials
        .iter()
        .filter_map(|trial| Some((trial.block, trial.observation.measures.get(name)?)))
        .filter(|(_, figure)| figure.value.is_finite())
        .collect();
    html! {
        @for at in evenly(figures.len(), MOST_DOTS) {
            @let (block, figure) = &figures[at];
            // Dots are offset by the order of the trials, so that equal figures do not overlap.
            @let y = middle + f64::from(u32::try_from(at * 7 % 5).unwrap_or(0)) * 6.0 - 12.0;
            @let bound = if figure.at_least { ">= " } else { "" };
            @let title = format!("{arm}, block {}: {bound}{} {}", block + 1, number(figure.value), figure.unit.symbol());
            (dot(plane.x(figure.value), y, figure.at_least, &title))
        }
    }
}

/// The median as a bar, and its interval as a line with end marks. An open end has no mark.
fn interval(estimate: &Estimate, middle: f64, plane: &Plane, arm: &str) -> Markup {
    let x = plane.x(estimate.median);
    let low = estimate.low.map_or(x, |low| plane.x(low));
    let high = match (estimate.high, estimate.high_unbounded) {
        (Some(high), _) => plane.x(high),
        (None, true) => plane.right,
        (None, false) => x,
    };
    let cap = |at: f64| line("interval", (at, middle - 9.0), (at, middle + 9.0));
    html! {
        (line("interval", (low, middle), (high, middle)))
        @if estimate.low.is_some() { (cap(low)) }
        @if estimate.high.is_some() { (cap(high)) }
        rect.median x=(n(x - 3.0)) y=(n(middle - 20.0)) width="6" height="40" {
            title { (arm) ": median " (estimate) }
        }
    }
}

fn about(meta: Option<&MeasureMeta>, arms: &[&ArmResult], name: &str) -> String {
    let help = meta.map_or_else(String::new, |meta| format!("{}. ", capital(meta.help)));
    let medians: Vec<String> = arms
        .iter()
        .take(4)
        .filter_map(|arm| Some(format!("{} {}", arm.id, arm.measures.get(name)?)))
        .collect();
    format!(
        "{help}Each dot is a trial; the bar is the median, the line its interval. Medians: {}.",
        medians.join("; ")
    )
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

fn table(arms: &[&ArmResult], name: &str, unit: &str) -> Table {
    let mut table = Table::new(["arm", "trials", "median", "interval", "least", "most", "unit"]);
    for arm in arms.iter().take(MOST_ROWS) {
        let Some(e) = arm.measures.get(name) else { continue };
        let most = format!("{}{}", if e.max_at_least { ">= " } else { "" }, number(e.max));
        table.rows.push(vec![
            arm.id.clone(),
            e.trials.to_string(),
            e.figure(),
            e.interval(),
            number(e.min),
            most,
            unit.to_owned(),
        ]);
    }
    table
}

fn left_out(arms: usize, trials: usize) -> Option<String> {
    let mut parts = Vec::new();
    if arms > MOST_ARMS {
        parts.push(format!("{MOST_ARMS} of {arms} arms are drawn"));
    }
    if trials > MOST_DOTS {
        parts.push(format!("{MOST_DOTS} of {trials} trials of an arm are drawn, evenly spaced"));
    }
    (!parts.is_empty()).then(|| format!("Here {}; the figures include all.", parts.join(", and ")))
}

/// Names and colours of these arms.
pub fn legend<'a>(arms: &[Arm], ids: impl Iterator<Item = &'a str>) -> Vec<(Color, String)> {
    ids.map(|id| (palette::of_arm(arms, id), id.to_owned())).collect()
}
