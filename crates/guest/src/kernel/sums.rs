//! The checksums of what was taken out of a package, kept beside it and compared at each use.

use super::cache::{Cache, sha256};
use super::modules;
use crate::error::GuestError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file that holds them; it is written last, so a folder that has it is whole.
const FILE: &str = "sums.json";

/// Whether a folder was unpacked to its end, with its checksums.
pub(super) fn is_whole(folder: &Path) -> bool {
    folder.join(FILE).symlink_metadata().is_ok()
}

/// Keeps the checksums of all files of a folder.
pub(super) fn keep(folder: &Path, cache: &Cache) -> Result<(), GuestError> {
    let mut sums = BTreeMap::new();
    for part in [folder.to_owned(), folder.join(modules::FOLDER)] {
        for entry in std::fs::read_dir(part).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_file()) {
                sums.insert(name(&entry.path(), folder), sha256(&entry.path())?);
            }
        }
    }
    cache.write(&folder.join(FILE), &serde_json::to_vec_pretty(&sums).unwrap_or_default())
}

/// Refuses files of a folder that are not what was unpacked, or that another user could have put
/// there.
pub(super) fn compare<'a>(
    folder: &Path,
    files: impl Iterator<Item = &'a PathBuf>,
    cache: &Cache,
) -> Result<(), GuestError> {
    let bytes = cache.read(&folder.join(FILE))?.unwrap_or_default();
    let sums: BTreeMap<String, String> = serde_json::from_slice(&bytes).unwrap_or_default();
    for file in files {
        cache.check(file)?;
        if sums.get(&name(file, folder)) != Some(&sha256(file)?) {
            return Err(GuestError::Unsafe {
                path: file.clone(),
                why: format!("not what was unpacked; delete {}", folder.display()),
            });
        }
    }
    Ok(())
}

fn name(file: &Path, folder: &Path) -> String {
    file.strip_prefix(folder).unwrap_or(file).display().to_string()
}
