//! Why a runtime's program, or a folder for it, is not used.

use super::sentences::QuotaBlindFact;
use crate::ScenarioError;
use host::private::PrivateError;
use model::{Need, Problem};
use os::user::User;
use std::io;
use std::path::Path;

/// Refuses a program that is not to become another user, where it could be another user's.
pub(super) fn check(program: &Path, user: Option<User>) -> Result<(), ScenarioError> {
    let checked = user.map_or_else(|| host::program::check(program), |_| Ok(()));
    let need = |error: PrivateError| own_words(&error, QuotaBlindFact::NotAsRoot);
    checked.map_err(|error| ScenarioError::Missing(need(error)))
}

/// A program that could not be started: one that its user may not execute, as a rule.
pub(super) fn not_started(program: &Path, error: &io::Error) -> ScenarioError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
            let words = format!("{}: {error}", shown(program));
            ScenarioError::Missing(own_words(&words, QuotaBlindFact::ForItsUser))
        }
        _ => broken(program, error),
    }
}

/// A folder that is not the caller's alone.
pub(super) fn refused(error: &PrivateError) -> ScenarioError {
    ScenarioError::Missing(own_words(error, QuotaBlindFact::OwnFolders))
}

/// A need in the words of what met it, and what grants it.
fn own_words(error: &dyn std::fmt::Display, grant: QuotaBlindFact) -> Need {
    let what = QuotaBlindFact::OwnWords { error: error.into() };
    Need::Scenario { what: what.into(), grant: grant.into() }
}

pub(super) fn broken(path: &Path, error: &io::Error) -> ScenarioError {
    ScenarioError::Broken(Problem::of_kernel(shown(path), error))
}

pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}
