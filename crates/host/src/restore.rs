//! Undoes the changes of killed runs, which are recorded in their journals.
//!
//! An entry is undone only if it is recognized as a change of tailback's: by the kind of the
//! file, its place, its name and its value. So writing to a journal gains an attacker nothing.

#[cfg(test)]
mod tests;

use crate::cgroup::{controller, left_group};
use crate::governor;
use crate::journal::{self, Change, Entry, Left, Undone};
use crate::owner::Owner;
use crate::private;
use crate::roots::Roots;
use crate::temporary;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file that is locked during a restore.
const LOCK: &str = "lock";

/// Most journals that one restore reads.
const MOST_JOURNALS: usize = 1_000;

/// Most characters that are shown of a refused entry.
const MOST_SHOWN: usize = 200;

/// A journal entry that tailback cannot have made, or a whole journal; it is kept.
#[derive(Debug)]
pub struct Refused {
    /// The journal.
    pub journal: PathBuf,
    /// The entry, on one line; None if the journal itself is refused.
    pub entry: Option<String>,
    /// Why it is refused.
    pub why: String,
}

/// The result of a restore.
#[derive(Debug, Default)]
pub struct Restored {
    /// Changes that were undone.
    pub undone: Vec<Change>,
    /// Changes that were left, and why: somebody else has changed them or needs them.
    pub left: Vec<(Change, String)>,
    /// Paths of changes that could not be undone, and why.
    pub failed: Vec<(PathBuf, String)>,
    /// Entries that were not undone, since they are no changes of tailback's.
    pub refused: Vec<Refused>,
}

impl Restored {
    /// Whether there was nothing to do.
    pub fn is_empty(&self) -> bool {
        self.undone.is_empty() && self.left.is_empty() && self.is_whole()
    }

    /// Whether nothing failed and nothing was refused.
    pub fn is_whole(&self) -> bool {
        self.failed.is_empty() && self.refused.is_empty()
    }
}

/// Undoes the changes in the journals of dead processes.
///
/// If a file no longer has the value that was written, somebody else has changed it, and it is
/// left. An entry that tailback cannot have made is refused, and is kept.
pub fn restore(roots: &Roots) -> Restored {
    let mut restored = Restored::default();
    let folder = journal::folder(roots);
    // The journals of another user are restored by that user.
    let found = std::fs::symlink_metadata(&folder);
    let own = found.is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw());
    if !own {
        return restored;
    }
    // Waits for another restore that is running.
    let _lock = match locked(&folder) {
        Ok(lock) => lock,
        Err(why) => {
            restored.failed.push((folder, why));
            return restored;
        }
    };
    for Left { file, .. } in journal::unfinished(roots, &folder) {
        if let Err(error) = std::fs::remove_file(&file) {
            restored.failed.push((file, error.to_string()));
        }
    }
    let mut left = journal::left_behind(roots, &folder);
    if left.len() > MOST_JOURNALS {
        let why = format!("{} journals; only the first {MOST_JOURNALS} are read", left.len());
        restored.refused.push(Refused { journal: folder, entry: None, why });
        left.truncate(MOST_JOURNALS);
    }
    for journal in left {
        restore_one(roots, &journal, &mut restored);
    }
    restored
}

fn locked(folder: &Path) -> Result<File, String> {
    loop {
        let folder = private::folder(folder).map_err(|error| error.to_string())?;
        let path = folder.join(LOCK);
        let file = private::lock_file(&path).map_err(|error| error.to_string())?;
        match flock(&file, FlockOperation::LockExclusive) {
            // Another process had nothing to restore and removed the file in between.
            Ok(()) if !private::is_still_at(&file, &path) => {}
            // A kernel without file locks, such as that of a small guest: waiting for others is
            // not possible.
            Ok(()) | Err(Errno::NOSYS) => return Ok(file),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Removes the two locks if nobody holds either of them, and then the folder if no journal is in
/// it. `of_run` is the name of the lock that a run holds on the machine.
pub fn remove_locks(roots: &Roots, of_run: &str) {
    let Ok(folder) = private::folder(&journal::folder(roots)) else { return };
    let held = [of_run, LOCK].map(|name| {
        let path = folder.join(name);
        let file = private::lock_file(&path).ok()?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        private::is_still_at(&file, &path).then_some((file, path))
    });
    let [Some(run), Some(own)] = held else { return };
    for (file, path) in [run, own] {
        let _ = std::fs::remove_file(path);
        drop(file);
    }
    // A folder that contains a journal stays.
    let _ = std::fs::remove_dir(&folder);
}

fn restore_one(roots: &Roots, journal: &Left, restored: &mut Restored) {
    let file = &journal.file;
    let refused = |entry, why| Refused { journal: file.clone(), entry, why };
    let entries = match journal::read(file) {
        Ok(entries) => entries,
        Err(why) => {
            restored.refused.push(refused(None, why));
            return;
        }
    };
    let count = entries.len();
    let boot = journal::boot_id(roots);
    let mut kept = Vec::new();
    for entry in in_order(entries) {
        let undone = match entry.ended(boot.as_deref()) {
            true => Undone::Before,
            false => undo(roots, &journal.owner, &entry.change),
        };
        match undone {
            Undone::Now => restored.undone.push(entry.change),
            Undone::Before => {}
            Undone::Left(why) => restored.left.push((entry.change, why)),
            Undone::Later => kept.push(entry),
            Undone::Failed(path, why) => {
                restored.failed.push((path, why));
                kept.push(entry);
            }
            Undone::Refused(why) => {
                restored.refused.push(refused(Some(shown(&entry.change)), why));
                kept.push(entry);
            }
        }
    }
    // An unchanged journal is not written again.
    if kept.len() == count {
        return;
    }
    kept.sort_by_key(|entry| entry.number);
    if let Err(error) = journal::leave(file, kept) {
        restored.failed.push((file.clone(), error.to_string()));
    }
}

/// The order in which changes are undone: the latest first, but files in the order in which they
/// were set. While the governor is `performance`, the kernel refuses other preferences.
fn in_order(entries: Vec<Entry>) -> impl Iterator<Item = Entry> {
    let is_file = |entry: &Entry| matches!(entry.change, Change::File { .. });
    let (files, others): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_file);
    files.into_iter().chain(others.into_iter().rev())
}

/// An entry on one line of bounded length.
fn shown(change: &Change) -> String {
    os::terminal::line(&change.to_string()).chars().take(MOST_SHOWN).collect()
}

fn undo(roots: &Roots, owner: &Owner, change: &Change) -> Undone {
    match change {
        Change::File { path, was, set } => governor::undo(roots, path, was, set),
        Change::Controller { controller, group, children } => {
            controller::withdraw(roots, *controller, group, children)
        }
        Change::Group { path } => left_group::remove(roots, path, owner),
        Change::Temporary { path } => temporary::remove(path, owner),
    }
}

/// Parses a journal and shows its entries. A path that `is_known` accepts as tailback's must be
/// plain.
#[cfg(feature = "fuzz")]
pub(crate) fn fuzz(bytes: &[u8], is_known: &dyn Fn(&Path) -> bool) {
    let Ok(entries) = journal::parse(bytes) else { return };
    for entry in in_order(entries) {
        assert!(!shown(&entry.change).chars().any(os::terminal::steers));
        let (Change::File { path, .. }
        | Change::Controller { group: path, .. }
        | Change::Group { path }
        | Change::Temporary { path }) = &entry.change;
        let is_plain = !path.components().any(|part| part == std::path::Component::ParentDir);
        assert!(!is_known(path) || (is_plain && path.is_absolute()), "{}", path.display());
    }
}
