//! Saves a record so that a reader finds a whole one, whatever happens to the writer, and so that
//! nobody else decides where it goes.
//!
//! Root may write into another user's folder. Between two blocks, that user could replace the
//! record by a link, or the folder by another one. So a folder is opened once and kept open, and
//! a link is followed only if it belongs to the caller or to root.

use model::Judged;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, linkat, openat, readlinkat, renameat,
    unlinkat,
};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The end of a file's name between writing and renaming.
const SUFFIX: &str = ".tailback.tmp";

/// Most links that are followed to a record, without those of its folders. The kernel follows as
/// many.
const MOST_LINKS: u32 = 40;

/// Why a record was not saved.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", .path.display())]
pub struct SaveError {
    /// The path of the record.
    pub path: PathBuf,
    /// The kernel's reason.
    pub source: std::io::Error,
}

/// Writes the record to `path`: into a nameless file, which is synced, then named and renamed
/// over the old record. A writer that is killed while it writes leaves nothing behind, and the
/// old record stays.
///
/// # Errors
/// If the folder cannot be written or is full; the old record, if any, is untouched.
pub fn save(record: &Judged, path: &Path) -> Result<(), SaveError> {
    save_text(&record.to_json(), path)
}

/// Writes a text in the same way: a reader finds the old text or the whole new one.
///
/// # Errors
/// If the folder cannot be written or is full; the old file, if any, is untouched.
pub fn save_text(text: &str, path: &Path) -> Result<(), SaveError> {
    save_with(&mut |out| out.write_all(text.as_bytes()), path)
}

/// Writes the content of a file. It is called again if the first way to make the file is not
/// supported.
pub type Fill<'a> = &'a mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>;

/// Writes what `fill` gives in the same way, however long it is.
///
/// # Errors
/// If the folder cannot be written or is full; the old file, if any, is untouched.
pub fn save_with(fill: Fill, path: &Path) -> Result<(), SaveError> {
    target(path)
        .and_then(|target| write_whole(fill, &target))
        .map_err(|source| SaveError { path: path.to_owned(), source })
}

/// Whether saving to `path` would replace a file by a record without trials, for example of a
/// study that was interrupted at once.
pub fn would_lose(record: &Judged, path: &Path) -> bool {
    record.trials.is_empty() && std::fs::metadata(path).is_ok_and(|old| old.len() > 0)
}

/// The file that a path names. For a symbolic link, that is the file it leads to, also through
/// further links. Anything but an ordinary file is refused, since a rename would destroy it.
///
/// # Errors
/// If a folder, a device, a pipe or a socket is there, or a link of another user or to nothing.
pub fn target(path: &Path) -> std::io::Result<PathBuf> {
    let (folder, name) = split(path)?;
    let open = match held(&folder) {
        Ok(open) => open,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return Err(error),
        Err(_) => return Ok(path.to_owned()),
    };
    match what_is_at(&open, name)? {
        Found::Link(leads) => end_of_links(std::path::absolute(folder)?.join(leads)),
        Found::Nothing | Found::File => Ok(path.to_owned()),
    }
}

/// The file to which a link leads, from the path in that link. The kernel would follow further
/// links of anybody, so each one is checked like the first, and each folder is held.
fn end_of_links(mut path: PathBuf) -> std::io::Result<PathBuf> {
    for _ in 0..MOST_LINKS {
        let (folder, name) = split(&path)?;
        let found = held(&folder).and_then(|open| what_is_at(&open, name));
        match found {
            Ok(Found::File) => return Ok(path),
            Ok(Found::Link(leads)) => path = folder.join(leads),
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            Ok(Found::Nothing) | Err(_) => {
                return Err(other("a symbolic link that leads nowhere"));
            }
        }
    }
    Err(Errno::LOOP.into())
}

/// What exists at the path of a record.
enum Found {
    Nothing,
    File,
    /// A link to this path.
    Link(PathBuf),
}

/// A link is opened itself. Otherwise another user could exchange it after the check of its owner,
/// before its target is read.
fn what_is_at(folder: &OwnedFd, name: &OsStr) -> std::io::Result<Found> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = match openat(folder, name, flags, Mode::empty()) {
        Ok(open) => open,
        Err(Errno::NOENT) => return Ok(Found::Nothing),
        Err(error) => return Err(error.into()),
    };
    let stat = fstat(&open)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(Found::File),
        FileType::Directory => Err(std::io::ErrorKind::IsADirectory.into()),
        FileType::Symlink if is_trusted(&stat) => {
            let leads = readlinkat(&open, "", Vec::new())?.into_bytes();
            Ok(Found::Link(OsString::from_vec(leads).into()))
        }
        FileType::Symlink => Err(other("a symbolic link of another user, which is not followed")),
        _ => Err(other("not an ordinary file")),
    }
}

/// Whether a link belongs to the caller or to root.
fn is_trusted(link: &Stat) -> bool {
    link.st_uid == rustix::process::geteuid().as_raw() || link.st_uid == 0
}

fn other(why: &str) -> std::io::Error {
    std::io::Error::other(why.to_owned())
}

/// The folder and the name of a file.
fn split(path: &Path) -> std::io::Result<(PathBuf, &OsStr)> {
    let name = path
        .file_name()
        .ok_or_else(|| std::io::Error::new(std::io::ErrorKind::InvalidInput, "not a file name"))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    Ok((folder.unwrap_or(Path::new(".")).to_owned(), name))
}

/// Folders in which something was saved, by the path that was given. A static, since it applies
/// to the whole process: if one part has checked a path, the path leads every other part to the
/// same folder, also on another thread. Two values would be two answers to where a path leads.
static HELD: Mutex<BTreeMap<PathBuf, Arc<OwnedFd>>> = Mutex::new(BTreeMap::new());

/// The folder of that path: the same one each time, even if the path leads to another folder
/// since. A folder that has been deleted meanwhile is looked up again.
pub(crate) fn held(folder: &Path) -> std::io::Result<Arc<OwnedFd>> {
    let path = std::path::absolute(folder)?;
    // Entries are inserted whole, so a panic elsewhere leaves nothing half done.
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(folder) = held.get(&path)
        && fstat(folder)?.st_nlink > 0
    {
        return Ok(Arc::clone(folder));
    }
    let found = os::folders::hold(&path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // A folder that may be written but not read is held without read access.
    let folder = Arc::new(match openat(&found, ".", flags, Mode::empty()) {
        Err(Errno::ACCESS) => found,
        opened => opened?,
    });
    held.insert(path, Arc::clone(&folder));
    Ok(folder)
}

/// Renames a file within its folder. This is the folder in which the file was saved, even if the
/// path leads to another folder since.
///
/// # Errors
/// If the folder cannot be opened, or the file cannot be renamed.
pub fn rename(path: &Path, name: &OsStr) -> std::io::Result<()> {
    let (folder, old) = split(path)?;
    let folder = held(&folder)?;
    Ok(renameat(&folder, old, &folder, name)?)
}

/// Removes the files of writers that were killed between naming and renaming: files whose process
/// no longer exists.
pub fn sweep(folder: &Path) {
    let Ok(folder) = held(folder) else { return };
    let names = Dir::read_from(&folder).into_iter().flatten().flatten();
    for name in names.map(|entry| entry.file_name().to_owned()) {
        let writer = name.to_str().ok().and_then(writer);
        if writer.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            // A file that cannot be removed does no harm.
            let _ = unlinkat(&folder, &name, AtFlags::empty());
        }
    }
}

/// The process that made a file with this temporary name.
fn writer(name: &str) -> Option<u32> {
    name.strip_prefix('.')?.strip_suffix(SUFFIX)?.rsplit_once('.')?.1.parse().ok()
}

fn write_whole(fill: Fill, path: &Path) -> std::io::Result<()> {
    let (folder, name) = split(path)?;
    let folder = held(&folder)?;
    let beside = beside(name);
    // A writer with the same process id may have died between the two calls. Its file would be in
    // the way.
    let _ = unlinkat(&folder, &beside, AtFlags::empty());
    let written =
        write_nameless(fill, &folder, &beside).or_else(|error| {
            match Errno::from_io_error(&error) {
                Some(errno) if has_no_nameless_files(errno) => write_named(fill, &folder, &beside),
                _ => Err(error),
            }
        });
    let named = written.and_then(|()| Ok(renameat(&folder, &beside, &folder, name)?));
    named.inspect_err(|_| {
        let _ = unlinkat(&folder, &beside, AtFlags::empty());
    })?;
    // The rename survives a crash only once the folder is on disk. If the folder cannot be read
    // or synced, the new record is in it all the same.
    let _ = rustix::fs::fsync(&folder);
    Ok(())
}

/// The temporary file that a save of this process makes before the file takes the name of `path`.
/// A kill at that moment leaves it behind.
pub fn unfinished(path: &Path) -> Option<PathBuf> {
    let target = target(path).ok()?;
    let name = beside(target.file_name()?);
    Some(target.with_file_name(name))
}

/// The name between writing and renaming: hidden, in the same folder, with the process id.
pub(crate) fn beside(name: &OsStr) -> OsString {
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}{SUFFIX}", std::process::id()));
    beside
}

/// Whoever may read the folder may read a record.
const MODE: Mode = Mode::RUSR.union(Mode::WUSR).union(Mode::RGRP).union(Mode::ROTH);

/// A file without a name.
pub(crate) fn nameless_file(folder: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    openat(folder, ".", OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, MODE)
}

/// Whether making a nameless file failed because the file system does not support it.
pub(crate) fn has_no_nameless_files(error: Errno) -> bool {
    matches!(error, Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::BADF)
}

/// A new file, never one that somebody else put there under that name.
pub(crate) fn named_file(folder: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    openat(folder, name, flags, MODE)
}

fn write_nameless(fill: Fill, folder: &OwnedFd, beside: &OsStr) -> std::io::Result<()> {
    let file = File::from(nameless_file(folder)?);
    filled(fill, &file)?;
    file.sync_all()?;
    let nameless = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(rustix::fs::CWD, nameless, folder, beside, AtFlags::SYMLINK_FOLLOW)?)
}

fn write_named(fill: Fill, folder: &OwnedFd, beside: &OsStr) -> std::io::Result<()> {
    let file = File::from(named_file(folder, beside)?);
    filled(fill, &file)?;
    file.sync_all()
}

fn filled(fill: Fill, file: &File) -> std::io::Result<()> {
    let mut out = BufWriter::new(file);
    fill(&mut out)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(bytes: &[u8], path: &Path) -> std::io::Result<()> {
        write_whole(&mut |out| out.write_all(bytes), path)
    }

    #[test]
    fn the_old_content_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        for text in ["first", "second"] {
            put(text.as_bytes(), &path).unwrap();
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
        put(b"new", &target(&link).unwrap()).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        let nowhere = folder.path().join("nowhere");
        std::os::unix::fs::symlink(folder.path().join("missing"), &nowhere).unwrap();
        for refused in [Path::new("/dev/null"), folder.path(), &nowhere] {
            assert!(target(refused).is_err(), "{}", refused.display());
        }
    }

    #[test]
    fn a_link_to_a_link_leads_to_the_file_at_the_end() {
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::create_dir_all(at("far/away")).unwrap();
        std::fs::write(at("far/a.json"), "old").unwrap();
        symlink("far/away", at("folder")).unwrap();
        symlink("../a.json", at("far/away/near")).unwrap();
        symlink(at("folder/near"), at("link")).unwrap();
        let found = target(&at("link")).unwrap();
        assert_eq!(found.canonicalize().unwrap(), at("far/a.json").canonicalize().unwrap());
        save_text("new", &at("link")).unwrap();
        assert_eq!(std::fs::read_to_string(at("far/a.json")).unwrap(), "new");
        assert!(at("link").is_symlink() && at("far/away/near").is_symlink());
        for (name, leads) in
            [("loop", "loop"), ("device", "/dev/null"), ("gone", "none/a.json"), ("tree", "far")]
        {
            symlink(leads, at(name)).unwrap();
            assert!(target(&at(name)).is_err(), "{name}");
        }
        let gone = target(&at("gone")).unwrap_err().to_string();
        assert_eq!(gone, "a symbolic link that leads nowhere");
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
        let beside = OsStr::new(".a.tmp");
        write_named(&mut |out| out.write_all(b"x"), &held(folder.path()).unwrap(), beside).unwrap();
        assert_eq!(std::fs::read(folder.path().join(beside)).unwrap(), b"x");
        assert!(
            write_named(&mut |out| out.write_all(b"x"), &held(folder.path()).unwrap(), beside)
                .is_err()
        );
    }

    #[test]
    fn the_name_between_writing_and_renaming_is_known_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        let path = unfinished(&folder.path().join("a.json")).unwrap();
        assert_eq!(path.parent(), Some(folder.path()));
        let name = path.file_name().unwrap().to_str().unwrap();
        assert_eq!(writer(name), Some(std::process::id()));
    }

    #[test]
    fn what_cannot_be_written_is_an_error_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(put(b"x", &folder.path().join("no/such/folder")).is_err());
        assert!(put(b"x", Path::new("/")).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_link_that_another_user_put_in_the_records_place_is_not_followed() {
        // Only root can make a link that belongs to another user.
        if !testing::root_or_skip() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (record, secret) = (folder.path().join("a.json"), folder.path().join("secret"));
        save_text("block 1", &record).unwrap();
        std::fs::write(&secret, "kept").unwrap();
        std::fs::remove_file(&record).unwrap();
        std::os::unix::fs::symlink(&secret, &record).unwrap();
        std::os::unix::fs::lchown(&record, Some(65534), Some(65534)).unwrap();
        let refused = save_text("block 2", &record).unwrap_err().to_string();
        assert!(refused.contains("a symbolic link of another user"), "{refused}");
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "kept");
    }

    #[test]
    fn a_link_of_ours_that_leads_through_a_link_of_another_user_is_not_followed() {
        use std::os::unix::fs::{lchown, symlink};
        // Only root can make a link that belongs to another user.
        if !testing::root_or_skip() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::create_dir(at("etc")).unwrap();
        std::fs::write(at("etc/secret"), "kept").unwrap();
        symlink("etc/secret", at("theirs")).unwrap();
        symlink("etc", at("folder")).unwrap();
        for theirs in ["theirs", "folder"] {
            lchown(at(theirs), Some(65534), Some(65534)).unwrap();
        }
        for (ours, leads) in [("a.json", "theirs"), ("b.json", "folder/secret")] {
            symlink(leads, at(ours)).unwrap();
            let refused = save_text("new", &at(ours)).unwrap_err().to_string();
            assert!(refused.contains("a symbolic link of"), "{refused}");
        }
        assert_eq!(std::fs::read_to_string(at("etc/secret")).unwrap(), "kept");
    }

    #[test]
    fn a_folder_that_was_replaced_by_a_link_gets_nothing() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::create_dir(at("mine")).unwrap();
        std::fs::create_dir(at("etc")).unwrap();
        let record = at("mine").join("a.json");
        save_text("block 1", &record).unwrap();
        std::fs::rename(at("mine"), at("moved")).unwrap();
        std::os::unix::fs::symlink(at("etc"), at("mine")).unwrap();
        save_text("block 2", &record).unwrap();
        assert_eq!(std::fs::read_dir(at("etc")).unwrap().count(), 0);
        assert_eq!(std::fs::read_to_string(at("moved").join("a.json")).unwrap(), "block 2");
    }
}
