//! The effect of each version, with intervals, and the boundaries between versions.

use super::axis::{Axis, Scale};
use super::draw::{all, dot, line, short, words};
use super::frame::{Frame, Line, Plane};
use super::{Chart, MOST_ROWS, Table, WIDTH, palette};
use crate::ReportError;
use crate::prose::ladder as prose;
use maud::html;
use model::ladder::{Ladder, Rung};
use model::prose::figures;
use model::{ChangeState, Comparison, Meta};

/// Most versions that are drawn.
const MOST: usize = 64;

/// Most characters of a name below the chart.
const LETTERS: usize = 8;

/// The chart. None if no version has an effect.
///
/// # Errors
/// If the drawing library fails.
pub fn ladder(ladder: &Ladder, meta: Option<&Meta>) -> Result<Option<Chart>, ReportError> {
    let rungs = &ladder.rungs[..ladder.rungs.len().min(MOST)];
    let effects = || rungs.iter().filter_map(|rung| rung.effect.as_ref());
    let Some(first) = effects().next() else { return Ok(None) };
    let ends = effects().flat_map(|e| [Some(e.shift), e.low, e.high]).flatten();
    // Effects may be negative, so the axis is linear.
    let y = Axis::linear(ends, first.unit.symbol());
    let frame = Frame::new(slots(rungs), y);
    let place = |at: usize| at as f64 + 0.5;
    let points = rungs.iter().enumerate();
    let path = points.filter_map(|(at, rung)| Some((place(at), rung.effect.as_ref()?.shift)));
    let line_of = Line { color: palette::CONTROL, points: path.collect() };
    let (mut body, plane) = frame.draw("ladder", &[line_of])?;
    let of = |name: &str| rungs.iter().position(|rung| rung.name == name);
    body.push_str(&all(ladder.steps.iter().filter(|step| step.is_boundary()).filter_map(|step| {
        let between = (place(of(&step.from)?) + place(of(&step.to)?)) / 2.0;
        let x = plane.x(between);
        Some(html! {
            g class="p2" {
                (line("interval", (x, plane.top), (x, plane.bottom)))
                (words("label", (x + 6.0, plane.top + 22.0), "changes"))
            }
        })
    })));
    body.push_str(&all(rungs.iter().enumerate().filter_map(|(at, rung)| {
        let effect = rung.effect.as_ref()?;
        let (x, color) = (plane.x(place(at)), palette::of_thing(1));
        Some(html! {
            g class=(format!("p{}", color.0)) {
                @if let Some((low, high)) = interval(effect, &plane) {
                    (line("interval", (x, low), (x, high)))
                }
                (dot(x, plane.y(effect.shift), effect.shift_at_least, &label(rung, effect)))
            }
        })
    })));
    let title = prose::followed(ladder, meta).unwrap_or_else(|| "Effect by version".to_owned());
    Ok(Some(Chart {
        title,
        about: "The effect of each version with its interval. A vertical line marks a change that \
                fresh runs show too."
            .to_owned(),
        body,
        size: (WIDTH, frame.height),
        legend: Vec::new(),
        table: table(ladder),
        left_out: (ladder.rungs.len() > MOST)
            .then(|| format!("The first {MOST} of {} versions are drawn.", ladder.rungs.len())),
    }))
}

/// The ends of the interval of an effect in the drawing; an open end is at the edge. None if there
/// is no interval.
fn interval(effect: &Comparison, plane: &Plane) -> Option<(f64, f64)> {
    if effect.low.is_none() && effect.high.is_none() {
        return None;
    }
    let low = effect.low.map_or(plane.bottom, |low| plane.y(low));
    let high = effect.high.map_or(plane.top, |high| plane.y(high));
    Some((low, high))
}

/// A slot for each version, with its name below.
fn slots(rungs: &[Rung]) -> Axis {
    let high = rungs.len().max(1) as f64;
    let every = rungs.len().div_ceil(12).max(1);
    let name = |rung: &Rung| {
        let last = rung.name.rsplit([':', '/']).next().unwrap_or(&rung.name);
        short(last, LETTERS)
    };
    let ticks = rungs.iter().enumerate().step_by(every);
    let ticks = ticks.map(|(at, rung)| (at as f64 + 0.5, name(rung))).collect();
    Axis { scale: Scale::Linear, low: 0.0, high, ticks, title: "version".to_owned() }
}

fn label(rung: &Rung, effect: &Comparison) -> String {
    format!("{} ({}): {}", rung.name, rung.release, figures::shift(effect))
}

fn table(ladder: &Ladder) -> Table {
    let mut table = Table::new(["version", "release", "verdict", "effect"]);
    let row = |rung: &Rung| {
        let verdict = rung.verdict.map_or("no record", model::State::word);
        let effect = prose::effect(rung).unwrap_or_else(|| "-".to_owned());
        vec![rung.name.clone(), rung.release.clone(), verdict.to_owned(), effect]
    };
    table.rows = ladder.rungs.iter().take(MOST_ROWS).map(row).collect();
    table
}

/// The result of each step between neighbouring versions, and of the step from the first to the
/// last.
pub fn steps(ladder: &Ladder) -> Table {
    let mut table = Table::new(["from", "to", "change", "shown", "known"]);
    let row = |step: &model::ladder::Step| {
        let shown = match step.state {
            ChangeState::NotComparable => "not compared",
            _ if step.is_boundary() => "it changes, in fresh runs too",
            _ if step.repeated.is_some() => "it changes in the first runs only",
            _ if step.differs() => "these runs differ",
            _ => "no change shown",
        };
        let shift = step.shift.as_ref().map_or_else(|| "-".to_owned(), figures::shift);
        let nothing = if step.is_boundary() { "not known" } else { "-" };
        let known = prose::known(step).unwrap_or_else(|| nothing.to_owned());
        vec![step.from.clone(), step.to.clone(), shift, shown.to_owned(), known]
    };
    let all = ladder.steps.iter().chain(&ladder.whole);
    table.rows = all.take(MOST_ROWS).map(row).collect();
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::testing::difference;

    #[test]
    fn versions_that_are_not_drawn_are_counted() {
        let effect = difference(20.0, 900.0).comparison;
        let rung = |at: usize| Rung {
            name: format!("v{at}"),
            release: "6.18.0".to_owned(),
            preemption: None,
            verdict: None,
            effect: Some(effect.clone()),
        };
        let of = |versions: usize| {
            let rungs = (0..versions).map(rung).collect();
            let many = Ladder { rungs, ..model::testing::ladder(Vec::new()) };
            super::ladder(&many, None).unwrap().unwrap().left_out
        };
        assert_eq!(of(MOST), None);
        assert!(of(MOST + 1).unwrap().contains("64 of 65 versions"));
    }

    #[test]
    fn an_open_end_of_an_interval_reaches_the_edge() {
        let whole = difference(20.0, 900.0).comparison;
        let y = Axis::linear([0.0, 1000.0].into_iter(), "ms/s");
        let (_, plane) = Frame::new(Axis::slots(1), y).draw("test", &[]).unwrap();
        let open = Comparison { high: None, ..whole.clone() };
        assert_eq!(interval(&open, &plane), Some((plane.y(870.0), plane.top)));
        assert!(interval(&whole, &plane).unwrap().1 > plane.top);
        let none = Comparison { low: None, high: None, ..whole };
        assert_eq!(interval(&none, &plane), None);
    }
}
