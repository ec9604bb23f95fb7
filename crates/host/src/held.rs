//! Files and folders that are held open: reached one component at a time, with no link followed, so
//! that nobody can put another in the place of what was checked.

use crate::private;
use rustix::fs::{CWD, Mode, OFlags, fstatfs, openat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How a folder is opened for what is below it.
const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The most that is read of a small file of the kernel, in bytes.
const MOST: u64 = 4 << 10;

/// The components of an absolute path; none where it is written in any other way than from name to
/// name: with `..`, `.`, two slashes, or one at the end.
pub(crate) fn parts(path: &Path) -> Option<Vec<&OsStr>> {
    let bytes = path.as_os_str().as_bytes().strip_prefix(b"/")?;
    let parts: Vec<&OsStr> = bytes.split(|byte| *byte == b'/').map(OsStr::from_bytes).collect();
    parts.iter().all(|part| !["", ".", ".."].map(OsStr::new).contains(part)).then_some(parts)
}

/// A folder by its path, which is trusted up to the last component.
pub(crate) fn folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, FOLDER, Mode::empty())?)
}

/// A folder below another one, on the same mount.
pub(crate) fn below(base: OwnedFd, names: &[&OsStr]) -> io::Result<OwnedFd> {
    let mount = mount_of(&base)?;
    let mut found = base;
    for name in names {
        found = openat(&found, *name, FOLDER, Mode::empty())?;
    }
    match mount_of(&found)? == mount {
        true => Ok(found),
        false => Err(io::Error::other("another file system is mounted on the way")),
    }
}

/// A folder in which nobody but the caller and root can take away or replace what is the caller's,
/// and the same for all folders above it; without links.
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
    match private::objection(&metadata, false) {
        Some(why) => {
            let path = std::fs::read_link(path_of(folder)).unwrap_or_default();
            Err(io::Error::other(format!("{}: {why}", path.display())))
        }
        None => Ok(()),
    }
}

/// The mount that an open file is on.
pub(crate) fn mount_of(file: &impl AsFd) -> io::Result<u64> {
    let info = format!("/proc/self/fdinfo/{}", file.as_fd().as_raw_fd());
    let text = std::fs::read_to_string(info)?;
    let number = text.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The number of the file system that an open file is on.
pub(crate) fn magic_of(file: &impl AsFd) -> io::Result<u64> {
    // Of a type that differs from one machine to another; the number has 32 bits.
    #[allow(clippy::unnecessary_cast, reason = "not on every architecture")]
    Ok(fstatfs(file)?.f_type as u64 & 0xffff_ffff)
}

/// A path that leads to an open folder for as long as it is open, whatever becomes of its name.
pub(crate) fn path_of(folder: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

/// The text of a small file in an open folder; none where there is none.
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

/// Writes to a file of the kernel in an open folder; it is never made.
pub(crate) fn write(folder: &OwnedFd, name: &str, value: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // The kernel takes a value whole or not at all: one write, and no line feed needed.
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
        assert!(why.contains("/a: others may write to it"), "{why}");
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
