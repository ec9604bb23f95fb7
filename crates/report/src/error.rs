//! Errors of making a report.

/// Why a report was not made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A figure could not be drawn.
    #[error("chart `{chart}`: {why}; the other formats of `tailback export` need no charts")]
    Chart {
        /// The chart.
        chart: String,
        /// The message of the drawing library.
        why: String,
    },
    /// The record has no program that shows its stall.
    #[error("no reproducer: {0}")]
    NoReproducer(String),
    /// The ladder has nothing that a regression report could state.
    #[error("no regression report: {0}")]
    NoMail(String),
    /// A file format could not hold the content of the record.
    #[error("{format}: {why}; export another format")]
    Export {
        /// The format.
        format: &'static str,
        /// The message of the format's library.
        why: String,
    },
}
