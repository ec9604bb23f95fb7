//! Records in the formats of other tools; each from records alone.

pub mod csv;
mod family;
pub mod junit;
pub mod live;
pub mod markdown;
pub mod openmetrics;

use crate::{ReportError, Shown};
use model::Record;

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A row for each figure of each trial.
    Csv,
    /// Verdicts and medians, for the textfile collector of Prometheus' node_exporter.
    OpenMetrics,
    /// A table for an issue.
    Markdown,
    /// A test case for each arm, for CI systems.
    JUnit,
}

impl Format {
    /// Every format, as it is named on the command line.
    pub const ALL: [(&'static str, Format); 4] = [
        ("csv", Format::Csv),
        ("openmetrics", Format::OpenMetrics),
        ("markdown", Format::Markdown),
        ("junit", Format::JUnit),
    ];

    /// Writes records in this format.
    ///
    /// # Errors
    /// If the format cannot hold them.
    pub fn write(self, shown: &[Shown]) -> Result<String, ReportError> {
        let records: Vec<&Record> = shown.iter().map(|one| one.record).collect();
        match self {
            Format::Csv => csv::csv(&records),
            Format::OpenMetrics => openmetrics::openmetrics(&records),
            Format::Markdown => Ok(markdown::markdown(shown)),
            Format::JUnit => junit::junit(shown),
        }
    }
}
