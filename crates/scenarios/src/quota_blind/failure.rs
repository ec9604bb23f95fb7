//! Why a runtime or its generator gave up.

use load::protocol::{Failure, FailureKind};

/// A failure of that sort.
pub(super) fn failure(kind: FailureKind, what: impl std::fmt::Display) -> Failure {
    Failure { kind, what: format!("runtime: {what}") }
}
