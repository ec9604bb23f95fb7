//! Exports records to the formats of other tools. Each format uses records only.

pub mod census;
pub mod csv;
mod family;
mod figure;
#[cfg(test)]
mod hostile;
pub mod junit;
pub mod ktap;
mod live;
pub mod mail;
pub mod markdown;
mod names;
pub mod node_problem;
pub mod openmetrics;
pub mod reproducer;
pub mod scrape;
mod suites;
pub mod totals;

use crate::{ReportError, Shown};
use model::{Judged, State};

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One row for each figure of each trial.
    Csv,
    /// Verdicts and medians, for the textfile collector of Prometheus' node_exporter.
    OpenMetrics,
    /// A Markdown table for an issue.
    Markdown,
    /// A test case for each arm, for CI systems.
    JUnit,
    /// One C file that shows the stall of one record.
    Reproducer,
    /// The output line of a plugin, for Kubernetes' node-problem-detector.
    NodeProblem,
}

impl Format {
    /// Every format, with its name on the command line.
    pub const ALL: [(&'static str, Format); 6] = [
        ("csv", Format::Csv),
        ("openmetrics", Format::OpenMetrics),
        ("markdown", Format::Markdown),
        ("junit", Format::JUnit),
        ("reproducer", Format::Reproducer),
        (node_problem::NAME, Format::NodeProblem),
    ];

    /// Writes records in this format.
    ///
    /// # Errors
    /// If the format cannot represent them.
    pub fn write(self, shown: &[Shown]) -> Result<String, ReportError> {
        let records: Vec<&Judged> = shown.iter().map(|one| one.record).collect();
        match self {
            Format::Csv => csv::csv(&records),
            Format::OpenMetrics => Ok(openmetrics::openmetrics(&records)),
            Format::Markdown => Ok(markdown::markdown(shown)),
            Format::JUnit => Ok(junit::junit(shown)),
            Format::Reproducer => match shown {
                [one] => reproducer::reproducer(one),
                _ => Err(ReportError::NoReproducer("name one record".to_owned())),
            },
            Format::NodeProblem => Ok(node_problem::line(&answers(&records))),
        }
    }
}

/// Each scenario with the verdict of its last record.
pub fn answers<'a>(records: &[&'a Judged]) -> Vec<(&'a str, State)> {
    let mut answers: Vec<(&str, State)> = Vec::new();
    for record in records {
        answers.retain(|(scenario, _)| *scenario != record.scenario);
        answers.push((&record.scenario, record.judgement.state));
    }
    answers
}
