//! A journal of what tailback changes on this machine, so that every change is undone however a
//! run ends.
//!
//! A change is recorded here before it is made, and removed once it is undone. A killed run
//! leaves its journal behind; [`crate::restore()`] undoes the changes in the journals of dead
//! processes. The journal of root is in `/run/tailback`, where nobody else can write. It
//! disappears at the next boot, as the changes do. In a container, `/run` may outlive a boot of the
//! machine, so each entry has the ID of its boot.
//!
//! A process holds a lock on its journal. So a process in another pid namespace, where its pid
//! means nothing, can see that it has ended. An entry is no command: a restore undoes only what
//! it can recognize as tailback's own change.

use crate::group_controller::GroupController;
use crate::owner::Owner;
use crate::private;
use crate::roots::{self, Roots};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The suffix of a journal's name.
const SUFFIX: &str = ".journal";

/// The suffix of a journal's name while it is incomplete.
const UNFINISHED: &str = ".journal.new";

/// Largest size of a journal, in bytes. An entry takes some hundred bytes, and a machine has two
/// entries per CPU.
const MOST_BYTES: u64 = 4 << 20;

/// Most entries of a journal.
const MOST_ENTRIES: usize = 20_000;

/// Longest ID of a boot, in bytes. The kernel writes 36 characters.
const LONGEST_BOOT_ID: usize = 64;

/// The file mode of a journal.
const MODE: u32 = 0o600;

/// Something that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "change")]
pub enum Change {
    /// A kernel file has another value.
    File {
        /// The file.
        path: PathBuf,
        /// The old value.
        was: String,
        /// The value that was written.
        set: String,
    },
    /// A controller is enabled for the children of a control group.
    Controller {
        /// The controller.
        controller: GroupController,
        /// The group.
        group: PathBuf,
        /// Its children at that time: a child that was made later may need the controller.
        children: Vec<String>,
    },
    /// A control group that exists only while the process lives.
    Group {
        /// Its folder.
        path: PathBuf,
    },
    /// A file or folder that exists only for a while: incomplete, or a lock.
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

/// Why a change could not be recorded; such a change is not made.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The folder of the journal cannot be made, or is not the caller's alone.
    #[error("journal of changes: {0}")]
    Folder(#[from] private::PrivateError),
    /// The journal cannot be written or read.
    #[error("journal of changes: {}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// This process cannot be named.
    #[error("journal of changes: the start time of this process cannot be read from /proc")]
    Nameless,
}

/// A change in the journal. It stays there until [`Noted::undone`], even if this value is
/// dropped.
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
    /// The current file, which is locked.
    held: Option<File>,
}

/// A change with its number in the journal.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    /// The ID of the boot in which the change was made; None if it is unknown, as in the journal of
    /// an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) boot: Option<String>,
    /// The change.
    #[serde(flatten)]
    pub(crate) change: Change,
}

impl Entry {
    /// Whether the change ended with an earlier boot. A temporary on a disk did not.
    pub(crate) fn ended(&self, boot: Option<&str>) -> bool {
        let is_lasting = matches!(self.change, Change::Temporary { .. });
        let is_earlier = self.boot.as_deref().zip(boot).is_some_and(|(its, now)| its != now);
        is_earlier && !is_lasting
    }
}

/// The ID of the current boot; None if it cannot be read.
pub(crate) fn boot_id(roots: &Roots) -> Option<String> {
    let text = roots::read_text(&roots.proc.join("sys/kernel/random/boot_id")).ok()?;
    let id = text.trim();
    (!id.is_empty() && id.len() <= LONGEST_BOOT_ID).then(|| id.to_owned())
}

/// The journals of this process: one, except in tests on fake trees. This is a static, since the
/// file has the name of the process: two values would each overwrite the other's entries.
static OPEN: Mutex<Vec<Journal>> = Mutex::new(Vec::new());

/// The function that is called before the first change. This is a static, since no change may be
/// made without this call, in any crate and on any thread. A caller could forget to pass a value.
static BEFORE: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Registers `call`, which is called before every later change; only the first registration
/// counts.
///
/// The program uses it to start a helper that outlives it and restores at once.
pub fn before_changes(call: impl Fn() + Send + Sync + 'static) {
    let _ = BEFORE.set(Box::new(call));
}

/// Announces that this process is about to make a change that its death would leave behind.
pub(crate) fn about_to_change() {
    if let Some(call) = BEFORE.get() {
        call();
    }
}

/// Records a change that is about to be made.
///
/// # Errors
/// If it cannot be recorded; then the change must not be made.
pub fn note(roots: &Roots, change: Change) -> Result<Noted, JournalError> {
    about_to_change();
    let folder = private::own_folder(&folder(roots))?;
    let owner = Owner::this(roots).ok_or(JournalError::Nameless)?;
    let file = folder.join(format!("{}{SUFFIX}", owner.name(0)));
    let boot = boot_id(roots);
    let mut open = open();
    let place = open.iter().position(|journal| journal.file == file).unwrap_or_else(|| {
        open.push(Journal::new(file.clone(), Vec::new()));
        open.len() - 1
    });
    let journal = &mut open[place];
    let number = journal.next;
    journal.next += 1;
    journal.entries.push(Entry { number, boot, change });
    if let Err(error) = journal.write() {
        journal.entries.pop();
        return Err(error);
    }
    Ok(Noted { file, number })
}

impl Noted {
    /// Removes the change from the journal, since it is undone.
    pub fn undone(self) {
        let mut open = open();
        let Some(journal) = open.iter_mut().find(|journal| journal.file == self.file) else {
            return;
        };
        journal.entries.retain(|entry| entry.number != self.number);
        // If an entry stays too long, the next restore finds that it is undone already.
        let _ = journal.write();
    }
}

fn open() -> MutexGuard<'static, Vec<Journal>> {
    // Entries are pushed and removed whole, so a panic elsewhere leaves nothing half done.
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Journal {
    fn new(file: PathBuf, entries: Vec<Entry>) -> Self {
        Journal { file, entries, next: 0, held: None }
    }

    /// Replaces the file by one with the current entries; without entries there is no file.
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
        // Text keys, UTF-8 paths and whole numbers can be serialized; a path that is not UTF-8 is
        // refused.
        let text = serde_json::to_vec(&self.entries).map_err(|error| failed(error.into()))?;
        // A journal that no restore would read is not written.
        if self.entries.len() > MOST_ENTRIES || text.len() as u64 > MOST_BYTES {
            return Err(failed(std::io::ErrorKind::FileTooLarge.into()));
        }
        // A name by which a restore knows the owner; nobody else can write to this folder.
        let whole = self.file.with_extension("journal.new");
        let written = write_locked(&whole, &text)
            .and_then(|held| std::fs::rename(&whole, &self.file).map(|()| held));
        let held = written.map_err(|error| {
            // The unfinished file would stay as long as this process lives, and may fill a disk.
            let _ = std::fs::remove_file(&whole);
            failed(error)
        })?;
        self.held = Some(held);
        Ok(())
    }
}

/// Writes a file that only the caller may open, and that is locked while it is open.
fn write_locked(path: &Path, text: &[u8]) -> std::io::Result<File> {
    // Removes the file that a failed write may have left.
    let _ = std::fs::remove_file(path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(path)?;
    // Independent of the caller's umask.
    file.set_permissions(Permissions::from_mode(MODE))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        // A kernel without file locks, such as that of a small guest, has no other pid namespaces
        // either.
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

/// A journal whose process has ended.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) file: PathBuf,
    pub(crate) owner: Owner,
}

/// The journals of processes that have certainly ended, sorted by name.
pub(crate) fn left_behind(roots: &Roots, folder: &Path) -> Vec<Left> {
    of_the_gone(roots, folder, SUFFIX)
}

/// The journals that were incomplete when their processes died: none of their changes was made.
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

/// Whether nobody locks a journal of another pid namespace: all locks end with their processes.
fn is_let_go(path: &Path) -> bool {
    let Ok(file) = own(path) else {
        // A file that is no valid journal counts as unlocked; the reader then reports it.
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

/// Why a file is not a valid journal of the caller.
fn objection(metadata: &Metadata) -> Option<String> {
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
    if owner != rustix::process::geteuid().as_raw() {
        return Some(format!("owned by user {owner}"));
    }
    if mode != MODE {
        return Some(format!("its mode is {mode:04o}, not {MODE:04o}"));
    }
    (metadata.nlink() != 1).then(|| "it has a second name (hard link)".to_owned())
}

/// The entries of a journal.
///
/// # Errors
/// If tailback cannot have written the file.
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
        // The parser's own message is not used, since it may quote the text.
        .map_err(|error| format!("damaged at line {} column {}", error.line(), error.column()))?;
    match entries.len() {
        count if count > MOST_ENTRIES => Err(format!("more than {MOST_ENTRIES} entries")),
        _ => Ok(entries),
    }
}

/// Writes the entries that stay in the journal of a dead process.
pub(crate) fn leave(file: &Path, entries: Vec<Entry>) -> Result<(), JournalError> {
    Journal::new(file.to_owned(), entries).write()
}

/// The result of undoing a change.
pub(crate) enum Undone {
    /// It was undone by this call.
    Now,
    /// It was undone before, or never made.
    Before,
    /// It is not undone, for this reason.
    Left(String),
    /// Another run of tailback still needs the change.
    Later,
    /// It is no change of tailback's, for this reason.
    Refused(String),
    /// This path cannot be written, for this reason.
    Failed(PathBuf, String),
}

/// Writes to a kernel file; the file is never created.
pub(crate) fn write_existing(path: &Path, value: &str) -> std::io::Result<()> {
    // The kernel takes a value only in one piece: one write, without a line feed.
    File::options().write(true).truncate(true).open(path)?.write_all(value.as_bytes())
}
