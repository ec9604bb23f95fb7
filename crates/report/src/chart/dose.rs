//! The judged figure against the one parameter in which the arms differ.

use super::axis::{Axis, Scale};
use super::draw::{all, dot};
use super::frame::{Frame, Line};
use super::{Chart, Table, WIDTH, interval, palette};
use crate::ReportError;
use maud::html;
use model::estimate::number;
use model::scenario::MeasureMeta;
use model::{ArmResult, Judged, Role, Value};

/// Fewest arms with different settings that make a dependency visible.
const LEAST_ARMS: usize = 3;

/// The medians of the arms against the numeric setting in which they differ. None if they differ
/// in more than one setting, or if there are fewer than three arms.
///
/// # Errors
/// If the drawing library fails.
pub fn dose(
    record: &Judged,
    name: &str,
    meta: Option<&MeasureMeta>,
) -> Result<Option<Chart>, ReportError> {
    let Some(setting) = only_difference(record) else { return Ok(None) };
    let mut points: Vec<(f64, &ArmResult)> = record
        .judgement
        .arms
        .iter()
        .filter(|arm| arm.role != Role::Fix && arm.measures.contains_key(name))
        .filter_map(|arm| Some((number_of(record, &arm.id, &setting)?, arm)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0 == b.0);
    if points.len() < LEAST_ARMS {
        return Ok(None);
    }
    let figure = |arm: &ArmResult| arm.measures.get(name).map_or(0.0, |e| e.median);
    let figures = interval::figures(points.iter().filter_map(|(_, arm)| arm.measures.get(name)));
    let unit = points[0].1.measures.get(name).map_or("", |e| e.unit.symbol());
    let heading = meta.map_or(name, |meta| meta.heading);
    let unit_of_setting = unit_of(record, &setting);
    let with_unit = match unit_of_setting {
        "" => setting.clone(),
        unit => format!("{setting}, {unit}"),
    };
    let x = settings_axis(&points, &with_unit);
    let path = points.iter().map(|(at, arm)| (*at, figure(arm))).collect();
    let frame = Frame::new(x, Axis::fitting(&figures, unit));
    let drawn = Line { color: palette::CONTROL, points: path };
    let (mut body, plane) = frame.draw(name, &[drawn])?;
    body.push_str(&all(points.iter().map(|(at, arm)| {
        let color = palette::of_arm(&record.plan.arms, &arm.id);
        let e = &arm.measures[name];
        let x = plane.x(*at);
        html! {
            g class=(format!("p{}", color.0)) {
                (interval::upright(e, x, &plane))
                (dot(x, plane.y(e.median), e.median_at_least, &format!("{setting} {}{unit_of_setting}: {e}", number(*at))))
            }
        }
    })));
    let mut table = Table::new([with_unit.as_str(), "arm", "median", "interval"]);
    table.rows = points
        .iter()
        .map(|(at, arm)| {
            let e = &arm.measures[name];
            vec![number(*at), arm.id.clone(), e.figure(), e.interval()]
        })
        .collect();
    let comma = if unit.is_empty() { "" } else { ", " };
    Ok(Some(Chart {
        title: format!("{heading}{comma}{unit}, against {setting}"),
        about: format!("{heading} by {setting}: medians with their intervals."),
        body,
        size: (WIDTH, frame.height),
        legend: Vec::new(),
        table,
        left_out: None,
    }))
}

/// An axis for settings, logarithmic if they span a wide range. A setting of zero is at its
/// start.
fn settings_axis(points: &[(f64, &ArmResult)], setting: &str) -> Axis {
    let positive: Vec<f64> = points.iter().map(|(at, _)| *at).filter(|at| *at > 0.0).collect();
    let axis = Axis::fitting(&positive, setting);
    let mut axis = match axis.scale {
        Scale::Linear => return Axis::linear(points.iter().map(|(at, _)| *at), setting),
        Scale::Log => axis,
    };
    if positive.len() < points.len() {
        axis.low -= 1.0;
        axis.ticks.insert(0, (axis.low, "0".to_owned()));
    }
    axis
}

/// The unit in which the values of a setting are drawn: durations in milliseconds, sizes in bytes.
fn unit_of(record: &Judged, setting: &str) -> &'static str {
    let values = record.plan.arms.iter().filter_map(|arm| arm.settings.0.get(setting));
    let mut units = values.filter_map(|value| match value {
        Value::Text(text) if text != "0" && model::units::parse_duration(text).is_ok() => {
            Some("ms")
        }
        Value::Text(text) if text != "0" && model::units::parse_size(text).is_ok() => Some("B"),
        _ => None,
    });
    units.next().unwrap_or_default()
}

fn number_of(record: &Judged, arm: &str, setting: &str) -> Option<f64> {
    let arm = record.plan.arms.iter().find(|planned| planned.id == arm)?;
    match arm.settings.0.get(setting)? {
        Value::Number(number) => Some(*number as f64),
        Value::Text(text) => {
            let ms = model::units::parse_duration(text).ok().map(os::time::ms);
            ms.or_else(|| model::units::parse_size(text).ok().map(|size| size as f64))
        }
        Value::Numbers(numbers) => match numbers.as_slice() {
            [one] => Some(*one as f64),
            _ => None,
        },
    }
}

/// The single setting in which the arms without a fix differ.
fn only_difference(record: &Judged) -> Option<String> {
    let mut arms = record.plan.arms.iter().filter(|arm| arm.role != Role::Fix);
    let first = arms.next()?;
    let mut differing = std::collections::BTreeSet::new();
    for arm in arms {
        let other = |(name, value): &(&String, &Value)| first.settings.0.get(*name) != Some(*value);
        differing.extend(arm.settings.0.iter().filter(other).map(|(name, _)| name.clone()));
    }
    if differing.len() == 1 { differing.into_iter().next() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::{Arm, Settings};

    /// A record whose arms differ in one setting.
    fn with_periods(periods: [&str; 3]) -> Judged {
        let mut record = testing::record();
        let arm = record.plan.arms[1].clone();
        let result = record.judgement.arms[1].clone();
        record.plan.arms.clear();
        record.judgement.arms.clear();
        for period in periods {
            let id = period.to_owned();
            let mut settings = Settings::default();
            settings.set("period", Value::Text(id.clone()));
            record.plan.arms.push(Arm { id: id.clone(), settings, ..arm.clone() });
            record.judgement.arms.push(ArmResult { id, ..result.clone() });
        }
        record
    }

    #[test]
    fn the_axes_have_units_and_reach_the_ends_of_intervals() {
        let mut record = with_periods(["10ms", "50ms", "0.1s"]);
        let wide = record.judgement.arms[2].measures.get_mut("lost").unwrap();
        wide.high = Some(5_000.0);
        let chart = dose(&record, "lost", None).unwrap().unwrap();
        assert_eq!(chart.table.head[0], "period, ms");
        assert_eq!(chart.table.rows[2][0], "100");
        assert!(chart.body.contains("period, ms") && chart.body.contains("6000"), "{chart:?}");
    }
}
