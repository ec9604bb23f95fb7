//! What happened to a load generator, as data.

use serde::{Deserialize, Serialize};

/// A load generator that did not do what it was started for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GeneratorProblem {
    /// Which generator.
    pub role: String,
    /// Its process, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// What happened.
    pub what: GeneratorEnd,
}

/// What happened to a load generator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GeneratorEnd {
    /// It could not be started.
    NotStarted {
        /// The program.
        program: String,
        /// The kernel's error.
        error: String,
    },
    /// It gave up, and says why.
    GaveUp {
        /// Its message, which ends with the kernel's error where there was one.
        message: String,
    },
    /// It was killed.
    Killed {
        /// The signal.
        signal: i32,
    },
    /// It ended early.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// It closed its output.
    Closed,
    /// Workers of it were killed.
    WorkersKilled {
        /// How many.
        killed: u32,
        /// All of them.
        workers: u32,
        /// The signal that killed the first.
        signal: i32,
    },
    /// It was not set up in time.
    NotReady {
        /// How long it was waited for, in milliseconds.
        limit_ms: u64,
    },
    /// It did not report in time.
    NoReport {
        /// How long it was waited for, in milliseconds.
        limit_ms: u64,
    },
    /// It sent a message that makes no sense there.
    Message {
        /// The message.
        message: String,
    },
    /// A pipe or a page could not be had.
    System {
        /// The kernel's error.
        error: String,
    },
}
