//! Latencies of the slowest operations, down to one in a million.

use super::axis::Axis;
use super::frame::{Frame, Line};
use super::pick::{evenly, of_arm};
use super::{Chart, MOST_ROWS, Table, WIDTH, palette, strip};
use crate::ReportError;
use model::estimate::number;
use model::latency::{Exceeded, tail};
use model::{Judged, Latency, Trial};
use std::collections::BTreeMap;

/// Most arms that are drawn.
const MOST_ARMS: usize = 8;

/// Most trials of an arm that are merged. Each histogram takes time to read.
const MOST_TRIALS: usize = 100;

/// Most operations that are drawn.
const MOST_OPERATIONS: usize = 3;

/// The tail of one arm.
struct Tail<'a> {
    arm: &'a str,
    count: u64,
    curve: Vec<Exceeded>,
}

/// A chart for each operation with latencies, the slowest first.
///
/// # Errors
/// If the drawing library fails.
pub fn latencies(record: &Judged) -> Result<Vec<Chart>, ReportError> {
    let mut slowest: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, latency) in record.trials.iter().flat_map(|t| &t.observation.latencies) {
        let worst = slowest.entry(name).or_default();
        *worst = latency.max_ns.max(*worst);
    }
    let mut operations: Vec<(&str, u64)> = slowest.into_iter().collect();
    operations.sort_by_key(|(_, worst)| std::cmp::Reverse(*worst));
    let operations = operations.into_iter().take(MOST_OPERATIONS);
    operations.filter_map(|(name, _)| chart(record, name).transpose()).collect()
}

fn chart(record: &Judged, operation: &str) -> Result<Option<Chart>, ReportError> {
    let mut damaged = 0;
    let arms = record.judgement.arms.iter().take(MOST_ARMS);
    let tails = arms.filter_map(|arm| match read(record, &arm.id, operation) {
        Ok((_, curve)) if curve.is_empty() => None,
        Ok((count, curve)) => Some(Tail { arm: &arm.id, count, curve }),
        Err(_) => {
            damaged += 1;
            None
        }
    });
    let tails: Vec<Tail> = tails.collect();
    if tails.is_empty() {
        return Ok(None);
    }
    let points = || tails.iter().flat_map(|tail| &tail.curve);
    let mut x = Axis::log(points().map(|p| 1.0 / p.share), "slowest share of all operations");
    x.ticks.iter_mut().for_each(|(at, label)| *label = one_in(*at));
    let y = Axis::log(points().map(ms), "ms");
    let line = |tail: &Tail| Line {
        color: palette::of_arm(&record.plan.arms, tail.arm),
        points: tail.curve.iter().map(|point| (1.0 / point.share, ms(point))).collect(),
    };
    let frame = Frame::new(x, y);
    let (body, _) = frame.draw(operation, &tails.iter().map(line).collect::<Vec<_>>())?;
    Ok(Some(Chart {
        title: format!("Latency of {operation}, ms"),
        about: about(&tails),
        body,
        size: (WIDTH, frame.height),
        legend: strip::legend(&record.plan.arms, tails.iter().map(|tail| tail.arm)),
        table: table(&tails),
        left_out: left_out(record, damaged),
    }))
}

fn read(
    record: &Judged,
    arm: &str,
    operation: &str,
) -> Result<(u64, Vec<Exceeded>), model::latency::LatencyError> {
    let trials = of_arm(record, arm);
    let of = |trial: &&'_ Trial| trial.observation.latencies.contains_key(operation);
    let trials: Vec<&Trial> = trials.into_iter().filter(of).collect();
    let picked = evenly(trials.len(), MOST_TRIALS).into_iter();
    let found: Vec<&Latency> =
        picked.filter_map(|at| trials[at].observation.latencies.get(operation)).collect();
    tail(found.into_iter())
}

fn ms(point: &Exceeded) -> f64 {
    point.at_least_ns as f64 / 1e6
}

/// Milliseconds as text. Fast operations take less than a microsecond, so they keep their
/// nanoseconds.
fn figure(ms: f64) -> String {
    if ms >= 0.1 {
        return number(ms);
    }
    let text = format!("{ms:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The label of a tick mark: `10^2` is one in a hundred.
fn one_in(power: f64) -> String {
    match power.round() as i32 {
        0 => "all".to_owned(),
        1 => "1/10".to_owned(),
        2 => "1/100".to_owned(),
        3 => "1/1000".to_owned(),
        power => format!("1/10^{power}"),
    }
}

fn about(tails: &[Tail]) -> String {
    let worst = tails.iter().filter_map(|tail| Some((tail.arm, ms(tail.curve.last()?))));
    let worst: Vec<String> =
        worst.take(4).map(|(arm, ms)| format!("{arm} {} ms", figure(ms))).collect();
    format!(
        "The slowest half, tenth, hundredth and so on of the operations took at least this long. \
         Both axes are logarithmic. A stalled program makes fewer calls, so a long stall counts as \
         one call here. Slowest operations: {}.",
        worst.join(", ")
    )
}

fn table(tails: &[Tail]) -> Table {
    let mut table = Table::new(["arm", "operations", "slowest share", "took at least, ms"]);
    for tail in tails {
        for point in &tail.curve {
            table.rows.push(vec![
                tail.arm.to_owned(),
                tail.count.to_string(),
                format!("{:.4}%", point.share * 100.0),
                figure(ms(point)),
            ]);
        }
    }
    table.rows.truncate(MOST_ROWS);
    table
}

fn left_out(record: &Judged, damaged: usize) -> Option<String> {
    let mut parts = Vec::new();
    let arms = record.judgement.arms.len();
    if arms > MOST_ARMS {
        parts.push(format!("{MOST_ARMS} of {arms} arms are drawn"));
    }
    let most =
        record.judgement.arms.iter().map(|arm| of_arm(record, &arm.id).len()).max().unwrap_or(0);
    if most > MOST_TRIALS {
        parts.push(format!("{MOST_TRIALS} of {most} trials of an arm are read, evenly spaced"));
    }
    if damaged > 0 {
        parts.push(format!("the latencies of {damaged} arms are damaged and left out"));
    }
    (!parts.is_empty()).then(|| format!("Here {}.", parts.join(", and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_operation_does_not_take_nothing() {
        let texts = [0.000_35, 0.012_5, 0.35, 480.2, 0.0].map(figure);
        assert_eq!(texts, ["0.00035", "0.0125", "0.35", "480", "0"]);
    }
}
