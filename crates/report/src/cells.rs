//! What stands in the tables of figures.

use model::ArmResult;
use model::scenario::MeasureMeta;

/// The heading of a figure, with its unit below it.
pub(crate) fn heading(measure: &MeasureMeta) -> String {
    match measure.unit.symbol() {
        "" => measure.heading.to_owned(),
        unit => format!("{},\n{unit}", measure.heading),
    }
}

/// A figure of an arm with its interval, without its unit.
pub(crate) fn cell(arm: &ArmResult, measure: &str) -> String {
    arm.measures.get(measure).map_or_else(
        || "-".to_owned(),
        |e| match e.low {
            Some(_) => format!("{} {}", e.figure(), e.interval()),
            None => e.figure(),
        },
    )
}
