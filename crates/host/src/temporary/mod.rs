//! Files and folders that exist only for a while, such as incomplete cache entries. They are
//! recorded in the journal before they are made, so that they are removed however the run ends.
//!
//! Their names show their owner (`name.rs`), and a restore removes nothing else (`remove.rs`).

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

/// Number of names that are tried: in a shared folder another user may have taken one.
const MOST_TRIES: usize = 100;

/// A file or folder that is removed when this is dropped, or when the process dies.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
    /// None without a journal, as for an ordinary user without a session.
    noted: Option<Noted>,
}

impl Temporary {
    /// Makes a folder that only the caller may enter, with a name that nobody can guess.
    ///
    /// # Errors
    /// If the kernel refuses, or if `prefix` is none that a restore knows.
    pub fn folder(roots: &Roots, parent: &Path, prefix: &str) -> io::Result<Self> {
        let made = make(roots, parent, prefix, |path| DirBuilder::new().mode(0o700).create(path));
        made.map(|(temporary, ())| temporary)
    }

    /// Makes a file that only the caller may open, with a name that nobody can guess.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn file(roots: &Roots, parent: &Path, prefix: &str) -> io::Result<(Self, File)> {
        make(roots, parent, prefix, |path| {
            OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
        })
    }

    /// The path of the file or folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames it to its final name, when it is complete.
    ///
    /// # Errors
    /// If it cannot be renamed; then it is removed.
    pub fn put(self, target: &Path) -> io::Result<()> {
        // When it is dropped, nothing has the old name any more.
        fs::rename(&self.path, target)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // An object that cannot be removed now stays in the journal.
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

/// Records that a file will exist only for a while; the caller makes and removes it. None without
/// a journal, or if a restore would not accept the path: its name is no name of a temporary, or
/// its folder can be changed by another user.
pub fn announce(roots: &Roots, path: &Path) -> Option<Noted> {
    // A restore follows no links.
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
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a name of a temporary file"));
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

/// Whether a temporary of this owner can have this path.
#[cfg(feature = "fuzz")]
pub(crate) fn fuzz(path: &Path, owner: &Owner) -> bool {
    name::TemporaryKind::read(path, owner).is_some()
}
