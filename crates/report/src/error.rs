//! What can go wrong while a report is made.

/// Why a report was not made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A figure could not be drawn.
    #[error("chart `{chart}`: {why}; the other formats of `tailback export` do without charts")]
    Chart {
        /// Which.
        chart: String,
        /// What the drawing library says.
        why: String,
    },
    /// A record has no program that shows its stall.
    #[error("no reproducer: {0}")]
    NoReproducer(String),
    /// A ladder has nothing that a regression report could say.
    #[error("no regression report: {0}")]
    NoMail(String),
    /// A file format could not hold what the record says.
    #[error("{format}: {why}; export another format")]
    Export {
        /// Which format.
        format: &'static str,
        /// What its library says.
        why: String,
    },
}
