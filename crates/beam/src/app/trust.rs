//! Checks that code from a folder may be run: no other user may have put it there.

use crate::error::BeamError;
use host::private::{self, PrivateError};
use std::path::{Path, PathBuf};

/// Makes a folder that only this user can write to, unless it exists; returns its real path.
///
/// # Errors
/// If it cannot be made, or if another user could change its content.
pub(crate) fn folder(path: &Path) -> Result<PathBuf, BeamError> {
    private::folder(path).map_err(refused)
}

/// Refuses an application, given without symbolic links, that another user could have changed.
pub(super) fn check(real: &Path) -> Result<(), BeamError> {
    private::tree(real).map_err(refused)
}

fn refused(error: PrivateError) -> BeamError {
    match error {
        PrivateError::Unsafe { path, why } => BeamError::Unsafe { path, why },
        PrivateError::File { path, what, source } => BeamError::File { path, what, source },
    }
}
