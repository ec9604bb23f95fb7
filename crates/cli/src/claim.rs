//! Who writes which record: a lock for each record that a run keeps, so that no two runs go on with
//! one study or write over each other.
//!
//! The record itself cannot carry the lock, since every save puts another file in its place, and a
//! file beside it would stay there when a run is killed. So the locks are in a folder of their own.
//! The kernel lets go of a lock when the run that holds it ends, however it ends.

use crate::paths;
use host::journal::Noted;
use host::{Roots, private, temporary};
use std::fs::{DirBuilder, File, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a lock is taken anew that its holder removes at that moment.
const MOST_TRIES: usize = 100;

/// Pause between two tries while a lock is held by nobody that lives: it is being removed.
const PAUSE: Duration = Duration::from_millis(2);

/// What became of the request to be the only writer of a record.
#[derive(Debug)]
pub enum Claim {
    /// No other run writes it while this lives.
    Ours(Held),
    /// Another run does: its process, where that is known.
    Theirs(Option<u32>),
    /// There is no place for locks here.
    Impossible,
}

/// The lock of a record; dropping it lets go.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    /// Open as long as the lock is held.
    _file: File,
    /// By which the lock's file goes where this run is killed.
    noted: Option<Noted>,
}

impl Drop for Held {
    fn drop(&mut self) {
        // A file that stays is locked by nobody, and the next run takes it.
        let _ = std::fs::remove_file(&self.path);
        self.noted.take().into_iter().for_each(Noted::undone);
    }
}

/// Where the locks of this user are. Root may share the state folder with the user who asked it,
/// and each goes on with records of its own alone.
pub fn locks() -> PathBuf {
    paths::state_folder().join(format!("locks-{}", rustix::process::geteuid().as_raw()))
}

/// Claims a record, which need not be there yet.
pub fn take(record: &Path) -> Claim {
    take_in(&locks(), record)
}

/// Claims a record by a lock in this folder.
pub fn take_in(folder: &Path, record: &Path) -> Claim {
    let above = folder.parent().map_or(Ok(()), os::folders::make);
    // Nobody else can then hold a lock here, or take one away.
    let made = above.and_then(|()| DirBuilder::new().recursive(true).mode(0o700).create(folder));
    if made.is_err() {
        return Claim::Impossible;
    }
    let path = folder.join(name(record));
    let noted = temporary::announce(&Roots::real(), &path);
    let mut claim = lock(path);
    match &mut claim {
        Claim::Ours(held) => held.noted = noted,
        Claim::Theirs(_) | Claim::Impossible => noted.into_iter().for_each(Noted::undone),
    }
    claim
}

/// Takes the lock in this file.
fn lock(path: PathBuf) -> Claim {
    let mut theirs = None;
    for _ in 0..MOST_TRIES {
        let Ok(mut file) = private::lock_file(&path) else { return Claim::Impossible };
        match file.try_lock() {
            Ok(()) if private::is_still_at(&file, &path) => {
                // Who holds it is for people to read; the lock is what counts.
                let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
                return Claim::Ours(Held { path, _file: file, noted: None });
            }
            // Its holder has just removed it: the file that is there now counts.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                theirs = Some(holder(file));
                // Held for a dead run, it is being removed by a restore.
                if theirs.flatten().is_some_and(is_running) {
                    break;
                }
                std::thread::sleep(PAUSE);
            }
            Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(_)) => return Claim::Impossible,
        }
    }
    theirs.map_or(Claim::Impossible, Claim::Theirs)
}

fn is_running(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// What a process that writes a record is called.
pub fn process(holder: Option<u32>) -> String {
    holder.map_or_else(|| "another run".to_owned(), |pid| format!("another run (process {pid})"))
}

/// The name of a record's lock, the same by whatever path the record is named.
fn name(record: &Path) -> String {
    let target = runner::target(record).unwrap_or_else(|_| record.to_owned());
    let folder = paths::folder_of(&target);
    let mut hasher = DefaultHasher::new();
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).hash(&mut hasher);
    target.file_name().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn holder(file: File) -> Option<u32> {
    let mut text = String::new();
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_one_writer_at_a_time_by_whatever_path() {
        let place = tempfile::tempdir().unwrap();
        let (locks, record) = (place.path().join("locks"), place.path().join("a.json"));
        let link = place.path().join("link");
        std::os::unix::fs::symlink(place.path(), &link).unwrap();
        let held = take_in(&locks, &record);
        assert!(matches!(held, Claim::Ours(_)));
        for path in [&record, &link.join("a.json")] {
            let second = take_in(&locks, path);
            assert!(matches!(second, Claim::Theirs(Some(pid)) if pid == std::process::id()));
        }
        assert!(matches!(take_in(&locks, &place.path().join("b.json")), Claim::Ours(_)));
        drop(held);
        assert_eq!(std::fs::read_dir(&locks).unwrap().count(), 0);
        std::fs::write(&record, "{}").unwrap();
        assert!(matches!(take_in(&locks, &record), Claim::Ours(_)));
    }

    #[test]
    fn what_a_dead_run_left_is_taken_and_a_lock_that_was_removed_counts_for_nothing() {
        let place = tempfile::tempdir().unwrap();
        let record = place.path().join("a.json");
        let lock = place.path().join(name(&record));
        std::fs::write(&lock, "1").unwrap();
        let held = take_in(place.path(), &record);
        assert!(matches!(held, Claim::Ours(_)));
        assert_eq!(std::fs::read_to_string(&lock).unwrap(), std::process::id().to_string());
        let file = File::open(&lock).unwrap();
        assert!(private::is_still_at(&file, &lock));
        std::fs::remove_file(&lock).unwrap();
        assert!(!private::is_still_at(&file, &lock));
    }

    #[test]
    fn without_a_place_for_locks_nothing_is_claimed() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(matches!(take_in(&file, &place.path().join("a.json")), Claim::Impossible));
    }
}
