//! New files: a text is written under the first free name of several.
//!
//! A name that is taken stays as it is: no file is replaced, and no link is followed. The folder
//! is the one that was opened first ([`mod@crate::save`]), even if its path leads to another folder
//! since.

use crate::save::{self, has_no_nameless_files, named_file, nameless_file};
use rustix::fs::{AtFlags, CWD, RenameFlags, fsync, linkat, renameat_with, unlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// Opens a folder and checks whether files can be made in it. It stays open for these files. A
/// full disk is no error: there may be room later.
///
/// # Errors
/// If it is no folder, is behind a link that is not followed, or cannot be written.
pub fn check_folder(folder: &Path) -> io::Result<()> {
    let folder = save::held(folder)?;
    match nameless_file(&folder) {
        Ok(_) | Err(Errno::NOSPC | Errno::DQUOT) => Ok(()),
        Err(error) if has_no_nameless_files(error) => {
            let tried = unguessable();
            named_file(&folder, &tried)?;
            Ok(unlinkat(&folder, &tried, AtFlags::empty())?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Writes a text into a new file of a folder; a reader sees only the whole file. Returns the
/// file's name, or None if each of the names is taken.
///
/// # Errors
/// If the folder cannot be written or is full. Then nothing is left behind.
pub fn create_text(
    text: &str,
    folder: &Path,
    mut names: impl Iterator<Item = OsString>,
) -> io::Result<Option<OsString>> {
    let folder = save::held(folder)?;
    let created = match nameless_file(&folder) {
        Err(error) if has_no_nameless_files(error) => by_rename(text, &folder, &mut names),
        file => by_link(text, file?.into(), &folder, &mut names),
    }?;
    // The name survives a crash only once the folder is on disk. If the folder cannot be read or
    // synced, the file is in it all the same.
    let _ = fsync(&folder);
    Ok(created)
}

/// Gives a name to a file that has none.
fn by_link(
    text: &str,
    file: File,
    folder: &OwnedFd,
    names: &mut dyn Iterator<Item = OsString>,
) -> io::Result<Option<OsString>> {
    fill(text, &file)?;
    let nameless = format!("/proc/self/fd/{}", file.as_raw_fd());
    first_free(names, |name| linkat(CWD, &nameless, folder, name, AtFlags::SYMLINK_FOLLOW))
}

/// Renames a file that has an unguessable name. For file systems without nameless files.
fn by_rename(
    text: &str,
    folder: &OwnedFd,
    names: &mut dyn Iterator<Item = OsString>,
) -> io::Result<Option<OsString>> {
    let beside = unguessable();
    let file = File::from(named_file(folder, &beside)?);
    let named = fill(text, &file).and_then(|()| {
        first_free(names, |name| {
            match renameat_with(folder, &beside, folder, name, RenameFlags::NOREPLACE) {
                // Some file systems support only one of the two calls.
                Err(Errno::INVAL | Errno::NOSYS) => {
                    linkat(folder, &beside, folder, name, AtFlags::empty())
                }
                renamed => renamed,
            }
        })
    });
    // The file is gone already if it was renamed.
    let _ = unlinkat(folder, &beside, AtFlags::empty());
    named
}

/// A temporary name; `save::sweep` can tell which process made it.
fn unguessable() -> OsString {
    save::beside(OsStr::new(&format!("{:016x}", os::random::number())))
}

fn fill(text: &str, mut file: &File) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The first of the names that `give` could give. `give` fails with EEXIST if a name is taken.
fn first_free(
    names: &mut dyn Iterator<Item = OsString>,
    mut give: impl FnMut(&OsStr) -> rustix::io::Result<()>,
) -> io::Result<Option<OsString>> {
    for name in names {
        match give(&name) {
            Ok(()) => return Ok(Some(name)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn names() -> impl Iterator<Item = OsString> {
        (0..5).map(|number| format!("w-{number}.json").into())
    }

    fn entries(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_first_free_name_is_taken_and_nothing_is_touched_that_has_one() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("w-0.json"), "earlier").unwrap();
        std::fs::create_dir(at("w-1.json")).unwrap();
        std::fs::write(at("secret"), "kept").unwrap();
        symlink(at("secret"), at("w-2.json")).unwrap();
        symlink(at("nowhere"), at("w-3.json")).unwrap();
        let before = entries(folder.path());
        let create = |text| create_text(text, folder.path(), names()).unwrap();
        assert_eq!(create("new"), Some("w-4.json".into()));
        assert_eq!(std::fs::read_to_string(at("w-4.json")).unwrap(), "new");
        assert_eq!(std::fs::read_to_string(at("w-0.json")).unwrap(), "earlier");
        assert_eq!(std::fs::read_to_string(at("secret")).unwrap(), "kept");
        assert_eq!(create("none is free"), None);
        assert_eq!(entries(folder.path()).len(), before.len() + 1);
    }

    #[test]
    fn a_file_system_without_nameless_files_is_written_in_the_same_way() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("w-0.json")).unwrap();
        let held = save::held(folder.path()).unwrap();
        let create = || by_rename("text", &held, &mut names()).unwrap();
        assert_eq!(create(), Some("w-1.json".into()));
        assert_eq!(std::fs::read_to_string(folder.path().join("w-1.json")).unwrap(), "text");
        let more: Vec<_> = (0..4).map(|_| create().is_some()).collect();
        assert_eq!(more, [true, true, true, false]);
        assert_eq!(entries(folder.path()).len(), 5);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_refused_beforehand() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("file"), "").unwrap();
        check_folder(place.path()).unwrap();
        assert_eq!(entries(place.path()), ["file"]);
        for path in [place.path().join("none"), place.path().join("file"), "/proc/1".into()] {
            assert!(check_folder(&path).is_err(), "{}", path.display());
            assert!(create_text("", &path, names()).is_err(), "{}", path.display());
        }
    }

    #[test]
    fn a_folder_that_was_replaced_by_a_link_gets_nothing() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::create_dir(at("mine")).unwrap();
        std::fs::create_dir(at("etc")).unwrap();
        check_folder(&at("mine")).unwrap();
        std::fs::rename(at("mine"), at("moved")).unwrap();
        symlink(at("etc"), at("mine")).unwrap();
        create_text("text", &at("mine"), names()).unwrap();
        assert_eq!(entries(&at("etc")).len(), 0);
        assert_eq!(entries(&at("moved")), ["w-0.json"]);
    }
}
