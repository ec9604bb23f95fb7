//! Saving a record so that a reader finds a whole one, whatever happens to the writer.

use model::Record;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Why a record was not saved.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", .path.display())]
pub struct SaveError {
    /// Where to.
    pub path: PathBuf,
    /// The kernel's reason.
    pub source: std::io::Error,
}

/// Writes the record to `path`: a file without a name, synced, then named and renamed over the
/// old one. A writer that is killed while it writes leaves nothing behind, and the old record
/// stays.
///
/// # Errors
/// If the folder cannot be written or is full; the old record, if any, is untouched.
pub fn save(record: &Record, path: &Path) -> Result<(), SaveError> {
    let text = record.to_json();
    write_whole(text.as_bytes(), path).map_err(|source| SaveError { path: path.to_owned(), source })
}

fn write_whole(bytes: &[u8], path: &Path) -> std::io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let name = path
        .file_name()
        .ok_or_else(|| std::io::Error::new(std::io::ErrorKind::InvalidInput, "not a file name"))?;
    if path.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    let beside = folder.join(beside(name));
    // What a writer of the same number left when it died between two calls is in the way.
    let _ = std::fs::remove_file(&beside);
    let written = write_nameless(bytes, folder, &beside).or_else(|error| {
        let nameless_unknown = matches!(
            rustix::io::Errno::from_io_error(&error),
            Some(
                rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR | rustix::io::Errno::NOENT
            )
        );
        if nameless_unknown && folder.is_dir() { write_named(bytes, &beside) } else { Err(error) }
    });
    written.and_then(|()| std::fs::rename(&beside, path)).inspect_err(|_| {
        let _ = std::fs::remove_file(&beside);
    })?;
    // The rename itself is safe only once the folder is on disk.
    File::open(folder)?.sync_all()
}

/// The name between writing and renaming; a hidden neighbour, told apart by the process.
fn beside(name: &std::ffi::OsStr) -> OsString {
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}.tmp", std::process::id()));
    beside
}

fn write_nameless(bytes: &[u8], folder: &Path, beside: &Path) -> std::io::Result<()> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    let mut file = File::from(openat(CWD, folder, flags, mode)?);
    file.write_all(bytes)?;
    file.sync_all()?;
    let nameless = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, nameless, CWD, beside, AtFlags::SYMLINK_FOLLOW)?)
}

fn write_named(bytes: &[u8], beside: &Path) -> std::io::Result<()> {
    let mut file = File::create(beside)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_content_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        for text in ["first", "second"] {
            write_whole(text.as_bytes(), &path).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_system_without_nameless_files_is_written_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let beside = folder.path().join(".a.tmp");
        write_named(b"x", &beside).unwrap();
        assert_eq!(std::fs::read(&beside).unwrap(), b"x");
    }

    #[test]
    fn what_cannot_be_written_is_an_error_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write_whole(b"x", &folder.path().join("no/such/folder")).is_err());
        assert!(write_whole(b"x", folder.path()).is_err());
        assert!(write_whole(b"x", Path::new("/")).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
