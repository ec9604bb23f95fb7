//! The cells of tables of figures.

use crate::grid::Column;
use model::ArmResult;
use model::scenario::MeasureMeta;

/// The column for a figure.
pub(crate) fn column(measure: &MeasureMeta) -> Column {
    Column::figures(measure.heading, measure.unit.symbol())
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
