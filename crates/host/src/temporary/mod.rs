//! Files and folders that are there only for a while, as half made entries of a cache: they stand
//! in the journal before they are made, so that they go however the run ends.
//!
//! Their names say whose they are (`name.rs`), and a restore removes nothing else (`remove.rs`).

mod name;
mod remove;
#[cfg(test)]
mod tests;

pub(crate) use remove::remove;

use crate::journal::{self, Change, Noted};
use crate::owner::Owner;
use crate::roots::Roots;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How many names are tried: in a folder of everybody's somebody may have taken one.
const MOST_TRIES: usize = 100;

/// A file or folder that is removed when this is dropped, or when the process dies.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
    /// None where there is no journal, as for an ordinary user without a session.
    noted: Option<Noted>,
}

impl Temporary {
    /// Makes a folder that only the caller may enter, under a name that nobody can guess.
    ///
    /// # Errors
    /// If the kernel refuses, or no restore would know it by this beginning of its name.
    pub fn folder(roots: &Roots, parent: &Path, prefix: &str) -> io::Result<Self> {
        let made = make(roots, parent, prefix, |path| DirBuilder::new().mode(0o700).create(path));
        made.map(|(temporary, ())| temporary)
    }

    /// Makes a file that only the caller may open, under a name that nobody can guess.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn file(roots: &Roots, parent: &Path, prefix: &str) -> io::Result<(Self, File)> {
        make(roots, parent, prefix, |path| {
            OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name for good, now that it is whole.
    ///
    /// # Errors
    /// If it cannot be renamed; then it is removed.
    pub fn put(self, target: &Path) -> io::Result<()> {
        // Nothing has the old name any more when it is dropped.
        fs::rename(&self.path, target)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What cannot be removed now stays in the journal.
        let gone = match fs::symlink_metadata(&self.path) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&self.path).is_ok(),
            Ok(_) => fs::remove_file(&self.path).is_ok(),
            Err(_) => true,
        };
        if let Some(noted) = self.noted.take().filter(|_| gone) {
            noted.undone();
        }
    }
}

/// Writes down that a file will be there only for a while, which the caller makes and removes; none
/// where there is no journal, or where a restore would not take it for tailback's: where it has no
/// name of a temporary, or is in a folder that another user could change.
pub fn announce(roots: &Roots, path: &Path) -> Option<Noted> {
    // A restore follows no link.
    let folder = std::path::absolute(path).ok()?.parent()?.canonicalize().ok()?;
    let path = folder.join(path.file_name()?);
    remove::Leftover::find(&path, &Owner::this(roots)?).ok()?;
    journal::note(roots, Change::Temporary { path }).ok()
}

fn make<T>(
    roots: &Roots,
    parent: &Path,
    prefix: &str,
    new: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(Temporary, T)> {
    if !name::is_prefix(prefix) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no name of a temporary"));
    }
    let owner = Owner::this(roots);
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..MOST_TRIES {
        let path = parent.join(name::make(prefix, owner.as_ref(), os::random::number()));
        let noted = announce(roots, &path);
        match new(&path) {
            Ok(made) => return Ok((Temporary { path, noted }, made)),
            Err(error) => {
                noted.into_iter().for_each(Noted::undone);
                last = error;
            }
        }
        if last.kind() != io::ErrorKind::AlreadyExists {
            break;
        }
    }
    Err(last)
}

/// Whether a path is one that a temporary of this owner can have.
#[cfg(feature = "fuzz")]
pub(crate) fn fuzz(path: &Path, owner: &Owner) -> bool {
    name::TemporaryKind::read(path, owner).is_some()
}
