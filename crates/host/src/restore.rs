//! Putting back what runs changed that were killed: what stands in their journals.
//!
//! An entry is undone only where it can be told to be a change of tailback's: by the kind of the
//! file, its place, its name and its value. Whoever can write a journal gains nothing by that.

#[cfg(test)]
mod tests;

use crate::cgroup::{controller, left_group};
use crate::cpufreq::{Absent, PERFORMANCE, Setting};
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

/// The file that who restores holds locked.
const LOCK: &str = "lock";

/// The most journals that one restore reads.
const MOST_JOURNALS: usize = 1_000;

/// The most characters that are shown of what is refused.
const MOST_SHOWN: usize = 200;

/// An entry of a journal that tailback cannot have made, or a whole journal: it stays.
#[derive(Debug)]
pub struct Refused {
    /// The journal.
    pub journal: PathBuf,
    /// The entry, on one line; none where it is the journal itself.
    pub entry: Option<String>,
    /// How that is known.
    pub why: String,
}

/// What was restored.
#[derive(Debug, Default)]
pub struct Restored {
    /// Changes that are undone now.
    pub undone: Vec<Change>,
    /// Changes that were left as they are, and why: somebody else has changed or come to need them.
    pub left: Vec<(Change, String)>,
    /// What could not be undone, and why.
    pub failed: Vec<(PathBuf, String)>,
    /// What was not undone, since it is no change of tailback's.
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

/// Undoes what stands in the journals of processes that are gone.
///
/// A file that no longer holds what was written there was changed by somebody else since, and is
/// left. An entry that tailback cannot have made is refused, and stays.
pub fn restore(roots: &Roots) -> Restored {
    let mut restored = Restored::default();
    let folder = journal::folder(roots);
    // Journals of another user are for that user to restore.
    let found = std::fs::symlink_metadata(&folder);
    let own = found.is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw());
    if !own {
        return restored;
    }
    // Another restore that runs at this moment is waited for.
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
        let why = format!("{} journals; the first {MOST_JOURNALS} are read", left.len());
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
            // Somebody who left nothing behind has removed it meanwhile.
            Ok(()) if !private::is_still_at(&file, &path) => {}
            // A kernel without file locks, as a small guest's: nobody else can be waited for.
            Ok(()) | Err(Errno::NOSYS) => return Ok(file),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Removes the folder of journals and locks, where nothing stands in a journal and nobody holds a
/// lock. `of_run` is the name of the lock that a run holds on the machine.
pub fn forget_locks(roots: &Roots, of_run: &str) {
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
    // A folder with a journal in it stays.
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
    let mut kept = Vec::new();
    for entry in in_order(entries) {
        match undo(roots, &journal.owner, &entry.change) {
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
    // What stays as it is is not written anew.
    if kept.len() == count {
        return;
    }
    kept.sort_by_key(|entry| entry.number);
    if let Err(error) = journal::leave(file, kept) {
        restored.failed.push((file.clone(), error.to_string()));
    }
}

/// The order in which changes are undone: the latest first, and files in the order in which they
/// were set. With the governor at `performance` the kernel refuses other preferences.
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
        Change::File { path, was, set } => undo_file(roots, path, was, set),
        Change::Controller { controller, group, children } => {
            controller::withdraw(roots, *controller, group, children)
        }
        Change::Group { path } => left_group::remove(roots, path, owner),
        Change::Temporary { path } => temporary::remove(path, owner),
    }
}

fn undo_file(roots: &Roots, path: &Path, was: &str, set: &str) -> Undone {
    // A CPU that went offline meanwhile comes back with the defaults of the kernel.
    let gone = || Undone::Left("it is gone".to_owned());
    let failed = |error: std::io::Error| Undone::Failed(path.to_owned(), error.to_string());
    let setting = match Setting::at(roots, path) {
        Ok(setting) => setting,
        Err(Absent::Gone) => return gone(),
        Err(Absent::Foreign(why)) => return Undone::Refused(why),
    };
    let now = match setting.value() {
        Ok(Some(now)) => now,
        Ok(None) => return gone(),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
            return Undone::Refused("a link is there".to_owned());
        }
        Err(error) => return failed(error),
    };
    if set != PERFORMANCE || !setting.takes(was) {
        return Undone::Refused("no value that tailback sets or finds there".to_owned());
    }
    match now.as_str() {
        now if now == was => Undone::Before,
        now if now != set => Undone::Left(format!("somebody has set it to {now:?} since")),
        _ => setting.set(was).map_or_else(failed, |()| Undone::Now),
    }
}

/// Reads a journal, and shows its entries; what `is_known` takes for tailback's is a plain path.
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
