//! Locks for records. Each record that a run keeps has a lock, so that two runs never continue
//! the same study and never overwrite each other's record.
//!
//! The record itself cannot carry the lock, since every save replaces the file. A lock file
//! beside the record would stay behind when a run is killed. So the locks are in a folder of
//! their own. The kernel releases a lock when the run that holds it ends, however it ends.

use crate::paths;
use host::journal::Noted;
use host::{Roots, private, temporary};
use rustix::fs::{AtFlags, unlinkat};
use std::fs::{File, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many times a lock is tried if its holder is just removing it.
const MOST_TRIES: usize = 100;

/// Pause between two tries while the holder of the lock is dead. A restore is then removing the
/// lock.
const PAUSE: Duration = Duration::from_millis(2);

/// The result of a request to be the only writer of a record.
#[derive(Debug)]
pub enum Claim {
    /// No other run writes the record while this value lives.
    HeldByUs(Held),
    /// Another run writes the record. The number is its process, if known.
    HeldByOther(Option<u32>),
    /// There is no place for locks here.
    NoLocks,
}

/// The lock of a record; dropping this value releases the lock.
#[derive(Debug)]
pub struct Held {
    folder: OwnedFd,
    name: String,
    /// The open file; it holds the lock.
    _file: File,
    /// The journal entry that removes the lock file if this run is killed.
    noted: Option<Noted>,
}

impl Drop for Held {
    fn drop(&mut self) {
        // If the file stays, nobody holds its lock, and the next run takes it.
        let _ = unlinkat(&self.folder, &self.name, AtFlags::empty());
        self.noted.take().into_iter().for_each(Noted::undone);
    }
}

/// The folder of this user's locks. Root may share the state folder with the user who called
/// sudo, but each of them continues only its own records.
pub fn locks() -> PathBuf {
    paths::state_folder().join(format!("locks-{}", rustix::process::geteuid().as_raw()))
}

/// Claims a record. The record need not exist yet.
pub fn take(record: &Path) -> Claim {
    // The folder above that of the locks may have to be one that no other user can change.
    match paths::make_state_folder() {
        Ok(()) => take_in(&locks(), record),
        Err(_) => Claim::NoLocks,
    }
}

/// Claims a record by a lock in `folder`. The folder is opened once: root may use the state folder
/// of another user, who could then put another folder in its place.
pub fn take_in(folder: &Path, record: &Path) -> Claim {
    // The mode keeps other users from holding or removing a lock here.
    let locks = os::folders::make_own(folder).ok().filter(private::is_ours);
    let Some(locks) = locks else { return Claim::NoLocks };
    let name = name(record);
    let noted = temporary::announce(&Roots::real(), &folder.join(&name));
    let mut claim = lock(locks, name);
    match &mut claim {
        Claim::HeldByUs(held) => held.noted = noted,
        Claim::HeldByOther(_) | Claim::NoLocks => noted.into_iter().for_each(Noted::undone),
    }
    claim
}

/// Takes the lock in this file.
fn lock(folder: OwnedFd, name: String) -> Claim {
    let mut theirs = None;
    for _ in 0..MOST_TRIES {
        let opened = private::lock_file_in(&folder, name.as_ref());
        let Ok(mut file) = opened else { return Claim::NoLocks };
        match file.try_lock() {
            Ok(()) if private::is_still_in(&file, &folder, name.as_ref()) => {
                // The process number is only for people to read; the lock itself counts.
                let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
                return Claim::HeldByUs(Held { folder, name, _file: file, noted: None });
            }
            // The holder has just removed this file. Try the file that is there by now.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                theirs = Some(holder(file));
                // If the holder is dead, a restore is removing the lock. Then try again.
                if theirs.flatten().is_some_and(is_running) {
                    break;
                }
                std::thread::sleep(PAUSE);
            }
            Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(_)) => return Claim::NoLocks,
        }
    }
    theirs.map_or(Claim::NoLocks, Claim::HeldByOther)
}

fn is_running(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// The process that writes a record, in words.
pub fn process(holder: Option<u32>) -> String {
    holder.map_or_else(|| "another run".to_owned(), |pid| format!("another run (process {pid})"))
}

/// The name of the lock of a record. Every path to the same record gives the same name.
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
        assert!(matches!(held, Claim::HeldByUs(_)));
        for path in [&record, &link.join("a.json")] {
            let second = take_in(&locks, path);
            assert!(matches!(second, Claim::HeldByOther(Some(pid)) if pid == std::process::id()));
        }
        assert!(matches!(take_in(&locks, &place.path().join("b.json")), Claim::HeldByUs(_)));
        drop(held);
        assert_eq!(std::fs::read_dir(&locks).unwrap().count(), 0);
        std::fs::write(&record, "{}").unwrap();
        assert!(matches!(take_in(&locks, &record), Claim::HeldByUs(_)));
    }

    #[test]
    fn what_a_dead_run_left_is_taken_and_a_lock_that_was_removed_counts_for_nothing() {
        let place = tempfile::tempdir().unwrap();
        let record = place.path().join("a.json");
        let lock = place.path().join(name(&record));
        std::fs::write(&lock, "1").unwrap();
        let held = take_in(place.path(), &record);
        assert!(matches!(held, Claim::HeldByUs(_)));
        assert_eq!(std::fs::read_to_string(&lock).unwrap(), std::process::id().to_string());
        let file = File::open(&lock).unwrap();
        assert!(private::is_still_at(&file, &lock));
        std::fs::remove_file(&lock).unwrap();
        assert!(!private::is_still_at(&file, &lock));
    }

    #[test]
    fn a_folder_that_another_user_could_change_has_no_locks() {
        use std::os::unix::fs::{chown, lchown, symlink};
        if !testing::root_or_skip() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::create_dir(at("etc")).unwrap();
        symlink(at("etc"), at("link")).unwrap();
        lchown(at("link"), Some(65_534), None).unwrap();
        std::fs::create_dir(at("theirs")).unwrap();
        chown(at("theirs"), Some(65_534), None).unwrap();
        for folder in ["link", "link/locks", "theirs"] {
            let claim = take_in(&at(folder), &at("a.json"));
            assert!(matches!(claim, Claim::NoLocks), "{folder}: {claim:?}");
        }
        assert_eq!(std::fs::read_dir(at("etc")).unwrap().count(), 0);
        // The folder is replaced while the lock is held.
        let held = take_in(&at("locks"), &at("a.json"));
        assert!(matches!(held, Claim::HeldByUs(_)));
        std::fs::rename(at("locks"), at("moved")).unwrap();
        symlink(at("etc"), at("locks")).unwrap();
        let kept = at("etc").join(name(&at("a.json")));
        std::fs::write(&kept, "").unwrap();
        drop(held);
        assert!(kept.exists());
        assert_eq!(std::fs::read_dir(at("moved")).unwrap().count(), 0);
    }

    #[test]
    fn without_a_place_for_locks_nothing_is_claimed() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(matches!(take_in(&file, &place.path().join("a.json")), Claim::NoLocks));
    }
}
