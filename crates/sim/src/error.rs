//! Why a simulation was refused.

/// Why a configuration, a load, a trace or a plan was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A value of the configuration is out of range.
    #[error("{0}")]
    Config(String),
    /// A value of the load is out of range.
    #[error("{0}")]
    Workload(String),
    /// A text is not the version of a kernel whose rules are known.
    #[error("`{text}` is not a kernel version that the model knows: {why}")]
    Kernel {
        /// What was given.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A line of a trace is malformed.
    #[error("trace, line {line}: {why}")]
    Trace {
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A trace is too long, or has no request.
    #[error("trace: {0}")]
    TraceSize(String),
    /// A goal that no run could meet or miss.
    #[error("{0}")]
    Plan(String),
}
