//! A folder that appears completely or not at all.
//!
//! Files are written into a hidden folder beside it. When all are on disk, one rename gives that
//! folder its final name. A killed writer leaves only the hidden folder, and the next writer
//! removes it.

use crate::error::RowsError;
use rustix::fs::{
    Access, AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, accessat, flock,
    fstat, mkdirat, openat, renameat, renameat_with, statat, syncfs,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The file that marks a folder as written by tailback. Parquet readers skip names with this
/// prefix.
const MARK: &str = "_tailback.json";

/// The schema in [`MARK`].
const SCHEMA: &str = "tailback/rows/1";

/// The folders of the tables.
const TABLES: [&str; 2] = ["verdicts", "trials"];

/// The suffix of the hidden folder's name.
const SUFFIX: &str = ".tailback.tmp";

/// The longest mark file that is read, in bytes.
const LONGEST: u64 = 4096;

/// The origin of a folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Made {
    /// Version of the tailback that wrote it.
    pub version: String,
    /// When the census was taken (RFC 3339, UTC).
    pub taken: String,
}

#[derive(Serialize, Deserialize)]
struct Mark {
    schema: String,
    #[serde(flatten)]
    made: Made,
}

/// A folder for rows. It does not exist, is empty, or was written by an earlier census and is
/// replaced.
#[derive(Debug)]
pub struct Folder {
    target: PathBuf,
    /// The folder above it. It stays open: where root takes a census, it may belong to another
    /// user, who may put a link in its place.
    above: OwnedFd,
}

impl Folder {
    /// Checks that rows can be written there, before anything is read.
    ///
    /// # Errors
    /// If something else is there, or the parent folder is not writable.
    pub fn at(path: &Path) -> Result<Self, RowsError> {
        let target = std::path::absolute(path).map_err(RowsError::io(path))?;
        let (Some(parent), Some(_)) = (target.parent(), target.file_name()) else {
            return Err(foreign(path, "the root of the file system"));
        };
        let failed = |error: io::Error| RowsError::io(parent)(error);
        let above = os::folders::hold(parent).map_err(failed)?;
        let access = Access::WRITE_OK | Access::EXEC_OK;
        accessat(&above, ".", access, AtFlags::empty()).map_err(|error| failed(error.into()))?;
        let folder = Folder { target, above };
        folder.check()?;
        folder.sweep();
        Ok(folder)
    }

    /// A file without a name in the parent folder. It disappears with the process.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn nameless(&self) -> Result<File, RowsError> {
        let above = format!("/proc/self/fd/{}", self.above.as_raw_fd());
        let parent = self.target.parent().unwrap_or(&self.target);
        tempfile::tempfile_in(above).map_err(RowsError::io(parent))
    }

    /// The name of the folder.
    fn name(&self) -> &OsStr {
        self.target.file_name().unwrap_or_default()
    }

    /// Whether the folder exists and was written by tailback.
    fn check(&self) -> Result<bool, RowsError> {
        let failed = |error: Errno| RowsError::io(&self.target)(error.into());
        match statat(&self.above, self.name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Directory => {}
            Ok(_) => return Err(foreign(&self.target, "not a folder")),
            Err(Errno::NOENT) => return Ok(false),
            Err(error) => return Err(failed(error)),
        }
        let folder = opened(&self.above, self.name()).map_err(failed)?;
        let (mut marked, mut any) = (false, false);
        for name in names(&folder).map_err(failed)? {
            any = true;
            if name == MARK {
                marked = has_mark(&folder);
            } else if !TABLES.iter().any(|table| name == *table) {
                return Err(foreign(&self.target, &os::terminal::line(&name.to_string_lossy())));
            }
        }
        match (any, marked) {
            (true, false) => Err(foreign(&self.target, "files")),
            (any, _) => Ok(any),
        }
    }

    /// Creates the hidden folder.
    pub(crate) fn begin(&self) -> Result<Beside<'_>, RowsError> {
        let name = self.hidden(std::process::id());
        let path = self.target.with_file_name(&name);
        let make = || {
            mkdirat(&self.above, &name, Mode::from_raw_mode(0o777))?;
            opened(&self.above, &name)
        };
        let folder = make().map_err(|error| RowsError::io(&path)(error.into()))?;
        // Only a writer that sweeps looks at the lock; a file system without locks has no other.
        let _ = flock(&folder, FlockOperation::NonBlockingLockExclusive);
        Ok(Beside { target: self, name, path, folder })
    }

    /// Removes the hidden folders of killed writers: those that nobody has locked.
    fn sweep(&self) {
        let Ok(above) = opened(&self.above, ".".as_ref()) else { return };
        for name in names(&above).unwrap_or_default() {
            if self.is_hidden(&name) && is_left_behind(&above, &name) {
                // A leftover that cannot be removed does no harm.
                let _ = os::removal::folder(&above, &name);
            }
        }
    }

    /// The name of the hidden folder with this number, which is that of its writer.
    fn hidden(&self, number: u32) -> OsString {
        let mut name = OsString::from(".");
        name.push(self.name());
        name.push(format!(".{number}{SUFFIX}"));
        name
    }

    /// Whether a hidden folder for these rows can have this name.
    fn is_hidden(&self, name: &OsStr) -> bool {
        let name = name.as_bytes();
        let rest =
            name.strip_prefix(b".").and_then(|rest| rest.strip_prefix(self.name().as_bytes()));
        let rest = rest.and_then(|rest| rest.strip_prefix(b"."));
        let writer = rest.and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
        let pid = writer.and_then(|writer| std::str::from_utf8(writer).ok());
        pid.is_some_and(|pid| pid.parse::<u32>().is_ok())
    }
}

fn foreign(path: &Path, what: &str) -> RowsError {
    RowsError::Foreign { path: path.to_owned(), what: what.to_owned() }
}

/// Opens a folder in another one, not through a link.
fn opened(above: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(above, name, flags, Mode::empty())
}

/// The names in a folder.
fn names(folder: &OwnedFd) -> rustix::io::Result<Vec<OsString>> {
    let name = |entry: rustix::fs::DirEntry| OsStr::from_bytes(entry.file_name().to_bytes()).into();
    let all: rustix::io::Result<Vec<OsString>> =
        Dir::read_from(folder)?.map(|entry| entry.map(name)).collect();
    Ok(all?.into_iter().filter(|name| name != "." && name != "..").collect())
}

/// Whether a hidden folder belongs to the caller and nobody has locked it.
fn is_left_behind(above: &OwnedFd, name: &OsStr) -> bool {
    let Ok(folder) = opened(above, name) else { return false };
    let own = rustix::process::geteuid().as_raw();
    fstat(&folder).is_ok_and(|found| found.st_uid == own)
        && flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Whether a folder has a mark. The file may come from anyone, so no link is followed, and a pipe
/// does not block.
fn has_mark(folder: &OwnedFd) -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let read = || -> io::Result<String> {
        let mut text = String::new();
        let file = File::from(openat(folder, MARK, flags, Mode::empty())?);
        file.take(LONGEST).read_to_string(&mut text)?;
        Ok(text)
    };
    let mark = read().ok().and_then(|text| serde_json::from_str::<Mark>(&text).ok());
    mark.is_some_and(|mark| mark.schema == SCHEMA)
}

/// Makes a folder in another one unless it exists, and opens it.
fn made(above: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    match mkdirat(above, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => opened(above, name),
        Err(error) => Err(error),
    }
}

/// Makes a new file in a folder.
fn new_file(folder: &OwnedFd, name: &OsStr) -> rustix::io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    Ok(File::from(openat(folder, name, flags, Mode::from_raw_mode(0o666))?))
}

/// The hidden folder while it is written; removed on drop.
pub(crate) struct Beside<'a> {
    target: &'a Folder,
    name: OsString,
    /// Its path, for errors.
    path: PathBuf,
    /// Open and locked until its writer ends.
    folder: OwnedFd,
}

impl Beside<'_> {
    /// Creates a file in it, and the folders above the file. The path is for errors.
    pub(crate) fn create(&self, below: &Path) -> Result<(File, PathBuf), RowsError> {
        let path = self.path.join(below);
        let create = || -> rustix::io::Result<File> {
            let mut folder = None;
            for part in below.parent().into_iter().flatten() {
                folder = Some(made(folder.as_ref().unwrap_or(&self.folder), part)?);
            }
            let name = below.file_name().unwrap_or_default();
            new_file(folder.as_ref().unwrap_or(&self.folder), name)
        };
        let file = create().map_err(|error| RowsError::io(&path)(error.into()))?;
        Ok((file, path))
    }

    /// Gives it the final name, and so replaces the rows of an earlier census.
    pub(crate) fn publish(self, made_by: &Made) -> Result<(), RowsError> {
        let mark = Mark { schema: SCHEMA.to_owned(), made: made_by.clone() };
        let text = serde_json::to_string(&mark).unwrap_or_default() + "\n";
        let fill = || -> io::Result<()> {
            for table in TABLES {
                made(&self.folder, table.as_ref())?;
            }
            new_file(&self.folder, MARK.as_ref())?.write_all(text.as_bytes())?;
            // Everything is on disk before it gets its final name.
            Ok(syncfs(&self.folder)?)
        };
        fill().map_err(RowsError::io(&self.path))?;
        let Folder { target, above } = self.target;
        let exists = self.target.check()?;
        // If something else has appeared there meanwhile, it is kept.
        let renamed = match exists {
            true => self.replace(),
            false => renameat(above, &self.name, above, self.target.name()),
        };
        renamed.map_err(|error| RowsError::io(target)(error.into()))
    }

    /// Takes the name of the old rows, which get the hidden name.
    fn replace(&self) -> rustix::io::Result<()> {
        let above = &self.target.above;
        let exchange = RenameFlags::EXCHANGE;
        match renameat_with(above, &self.name, above, self.target.name(), exchange) {
            // The file system cannot do that, for example NFS.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.replace_in_steps(),
            done => done,
        }
    }

    /// Takes the name of the old rows in two steps. Between them no folder has that name. If the
    /// second step fails, the old rows get their name back.
    fn replace_in_steps(&self) -> rustix::io::Result<()> {
        let above = &self.target.above;
        let target = self.target.name();
        // No writer has such a number, since the kernel's are far smaller.
        let aside = self.target.hidden(u32::MAX - std::process::id());
        // Locked until the end, so that no other writer takes them for left behind.
        let old = opened(above, target)?;
        let _ = flock(&old, FlockOperation::NonBlockingLockExclusive);
        renameat(above, target, above, &aside)?;
        if let Err(error) = renameat(above, &self.name, above, target) {
            let _ = renameat(above, &aside, above, target);
            return Err(error);
        }
        // If they cannot be removed, the next writer does it.
        let _ = os::removal::folder(above, &aside);
        Ok(())
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        // After the rename this name is that of the old rows, or of nothing.
        let _ = os::removal::folder(&self.target.above, &self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn made_by() -> Made {
        Made { version: "0".to_owned(), taken: "then".to_owned() }
    }

    #[test]
    fn rows_appear_whole_and_replace_those_of_an_earlier_census() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("rows");
        let below = Path::new("trials/scenario=a/kernel_series=6.1/part-0.parquet");
        for text in ["first", "second"] {
            let folder = Folder::at(&target).unwrap();
            let beside = folder.begin().unwrap();
            beside.create(below).unwrap().0.write_all(text.as_bytes()).unwrap();
            beside.publish(&made_by()).unwrap();
            assert_eq!(fs::read_to_string(target.join(below)).unwrap(), text);
            assert!(target.join("verdicts").is_dir());
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
        }
        fs::write(target.join("letter"), "").unwrap();
        assert!(matches!(Folder::at(&target), Err(RowsError::Foreign { .. })));
    }

    #[test]
    fn rows_are_replaced_where_two_names_cannot_be_exchanged() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("rows");
        let folder = Folder::at(&target).unwrap();
        folder.begin().unwrap().publish(&made_by()).unwrap();
        let beside = folder.begin().unwrap();
        beside.create(Path::new("trials/new")).unwrap();
        beside.replace_in_steps().unwrap();
        drop(beside);
        assert!(target.join("trials/new").exists() && !target.join(MARK).exists());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
        // If the new rows cannot take the name, the old ones keep it.
        let beside = folder.begin().unwrap();
        fs::remove_dir(&beside.path).unwrap();
        assert!(beside.replace_in_steps().is_err());
        drop(beside);
        assert!(target.join("trials/new").exists());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_in_place_of_the_hidden_folder_leads_nothing_elsewhere() {
        let place = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let kept = elsewhere.path().join("verdicts");
        fs::create_dir(&kept).unwrap();
        let folder = Folder::at(&place.path().join("rows")).unwrap();
        let beside = folder.begin().unwrap();
        let hidden = beside.path.clone();
        fs::rename(&hidden, place.path().join("aside")).unwrap();
        symlink(elsewhere.path(), &hidden).unwrap();
        beside.create(Path::new("verdicts/scenario=a/part-0.parquet")).unwrap();
        assert!(place.path().join("aside/verdicts/scenario=a/part-0.parquet").exists());
        drop(beside);
        assert!(kept.exists() && fs::read_dir(&kept).unwrap().count() == 0);
    }

    #[test]
    fn the_hidden_folders_of_killed_writers_go() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("rows");
        let hidden = |name: &str| place.path().join(name);
        let left = hidden(".rows.1.tailback.tmp");
        let others = [".rows.x.tailback.tmp", ".other.1.tailback.tmp", "rows.1.tailback.tmp"];
        let others = others.map(hidden);
        others.iter().chain([&left]).for_each(|path| fs::create_dir_all(path.join("a")).unwrap());
        let folder = Folder::at(&target).unwrap();
        assert!(!left.exists() && others.iter().all(|path| path.exists()));
        // That of a writer that runs is locked.
        let beside = folder.begin().unwrap();
        Folder::at(&target).unwrap();
        assert!(beside.path.exists());
    }
}
