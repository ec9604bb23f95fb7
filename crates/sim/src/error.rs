//! Errors of a simulation.

/// Why a configuration, a load, a trace or a plan is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A value of the configuration is out of range.
    #[error("{0}")]
    Config(String),
    /// A value of the load is out of range.
    #[error("{0}")]
    Workload(String),
    /// The text is not a kernel version with known rules.
    #[error("`{text}` is not a kernel version that the model knows: {why}")]
    Kernel {
        /// The text.
        text: String,
        /// The reason.
        why: &'static str,
    },
    /// A line of a trace is malformed.
    #[error("trace, line {line}: {why}")]
    Trace {
        /// Number of the line, from 1.
        line: usize,
        /// The reason.
        why: String,
    },
    /// A trace is too long, or has no requests.
    #[error("trace: {0}")]
    TraceSize(String),
    /// A goal that is out of range.
    #[error("{0}")]
    Plan(String),
}
