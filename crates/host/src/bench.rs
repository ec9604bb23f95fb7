//! A folder in which a compiler works. If root has another user for this, the compiler runs as
//! that user. All compiling happens here.
//!
//! The other user may change the folder at any time while its program runs there. So the sources
//! are written before the folder is given away, everything is opened from descriptors, and no
//! link is followed. The compiled file is copied out, so no part of a cache ever belonged to that
//! user.

use crate::roots::Roots;
use crate::temporary::Temporary;
use os::user::User;
use rustix::fs::{CWD, Mode, OFlags, fchmod, fchown, mkdirat, openat};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The inner folder. The outer folder stays the caller's, so nobody can replace the inner one.
const WORK: &str = "work";

/// A folder with sources, in which its user compiles; it is removed when this value is dropped.
#[derive(Debug)]
pub struct Bench {
    place: Temporary,
    work: OwnedFd,
    user: Option<User>,
}

impl Bench {
    /// Makes a folder below `parent` that contains `files` at their paths, and gives it to
    /// `user`. Without a user it stays the caller's. The user can only read the files.
    ///
    /// # Errors
    /// If the kernel refuses, or a path leads out of the folder.
    pub fn new<'a>(
        parent: &Path,
        prefix: &str,
        files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
        user: Option<User>,
    ) -> io::Result<Self> {
        let place = Temporary::folder(&Roots::real(), parent, prefix)?;
        let around = folder(CWD, place.path())?;
        mkdirat(&around, WORK, Mode::RWXU)?;
        let bench = Bench { work: folder(around.as_fd(), Path::new(WORK))?, place, user };
        for (name, bytes) in files {
            bench.write(Path::new(name), bytes)?;
        }
        // Undoes the effect of the caller's umask.
        fchmod(&bench.work, Mode::RWXU)?;
        if let Some(user) = user {
            let ids = (Uid::from_raw(user.uid()), Gid::from_raw(user.gid()));
            fchown(&bench.work, Some(ids.0), Some(ids.1))?;
            // The user can pass through to a name it knows, and can list nothing there.
            fchmod(&around, Mode::from_raw_mode(0o711))?;
        }
        Ok(bench)
    }

    /// The folder to compile in. The caller has to enter it: folders above may be closed to the
    /// user.
    pub fn path(&self) -> PathBuf {
        self.place.path().join(WORK)
    }

    /// The owner of the folder; None if it is the caller.
    pub fn user(&self) -> Option<User> {
        self.user
    }

    /// Copies a compiled file, given by its path in the folder, if it belongs to the user and has
    /// at most `most` bytes.
    ///
    /// # Errors
    /// If it is missing, is no regular file, is larger, or has another owner: a link could lead
    /// to a file that only the caller may read.
    pub fn take(&self, name: &Path, most: u64, to: &mut File) -> io::Result<()> {
        let (folders, last) = split(name)?;
        let within = folders.iter().try_fold(self.work.try_clone()?, |within, name| {
            folder(within.as_fd(), Path::new(name))
        })?;
        let file = open(within.as_fd(), last, OFlags::RDONLY | OFlags::NONBLOCK)?;
        let metadata = file.metadata()?;
        let theirs = self.user.is_none_or(|user| metadata.uid() == user.uid());
        let mut bytes = Vec::new();
        if metadata.is_file() && theirs && metadata.len() <= most {
            file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
            if bytes.len() as u64 <= most {
                return to.write_all(&bytes);
            }
        }
        Err(io::Error::other("not the compiler's output: wrong type, owner or size"))
    }

    /// Writes a new file, and the folders around it.
    fn write(&self, name: &Path, bytes: &[u8]) -> io::Result<()> {
        let (folders, last) = split(name)?;
        let mut within = self.work.try_clone()?;
        for name in folders {
            match mkdirat(&within, name, Mode::RWXU) {
                Err(error) if error != Errno::EXIST => return Err(error.into()),
                _ => within = folder(within.as_fd(), Path::new(name))?,
            }
            fchmod(&within, Mode::from_raw_mode(0o755))?;
        }
        let mut file = open(within.as_fd(), last, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        file.write_all(bytes)?;
        Ok(fchmod(&file, Mode::from_raw_mode(0o644))?)
    }
}

/// The folders of a path, and its last name; every part must be a plain name.
fn split(name: &Path) -> io::Result<(Vec<&std::ffi::OsStr>, &Path)> {
    let mut names = Vec::new();
    for part in name.components() {
        let Component::Normal(part) = part else { return Err(io::ErrorKind::InvalidInput.into()) };
        names.push(part);
    }
    let last = names.pop().ok_or(io::ErrorKind::InvalidInput)?;
    Ok((names, Path::new(last)))
}

fn folder(within: BorrowedFd<'_>, name: &Path) -> io::Result<OwnedFd> {
    Ok(open(within, name, OFlags::RDONLY | OFlags::DIRECTORY)?.into())
}

fn open(within: BorrowedFd<'_>, name: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(openat(within, name, flags, Mode::RUSR | Mode::WUSR)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FileType, mknodat};
    use std::fs;
    use std::os::unix::fs::{lchown, symlink};

    const SOURCES: [(&str, &[u8]); 2] = [("src/a.erl", b"text"), ("b", b"other")];

    fn taken(bench: &Bench, name: &str) -> io::Result<Vec<u8>> {
        let to = tempfile::NamedTempFile::new()?;
        bench.take(Path::new(name), 100, &mut to.reopen()?)?;
        fs::read(to.path())
    }

    #[test]
    fn what_was_written_is_there_and_what_was_compiled_is_taken() {
        let place = tempfile::tempdir().unwrap();
        let bench = Bench::new(place.path(), ".building-", SOURCES, None).unwrap();
        assert_eq!(fs::read(bench.path().join("src/a.erl")).unwrap(), b"text");
        fs::write(bench.path().join("src/out"), "out").unwrap();
        assert_eq!(taken(&bench, "src/out").unwrap(), b"out");
        fs::write(bench.path().join("long"), "x".repeat(101)).unwrap();
        let pipe = bench.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        symlink("b", bench.path().join("link")).unwrap();
        for bad in ["long", "pipe", "link", "src", "none", "", ".", "..", "../work/b", "/b"] {
            assert!(taken(&bench, bad).is_err(), "{bad:?}");
        }
        drop(bench);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn nothing_is_written_through_a_link_over_a_file_or_outside() {
        let place = tempfile::tempdir().unwrap();
        let bench = Bench::new(place.path(), ".building-", SOURCES, None).unwrap();
        let outside = place.path().join("outside");
        fs::create_dir(&outside).unwrap();
        symlink(outside.join("file"), bench.path().join("link")).unwrap();
        symlink(&outside, bench.path().join("folder")).unwrap();
        for bad in ["link", "folder/file", "b", "../file", "/tmp/file", ""] {
            assert!(bench.write(Path::new(bad), b"x").is_err(), "{bad:?}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        assert_eq!(fs::read(bench.path().join("b")).unwrap(), b"other");
    }

    #[test]
    fn only_what_the_user_made_itself_is_taken() {
        let Some(account) = os::user::unprivileged() else {
            return testing::skipped("only root has something to drop");
        };
        let place = tempfile::tempdir().unwrap();
        let bench = Bench::new(place.path(), ".building-", SOURCES, Some(account.user)).unwrap();
        let (uid, gid) = (account.user.uid(), account.user.gid());
        let made = |name: &str| {
            fs::write(bench.path().join(name), "made").unwrap();
            lchown(bench.path().join(name), Some(uid), Some(gid)).unwrap();
        };
        made("made");
        assert_eq!(taken(&bench, "made").unwrap(), b"made");
        let secret = place.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        symlink(&secret, bench.path().join("link")).unwrap();
        symlink(place.path(), bench.path().join("folder")).unwrap();
        fs::hard_link(&secret, bench.path().join("hard")).unwrap();
        for hostile in ["link", "folder/secret", "hard", "src", "src/a.erl", "none", ".."] {
            assert!(taken(&bench, hostile).is_err(), "{hostile}");
        }
        // The inner folder belongs to the user alone, the outer one to the caller.
        let (work, around) = (bench.path(), bench.place.path().to_owned());
        let seen = |path: &Path| fs::metadata(path).map(|m| (m.uid(), m.mode() & 0o7777)).unwrap();
        assert_eq!((seen(&work), seen(&around)), ((uid, 0o700), (0, 0o711)));
    }
}
