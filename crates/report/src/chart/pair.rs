//! One figure on two sides: before and after, one below the other, arm by arm.

use super::axis::Axis;
use super::draw::{all, line, n, short, words};
use super::frame::{Frame, LETTERS, Plane};
use super::{Chart, Color, Table, WIDTH, palette};
use crate::ReportError;
use crate::prose::change::side;
use maud::{Markup, html};
use model::prose::figures::shift;
use model::scenario::MeasureMeta;
use model::{Basis, Change, Difference, Estimate};

/// Most arms that are drawn.
const MOST_ARMS: usize = 14;

/// Height of the row of an arm, in drawing units.
const ROW: u32 = 104;

/// Colours of the two sides.
const BEFORE: Color = palette::CONTROL;
const AFTER: Color = Color(6);

/// The medians of one figure on both sides. None if no arm has the figure on both sides.
///
/// # Errors
/// If the drawing library fails.
pub fn pair(
    change: &Change,
    name: &str,
    meta: Option<&MeasureMeta>,
) -> Result<Option<Chart>, ReportError> {
    let arms =
        change.arms.iter().filter_map(|arm| Some((arm.id.as_str(), arm.measures.get(name)?)));
    let mut arms: Vec<(&str, &Difference)> = arms.collect();
    let all_arms = arms.len();
    arms.truncate(MOST_ARMS);
    let Some((_, first)) = arms.first() else { return Ok(None) };
    let unit = first.before.unit.symbol();
    let comma = if unit.is_empty() { "" } else { ", " };
    let title = format!("{}{comma}{unit}", meta.map_or(name, |meta| meta.heading));
    let ends = |e: &Estimate| {
        let (low, high) = range(change.basis, e);
        [Some(e.median), low, high]
    };
    let figures: Vec<f64> = arms
        .iter()
        .flat_map(|(_, found)| [ends(&found.before), ends(&found.after)].concat())
        .flatten()
        .collect();
    let frame = Frame {
        x: Axis::fitting(&figures, &title),
        y: Axis::slots(1),
        height: ROW * u32::try_from(arms.len()).unwrap_or(1) + LETTERS * 4,
        left: 24,
    };
    let (mut body, plane) = frame.draw(name, &[])?;
    let rows = arms
        .iter()
        .enumerate()
        .map(|(place, (id, found))| row(change.basis, (id, found), place, &plane));
    body.push_str(&all(rows));
    let mut table = Table::new(["arm", "before", "after", "change"]);
    table.rows = arms
        .iter()
        .map(|(id, found)| {
            let [before, after] = [&found.before, &found.after].map(|e| side(change.basis, e));
            vec![label(id, found), before, after, shift(&found.comparison)]
        })
        .collect();
    let ranges = match change.basis {
        Basis::Blocks => "their intervals",
        Basis::Pairs => "the range of the runs",
    };
    Ok(Some(Chart {
        about: format!("{title} before and after: medians with {ranges}, arm by arm."),
        title,
        body,
        size: (WIDTH, frame.height),
        legend: vec![(BEFORE, "before".to_owned()), (AFTER, "after".to_owned())],
        table,
        left_out: (all_arms > MOST_ARMS)
            .then(|| format!("{MOST_ARMS} of {all_arms} arms are drawn and listed.")),
    }))
}

/// The label of an arm, with the control that is subtracted.
fn label(id: &str, found: &Difference) -> String {
    found.over.as_ref().map_or_else(|| id.to_owned(), |over| format!("{id} over {over}"))
}

fn row(basis: Basis, (id, found): (&str, &Difference), place: usize, plane: &Plane) -> Markup {
    let top = plane.top + f64::from(ROW) * place as f64;
    html! {
        (words("label", (plane.left, top + 32.0), &short(&label(id, found), 28)))
        (words("value", (plane.right, top + 32.0), &short(&shift(&found.comparison), 36)))
        (bar(basis, &found.before, (BEFORE, top + 58.0), plane))
        (bar(basis, &found.after, (AFTER, top + 84.0), plane))
    }
}

/// The range that is drawn around a median: its interval. A few records have no interval; then it
/// is their range.
fn range(basis: Basis, estimate: &Estimate) -> (Option<f64>, Option<f64>) {
    match basis {
        Basis::Blocks => (estimate.low, estimate.high),
        Basis::Pairs => (Some(estimate.min), Some(estimate.max)),
    }
}

fn bar(basis: Basis, estimate: &Estimate, (color, y): (Color, f64), plane: &Plane) -> Markup {
    let x = plane.x(estimate.median);
    let (low, high) = range(basis, estimate);
    let low = low.map_or(x, |low| plane.x(low));
    let open = if estimate.high_unbounded { plane.right } else { x };
    let high = high.map_or(open, |high| plane.x(high));
    html! {
        g class=(format!("p{}", color.0)) {
            (line("range", (low, y), (high, y)))
            rect.mark x=(n(x - 5.0)) y=(n(y - 11.0)) width="10" height="22" { title { (side(basis, estimate)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::testing::change;
    use model::{ArmChange, ChangeState};

    #[test]
    fn arms_that_are_not_drawn_are_counted() {
        let mut many = change(ChangeState::Worse, Basis::Pairs);
        assert_eq!(pair(&many, "lost", None).unwrap().unwrap().left_out, None);
        let arm = many.arms[0].clone();
        let other = |at: usize| ArmChange { id: format!("arm-{at}"), ..arm.clone() };
        many.arms = (0..20).map(other).collect();
        let chart = pair(&many, "lost", None).unwrap().unwrap();
        assert!(chart.left_out.unwrap().starts_with("14 of 20 arms"));
    }
}
