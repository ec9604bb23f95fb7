//! Exit codes, and failures that end the program with one line.

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

impl From<scenarios::ScenarioError> for Failure {
    fn from(error: scenarios::ScenarioError) -> Self {
        use scenarios::ScenarioError as E;
        let line = error.to_string();
        match error {
            E::Unusable(_) => Failure::usage(line),
            E::Missing(_) => Failure::need(line),
            E::Interrupted => Failure { line, code: INTERRUPTED },
            E::Broken(_) => Failure::broken(line),
        }
    }
}
