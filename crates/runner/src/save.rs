//! Saving a record so that a reader finds a whole one, whatever happens to the writer.

use model::Record;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// End of the name that a file has between writing and renaming.
const SUFFIX: &str = ".tailback.tmp";

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
    save_text(&record.to_json(), path)
}

/// Writes a text in the same way: a reader finds the old one or the whole new one.
///
/// # Errors
/// If the folder cannot be written or is full; the old file, if any, is untouched.
pub fn save_text(text: &str, path: &Path) -> Result<(), SaveError> {
    target(path)
        .and_then(|target| write_whole(text.as_bytes(), &target))
        .map_err(|source| SaveError { path: path.to_owned(), source })
}

/// Whether saving there would replace something by a record without trials, as of a study that was
/// interrupted at once.
pub fn would_lose(record: &Record, path: &Path) -> bool {
    record.trials.is_empty() && std::fs::metadata(path).is_ok_and(|old| old.len() > 0)
}

/// The file that a path names: behind a symbolic link, the file it leads to. Anything that is
/// there and is no ordinary file would be destroyed by a rename, and is refused.
///
/// # Errors
/// If it is a folder, a device, a pipe or a socket.
pub fn target(path: &Path) -> std::io::Result<PathBuf> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => std::fs::canonicalize(path),
        Ok(metadata) if metadata.is_dir() => Err(std::io::ErrorKind::IsADirectory.into()),
        Ok(_) => Err(std::io::Error::other("not an ordinary file")),
        // A link that leads nowhere must not be replaced either.
        Err(_) if std::fs::symlink_metadata(path).is_ok() => {
            Err(std::io::Error::other("a symbolic link that leads nowhere"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(path.to_owned()),
        Err(error) => Err(error),
    }
}

/// Removes what writers left in a folder that were killed between naming and renaming: the files
/// of processes that are gone.
pub fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let writer = name.to_str().and_then(writer);
        if writer.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            // One that cannot be removed does no harm.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The process that made a file of this name between writing and renaming.
fn writer(name: &str) -> Option<u32> {
    name.strip_prefix('.')?.strip_suffix(SUFFIX)?.rsplit_once('.')?.1.parse().ok()
}

fn write_whole(bytes: &[u8], path: &Path) -> std::io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let name = path
        .file_name()
        .ok_or_else(|| std::io::Error::new(std::io::ErrorKind::InvalidInput, "not a file name"))?;
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
    // The rename itself survives a crash only once the folder is on disk; a folder that cannot be
    // read or synced holds the new record all the same.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// The name between writing and renaming: a hidden file beside it, with the pid in its name.
fn beside(name: &std::ffi::OsStr) -> OsString {
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}{SUFFIX}", std::process::id()));
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
    // Never through a link that another user put there.
    let mut file = File::create_new(beside)?;
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
    fn links_are_followed_and_what_is_no_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a.json"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_whole(b"new", &target(&link).unwrap()).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        let nowhere = folder.path().join("nowhere");
        std::os::unix::fs::symlink(folder.path().join("missing"), &nowhere).unwrap();
        for refused in [Path::new("/dev/null"), folder.path(), &nowhere] {
            assert!(target(refused).is_err(), "{}", refused.display());
        }
    }

    #[test]
    fn leftovers_of_the_dead_are_swept_and_those_of_the_living_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str| std::fs::write(folder.path().join(name), "").unwrap();
        let own = format!(".a.json.{}.tailback.tmp", std::process::id());
        let names = ["b.json", ".c.json.x.tailback.tmp", ".d.json.4294967295.tailback.tmp"];
        names.into_iter().chain([own.as_str()]).for_each(put);
        sweep(folder.path());
        let gone = folder.path().join(".d.json.4294967295.tailback.tmp");
        assert!(!gone.exists());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
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
        assert!(write_whole(b"x", Path::new("/")).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
