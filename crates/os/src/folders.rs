//! Where the user's files belong: the XDG base directories.
//!
//! A folder that is not an absolute path counts as not set, as the specification says.

use rustix::fs::{CWD, FileType, Mode, OFlags, RawMode, fstat, mkdirat, openat, readlinkat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Most links that are followed on the way to a folder; the kernel has the same limit.
const MOST_LINKS: u32 = 40;

/// How a file is opened to look at it, and a link to look at the link.
const ITSELF: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The folder for data that is kept: `$XDG_STATE_HOME`, else `~/.local/state`.
pub fn state() -> Option<PathBuf> {
    folder("XDG_STATE_HOME", ".local/state", |name| std::env::var_os(name))
}

/// The folder for data that can be made again: `$XDG_CACHE_HOME`, else `~/.cache`.
pub fn cache() -> Option<PathBuf> {
    folder("XDG_CACHE_HOME", ".cache", |name| std::env::var_os(name))
}

fn folder(name: &str, at_home: &str, get: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(name).or_else(|| absolute("HOME").map(|home| home.join(at_home)))
}

/// Opens a folder, for access to what is below it. For root, no link of another user is followed.
/// Root may use that user's folders, for example after `sudo -E`, and a link could lead
/// elsewhere.
///
/// # Errors
/// If it does not exist, or is behind such a link.
pub fn hold(path: &Path) -> io::Result<OwnedFd> {
    walk(path, None, rustix::process::geteuid().as_raw())
}

/// Makes a folder and its missing parents, with the same rule for links.
///
/// # Errors
/// If it cannot be made, or is behind such a link.
pub fn make(path: &Path) -> io::Result<()> {
    walk(path, Some(0o777), rustix::process::geteuid().as_raw()).map(drop)
}

/// Makes a folder that other users cannot enter, unless it exists, and opens it; with the same
/// rule for links.
///
/// # Errors
/// As [`make`].
pub fn make_own(path: &Path) -> io::Result<OwnedFd> {
    walk(path, Some(0o700), rustix::process::geteuid().as_raw())
}

/// Opens what is at this path (`O_PATH`), with the same rule for links, also for those of the last
/// part.
///
/// # Errors
/// If it does not exist, or is behind such a link.
pub fn hold_file(path: &Path) -> io::Result<OwnedFd> {
    let caller = rustix::process::geteuid().as_raw();
    let mut path = std::path::absolute(path)?;
    for _ in 0..=MOST_LINKS {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let open = openat(walk(folder, None, caller)?, name, ITSELF, Mode::empty())?;
        match target(&open, name, caller)? {
            Some(leads) => path = folder.join(OsStr::from_bytes(&leads)),
            None => return Ok(open),
        }
    }
    Err(Errno::LOOP.into())
}

/// The mount that an open file is on.
///
/// # Errors
/// If /proc is not mounted.
pub fn mount_of(file: &impl AsFd) -> io::Result<u64> {
    let info = format!("/proc/self/fdinfo/{}", file.as_fd().as_raw_fd());
    let text = std::fs::read_to_string(info)?;
    let number = text.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// `make` is the mode of the folder, if missing folders are made.
fn walk(path: &Path, make: Option<RawMode>, caller: u32) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = || openat(CWD, c"/", flags, Mode::empty());
    let parts = |path: &[u8]| -> VecDeque<OsString> {
        let parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
        parts.map(|part| OsString::from_vec(part.to_vec())).collect()
    };
    let mut left = parts(std::path::absolute(path)?.as_os_str().as_bytes());
    let (mut folder, mut links) = (root()?, 0);
    while let Some(part) = left.pop_front() {
        match openat(&folder, &part, flags, Mode::empty()) {
            Ok(next) => folder = next,
            Err(Errno::NOENT) if let Some(mode) = make => {
                let mode = if left.is_empty() { mode } else { 0o777 };
                match mkdirat(&folder, &part, Mode::from_raw_mode(mode)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                folder = openat(&folder, &part, flags, Mode::empty())?;
            }
            Err(Errno::NOTDIR | Errno::LOOP) if links < MOST_LINKS => {
                let leads = link(&folder, &part, caller)?;
                links += 1;
                if leads.starts_with(b"/") {
                    folder = root()?;
                }
                let further = parts(&leads).into_iter().chain(left);
                left = further.collect();
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(folder)
}

/// The target of a link, if root may follow it.
fn link(folder: &OwnedFd, part: &OsStr, caller: u32) -> io::Result<Vec<u8>> {
    let open = openat(folder, part, ITSELF, Mode::empty())?;
    target(&open, part, caller)?.ok_or_else(|| Errno::NOTDIR.into())
}

/// The target of a link that is open itself, if root may follow it; None if it is no link. It is
/// open, so nobody can exchange it between the check and the reading.
fn target(open: &OwnedFd, name: &OsStr, caller: u32) -> io::Result<Option<Vec<u8>>> {
    let stat = fstat(open)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
        return Ok(None);
    }
    if caller == 0 && stat.st_uid != 0 {
        let shown = crate::terminal::line(&name.to_string_lossy());
        let why = format!(
            "{shown} is a symbolic link of user {}, which root does not follow",
            stat.st_uid
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(Some(readlinkat(open, c"", Vec::new())?.into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{lchown, symlink};

    fn real(folder: &OwnedFd) -> PathBuf {
        std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd())).unwrap()
    }

    #[test]
    fn folders_are_made_and_held_through_links_that_may_be_followed() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        make(&place.join("a/b")).unwrap();
        symlink("a", place.join("near")).unwrap();
        symlink(place.join("near"), place.join("far")).unwrap();
        symlink("loop", place.join("loop")).unwrap();
        std::fs::write(place.join("file"), "").unwrap();
        for path in ["a/b", "near/b", "far/b", "far/../a/./b"] {
            assert_eq!(real(&hold(&place.join(path)).unwrap()), place.join("a/b"), "{path}");
        }
        make(&place.join("far/c")).unwrap();
        assert!(place.join("a/c").is_dir());
        for path in ["none", "file", "file/x", "loop"] {
            assert!(hold(&place.join(path)).is_err(), "{path}");
        }
        assert!(make(&place.join("file/x")).is_err());
    }

    #[test]
    fn root_follows_no_link_of_another_user() {
        let place = tempfile::tempdir().unwrap();
        let (aim, link) = (place.path().join("aim"), place.path().join("link"));
        make(&aim).unwrap();
        symlink(&aim, &link).unwrap();
        if lchown(&link, Some(65_534), None).is_err() {
            return testing::skipped("only root can give a link away");
        }
        for path in [link.clone(), link.join("new")] {
            let error = make(&path).unwrap_err().to_string();
            assert!(error.contains("link of user 65534"), "{error}");
            assert!(hold(&path).is_err());
        }
        assert_eq!(std::fs::read_dir(&aim).unwrap().count(), 0);
        // Other users go wherever the kernel lets them.
        walk(&link, None, 1000).unwrap();
    }

    #[test]
    fn what_is_named_comes_before_the_home_and_relative_paths_do_not_count() {
        let of = |own: Option<&str>, home: Option<&str>| {
            let found = folder("OWN", ".cache", |name| {
                if name == "OWN" { own } else { home }.map(OsString::from)
            });
            found.map(|path| path.display().to_string())
        };
        assert_eq!(of(Some("/own"), Some("/home")).as_deref(), Some("/own"));
        assert_eq!(of(None, Some("/home")).as_deref(), Some("/home/.cache"));
        for not_set in ["", "own", "./own"] {
            assert_eq!(of(Some(not_set), Some("/home")).as_deref(), Some("/home/.cache"));
            assert_eq!(of(Some(not_set), Some(not_set)), None);
        }
        assert_eq!(of(None, None), None);
    }
}
