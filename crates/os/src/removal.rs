//! Removes a folder with its content through an open folder above it, so nobody can make the
//! removal go elsewhere by exchanging a folder for a link.

use crate::folders::mount_of;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat, unlinkat};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

/// Most files and folders that are removed below one folder: an unpacked OTP has some ten
/// thousand.
const MOST_FILES: u32 = 1_000_000;

/// Deepest level of folders that is removed. Each level is held open.
const MOST_DEPTH: usize = 128;

/// Removes the folder with this name in `parent`, and everything in it. No link is followed, and
/// no other file system is entered.
///
/// # Errors
/// If it is not a folder, is too large, or something in it cannot be removed.
pub fn folder(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let mut walk = Walk { mount: mount_of(parent)?, left: MOST_FILES };
    walk.remove(parent, name, MOST_DEPTH)
}

/// A removal, with what it may not exceed.
struct Walk {
    /// The mount that must not be left.
    mount: u64,
    /// Files and folders that may still be removed.
    left: u32,
}

impl Walk {
    fn remove(&mut self, parent: &OwnedFd, name: &OsStr, depth: usize) -> io::Result<()> {
        if depth == 0 {
            return Err(io::Error::other(format!("more than {MOST_DEPTH} folders deep")));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(parent, name, flags, Mode::empty())?;
        if mount_of(&folder)? != self.mount {
            return Err(io::Error::other("another file system is mounted in it"));
        }
        let mut entries = Dir::new(folder.try_clone()?)?;
        while let Some(entry) = entries.read() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            self.left = self
                .left
                .checked_sub(1)
                .ok_or_else(|| io::Error::other(format!("more than {MOST_FILES} files in it")))?;
            self.remove_entry(&folder, name, entry.file_type(), depth)?;
        }
        Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?)
    }

    fn remove_entry(
        &mut self,
        folder: &OwnedFd,
        name: &OsStr,
        kind: FileType,
        depth: usize,
    ) -> io::Result<()> {
        let kind = match kind {
            FileType::Unknown => {
                let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(found.st_mode)
            }
            kind => kind,
        };
        match kind {
            FileType::Directory => self.remove(folder, name, depth - 1),
            // A link itself is removed, not its target.
            _ => Ok(unlinkat(folder, name, AtFlags::empty())?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folder_goes_and_what_its_links_lead_to_stays() {
        let place = tempfile::tempdir().unwrap();
        let [kept, gone] = ["kept", "gone"].map(|name| place.path().join(name));
        fs::create_dir_all(gone.join("a/b")).unwrap();
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "").unwrap();
        fs::write(gone.join("a/file"), "").unwrap();
        symlink(&kept, gone.join("a/b/link")).unwrap();
        let parent = crate::folders::hold(place.path()).unwrap();
        folder(&parent, "gone".as_ref()).unwrap();
        assert!(!gone.exists() && kept.join("file").exists());
        // A link in its place is no folder.
        symlink(&kept, &gone).unwrap();
        assert!(folder(&parent, "gone".as_ref()).is_err());
        assert!(gone.is_symlink() && kept.join("file").exists());
    }
}
