//! Errors of a node, and of what it needs, as a scenario's.

use crate::ScenarioError;
use beam::{BeamError, CallError, DebianError};
use model::reported::{Part, Trouble};
use model::{Need, Problem};

/// An error of the node's as a scenario's.
pub(crate) fn refused(error: BeamError) -> ScenarioError {
    let problem = |trouble| Problem::reported(Part::Otp, trouble, &error);
    match &error {
        BeamError::Flags { .. } | BeamError::NotErl { .. } | BeamError::Unknown { .. } => {
            ScenarioError::Unusable(problem(Trouble::Refused))
        }
        BeamError::NoErl { .. } => ScenarioError::Missing(Need::Otp(problem(Trouble::Absent))),
        BeamError::NotExecutable { .. } => {
            ScenarioError::Missing(Need::Otp(problem(Trouble::Failed)))
        }
        BeamError::UnsafeProgram { .. } => {
            ScenarioError::Missing(Need::Otp(problem(Trouble::Unsafe)))
        }
        BeamError::TooOld { .. } => ScenarioError::Missing(Need::Otp(problem(Trouble::TooOld))),
        BeamError::Debian { source: DebianError::Interrupted, .. } | BeamError::Interrupted => {
            ScenarioError::Interrupted
        }
        BeamError::Debian { source, .. } => {
            let full = source.is_full();
            let trouble = if full { Trouble::Full } else { Trouble::Failed };
            let problem = Problem::reported(Part::Debian, trouble, &error);
            ScenarioError::Missing(Need::Fetch { problem, full })
        }
        other => {
            let (part, trouble) = trouble(other);
            ScenarioError::Broken(Problem::reported(part, trouble, other))
        }
    }
}

/// Who reports an error that breaks a trial, and of what sort it is.
fn trouble(error: &BeamError) -> (Part, Trouble) {
    match error {
        BeamError::Died(_) => (Part::Node, Trouble::Died),
        BeamError::NoHello { .. } => (Part::Node, Trouble::Late),
        BeamError::Protocol { .. } => (Part::Node, Trouble::Protocol),
        BeamError::Late { .. } => (Part::Otp, Trouble::Late),
        BeamError::Unsafe { .. } | BeamError::NotOurs { .. } => (Part::Otp, Trouble::Unsafe),
        BeamError::Compile { .. } => (Part::Otp, Trouble::NotCompiled),
        _ => (Part::Otp, Trouble::Failed),
    }
}

/// Why a call of a trial gave no observation.
pub(crate) enum Ended {
    /// It did not come back in time.
    Late,
    /// It failed.
    Broken(ScenarioError),
}

impl From<CallError> for Ended {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Late { .. } => Ended::Late,
            error => Ended::Broken(failed(error)),
        }
    }
}

impl From<ScenarioError> for Ended {
    fn from(error: ScenarioError) -> Self {
        Ended::Broken(error)
    }
}

/// A failed call as a scenario's error.
pub(crate) fn failed(error: CallError) -> ScenarioError {
    let trouble = match &error {
        CallError::Interrupted { .. } => return ScenarioError::Interrupted,
        CallError::Died(_) => Trouble::Died,
        CallError::Late { .. } => Trouble::Late,
        CallError::Protocol { .. } => Trouble::Protocol,
        CallError::Failed { .. } | CallError::Unsendable { .. } | CallError::System { .. } => {
            Trouble::Failed
        }
    };
    ScenarioError::Broken(Problem::reported(Part::Node, trouble, error))
}
