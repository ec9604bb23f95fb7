//! What happened to a load generator, as data.

use serde::{Deserialize, Serialize};

/// A load generator that did not do its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GeneratorProblem {
    /// Which generator.
    pub role: String,
    /// Its process, if it has one.
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
    /// It gave up and said why.
    GaveUp {
        /// Its message, which ends with the kernel's error if there was one.
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
    /// Some of its workers were killed.
    WorkersKilled {
        /// How many workers were killed.
        killed: u32,
        /// The number of all workers.
        workers: u32,
        /// The signal that killed the first.
        signal: i32,
    },
    /// It was not set up in time.
    NotReady {
        /// The time limit, in milliseconds.
        limit_ms: u64,
    },
    /// It did not report in time.
    NoReport {
        /// The time limit, in milliseconds.
        limit_ms: u64,
    },
    /// It sent a message that makes no sense at that point.
    Message {
        /// The message.
        message: String,
    },
    /// A pipe or a page of memory could not be created.
    System {
        /// The kernel's error.
        error: String,
    },
}
