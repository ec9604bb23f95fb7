//! Errors of control groups. The crate `report` writes their messages.

use crate::journal::JournalError;
pub use model::GroupProblem as CgroupError;
pub use model::group::BadQuota;
use rustix::io::Errno;
use std::io;
use std::path::Path;

/// The system's error for a file or group.
pub(super) fn io(path: &Path, error: io::Error) -> CgroupError {
    let path = shown(path);
    match Errno::from_io_error(&error) {
        Some(Errno::ROFS) => CgroupError::ReadOnly { path },
        Some(Errno::ACCESS | Errno::PERM) => CgroupError::Denied { path },
        _ => CgroupError::Io { path, error: error.to_string() },
    }
}

/// A path as text.
pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

impl From<JournalError> for CgroupError {
    fn from(error: JournalError) -> Self {
        CgroupError::Journal { error: error.to_string() }
    }
}
