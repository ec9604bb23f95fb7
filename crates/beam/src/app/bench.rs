//! A folder in which another user compiles: its compilers read and write there alone, and what they
//! made is copied out of it, so that nothing of the cache was ever that user's.

use super::sources::Sources;
use crate::error::BeamError;
use host::{Roots, Temporary};
use os::user::User;
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

/// How a folder of the cache begins in which something is being made.
pub(super) const BUILDING: &str = ".building-";

/// The largest file that is taken, in bytes; ours have some ten thousand.
const MOST: u64 = 16 << 20;

/// A folder of another user's with the sources; it goes when this is dropped.
#[derive(Debug)]
pub(super) struct Bench {
    place: Temporary,
    user: User,
}

impl Bench {
    /// Makes one in the cache.
    pub fn new(sources: &Sources, cache: &Path, user: User) -> Result<Self, BeamError> {
        let failed =
            |source| BeamError::File { path: cache.to_owned(), what: "write to it", source };
        let place = Temporary::folder(&Roots::real(), cache, BUILDING).map_err(failed)?;
        let bench = Bench { place, user };
        sources.write(&bench.folder())?;
        // Nobody else has seen it so far; the folder around it stays the caller's alone.
        give(&bench.folder(), user).map_err(failed)?;
        Ok(bench)
    }

    /// Where to compile: it is entered by the caller, since folders above may be closed to the
    /// user.
    pub fn folder(&self) -> PathBuf {
        self.place.path().join("tailback")
    }

    /// Copies a file, named by its path in the folder, if it is the user's own.
    ///
    /// # Errors
    /// If it is not there, is no regular file, is larger than any of ours, or somebody else's: a
    /// link could lead to what the caller alone may read.
    pub fn take(&self, name: &Path, to: &mut File) -> io::Result<()> {
        let mut within = open(CWD.as_fd(), &self.folder(), OFlags::DIRECTORY)?;
        for folder in name.parent().into_iter().flat_map(Path::iter) {
            within = open(within.as_fd(), Path::new(folder), OFlags::DIRECTORY)?;
        }
        let last = name.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let file = File::from(open(within.as_fd(), Path::new(last), OFlags::NONBLOCK)?);
        let metadata = file.metadata()?;
        let ours = metadata.is_file() && metadata.uid() == self.user.uid();
        if !ours || metadata.len() > MOST {
            return Err(io::Error::other("the compiler's user left something else in its place"));
        }
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes)?;
        to.write_all(&bytes)
    }
}

fn open(within: std::os::fd::BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(within, path, flags, Mode::empty())?)
}

/// Gives a folder and all below it to a user.
fn give(path: &Path, user: User) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), user)?;
        }
    }
    lchown(path, Some(user.uid()), Some(user.gid()))
}

/// Lets every user read a folder and all below it, whatever the caller's mask took away.
pub(super) fn show(path: &Path) -> io::Result<()> {
    let is_folder = path.symlink_metadata()?.is_dir();
    if is_folder {
        for entry in fs::read_dir(path)? {
            show(&entry?.path())?;
        }
    }
    fs::set_permissions(path, Permissions::from_mode(if is_folder { 0o755 } else { 0o644 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_the_user_made_itself_is_taken() {
        let Some(account) = os::user::unprivileged() else {
            return testing::skipped("only root has something to drop");
        };
        let cache = tempfile::tempdir().unwrap();
        let sources = Sources(vec![("src/a.erl".to_owned(), b"text".to_vec())]);
        let bench = Bench::new(&sources, cache.path(), account.user).unwrap();
        let taken = |name: &str| {
            let mut to = tempfile::NamedTempFile::new().unwrap();
            bench.take(Path::new(name), to.as_file_mut())?;
            fs::read(to.path())
        };
        assert_eq!(taken("src/a.erl").unwrap(), b"text");
        let secret = cache.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        symlink(&secret, bench.folder().join("link")).unwrap();
        symlink(cache.path(), bench.folder().join("folder")).unwrap();
        fs::hard_link(&secret, bench.folder().join("hard")).unwrap();
        for hostile in ["link", "folder/secret", "hard", "src", "none", ".."] {
            assert!(taken(hostile).is_err(), "{hostile}");
        }
    }
}
