//! Exit codes, and failures that end the program with one line.

use load::protocol::FailureKind;
use model::Meta;
use report::{ReportError, prose};
use runner::studies::StudyError;
use scenarios::ScenarioError;

/// Bad usage or bad input.
pub const USAGE: u8 = 2;
/// A need is missing: CPUs, a privilege, room on the disk.
pub const NEED: u8 = 3;
/// A trial broke.
pub const BROKEN: u8 = 4;
/// Somebody interrupted.
pub const INTERRUPTED: u8 = 130;

/// What ends the program: one line and an exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What, where, and what next.
    pub line: String,
    /// The exit code.
    pub code: u8,
}

impl Failure {
    /// Bad usage or input.
    pub fn usage(line: impl Into<String>) -> Self {
        Failure { line: line.into(), code: USAGE }
    }

    /// A missing need.
    pub fn need(line: impl Into<String>) -> Self {
        Failure { line: line.into(), code: NEED }
    }

    /// Something broke.
    pub fn broken(line: impl Into<String>) -> Self {
        Failure { line: line.into(), code: BROKEN }
    }
}

impl From<ReportError> for Failure {
    /// A report that could not be made.
    fn from(error: ReportError) -> Self {
        Failure::broken(error.to_string())
    }
}

impl From<load::protocol::Failure> for Failure {
    /// A load that could not be set up, or broke.
    fn from(load::protocol::Failure { kind, what }: load::protocol::Failure) -> Self {
        match kind {
            FailureKind::Unusable => Failure::usage(what),
            FailureKind::Permission | FailureKind::Limit => Failure::need(what),
            FailureKind::System => Failure::broken(what),
        }
    }
}

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        Failure::usage(error.to_string())
    }
}

impl Failure {
    /// A study that could not begin or go on, in the words of its scenario.
    pub fn of(error: ScenarioError, meta: Option<&Meta>) -> Self {
        match error {
            ScenarioError::Unusable(why) => Failure::usage(prose::problem(&why, meta)),
            ScenarioError::Missing(need) => Failure::need(prose::need(&need, meta)),
            ScenarioError::Broken(why) => Failure::broken(prose::problem(&why, meta)),
            ScenarioError::Interrupted => {
                Failure { line: "interrupted".to_owned(), code: INTERRUPTED }
            }
        }
    }
}
