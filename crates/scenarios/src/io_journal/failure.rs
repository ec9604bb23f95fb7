//! Failures of the stage and of its writer.

use load::protocol::{Failure, FailureKind};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Display;
use std::io;

/// The failure for something that the kernel refused.
pub(super) fn refused(what: impl Display, error: &io::Error) -> Failure {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied => FailureKind::Permission,
        io::ErrorKind::OutOfMemory | io::ErrorKind::WouldBlock => FailureKind::Limit,
        _ => FailureKind::System,
    };
    Failure { kind, what: format!("{what}: {error}") }
}

/// A failure that is no refusal of the kernel.
pub(super) fn broken(what: impl Display) -> Failure {
    Failure { kind: FailureKind::System, what: what.to_string() }
}

/// The settings of a generator.
///
/// # Errors
/// If they are not those of this generator.
pub(super) fn settings<T: DeserializeOwned>(name: &str, spec: Value) -> Result<T, Failure> {
    serde_json::from_value(spec).map_err(|error| {
        let what = format!("{name}: {error}");
        Failure { kind: FailureKind::Unusable, what }
    })
}
