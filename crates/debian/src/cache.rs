//! The cache of unpacked packages. The key is the checksum of the package file.

use crate::error::DebianError;
use host::private::{self, PrivateError};
use host::{Roots, Temporary};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The largest index or list of checksums that is read, in bytes.
const MOST_READ: u64 = 1 << 20;

/// Starts of the names of files and folders that are half made.
const HALF_MADE: [&str; 3] = [".taking-in-", ".unpacking-", ".writing-"];

/// Age after which what is half made belongs to a killed run without a journal.
const STALE: Duration = Duration::from_hours(24);

/// The cache folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache(PathBuf);

/// The lock of a run that changes the cache. It is released on drop or when the process dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Cache {
    /// `tailback/PART` in `$XDG_CACHE_HOME`, else in `~/.cache`, else in `/var/cache`.
    pub fn of_user(part: &str) -> Self {
        let base = os::folders::cache().unwrap_or_else(|| PathBuf::from("/var/cache"));
        Cache(base.join("tailback").join(part))
    }

    /// A cache in the given folder.
    pub fn at(folder: PathBuf) -> Self {
        Cache(folder)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// The folder for the unpacked package with this checksum.
    pub fn unpacked(&self, sha256: &str) -> PathBuf {
        self.0.join("packages").join(sha256)
    }

    /// Creates a folder of the cache. Fails if another user could change the cache.
    pub fn make(&self, folder: &Path) -> Result<(), DebianError> {
        private::folder(&self.0).and_then(|_| private::folder(folder)).map(drop).map_err(refused)
    }

    /// Refuses a file of the cache that another user could have put there.
    pub fn check(&self, path: &Path) -> Result<(), DebianError> {
        private::open(path).map(drop).map_err(refused)
    }

    /// The content of a file of the cache. None if the file does not exist.
    ///
    /// # Errors
    /// If another user could have put the file there.
    pub fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, DebianError> {
        // A dangling link also counts as an existing file.
        if path.symlink_metadata().is_err() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let file = private::open(path).map_err(refused)?;
        file.take(MOST_READ).read_to_end(&mut bytes).map_err(|source| failed(path, source))?;
        Ok(Some(bytes))
    }

    /// Writes a file of the cache atomically: a reader finds the complete file or no file.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), DebianError> {
        let folder = path.parent().unwrap_or(&self.0);
        let beside = Temporary::file(&Roots::real(), folder, ".writing-");
        let written = beside.and_then(|(beside, mut file)| {
            file.write_all(bytes)?;
            beside.put(path)
        });
        written.map_err(|source| failed(path, source))
    }

    /// Copies a file into the cache folder, where no other user can change it. The copy is deleted
    /// on drop.
    ///
    /// # Errors
    /// If the file is larger than `most` bytes, is not a regular file, or cannot be copied.
    pub fn copy_in(&self, file: &Path, most: u64) -> Result<Temporary, DebianError> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let from = File::options().read(true).custom_flags(flags.bits() as i32).open(file);
        let from = from.map_err(|source| DebianError::File { path: file.to_owned(), source })?;
        self.copy_of(&from, file, most)
    }

    /// The same, for a file that is open. `name` is its path in messages.
    ///
    /// # Errors
    /// Those of [`Cache::copy_in`].
    pub fn copy_of(&self, from: &File, name: &Path, most: u64) -> Result<Temporary, DebianError> {
        self.make(&self.0)?;
        let unreadable = |source| DebianError::File { path: name.to_owned(), source };
        let metadata = from.metadata().map_err(unreadable)?;
        if !metadata.is_file() || metadata.len() > most {
            let why = format!("not a regular file of at most {} MiB", most >> 20);
            return Err(unreadable(std::io::Error::other(why)));
        }
        let made = Temporary::file(&Roots::real(), &self.0, ".taking-in-");
        let (copy, mut file) = made.map_err(|source| failed(&self.0, source))?;
        std::io::copy(&mut from.take(most), &mut file).map_err(|e| failed(copy.path(), e))?;
        Ok(copy)
    }

    /// Waits for the lock that a run needs to change the cache. Then removes what killed runs left
    /// half made.
    pub fn lock(
        &self,
        note: &mut dyn FnMut(&str),
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Lock, DebianError> {
        self.make(&self.0)?;
        let path = self.0.join("lock");
        let file = private::lock_file(&path).map_err(refused)?;
        let mut noted = false;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    sweep(&self.0);
                    return Ok(Lock { _file: file });
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(error) => return Err(failed(&path, error.into())),
            }
            if interrupted() {
                return Err(DebianError::Interrupted);
            }
            if !std::mem::replace(&mut noted, true) {
                note(&format!("{}: another run is fetching; waiting for it", path.display()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Removes old files and folders that are half made: those in the cache, and those in its folders.
/// One that cannot be removed does no harm.
fn sweep(cache: &Path) {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries(cache).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    for entry in entries(cache).chain(folders.flat_map(|folder| entries(&folder.path()))) {
        let name = entry.file_name();
        let is_half_made = HALF_MADE.iter().any(|start| name.to_string_lossy().starts_with(start));
        let Ok(metadata) = entry.metadata() else { continue };
        let modified = metadata.modified().ok();
        let age = modified.and_then(|then| SystemTime::now().duration_since(then).ok());
        if !is_half_made || age.is_none_or(|age| age <= STALE) {
            continue;
        }
        let _ = match metadata.is_dir() {
            true => std::fs::remove_dir_all(entry.path()),
            false => std::fs::remove_file(entry.path()),
        };
    }
}

/// The error for a folder or file that does not belong to the caller alone.
fn refused(error: PrivateError) -> DebianError {
    match error {
        PrivateError::Unsafe { path, why } => DebianError::Unsafe { path, why },
        PrivateError::File { path, source, .. } => DebianError::Cache { path, source },
    }
}

/// The error for a failed operation on `path`.
pub fn failed(path: &Path, source: std::io::Error) -> DebianError {
    DebianError::Cache { path: path.to_owned(), source }
}

/// The SHA-256 of a file, in hexadecimal.
///
/// # Errors
/// If the file cannot be read.
pub fn sha256(path: &Path) -> Result<String, DebianError> {
    let failed = |source| DebianError::File { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(failed)?;
    let mut hash = Sha256::new();
    let mut chunk = vec![0; 1 << 20];
    loop {
        match file.read(&mut chunk).map_err(failed)? {
            0 => break,
            count => hash.update(&chunk[..count]),
        }
    }
    Ok(hex::encode(hash.finalize()))
}

/// The SHA-256 of bytes, in hexadecimal.
pub fn sha256_of(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::NamedTempFile;

    #[test]
    fn a_known_checksum() {
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        assert_eq!(
            sha256(file.path()).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn two_runs_take_turns() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        let first = cache.lock(&mut |_| {}, &|| false).unwrap();
        let mut notes = 0;
        let second = cache.lock(&mut |_| notes += 1, &|| true);
        assert!(matches!(second, Err(DebianError::Interrupted)));
        let asked = std::cell::Cell::new(0);
        let second = cache.lock(&mut |_| notes += 1, &|| asked.replace(asked.get() + 1) > 1);
        assert!(second.is_err());
        assert_eq!(notes, 1);
        drop(first);
        testing::once_released(|| cache.lock(&mut |_| {}, &|| true).ok());
    }

    #[test]
    fn what_killed_runs_left_half_made_goes_and_the_rest_stays() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path().join("kernels"));
        let folder = |name: &str| cache.folder().join("packages").join(name);
        let file = |name: &str| cache.folder().join(name);
        for name in [".unpacking-old", ".unpacking-new", "sum"] {
            cache.make(&folder(name)).unwrap();
            std::fs::write(folder(name).join("vmlinuz"), "x").unwrap();
        }
        for name in [".taking-in-old", ".taking-in-new", "other"] {
            std::fs::write(file(name), "x").unwrap();
        }
        let old = SystemTime::now() - 2 * STALE;
        let aged = [folder(".unpacking-old"), folder("sum"), file(".taking-in-old"), file("other")];
        for path in aged {
            File::open(path).unwrap().set_modified(old).unwrap();
        }
        drop(cache.lock(&mut |_| {}, &|| false).unwrap());
        for path in [folder(".unpacking-old"), file(".taking-in-old")] {
            assert!(!path.exists(), "{}", path.display());
        }
        let left = [folder(".unpacking-new"), folder("sum"), file(".taking-in-new"), file("other")];
        for path in left {
            assert!(path.exists(), "{}", path.display());
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let cache = Cache::at("/proc/nowhere".into());
        let error = cache.lock(&mut |_| {}, &|| false).unwrap_err();
        assert!(error.to_string().contains("/proc/nowhere"), "{error}");
        assert!(error.to_string().contains("XDG_CACHE_HOME"), "{error}");
    }

    #[test]
    fn a_planted_lock_truncates_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        let letter = folder.path().join("letter");
        std::fs::write(&letter, "keep me").unwrap();
        std::os::unix::fs::symlink(&letter, folder.path().join("lock")).unwrap();
        assert!(cache.lock(&mut |_| {}, &|| false).is_err());
        assert_eq!(std::fs::read_to_string(&letter).unwrap(), "keep me");
    }

    #[test]
    fn a_cache_of_another_user_is_neither_used_nor_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let theirs = folder.path().join("theirs");
        std::fs::create_dir(&theirs).unwrap();
        std::fs::write(theirs.join("index.json"), "{}").unwrap();
        if std::os::unix::fs::chown(&theirs, Some(65_534), None).is_err() {
            return testing::skipped("only root can give a folder away");
        }
        let cache = Cache::at(theirs.join("tailback/kernels"));
        let error = cache.lock(&mut |_| {}, &|| false).unwrap_err();
        assert!(error.to_string().contains("owned by user 65534"), "{error}");
        assert!(error.to_string().contains("XDG_CACHE_HOME"), "{error}");
        assert!(cache.read(&theirs.join("index.json")).is_err());
        assert_eq!(std::fs::read_dir(&theirs).unwrap().count(), 1);
    }

    #[test]
    fn a_full_disk_leaves_nothing_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        // The folder stands for anything that prevents the rename of the file.
        let path = folder.path().join("index.json");
        std::fs::create_dir_all(path.join("full")).unwrap();
        assert!(matches!(cache.write(&path, b"x"), Err(DebianError::Cache { .. })));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
