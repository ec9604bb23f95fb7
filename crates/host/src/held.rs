//! Files and folders that are held open. They are opened one component at a time, without
//! following links, so that nobody can replace them after the check.

use crate::private;
use os::folders::mount_of;
use rustix::fs::{CWD, Mode, OFlags, fstatfs, getxattr_query, openat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Flags to open a folder for access to its entries.
const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Most bytes of a small kernel file that are read.
const MOST: u64 = 4 << 10;

/// The components of an absolute path. None if the path has anything but plain names: `..`, `.`,
/// a double slash, or a slash at the end.
pub(crate) fn parts(path: &Path) -> Option<Vec<&OsStr>> {
    let bytes = path.as_os_str().as_bytes().strip_prefix(b"/")?;
    let parts: Vec<&OsStr> = bytes.split(|byte| *byte == b'/').map(OsStr::from_bytes).collect();
    parts.iter().all(|part| !["", ".", ".."].map(OsStr::new).contains(part)).then_some(parts)
}

/// Opens a folder by its path. All components except the last one are trusted.
pub(crate) fn folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, FOLDER, Mode::empty())?)
}

/// Opens a folder below another one, on the same mount.
pub(crate) fn below(base: OwnedFd, names: &[&OsStr]) -> io::Result<OwnedFd> {
    let mount = mount_of(&base)?;
    let mut found = base;
    for name in names {
        found = openat(&found, *name, FOLDER, Mode::empty())?;
    }
    match mount_of(&found)? == mount {
        true => Ok(found),
        false => Err(io::Error::other("another file system is mounted on the path")),
    }
}

/// Opens a folder without following links. In it and in all folders above it, only the caller and
/// root may remove or replace files of the caller.
pub(crate) fn own_folder(parts: &[&OsStr]) -> io::Result<OwnedFd> {
    let mut found = folder(Path::new("/"))?;
    for name in parts {
        check(&found)?;
        found = openat(&found, *name, FOLDER, Mode::empty())?;
    }
    check(&found)?;
    Ok(found)
}

fn check(folder: &OwnedFd) -> io::Result<()> {
    let metadata = File::from(folder.try_clone()?).metadata()?;
    // The list of a descriptor without access can only be read by a path.
    let list = || getxattr_query(path_of(folder), private::ACCESS_LIST);
    match private::objection(&metadata, false, list) {
        Some(why) => {
            let path = std::fs::read_link(path_of(folder)).unwrap_or_default();
            Err(io::Error::other(format!("{}: {why}", path.display())))
        }
        None => Ok(()),
    }
}

/// The magic number of the file system that an open file is on.
pub(crate) fn magic_of(file: &impl AsFd) -> io::Result<u64> {
    // The type of this field differs between architectures; the number has 32 bits.
    #[allow(clippy::unnecessary_cast, reason = "not on every architecture")]
    Ok(fstatfs(file)?.f_type as u64 & 0xffff_ffff)
}

/// A path that leads to an open folder while it is open, even if its name changes.
pub(crate) fn path_of(folder: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

/// The text of a small file in an open folder; None if the file does not exist.
pub(crate) fn read(folder: &OwnedFd, name: &str) -> io::Result<Option<String>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(folder, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut text = Vec::new();
    file.take(MOST).read_to_end(&mut text)?;
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

/// Writes to a kernel file in an open folder; the file is never created.
pub(crate) fn write(folder: &OwnedFd, name: &str, value: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // The kernel takes a value only in one piece: one write, without a line feed.
    File::from(openat(folder, name, flags, Mode::empty())?).write_all(value.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn only_paths_from_name_to_name_have_parts() {
        let parts = |path| parts(Path::new(path)).map(|parts| parts.len());
        assert_eq!(parts("/a/b\u{1b}/c d"), Some(3));
        for other in ["", "/", "a", "//a", "/a/", "/a//b", "/a/./b", "/a/../b", "/..", "/."] {
            assert_eq!(parts(other), None, "{other}");
        }
    }

    #[test]
    fn no_link_is_followed_and_no_mount_entered() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        symlink("a", dir.path().join("link")).unwrap();
        let at = |names: &[&str]| {
            let names: Vec<&OsStr> = names.iter().map(OsStr::new).collect();
            below(folder(dir.path()).unwrap(), &names)
        };
        assert!(at(&["a", "b"]).is_ok() && at(&[]).is_ok());
        assert!(at(&["link", "b"]).is_err() && at(&["a", "c"]).is_err());
        let proc = below(folder(Path::new("/")).unwrap(), &[OsStr::new("proc")]);
        assert!(proc.is_err(), "it is a mount");
    }

    #[test]
    fn a_folder_that_others_may_change_is_not_ours() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("a");
        fs::create_dir(&path).unwrap();
        let own = || own_folder(&parts(&path).unwrap()).map(drop);
        own().unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        let why = own().unwrap_err().to_string();
        assert!(why.contains("/a: others can write to it"), "{why}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o1777)).unwrap();
        own().unwrap();
    }

    #[test]
    fn files_are_read_and_written_by_name_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "old\n").unwrap();
        symlink("file", dir.path().join("link")).unwrap();
        let held = folder(dir.path()).unwrap();
        write(&held, "file", "new").unwrap();
        assert_eq!(read(&held, "file").unwrap().as_deref(), Some("new"));
        assert_eq!(read(&held, "none").unwrap(), None);
        assert!(read(&held, "link").is_err() && write(&held, "link", "x").is_err());
        assert!(write(&held, "none", "x").is_err());
        assert_eq!(magic_of(&folder(Path::new("/proc")).unwrap()).unwrap(), 0x9fa0);
    }
}
