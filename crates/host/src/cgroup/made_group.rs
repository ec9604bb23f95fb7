//! A group that this process has made, from creation to removal.

use super::clear::clear;
use super::controller;
use super::error::{self, BadQuota, CgroupError, shown};
use super::left_group;
use super::parent_group::ParentGroup;
use crate::journal::{Noted, write_existing};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// A group and, under v1, its counterpart in the hierarchy that counts CPU time. When it is
/// dropped, it is removed with all processes in it.
#[derive(Debug)]
pub(super) struct MadeGroup {
    pub(super) parent: ParentGroup,
    /// The directory with the limits.
    pub(super) folder: PathBuf,
    /// The directory that counts CPU time, if it is another one.
    pub(super) usage: Option<PathBuf>,
    /// The entries of these directories in the journal.
    noted: Vec<Noted>,
    removed: bool,
}

impl MadeGroup {
    /// Makes an empty group without a limit, named `tailback-PID-STARTTIME-N` after this process.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(super) fn create(parent: &ParentGroup) -> Result<Self, CgroupError> {
        let (folder, noted) = controller::make_group(parent)?;
        let usage = folder.file_name().and_then(|name| Some(parent.usage.as_ref()?.join(name)));
        let noted = noted.into_iter().collect();
        // From here on, dropping it cleans up, whatever fails.
        let mut group =
            MadeGroup { parent: parent.clone(), folder, usage: None, noted, removed: false };
        if let Some(usage) = usage {
            group.noted.extend(left_group::make(&parent.roots, &usage)?);
            group.usage = Some(usage);
        }
        Ok(group)
    }

    /// The directories that a process has to join.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.folder).chain(&self.usage).map(PathBuf::as_path)
    }

    /// Kills all processes in it and removes it, once.
    ///
    /// # Errors
    /// If it is still busy after some seconds, or if this process is in it.
    pub(super) fn end(&mut self) -> Result<(), CgroupError> {
        if std::mem::replace(&mut self.removed, true) {
            return Ok(());
        }
        let done = self.folders().map(clear).fold(Ok(()), Result::and);
        // A directory that could not be removed stays in the journal.
        if done.is_ok() {
            self.noted.drain(..).for_each(Noted::undone);
        }
        controller::take_back(&self.parent);
        done
    }
}

impl Drop for MadeGroup {
    fn drop(&mut self) {
        // There is no caller to return an error to; the next start sweeps.
        let _ = self.end();
    }
}

/// Writes a setting of a group.
pub(super) fn write(path: &Path, value: &str) -> Result<(), CgroupError> {
    write_existing(path, value).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::INVAL | Errno::RANGE) => {
            let (path, error) = (shown(path), error.to_string());
            BadQuota::Refused { path, value: value.to_owned(), error }.into()
        }
        _ => error::io(path, error),
    })
}
