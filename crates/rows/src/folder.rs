//! A folder that is there as a whole or not at all.
//!
//! Files are written into a hidden folder beside it, which takes its name by one rename once all
//! are on disk. What a killed writer leaves is that hidden folder; the next one removes it.

use crate::error::RowsError;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, RenameFlags, flock, renameat_with, syncfs};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file that says whose a folder is; readers of Parquet skip what begins so.
const MARK: &str = "_tailback.json";

/// What [`MARK`] says.
const SCHEMA: &str = "tailback/rows/1";

/// The folders in it.
const TABLES: [&str; 2] = ["verdicts", "trials"];

/// End of the name of the hidden folder.
const SUFFIX: &str = ".tailback.tmp";

/// The longest mark that is read, in bytes.
const LONGEST: u64 = 4096;

/// What a folder is of.
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

/// A folder for rows: not there yet, empty, or written by an earlier census, which is replaced.
#[derive(Debug)]
pub struct Folder {
    target: PathBuf,
    parent: PathBuf,
}

impl Folder {
    /// Looks whether rows can be put there, before anything is read.
    ///
    /// # Errors
    /// If something else is there, or the folder above it cannot be written.
    pub fn at(path: &Path) -> Result<Self, RowsError> {
        let target = std::path::absolute(path).map_err(RowsError::io(path))?;
        let parent = target.parent().unwrap_or(Path::new("/")).to_owned();
        if target.file_name().is_none() {
            return Err(foreign(path, "the root of all files"));
        }
        let folder = Folder { target, parent };
        folder.check()?;
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::access(&folder.parent, access)
            .map_err(|error| RowsError::io(&folder.parent)(error.into()))?;
        folder.sweep();
        Ok(folder)
    }

    /// A file without a name beside it, which is gone with the process.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn nameless(&self) -> Result<File, RowsError> {
        tempfile::tempfile_in(&self.parent).map_err(RowsError::io(&self.parent))
    }

    /// Whether it is there, and ours.
    fn check(&self) -> Result<bool, RowsError> {
        let found = match fs::symlink_metadata(&self.target) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(RowsError::io(&self.target)(error)),
        };
        if !found.is_dir() {
            return Err(foreign(&self.target, "no folder"));
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

    /// Begins to write.
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

    /// Removes what killed writers left: nobody holds it.
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
                // One that cannot be removed does no harm.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

fn foreign(path: &Path, what: &str) -> RowsError {
    RowsError::Foreign { path: path.to_owned(), what: what.to_owned() }
}

/// Whether a file is a mark. It may be anybody's, so neither a link is followed nor a pipe waited
/// for.
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

/// The lock of a folder, which its writer holds as long as it lives.
fn lock(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(folder)
}

/// The hidden folder while it is written; it goes when this is dropped.
pub(crate) struct Beside<'a> {
    folder: &'a Folder,
    path: PathBuf,
    _lock: Option<OwnedFd>,
}

impl Beside<'_> {
    /// A new file in it, with the folders above it.
    pub(crate) fn create(&self, below: &Path) -> Result<(File, PathBuf), RowsError> {
        let path = self.path.join(below);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(RowsError::io(folder))?;
        }
        let file = File::create_new(&path).map_err(RowsError::io(&path))?;
        Ok((file, path))
    }

    /// Gives it its name, in the place of what an earlier census wrote.
    pub(crate) fn put(self, made: &Made) -> Result<(), RowsError> {
        for table in TABLES {
            let path = self.path.join(table);
            fs::create_dir_all(&path).map_err(RowsError::io(path))?;
        }
        let mark = Mark { schema: SCHEMA.to_owned(), made: made.clone() };
        let path = self.path.join(MARK);
        let text = serde_json::to_string(&mark).unwrap_or_default();
        fs::write(&path, text + "\n").map_err(RowsError::io(&path))?;
        // All of it is on disk before it has its name.
        File::open(&self.path)
            .and_then(|folder| Ok(syncfs(folder)?))
            .map_err(RowsError::io(&self.path))?;
        let target = &self.folder.target;
        // What came there meanwhile stays.
        let flags = if self.folder.check()? { RenameFlags::EXCHANGE } else { RenameFlags::empty() };
        renameat_with(CWD, &self.path, CWD, target, flags)
            .map_err(|error| RowsError::io(target)(error.into()))
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        // After the rename this is what was there before, or nothing.
        let _ = fs::remove_dir_all(&self.path);
    }
}
