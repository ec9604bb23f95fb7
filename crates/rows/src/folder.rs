//! A folder that appears completely or not at all.
//!
//! Files are written into a hidden folder beside it. When all are on disk, one rename gives that
//! folder its final name. A killed writer leaves only the hidden folder, and the next writer
//! removes it.

use crate::error::RowsError;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, RenameFlags, flock, renameat_with, syncfs};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
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
    parent: PathBuf,
}

impl Folder {
    /// Checks that rows can be written there, before anything is read.
    ///
    /// # Errors
    /// If something else is there, or the parent folder is not writable.
    pub fn at(path: &Path) -> Result<Self, RowsError> {
        let target = std::path::absolute(path).map_err(RowsError::io(path))?;
        let parent = target.parent().unwrap_or(Path::new("/")).to_owned();
        if target.file_name().is_none() {
            return Err(foreign(path, "the root of the file system"));
        }
        let folder = Folder { target, parent };
        folder.check()?;
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::access(&folder.parent, access)
            .map_err(|error| RowsError::io(&folder.parent)(error.into()))?;
        folder.sweep();
        Ok(folder)
    }

    /// A file without a name in the parent folder. It disappears with the process.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn nameless(&self) -> Result<File, RowsError> {
        tempfile::tempfile_in(&self.parent).map_err(RowsError::io(&self.parent))
    }

    /// Whether the folder exists and was written by tailback.
    fn check(&self) -> Result<bool, RowsError> {
        let found = match fs::symlink_metadata(&self.target) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(RowsError::io(&self.target)(error)),
        };
        if !found.is_dir() {
            return Err(foreign(&self.target, "not a folder"));
        }
        let entries = fs::read_dir(&self.target).map_err(RowsError::io(&self.target))?;
        let (mut marked, mut any) = (false, false);
        for entry in entries {
            let name = entry.map_err(RowsError::io(&self.target))?.file_name();
            any = true;
            if name == MARK {
                marked = is_mark(&self.target.join(MARK));
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
        let name = self.target.file_name().unwrap_or_default();
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}{SUFFIX}", std::process::id()));
        let path = self.parent.join(hidden);
        fs::create_dir(&path).map_err(RowsError::io(&path))?;
        let lock = lock(&path);
        Ok(Beside { folder: self, path, _lock: lock })
    }

    /// Removes the hidden folders of killed writers: those that nobody has locked.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.parent) else { return };
        let own = rustix::process::geteuid().as_raw();
        let name = self.target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let begin = format!(".{name}.");
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let ours = name.strip_prefix(&begin).and_then(|rest| rest.strip_suffix(SUFFIX));
            let is_writer = ours.is_some_and(|pid| pid.parse::<u32>().is_ok());
            let mine = || entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == own);
            if is_writer && mine() && lock(&entry.path()).is_some() {
                // A leftover that cannot be removed does no harm.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

fn foreign(path: &Path, what: &str) -> RowsError {
    RowsError::Foreign { path: path.to_owned(), what: what.to_owned() }
}

/// Whether a file is a mark. The file may come from anyone, so no link is followed, and a pipe
/// does not block.
fn is_mark(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let read = || -> std::io::Result<String> {
        let mut text = String::new();
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        file.take(LONGEST).read_to_string(&mut text)?;
        Ok(text)
    };
    let mark = read().ok().and_then(|text| serde_json::from_str::<Mark>(&text).ok());
    mark.is_some_and(|mark| mark.schema == SCHEMA)
}

/// The lock of a folder, which its writer holds until it ends.
fn lock(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(folder)
}

/// The hidden folder while it is written; removed on drop.
pub(crate) struct Beside<'a> {
    folder: &'a Folder,
    path: PathBuf,
    _lock: Option<OwnedFd>,
}

impl Beside<'_> {
    /// Creates a file in it, and the folders above the file.
    pub(crate) fn create(&self, below: &Path) -> Result<(File, PathBuf), RowsError> {
        let path = self.path.join(below);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(RowsError::io(folder))?;
        }
        let file = File::create_new(&path).map_err(RowsError::io(&path))?;
        Ok((file, path))
    }

    /// Gives it the final name, and so replaces the rows of an earlier census.
    pub(crate) fn publish(self, made: &Made) -> Result<(), RowsError> {
        for table in TABLES {
            let path = self.path.join(table);
            fs::create_dir_all(&path).map_err(RowsError::io(path))?;
        }
        let mark = Mark { schema: SCHEMA.to_owned(), made: made.clone() };
        let path = self.path.join(MARK);
        let text = serde_json::to_string(&mark).unwrap_or_default();
        fs::write(&path, text + "\n").map_err(RowsError::io(&path))?;
        // Everything is on disk before it gets its final name.
        File::open(&self.path)
            .and_then(|folder| Ok(syncfs(folder)?))
            .map_err(RowsError::io(&self.path))?;
        let target = &self.folder.target;
        // If something else has appeared there meanwhile, it is kept.
        let flags = if self.folder.check()? { RenameFlags::EXCHANGE } else { RenameFlags::empty() };
        renameat_with(CWD, &self.path, CWD, target, flags)
            .map_err(|error| RowsError::io(target)(error.into()))
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        // After the rename this path holds the old rows, or nothing.
        let _ = fs::remove_dir_all(&self.path);
    }
}
