//! Failures that a child reports to its parent.

use crate::protocol::{Failure, FailureKind};

/// A kernel error, sorted by its errno.
pub(super) fn failure(what: impl std::fmt::Display, error: std::io::Error) -> Failure {
    let kind = match error.kind() {
        std::io::ErrorKind::PermissionDenied => FailureKind::Permission,
        std::io::ErrorKind::InvalidInput | std::io::ErrorKind::NotFound => FailureKind::Unusable,
        _ => FailureKind::System,
    };
    Failure { kind, what: format!("{what}: {error}") }
}
