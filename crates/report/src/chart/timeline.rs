//! One wait, moment by moment: the threads that ran, held the resource, or waited.

use super::axis::Axis;
use super::draw::{all, bar, short, words};
use super::frame::{Frame, LETTERS};
use super::{Chart, Color, MOST_ROWS, Table, WIDTH, palette};
use crate::ReportError;
use crate::prose::explanation::task as of_task;
use maud::html;
use model::estimate::number;
use model::evidence::{Span, Task, Wait};

/// Most threads that are drawn.
const MOST_TASKS: usize = 10;

/// Most spans that are drawn.
const MOST_SPANS: usize = 400;

/// States of a thread as named in the record, and their colours.
const STATES: [(&str, u8); 5] =
    [("running", 6), ("preempted", 4), ("blocked", 1), ("holding", 3), ("waiting", 2)];

/// Height of a thread's row, in drawing units.
const ROW: u32 = 66;

/// The timeline of a wait. None if the record has no timeline.
///
/// # Errors
/// If the drawing library fails.
pub fn timeline(wait: &Wait) -> Result<Option<Chart>, ReportError> {
    let spans = &wait.timeline[..wait.timeline.len().min(MOST_SPANS)];
    let mut tasks: Vec<&Task> = Vec::new();
    for span in spans {
        if !tasks.contains(&&span.task) && tasks.len() < MOST_TASKS {
            tasks.push(&span.task);
        }
    }
    let Some(first) = spans.iter().map(|span| span.from_ms).reduce(f64::min) else {
        return Ok(None);
    };
    let ends = spans.iter().map(|span| span.until_ms - first);
    let frame = Frame {
        x: Axis::linear(ends, &format!("ms since {} ms into the trial", number(first))),
        y: Axis::slots(1),
        height: ROW * u32::try_from(tasks.len()).unwrap_or(1) + LETTERS * 4,
        left: 24,
    };
    let (mut body, plane) = frame.draw("timeline", &[])?;
    let rows = tasks.iter().enumerate().map(|(place, task)| {
        let top = plane.top + f64::from(ROW) * place as f64;
        html! {
            (words("label", (plane.left, top + 28.0), &short(&of_task(task), 48)))
            @for span in spans.iter().filter(|span| span.task == **task) {
                @let (from, until) = (plane.x(span.from_ms - first), plane.x(span.until_ms - first));
                g class=(format!("p{}", color(&span.state).0)) {
                    (bar("stall", (from, top + 36.0), (until - from, 24.0), &title(span)))
                }
            }
        }
    });
    body.push_str(&all(rows));
    let used = |(state, _): &(&str, u8)| spans.iter().any(|span| span.state == *state);
    let states = STATES.into_iter().filter(used);
    Ok(Some(Chart {
        title: "The longest wait, moment by moment".to_owned(),
        about: format!(
            "Each row is a thread, each bar a state of that thread. In these {} ms, {} waited.",
            number(wait.took_ns as f64 / 1e6),
            of_task(&wait.waiter)
        ),
        body,
        size: (WIDTH, frame.height),
        legend: states.map(|(state, color)| (Color(color), state.to_owned())).collect(),
        table: table(spans),
        left_out: (wait.timeline.len() > MOST_SPANS)
            .then(|| format!("{MOST_SPANS} of {} bars are drawn.", wait.timeline.len())),
    }))
}

fn color(state: &str) -> Color {
    let known = STATES.into_iter().find(|(name, _)| *name == state);
    known.map_or(palette::CONTROL, |(_, color)| Color(color))
}

fn title(span: &Span) -> String {
    let on = span.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    let took = number(span.until_ms - span.from_ms);
    format!("{} {}{on} for {took} ms", of_task(&span.task), span.state)
}

fn table(spans: &[Span]) -> Table {
    let mut table = Table::new(["thread", "state", "CPU", "from, ms", "until, ms"]);
    for span in spans.iter().take(MOST_ROWS) {
        table.rows.push(vec![
            of_task(&span.task),
            span.state.clone(),
            span.cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string()),
            number(span.from_ms),
            number(span.until_ms),
        ]);
    }
    table
}
