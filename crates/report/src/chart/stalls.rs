//! Stalls over the time of trials: one row per trial, one bar per stall.

use super::axis::Axis;
use super::draw::{all, bar, short, words};
use super::frame::{Frame, LETTERS, Plane};
use super::pick::{evenly, of_arm};
use super::{Chart, MOST_ROWS, Table, WIDTH, palette};
use crate::ReportError;
use maud::{Markup, html};
use model::estimate::number;
use model::record::Stall;
use model::{ArmResult, Judged, Trial};

/// Most trials of an arm that are drawn.
const MOST_TRIALS: usize = 8;

/// Most arms that are drawn.
const MOST_ARMS: usize = 6;

/// Most bars of a trial.
const MOST_BARS: usize = 60;

/// Height of a trial's row and of an arm's name, in drawing units.
const ROW: f64 = 18.0;
const NAME: f64 = 46.0;

/// The stalls of some trials of each arm. None if no trial lists any stalls.
///
/// # Errors
/// If the drawing library fails.
pub fn stalls(record: &Judged) -> Result<Option<Chart>, ReportError> {
    if record.trials.iter().all(|trial| trial.observation.stalls.is_empty()) {
        return Ok(None);
    }
    let arms: Vec<(&ArmResult, Vec<&Trial>)> = record
        .judgement
        .arms
        .iter()
        .take(MOST_ARMS)
        .map(|arm| (arm, drawn(record, &arm.id)))
        .collect();
    let ends = arms.iter().flat_map(|(_, trials)| trials.iter().map(|trial| end(trial)));
    let height: f64 = arms.iter().map(|(_, trials)| NAME + ROW * trials.len() as f64).sum();
    let frame = Frame {
        x: Axis::linear(ends, "ms after the load was released"),
        y: Axis::slots(1),
        height: height as u32 + LETTERS * 4,
        left: 24,
    };
    let (mut body, plane) = frame.draw("stalls", &[])?;
    let mut top = plane.top;
    let mut marks = Vec::new();
    for (arm, trials) in &arms {
        marks.push(rows(record, arm, trials, top, &plane));
        top += NAME + ROW * trials.len() as f64;
    }
    body.push_str(&all(marks.into_iter()));
    Ok(Some(Chart {
        title: "Stalls over time".to_owned(),
        about: "Each row is a trial, each bar a stall. A trial without bars had none.".to_owned(),
        body,
        size: (WIDTH, frame.height),
        legend: Vec::new(),
        table: table(record),
        left_out: left_out(record),
    }))
}

fn drawn<'a>(record: &'a Judged, arm: &str) -> Vec<&'a Trial> {
    let trials = of_arm(record, arm);
    evenly(trials.len(), MOST_TRIALS).into_iter().map(|at| trials[at]).collect()
}

/// The end of a trial in the drawing.
fn end(trial: &Trial) -> f64 {
    let last = trial.observation.stalls.iter().map(|stall| stall.at_ms + stall.took_ms);
    last.fold(trial.observation.window_ms, f64::max)
}

fn rows(record: &Judged, arm: &ArmResult, trials: &[&Trial], top: f64, plane: &Plane) -> Markup {
    let color = palette::of_arm(&record.plan.arms, &arm.id);
    let hung = match arm.hangs.count {
        0 => String::new(),
        _ => format!("hung in {} of {} trials", arm.hangs.count, arm.hangs.of),
    };
    html! {
        g class=(format!("p{}", color.0)) {
            (words("label", (plane.left, top + 34.0), &short(&arm.id, 24)))
            (words("value", (plane.right, top + 34.0), &short(&hung, 34)))
            @for (place, trial) in trials.iter().enumerate() {
                @let y = top + NAME + ROW * place as f64;
                @let until = plane.x(end(trial));
                (bar("lane", (plane.left, y), (until - plane.left, ROW - 4.0), &lane(trial)))
                @for (from, until, title) in merged(&trial.observation.stalls, plane) {
                    (bar("stall", (from, y), (until - from, ROW - 4.0), &title))
                }
            }
        }
    }
}

fn lane(trial: &Trial) -> String {
    let count = trial.observation.stalls.len();
    format!("{}, block {}: {count} stalls", trial.arm, trial.block + 1)
}

/// Bars in drawing units. Stalls that touch on the screen become one bar.
fn merged(stalls: &[Stall], plane: &Plane) -> Vec<(f64, f64, String)> {
    let mut sorted: Vec<&Stall> = stalls.iter().collect();
    sorted.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
    let mut bars: Vec<(f64, f64, usize, f64, &Stall)> = Vec::new();
    for stall in sorted {
        let (from, until) = (plane.x(stall.at_ms), plane.x(stall.at_ms + stall.took_ms));
        match bars.last_mut() {
            Some((_, end, count, longest, _)) if from <= *end + 1.5 => {
                *end = until.max(*end);
                *count += 1;
                *longest = stall.took_ms.max(*longest);
            }
            _ => bars.push((from, until, 1, stall.took_ms, stall)),
        }
    }
    // If there are too many bars to see, the longest ones matter.
    bars.sort_by(|a, b| b.3.total_cmp(&a.3));
    bars.truncate(MOST_BARS);
    bars.into_iter()
        .map(|(from, until, count, longest, stall)| {
            let title = match count {
                1 => format!(
                    "{} for {} ms, from {} ms on",
                    stall.operation,
                    number(longest),
                    number(stall.at_ms)
                ),
                _ => format!(
                    "{count} stalls from {} ms on, the longest {} ms",
                    number(stall.at_ms),
                    number(longest)
                ),
            };
            (from, until, title)
        })
        .collect()
}

fn table(record: &Judged) -> Table {
    let mut table = Table::new(["arm", "block", "operation", "from, ms", "took, ms"]);
    let mut longest: Vec<(&Trial, &Stall)> = record
        .trials
        .iter()
        .flat_map(|trial| trial.observation.stalls.iter().map(move |stall| (trial, stall)))
        .collect();
    longest.sort_by(|a, b| b.1.took_ms.total_cmp(&a.1.took_ms));
    for (trial, stall) in longest.into_iter().take(MOST_ROWS / 2) {
        table.rows.push(vec![
            trial.arm.clone(),
            (trial.block + 1).to_string(),
            stall.operation.clone(),
            number(stall.at_ms),
            number(stall.took_ms),
        ]);
    }
    table
}

fn left_out(record: &Judged) -> Option<String> {
    let most =
        record.judgement.arms.iter().map(|arm| of_arm(record, &arm.id).len()).max().unwrap_or(0);
    (most > MOST_TRIALS || record.judgement.arms.len() > MOST_ARMS).then(|| {
        format!(
            "{} of {} arms are drawn, each with up to {MOST_TRIALS} of {most} trials, evenly \
             spaced, and with the longest stalls of each trial. The table has the longest stalls \
             of all.",
            record.judgement.arms.len().min(MOST_ARMS),
            record.judgement.arms.len()
        )
    })
}
