//! Converts errors of a node and of its needs into scenario errors.

use crate::ScenarioError;
use beam::{BeamError, CallError, DebianError};
use model::reported::{Part, Trouble};
use model::{Need, Problem};

/// Converts an error of the node into a scenario error.
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

/// The part that reports an error which breaks a trial, and the kind of error.
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

/// Why a call in a trial gave no observation.
pub(crate) enum Ended {
    /// It did not return in time.
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

/// Converts a failed call into a scenario error.
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
