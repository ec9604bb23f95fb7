//! The checksums of files that were unpacked from packages. They are stored beside the files and
//! compared before each use.

use crate::cache::{Cache, failed, sha256};
use crate::error::DebianError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file with the checksums. It is written last, so a folder with this file is complete.
const FILE: &str = "sums.json";

/// Whether a folder was unpacked completely, including its checksums.
pub fn is_whole(folder: &Path) -> bool {
    folder.join(FILE).symlink_metadata().is_ok()
}

/// Stores the checksums of all files in a folder and in its subfolders.
///
/// # Errors
/// If a file cannot be read, or the checksums cannot be written.
pub fn keep(folder: &Path, cache: &Cache) -> Result<(), DebianError> {
    let mut sums = BTreeMap::new();
    for file in files(folder)? {
        sums.insert(name(&file, folder), sha256(&file)?);
    }
    cache.write(&folder.join(FILE), &serde_json::to_vec_pretty(&sums).unwrap_or_default())
}

/// Moves a file into a folder that has checksums, to this path below it. The checksum of the file
/// is written first, so a reader that finds the file also finds its checksum. Two callers at the
/// same time could lose a checksum, so a caller holds the lock of the cache.
///
/// # Errors
/// If the file cannot be read or moved.
pub fn add(file: &Path, below: &Path, folder: &Path, cache: &Cache) -> Result<(), DebianError> {
    let place = folder.join(below);
    let mut sums = kept(folder, cache)?;
    sums.insert(name(&place, folder), sha256(file)?);
    cache.write(&folder.join(FILE), &serde_json::to_vec_pretty(&sums).unwrap_or_default())?;
    std::fs::rename(file, &place).map_err(|source| failed(&place, source))
}

/// Refuses files of a folder that differ from what was unpacked. Also refuses files that another
/// user could have put there.
///
/// # Errors
/// If a file is refused.
pub fn compare<'a>(
    folder: &Path,
    files: impl Iterator<Item = &'a PathBuf>,
    cache: &Cache,
) -> Result<(), DebianError> {
    let sums = kept(folder, cache)?;
    for file in files {
        cache.check(file)?;
        if sums.get(&name(file, folder)) != Some(&sha256(file)?) {
            return Err(changed(folder, file));
        }
    }
    Ok(())
}

/// Refuses a folder if a file in it differs from what was unpacked, is missing or was added, or if
/// another user could have put a file there.
///
/// # Errors
/// Those of [`compare`].
pub fn compare_all(folder: &Path, cache: &Cache) -> Result<(), DebianError> {
    let sums = kept(folder, cache)?;
    let there: Vec<PathBuf> =
        files(folder)?.into_iter().filter(|file| *file != folder.join(FILE)).collect();
    let missing = |name: &&String| !folder.join(name).is_file();
    if let Some(name) = sums.keys().find(missing) {
        return Err(changed(folder, &folder.join(name)));
    }
    compare(folder, there.iter(), cache)
}

fn kept(folder: &Path, cache: &Cache) -> Result<BTreeMap<String, String>, DebianError> {
    let bytes = cache.read(&folder.join(FILE))?.unwrap_or_default();
    Ok(serde_json::from_slice(&bytes).unwrap_or_default())
}

fn changed(folder: &Path, file: &Path) -> DebianError {
    DebianError::Unsafe {
        path: file.to_owned(),
        why: format!("differs from what was unpacked; delete {}", folder.display()),
    }
}

/// All files in a folder and in its subfolders. Symbolic links are not followed.
fn files(folder: &Path) -> Result<Vec<PathBuf>, DebianError> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|source| failed(&folder, source))? {
            let entry = entry.map_err(|source| failed(&folder, source))?;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ => found.push(entry.path()),
            }
        }
    }
    found.sort();
    Ok(found)
}

fn name(file: &Path, folder: &Path) -> String {
    file.strip_prefix(folder).unwrap_or(file).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_added_has_its_checksum_and_the_others_keep_theirs() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path().to_owned());
        let folder = place.path().join("unpacked");
        std::fs::create_dir_all(folder.join("a")).unwrap();
        std::fs::write(folder.join("c"), "two").unwrap();
        keep(&folder, &cache).unwrap();
        for (name, below) in [("one", "a/b"), ("three", "d")] {
            let file = place.path().join(name);
            std::fs::write(&file, name).unwrap();
            add(&file, Path::new(below), &folder, &cache).unwrap();
            assert_eq!(std::fs::read_to_string(folder.join(below)).unwrap(), name);
            assert!(!file.exists());
        }
        compare_all(&folder, &cache).unwrap();
        assert_eq!(kept(&folder, &cache).unwrap().len(), 3);
    }

    #[test]
    fn a_file_that_changed_went_or_came_is_found() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path().to_owned());
        let folder = place.path().join("unpacked");
        std::fs::create_dir_all(folder.join("a")).unwrap();
        std::fs::write(folder.join("a/b"), "one").unwrap();
        std::fs::write(folder.join("c"), "two").unwrap();
        keep(&folder, &cache).unwrap();
        compare_all(&folder, &cache).unwrap();
        let wrong = || compare_all(&folder, &cache).unwrap_err().to_string();
        std::fs::write(folder.join("a/b"), "three").unwrap();
        assert!(wrong().contains("a/b: differs from what was unpacked"), "{}", wrong());
        std::fs::remove_file(folder.join("a/b")).unwrap();
        assert!(wrong().contains("a/b: differs from what was unpacked"), "{}", wrong());
        std::fs::write(folder.join("a/b"), "one").unwrap();
        compare_all(&folder, &cache).unwrap();
        std::fs::write(folder.join("d"), "more").unwrap();
        assert!(wrong().contains("/d: differs from what was unpacked"), "{}", wrong());
    }
}
