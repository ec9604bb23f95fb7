//! A journal of what tailback changes on this machine, so that it is put back however a run ends.
//!
//! A change is written here before it is made, and taken out once it is undone. A run that is
//! killed leaves its journal behind; [`crate::restore()`] undoes what stands in the journals of
//! processes that are gone. The journal of root is in `/run/tailback`, where nobody else can write,
//! and goes with the next boot as the changes do.
//!
//! A process holds its journal locked: so another pid namespace, to which its pid says nothing,
//! can tell that it is gone. An entry is no order: a restore undoes only what it can tell to be
//! tailback's own change.

use crate::owner::Owner;
use crate::private;
use crate::roots::Roots;
use model::group::Controller;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// End of a journal's name.
const SUFFIX: &str = ".journal";

/// End of the name that a journal has until it is whole.
const UNFINISHED: &str = ".journal.new";

/// The most that a journal can have, in bytes: an entry takes some hundred, and a machine has two a
/// CPU.
const MOST_BYTES: u64 = 4 << 20;

/// The most entries that a journal can have.
const MOST_ENTRIES: usize = 20_000;

/// The mode of a journal.
const MODE: u32 = 0o600;

/// Something that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "change")]
pub enum Change {
    /// A file of the kernel holds another value.
    File {
        /// The file.
        path: PathBuf,
        /// What it held.
        was: String,
        /// What was written.
        set: String,
    },
    /// A control group passes a controller on to its children.
    Controller {
        /// The controller.
        controller: Controller,
        /// The group.
        group: PathBuf,
        /// Its children at that time: one that came later may have come to need the controller.
        children: Vec<String>,
    },
    /// A control group is there for as long as the process is.
    Group {
        /// Its folder.
        path: PathBuf,
    },
    /// A file or folder is there only for a while: half made, or a lock.
    Temporary {
        /// Its absolute path.
        path: PathBuf,
    },
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Change::File { path, was, .. } => write!(f, "{}: {was}", path.display()),
            Change::Controller { controller, group, .. } => {
                let name = controller.name();
                write!(f, "{}: no {name} controller for its children", group.display())
            }
            Change::Group { path } | Change::Temporary { path } => {
                write!(f, "{}: gone", path.display())
            }
        }
    }
}

/// Why a change could not be written down; so it is not made.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The folder of the journal cannot be had.
    #[error("journal of changes: {0}")]
    Folder(#[from] private::PrivateError),
    /// The journal cannot be written or read.
    #[error("journal of changes: {}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// This process cannot be named.
    #[error("journal of changes: the start time of this process cannot be read from /proc")]
    Nameless,
}

/// A change in the journal. It stays there until [`Noted::undone`], also where this is dropped.
#[derive(Debug)]
#[must_use = "a change that is undone has to be taken out of the journal"]
pub struct Noted {
    file: PathBuf,
    number: u64,
}

/// The journal of this process in one folder.
#[derive(Debug)]
struct Journal {
    file: PathBuf,
    entries: Vec<Entry>,
    next: u64,
    /// The file of today, which is locked.
    held: Option<File>,
}

/// A change with its number in the journal.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    /// The change.
    #[serde(flatten)]
    pub(crate) change: Change,
}

/// The journals of this process: one, but for tests on fake trees. A static, since the file is
/// named after the process: two values would each write it without the other's entries.
static OPEN: Mutex<Vec<Journal>> = Mutex::new(Vec::new());

/// What is called before the first change. A static, since no change may be made without it, by
/// whichever crate and on whichever thread: a value that a caller passes is one that it can forget.
static BEFORE: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Has `call` called before every change that is made from now on; the first caller is heard.
///
/// The program starts a helper there that outlives it and restores at once.
pub fn before_changes(call: impl Fn() + Send + Sync + 'static) {
    let _ = BEFORE.set(Box::new(call));
}

/// Says that this process is about to change something that its death would leave behind.
pub(crate) fn about_to_change() {
    if let Some(call) = BEFORE.get() {
        call();
    }
}

/// Writes down a change that is about to be made.
///
/// # Errors
/// If that is not possible; then the change must not be made.
pub fn note(roots: &Roots, change: Change) -> Result<Noted, JournalError> {
    about_to_change();
    let folder = private::folder(&folder(roots))?;
    let owner = Owner::this(roots).ok_or(JournalError::Nameless)?;
    let file = folder.join(format!("{}{SUFFIX}", owner.name(0)));
    let mut open = open();
    let place = open.iter().position(|journal| journal.file == file).unwrap_or_else(|| {
        open.push(Journal::new(file.clone(), Vec::new()));
        open.len() - 1
    });
    let journal = &mut open[place];
    let number = journal.next;
    journal.next += 1;
    journal.entries.push(Entry { number, change });
    if let Err(error) = journal.write() {
        journal.entries.pop();
        return Err(error);
    }
    Ok(Noted { file, number })
}

impl Noted {
    /// Takes the change out of the journal, since it is undone.
    pub fn undone(self) {
        let mut open = open();
        let Some(journal) = open.iter_mut().find(|journal| journal.file == self.file) else {
            return;
        };
        journal.entries.retain(|entry| entry.number != self.number);
        // An entry that stays too long is found to be undone by the next restore.
        let _ = journal.write();
    }
}

fn open() -> MutexGuard<'static, Vec<Journal>> {
    // Entries are pushed and taken out whole, so a panic elsewhere leaves nothing half done.
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Journal {
    fn new(file: PathBuf, entries: Vec<Entry>) -> Self {
        Journal { file, entries, next: 0, held: None }
    }

    /// Replaces the file by one with the entries of today; without entries there is no file.
    fn write(&mut self) -> Result<(), JournalError> {
        let failed = |source| JournalError::File { path: self.file.clone(), source };
        if self.entries.is_empty() {
            let removed = std::fs::remove_file(&self.file);
            self.held = None;
            return match removed {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            };
        }
        // Text keys, paths that are UTF-8 and whole numbers serialise; a path that is not is
        // refused.
        let text = serde_json::to_vec(&self.entries).map_err(|error| failed(error.into()))?;
        // One that no restore would read is not written.
        if self.entries.len() > MOST_ENTRIES || text.len() as u64 > MOST_BYTES {
            return Err(failed(std::io::ErrorKind::FileTooLarge.into()));
        }
        // A name by which a restore knows whose it is; nobody else writes to this folder.
        let whole = self.file.with_extension("journal.new");
        let held = write_locked(&whole, &text).map_err(failed)?;
        std::fs::rename(&whole, &self.file).map_err(failed)?;
        self.held = Some(held);
        Ok(())
    }
}

/// Writes a file that the caller alone may open, and that is locked as long as it is open.
fn write_locked(path: &Path, text: &[u8]) -> std::io::Result<File> {
    // What a write that failed has left.
    let _ = std::fs::remove_file(path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(path)?;
    // Whatever the caller's umask is.
    file.set_permissions(Permissions::from_mode(MODE))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        // A kernel without file locks, as a small guest's, has no other pid namespaces either.
        Ok(()) | Err(Errno::NOSYS) => {}
        Err(error) => return Err(error.into()),
    }
    file.write_all(text)?;
    Ok(file)
}

/// The folder of the journals.
pub(crate) fn folder(roots: &Roots) -> PathBuf {
    roots.run.join("tailback")
}

/// A journal whose process is gone.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) file: PathBuf,
    pub(crate) owner: Owner,
}

/// The journals of processes that are surely gone, in the order of their names.
pub(crate) fn left_behind(roots: &Roots, folder: &Path) -> Vec<Left> {
    of_the_gone(roots, folder, SUFFIX)
}

/// Those that were not yet whole when their processes died: what stands in them was not done.
pub(crate) fn unfinished(roots: &Roots, folder: &Path) -> Vec<Left> {
    of_the_gone(roots, folder, UNFINISHED)
}

fn of_the_gone(roots: &Roots, folder: &Path, suffix: &str) -> Vec<Left> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let gone = |file: PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let owner = name.strip_suffix(suffix).and_then(Owner::parse)?;
        let is_gone = match owner.is_near(roots) {
            true => owner.is_gone(roots),
            false => is_let_go(&file),
        };
        is_gone.then_some(Left { file, owner })
    };
    let mut left: Vec<Left> = entries.filter_map(|entry| gone(entry.path())).collect();
    left.sort_by(|one, other| one.file.cmp(&other.file));
    left
}

/// Whether nobody holds a journal of another pid namespace: all its processes end with it.
fn is_let_go(path: &Path) -> bool {
    let Ok(file) = own(path) else {
        // What is no journal of ours is named by who reads it.
        return true;
    };
    flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
        && private::is_still_at(&file, path)
}

/// Opens a journal, if it is the caller's own.
fn own(path: &Path) -> Result<File, String> {
    let file = private::open(path).map_err(|error| error.to_string())?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    match objection(&metadata) {
        Some(why) => Err(why),
        None => Ok(file),
    }
}

/// Why a file is no journal of the caller's.
fn objection(metadata: &Metadata) -> Option<String> {
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
    if owner != rustix::process::geteuid().as_raw() {
        return Some(format!("owned by user {owner}"));
    }
    if mode != MODE {
        return Some(format!("of mode {mode:04o}, not {MODE:04o}"));
    }
    (metadata.nlink() != 1).then(|| "it has a second name (hard link)".to_owned())
}

/// The entries of a journal.
///
/// # Errors
/// If it is none that tailback can have written.
pub(crate) fn read(file: &Path) -> Result<Vec<Entry>, String> {
    let mut text = Vec::new();
    let opened = own(file)?;
    opened.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(|error| error.to_string())?;
    parse(&text)
}

/// The entries in the text of a journal.
pub(crate) fn parse(text: &[u8]) -> Result<Vec<Entry>, String> {
    if text.len() as u64 > MOST_BYTES {
        return Err(format!("larger than {MOST_BYTES} bytes"));
    }
    let entries: Vec<Entry> = serde_json::from_slice(text)
        // What it says of the text may quote the text.
        .map_err(|error| format!("damaged at line {} column {}", error.line(), error.column()))?;
    match entries.len() {
        count if count > MOST_ENTRIES => Err(format!("more than {MOST_ENTRIES} entries")),
        _ => Ok(entries),
    }
}

/// Leaves these entries in a journal whose process is gone.
pub(crate) fn leave(file: &Path, entries: Vec<Entry>) -> Result<(), JournalError> {
    Journal::new(file.to_owned(), entries).write()
}

/// What became of a change.
pub(crate) enum Undone {
    /// It is undone now.
    Now,
    /// It was undone already, or never made.
    Before,
    /// It stays, for this reason.
    Left(String),
    /// Another run of tailback still needs it.
    Later,
    /// It is no change of tailback's, for this reason.
    Refused(String),
    /// This cannot be written, for this reason.
    Failed(PathBuf, String),
}

/// Writes to a file of the kernel, which is never made.
pub(crate) fn write_existing(path: &Path, value: &str) -> std::io::Result<()> {
    // The kernel takes a value whole or not at all: one write, and no line feed needed.
    File::options().write(true).truncate(true).open(path)?.write_all(value.as_bytes())
}
