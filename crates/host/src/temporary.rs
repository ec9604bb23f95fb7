//! Files and folders that are there only for a while, as half made entries of a cache: they stand
//! in the journal before they are made, so that they go however the run ends.

use crate::journal::{self, Change, Noted, Undone};
use crate::roots::Roots;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
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
    /// If the kernel refuses.
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
/// where there is no journal.
pub fn announce(roots: &Roots, path: &Path) -> Option<Noted> {
    let path = std::path::absolute(path).ok()?;
    journal::note(roots, Change::Temporary { path }).ok()
}

fn make<T>(
    roots: &Roots,
    parent: &Path,
    prefix: &str,
    new: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(Temporary, T)> {
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..MOST_TRIES {
        let name = format!("{prefix}{:016x}", os::random::number());
        let path = parent.join(name);
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

/// Removes what a run that is gone has left; a file that another run holds locked is that run's.
pub(crate) fn remove(path: &Path) -> Undone {
    let failed = |error: io::Error| Undone::Failed(path.to_owned(), error.to_string());
    match fs::symlink_metadata(path) {
        Err(_) => Undone::Before,
        Ok(found) if found.is_dir() => {
            fs::remove_dir_all(path).map_or_else(failed, |()| Undone::Now)
        }
        Ok(found) if found.is_file() => remove_file(path).unwrap_or_else(failed),
        Ok(_) => Undone::Left("it is no file of tailback".to_owned()),
    }
}

fn remove_file(path: &Path) -> io::Result<Undone> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    // A kernel without file locks refuses in another way.
    if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        return Ok(Undone::Left("another run holds it".to_owned()));
    }
    // The process that held it a moment ago may have removed it, and another made a new one.
    let (ours, there) = (file.metadata()?, fs::symlink_metadata(path)?);
    if (ours.dev(), ours.ino()) != (there.dev(), there.ino()) {
        return Ok(Undone::Left("another run holds it".to_owned()));
    }
    fs::remove_file(path)?;
    Ok(Undone::Now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        fs::copy("/proc/self/stat", dir.path().join("proc/self/stat")).unwrap();
        let roots = Roots::at(dir.path());
        (dir, roots)
    }

    fn journal(roots: &Roots) -> String {
        let entries = fs::read_dir(roots.run.join("tailback")).into_iter().flatten().flatten();
        let texts = entries.map(|entry| fs::read_to_string(entry.path()).unwrap_or_default());
        texts.collect()
    }

    #[test]
    fn it_stands_in_the_journal_for_as_long_as_it_is_there() {
        let (dir, roots) = place();
        let folder = Temporary::folder(&roots, dir.path(), ".building-").unwrap();
        let (file, mut open) = Temporary::file(&roots, dir.path(), ".half-").unwrap();
        io::Write::write_all(&mut open, b"x").unwrap();
        let paths = [folder.path().to_owned(), file.path().to_owned()];
        for path in &paths {
            assert!(path.exists() && journal(&roots).contains(path.to_str().unwrap()));
        }
        fs::write(folder.path().join("a"), "").unwrap();
        drop(folder);
        file.put(&dir.path().join("whole")).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("whole")).unwrap(), "x");
        assert!(paths.iter().all(|path| !path.exists()));
        assert_eq!(journal(&roots), "");
    }

    #[test]
    fn without_a_journal_it_is_made_all_the_same() {
        let (dir, roots) = place();
        fs::write(&roots.run, "no folder").unwrap();
        let folder = Temporary::folder(&roots, dir.path(), ".building-").unwrap();
        assert!(folder.path().is_dir() && folder.noted.is_none());
    }

    #[test]
    fn what_cannot_be_made_leaves_nothing_in_the_journal() {
        let (dir, roots) = place();
        assert!(Temporary::folder(&roots, &dir.path().join("none"), ".building-").is_err());
        assert_eq!(journal(&roots), "");
    }
}
