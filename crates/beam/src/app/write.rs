//! Writes the compiled application to a folder of the user's choice.

use super::{App, BUILD_NAME};
use crate::error::BeamError;
use host::{Roots, Temporary};
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The file that marks a folder as written by tailback.
const OURS: &str = "ebin/tailback.app";

impl App {
    /// Writes the application (`ebin`, `priv`, `src`, `include`, `c_src`) to a folder, for use
    /// with `erl -pa FOLDER/ebin` in your own shell; returns its `ebin`.
    ///
    /// A folder that was written before is updated; its other files stay.
    ///
    /// # Errors
    /// If the folder is not empty and has no application of tailback's, or if it cannot be
    /// written.
    pub fn write_to(&self, folder: &Path) -> Result<PathBuf, BeamError> {
        let failed =
            |source| BeamError::File { path: folder.to_owned(), what: "write to it", source };
        os::folders::make(folder).map_err(failed)?;
        let empty = fs::read_dir(folder).map_err(failed)?.next().is_none();
        if !empty && !folder.join(OURS).is_file() {
            return Err(BeamError::NotOurs { path: folder.to_owned() });
        }
        let app = self.ebin.parent().unwrap_or(&self.ebin);
        // The mark comes first, so that an interrupted copy can be continued.
        copy_file(&app.join(OURS), &folder.join(OURS))?;
        copy(app, folder)?;
        Ok(folder.join("ebin"))
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), BeamError> {
    let failed = |source| BeamError::File { path: from.to_owned(), what: "read it", source };
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let target = to.join(entry.file_name());
        if entry.file_type().map_err(failed)?.is_dir() {
            copy(&entry.path(), &target)?;
        } else if entry.file_name() != BUILD_NAME {
            copy_file(&entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Copies through a new file, in a folder that is held open: an existing symbolic link is replaced,
/// not followed. For root, no folder is behind a link of another user.
fn copy_file(from: &Path, to: &Path) -> Result<(), BeamError> {
    let copied = || -> io::Result<()> {
        let folder = to.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let name = to.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        os::folders::make(folder)?;
        let held = os::folders::hold(folder)?;
        let folder = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
        let (whole, mut file) = Temporary::file(&Roots::real(), &folder, ".copying-")?;
        file.write_all(&fs::read(from)?)?;
        file.set_permissions(fs::Permissions::from_mode(0o644))?;
        whole.put(&folder.join(name))
    };
    copied().map_err(|source| BeamError::File { path: to.to_owned(), what: "write it", source })
}
