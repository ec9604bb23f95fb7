//! Removes what a dead run has left, in a folder that is held open. Even a forged journal entry can
//! only remove objects that tailback made.

use super::name::TemporaryKind;
use crate::held;
use crate::journal::Undone;
use crate::owner::Owner;
use crate::private;
use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, Stat, flock, openat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a lock of the dead run may still be held: a process that it was just starting keeps
/// the run's files open until exec.
const JUST_ENDED: Duration = Duration::from_secs(2);

/// Pause between two checks of such a lock.
const PAUSE: Duration = Duration::from_millis(5);

/// The open folder of a temporary, and the kind of the temporary.
pub(super) struct Leftover<'a> {
    folder: OwnedFd,
    name: &'a OsStr,
    kind: TemporaryKind,
    /// The pid of the process that made it.
    maker: u32,
}

impl<'a> Leftover<'a> {
    /// Opens the folder of `path`, if a temporary of this owner can have this path.
    ///
    /// # Errors
    /// If tailback makes no file with that name, or if another user could have put it there.
    pub(super) fn find(path: &'a Path, owner: &Owner) -> Result<Self, NoPlace> {
        let no_name = || NoPlace::Foreign("not a name that tailback makes there".to_owned());
        let kind = TemporaryKind::read(path, owner).ok_or_else(no_name)?;
        let parts = held::parts(path).ok_or_else(no_name)?;
        let (name, above) = parts.split_last().ok_or_else(no_name)?;
        let folder = match kind {
            TemporaryKind::DumpOf(user) => folder_of(above, user),
            TemporaryKind::Made | TemporaryKind::GivenAway | TemporaryKind::File => {
                held::own_folder(above)
            }
        };
        match folder {
            Ok(folder) => Ok(Leftover { folder, name, kind, maker: owner.pid() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(NoPlace::Gone),
            Err(error) => Err(NoPlace::Foreign(error.to_string())),
        }
    }
}

/// Why the folder was not opened.
#[derive(Debug)]
pub(super) enum NoPlace {
    /// The path is none of tailback's.
    Foreign(String),
    /// The folder does not exist any more.
    Gone,
}

/// The folder of another user inside a folder of the caller.
fn folder_of(parts: &[&OsStr], user: u32) -> io::Result<OwnedFd> {
    let (name, above) = parts.split_last().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = held::below(held::own_folder(above)?, &[name])?;
    let owner = File::from(folder.try_clone()?).metadata()?.uid();
    let is_theirs = owner == user || owner == geteuid().as_raw();
    is_theirs.then_some(folder).ok_or_else(|| io::Error::other(format!("owned by user {owner}")))
}

/// Removes a temporary of a dead run; a file that another run has locked belongs to that run.
pub(crate) fn remove(path: &Path, owner: &Owner) -> Undone {
    match Leftover::find(path, owner) {
        Ok(place) => place.clear(path),
        Err(NoPlace::Gone) => Undone::Before,
        Err(NoPlace::Foreign(why)) => Undone::Refused(why),
    }
}

impl Leftover<'_> {
    fn clear(&self, path: &Path) -> Undone {
        let found = match statat(&self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Undone::Before,
            Err(error) => return Undone::Failed(path.to_owned(), error.to_string()),
        };
        if let Some(why) = self.objection(&found) {
            return Undone::Refused(why);
        }
        let removed = match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => self.remove_folder().map(|()| Undone::Now),
            _ => self.remove_file(),
        };
        removed.unwrap_or_else(|error| Undone::Failed(path.to_owned(), error.to_string()))
    }

    /// Why the object at this path was not made by tailback.
    fn objection(&self, found: &Stat) -> Option<String> {
        let kind = FileType::from_raw_mode(found.st_mode);
        let is_kind = match self.kind {
            TemporaryKind::Made | TemporaryKind::GivenAway => {
                matches!(kind, FileType::Directory | FileType::RegularFile)
            }
            TemporaryKind::File | TemporaryKind::DumpOf(_) => kind == FileType::RegularFile,
        };
        if !is_kind {
            return Some("it is neither a file nor a folder of tailback".to_owned());
        }
        let (owner, caller) = (found.st_uid, geteuid().as_raw());
        let is_owner = match self.kind {
            TemporaryKind::Made | TemporaryKind::File => owner == caller,
            TemporaryKind::DumpOf(user) => owner == user || owner == caller,
            TemporaryKind::GivenAway => true,
        };
        (!is_owner).then(|| format!("it is owned by user {owner}"))
    }

    fn remove_file(&self) -> io::Result<Undone> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.folder, self.name, flags, Mode::empty())?;
        let file = File::from(file);
        // The process that held it a moment ago may have removed it, and another may have made a
        // new one.
        let path = held::path_of(&self.folder).join(self.name);
        let theirs = || Ok(Undone::Left("another run uses it".to_owned()));
        if !self.locks(&file) {
            let why = "a process of the killed run has locked it; a later restore tries again";
            return match names_another(&file, self.maker) {
                true => theirs(),
                false => Ok(Undone::Failed(path, why.to_owned())),
            };
        }
        if !private::is_still_at(&file, &path) {
            return theirs();
        }
        unlinkat(&self.folder, self.name, AtFlags::empty())?;
        Ok(Undone::Now)
    }

    /// Locks this file. Fails if another process holds the lock; but it waits a moment for a
    /// process that the maker was just starting.
    fn locks(&self, file: &File) -> bool {
        let deadline = Instant::now() + JUST_ENDED;
        // A kernel without file locks returns another error.
        while flock(file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            if names_another(file, self.maker) || Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
        true
    }

    fn remove_folder(&self) -> io::Result<()> {
        os::removal::folder(&self.folder, self.name)
    }
}

/// Whether a lock file contains another pid than `process`. Until its holder has written to it,
/// it contains none.
fn names_another(file: &File, process: u32) -> bool {
    let mut text = [0; 16];
    let read = file.read_at(&mut text, 0).unwrap_or(0);
    read > 0 && text[..read] != *process.to_string().as_bytes()
}
