//! Converts errors of a node and of its needs into scenario errors.

use crate::ScenarioError;
use beam::{BeamError, CallError, DebianError};
use model::reported::{Part, Trouble};
use model::{Need, Problem};
use std::io::{Error, ErrorKind};

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

/// Converts an error of a folder that the user named. The user can name another one, so this is bad
/// usage, unless the disk is full.
pub(super) fn refused_folder(error: BeamError) -> ScenarioError {
    let full = matches!(&error, BeamError::File { source, .. } if is_full(source));
    match refused(error) {
        ScenarioError::Broken(problem) if !full => ScenarioError::Unusable(problem),
        other => other,
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
        BeamError::File { source, .. } if is_full(source) => (Part::Otp, Trouble::Full),
        _ => (Part::Otp, Trouble::Failed),
    }
}

/// Whether the disk has no room, or the user may not use more of it.
fn is_full(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_other_failures_of_a_file() {
        let trouble_of = |kind: ErrorKind| {
            let (path, source) = ("/x".into(), kind.into());
            match refused(BeamError::File { path, what: "write it", source }) {
                ScenarioError::Broken(Problem::Reported(reported)) => reported.trouble,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(trouble_of(ErrorKind::StorageFull), Trouble::Full);
        assert_eq!(trouble_of(ErrorKind::QuotaExceeded), Trouble::Full);
        assert_eq!(trouble_of(ErrorKind::PermissionDenied), Trouble::Failed);
    }

    #[test]
    fn a_folder_that_cannot_be_used_is_bad_usage_and_a_full_disk_is_none() {
        let of = |kind: ErrorKind| {
            let (path, source) = ("/x".into(), kind.into());
            refused_folder(BeamError::File { path, what: "write to it", source })
        };
        let foreign = refused_folder(BeamError::NotOurs { path: "/x".into() });
        for error in [foreign, of(ErrorKind::PermissionDenied)] {
            assert!(matches!(error, ScenarioError::Unusable(_)), "{error:?}");
        }
        assert!(matches!(of(ErrorKind::StorageFull), ScenarioError::Broken(_)));
    }
}
