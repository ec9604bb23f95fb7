//! Checks whether a folder or a file belongs to the caller alone. Every cache uses this check,
//! since files from a cache are run, booted or trusted.
//!
//! With `sudo -E`, root has the cache folders of the user who called sudo. Anything that this
//! user or others could have put there is refused.

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, Stat, fgetxattr_query, fstat, lgetxattr_query, openat, statat,
};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

/// The attribute that holds the access control list of a file or folder.
pub(crate) const ACCESS_LIST: &str = "system.posix_acl_access";

/// Most links that a path may contain, as in the kernel.
const MOST_LINKS: u32 = 40;

/// Why something is not accepted as the caller's own.
#[derive(Debug, thiserror::Error)]
pub enum PrivateError {
    /// Another user owns it, or may change it.
    #[error("{}: {why}", .path.display())]
    Unsafe {
        /// The folder or file.
        path: PathBuf,
        /// Who may change it.
        why: String,
    },
    /// It cannot be made or examined.
    #[error("{}: {what}: {source}", .path.display())]
    File {
        /// The folder or file.
        path: PathBuf,
        /// The operation that failed.
        what: &'static str,
        /// The kernel's reason.
        source: std::io::Error,
    },
}

type Result<T> = std::result::Result<T, PrivateError>;

/// Makes a folder that only the caller can write to, unless it exists; returns its real path.
///
/// Each folder and each symbolic link on the way must belong to the caller or root, as in
/// [`reached`]. So nobody else can redirect the path later either. Nothing is made below a folder
/// that others could change.
///
/// # Errors
/// If it cannot be made, if another user owns it or a link on the way, or if another user could
/// change it or a folder above it.
pub fn folder(path: &Path) -> Result<PathBuf> {
    let failed = |what| move |source| PrivateError::File { path: path.to_owned(), what, source };
    let path = &std::path::absolute(path).map_err(failed("find it"))?;
    let there = path.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    // A folder above need not belong to the caller, so it is checked with the weaker rule.
    let missing = path.strip_prefix(there).unwrap_or(Path::new(""));
    let real = make_below(reached_shared(there)?, missing)?;
    ancestors(&real, true)?;
    Ok(real)
}

/// The same as [`folder`], for a folder in which the caller has to write: a folder of root is
/// refused to other users.
///
/// # Errors
/// As [`folder`], or if the folder belongs to root and the caller is another user.
pub fn own_folder(path: &Path) -> Result<PathBuf> {
    let real = folder(path)?;
    refuse(&real, of_another(&look(&real)?))?;
    Ok(real)
}

/// Makes the folders `missing` below `real`, which has no symbolic links. Returns the real path of
/// the last one. In a folder such as /tmp, another user may have made one of them in the meantime,
/// or put a link there. So each one is checked before anything is made in it.
fn make_below(mut real: PathBuf, missing: &Path) -> Result<PathBuf> {
    let make = |path: &Path| {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|source| PrivateError::File { path: path.to_owned(), what: "make it", source })
    };
    for name in missing.components() {
        real.push(name);
        make(&real)?;
        real = reached_shared(&real)?;
    }
    // If nothing was missing, a file may be there.
    make(&real)?;
    Ok(real)
}

/// Refuses a folder or file that another user could change or replace. `real` must have no
/// symbolic links.
///
/// # Errors
/// If it is refused, or if it cannot be examined.
pub fn check(real: &Path) -> Result<()> {
    ancestors(real, true)
}

/// Refuses a path that another user could redirect. Each folder and each symbolic link on the way
/// must belong to the caller or root, and so must the target. Returns the target without links.
///
/// # Errors
/// As [`check`].
pub fn reached(path: &Path) -> Result<PathBuf> {
    let real = followed(path)?;
    ancestors(&real, true)?;
    Ok(real)
}

/// Like [`reached`], for a folder in which others may add files, but may not remove or replace
/// files of the caller.
///
/// # Errors
/// As [`check`].
pub fn reached_shared(path: &Path) -> Result<PathBuf> {
    let real = followed(path)?;
    ancestors(&real, false)?;
    Ok(real)
}

/// The target of a path, if no other user can change the folders and links on the way.
fn followed(path: &Path) -> Result<PathBuf> {
    let failed = |what| move |source| PrivateError::File { path: path.to_owned(), what, source };
    let mut left = parts_reversed(&std::path::absolute(path).map_err(failed("find it"))?);
    let (mut real, mut links) = (PathBuf::from("/"), 0);
    while let Some(name) = left.pop() {
        // This check comes before anything in the folder is used, even if the path leaves the
        // folder again.
        refuse(&real, objection_at(&real, &look(&real)?, false))?;
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&name);
        let metadata = look(&next)?;
        if !metadata.is_symlink() {
            real = next;
            continue;
        }
        refuse(&next, foreign(&metadata))?;
        links += 1;
        if links > MOST_LINKS {
            return Err(failed("find it")(Errno::LOOP.into()));
        }
        let target = next.read_link().map_err(failed("find it"))?;
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        left.extend(parts_reversed(&target));
    }
    Ok(real)
}

/// The names in a path, the last one first; without `.` and empty parts.
fn parts_reversed(path: &Path) -> Vec<OsString> {
    let named = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    path.components().rev().filter(named).map(|part| part.as_os_str().to_owned()).collect()
}

/// Refuses a folder if another user could have put anything below it. `real` must have no
/// symbolic links, and no links may be below it.
///
/// # Errors
/// As [`check`].
pub fn tree(real: &Path) -> Result<()> {
    check(real)?;
    below(real, &|path, metadata| {
        let link = metadata.is_symlink().then(|| "a symbolic link".to_owned());
        link.or_else(|| objection_at(path, metadata, true))
    })
}

/// Refuses a folder if another user could change anything below it: any file, folder or link. Links
/// below it are not followed. `real` must have no symbolic links.
///
/// # Errors
/// As [`check`].
pub fn owned(real: &Path) -> Result<()> {
    check(real)?;
    below(real, &|path, metadata| match metadata.is_symlink() {
        true => foreign(metadata),
        false => objection_at(path, metadata, true),
    })
}

/// Opens a file for reading if no other user could have changed it or could redirect its path; a
/// symbolic link is refused.
///
/// # Errors
/// If it does not belong to the caller alone, if a link on the way belongs to another user, or if
/// it cannot be opened.
pub fn open(path: &Path) -> Result<File> {
    let failed = |what| move |source| PrivateError::File { path: path.to_owned(), what, source };
    let folder = reached(path.parent().unwrap_or(Path::new("/")))?;
    let real = folder.join(path.file_name().unwrap_or_default());
    // Opening a pipe would otherwise wait for a writer.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(real);
    let file = file.map_err(failed("open it without following links"))?;
    let metadata = file.metadata().map_err(failed("examine it"))?;
    let list = || fgetxattr_query(&file, ACCESS_LIST);
    match is_regular(&metadata).or_else(|| objection(&metadata, true, list)) {
        Some(why) => Err(PrivateError::Unsafe { path: path.to_owned(), why }),
        None => Ok(file),
    }
}

/// Opens a file for locking, and creates it if necessary. A symbolic link is not followed, and
/// the content of the file is kept.
///
/// # Errors
/// If it cannot be opened, or is a link.
pub fn lock_file(path: &Path) -> Result<File> {
    lock_file_in(CWD, path).map_err(|source| PrivateError::File {
        path: path.to_owned(),
        what: "open it without following links",
        source,
    })
}

/// The same, for a file of a folder that is open.
///
/// # Errors
/// As [`lock_file`].
pub fn lock_file_in(folder: impl AsFd, name: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mode = Mode::RUSR | Mode::WUSR;
    Ok(openat(folder, name, flags | OFlags::CLOEXEC, mode)?.into())
}

/// Whether `path` still leads to the file that was opened there. After locking, this shows
/// whether the file was removed in between, so that others lock another file.
pub fn is_still_at(file: &File, path: &Path) -> bool {
    is_still_in(file, CWD, path)
}

/// The same, for a file of a folder that is open.
pub fn is_still_in(file: &File, folder: impl AsFd, name: &Path) -> bool {
    let there = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    let at = |stat: Stat| (stat.st_dev, stat.st_ino);
    matches!((fstat(file), there), (Ok(own), Ok(there)) if at(own) == at(there))
}

/// Whether an open folder belongs to the caller or to root, and nobody else can write to it.
pub fn is_ours(folder: &OwnedFd) -> bool {
    let metadata = folder.try_clone().and_then(|folder| File::from(folder).metadata());
    let list = || fgetxattr_query(folder, ACCESS_LIST);
    metadata.is_ok_and(|metadata| metadata.is_dir() && objection(&metadata, true, list).is_none())
}

fn ancestors(real: &Path, is_ours: bool) -> Result<()> {
    for (depth, path) in real.ancestors().enumerate() {
        let innermost = is_ours && depth == 0;
        refuse(path, objection_at(path, &look(path)?, innermost))?;
    }
    Ok(())
}

/// Fails if there is an objection.
fn refuse(path: &Path, objection: Option<String>) -> Result<()> {
    objection.map_or(Ok(()), |why| Err(PrivateError::Unsafe { path: path.to_owned(), why }))
}

/// Refuses a folder if there is an objection to anything below it.
fn below(folder: &Path, objection: &dyn Fn(&Path, &Metadata) -> Option<String>) -> Result<()> {
    let failed =
        |source| PrivateError::File { path: folder.to_owned(), what: "examine it", source };
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let metadata = look(&path)?;
        refuse(&path, objection(&path, &metadata))?;
        if metadata.is_dir() {
            below(&path, objection)?;
        }
    }
    Ok(())
}

fn look(path: &Path) -> Result<Metadata> {
    path.symlink_metadata().map_err(|source| PrivateError::File {
        path: path.to_owned(),
        what: "examine it",
        source,
    })
}

fn is_regular(metadata: &Metadata) -> Option<String> {
    (!metadata.is_file()).then(|| "not a regular file".to_owned())
}

/// The objection to an owner other than the caller and root, if any.
fn foreign(metadata: &Metadata) -> Option<String> {
    if metadata.uid() == 0 { None } else { of_another(metadata) }
}

/// The objection to an owner other than the caller, if any.
fn of_another(metadata: &Metadata) -> Option<String> {
    let owner = metadata.uid();
    let us = rustix::process::geteuid().as_raw();
    (owner != us).then(|| format!("owned by user {owner}, not by user {us}"))
}

/// The objection to what is at this path, which is no link; as [`objection`].
fn objection_at(path: &Path, metadata: &Metadata, innermost: bool) -> Option<String> {
    objection(metadata, innermost, || lgetxattr_query(path, ACCESS_LIST))
}

/// The objection to the owner, the mode or the access control list, if any. `innermost` is set for
/// the file or folder that must be the caller's own. `list` is the kernel's answer to the request
/// for the size of [`ACCESS_LIST`].
pub(crate) fn objection(
    metadata: &Metadata,
    innermost: bool,
    list: impl FnOnce() -> rustix::io::Result<usize>,
) -> Option<String> {
    let (owner, mode) = (metadata.uid(), metadata.mode());
    if let Some(why) = foreign(metadata) {
        return Some(why);
    }
    // In a folder such as /tmp, others may add files, but cannot remove files of the caller.
    let sticky = metadata.is_dir() && mode & 0o1000 != 0 && !innermost;
    if sticky || mode & 0o022 == 0 {
        return None;
    }
    // A group with only its owner as member, which most systems give each user, is fine.
    let own_group = metadata.gid() == owner && !(innermost && metadata.is_dir());
    if !own_group || mode & 0o002 != 0 {
        return Some(format!("others can write to it (mode {:04o})", mode & 0o7777));
    }
    // If there is a list, the bits of the group are the most that it gives to anybody but the owner
    // and everybody. Whether it gives that much to somebody is not read.
    let has_none = matches!(list(), Err(Errno::NODATA | Errno::OPNOTSUPP));
    let why = "its access control list, which getfacl shows, may let others write to it";
    (!has_none).then(|| why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{XattrFlags, setxattr};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_folder_is_made_for_us_alone() {
        let dir = tempfile::tempdir().unwrap();
        let made = folder(&dir.path().join("a/b")).unwrap();
        assert_eq!(fs::metadata(made).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused_and_so_is_one_below_it() {
        let dir = tempfile::tempdir().unwrap();
        let inner = folder(&dir.path().join("a/b")).unwrap();
        for bad in [0o777, 0o1777, 0o720] {
            mode(&inner, bad);
            let message = folder(&inner).unwrap_err().to_string();
            assert!(message.contains("others can write to it"), "{message}");
        }
        mode(&inner, 0o755);
        folder(&inner).unwrap();
        let outer = dir.path().join("a");
        mode(&outer, 0o777);
        assert!(matches!(folder(&inner), Err(PrivateError::Unsafe { .. })));
        assert!(folder(&outer.join("new/one")).is_err() && !outer.join("new").exists());
        mode(&outer, 0o1777);
        folder(&inner).unwrap();
    }

    #[test]
    fn a_group_of_others_may_not_write_above_it_either() {
        let dir = tempfile::tempdir().unwrap();
        let inner = folder(&dir.path().join("a/b")).unwrap();
        let outer = dir.path().join("a");
        mode(&outer, 0o775);
        if chown(&outer, None, Some(4_000)).is_err() {
            return testing::skipped("only root can give a folder away");
        }
        assert!(matches!(folder(&inner), Err(PrivateError::Unsafe { .. })));
        mode(&outer, 0o755);
        folder(&inner).unwrap();
    }

    /// Gives user 4000 the right to write, by an access control list. Returns whether the file
    /// system has such lists.
    fn give(path: &Path) -> bool {
        let none = u32::MAX;
        // The owner, user 4000, the group, the most for these two, and everybody else.
        let entries =
            [(1_u16, 7_u16, none), (2, 7, 4_000), (4, 5, none), (16, 7, none), (32, 5, none)];
        let mut list = 2_u32.to_le_bytes().to_vec();
        for (whose, may, id) in entries {
            list.extend([whose.to_le_bytes(), may.to_le_bytes()].concat());
            list.extend(id.to_le_bytes());
        }
        match setxattr(path, ACCESS_LIST, &list, XattrFlags::empty()) {
            Err(Errno::OPNOTSUPP) => false,
            set => set.map(|()| true).unwrap(),
        }
    }

    #[test]
    fn nobody_writes_by_an_access_control_list_where_the_group_is_the_owners_own() {
        let dir = tempfile::tempdir().unwrap();
        let inner = folder(&dir.path().join("a/b")).unwrap();
        let outer = dir.path().join("a").canonicalize().unwrap();
        let file = inner.join("file");
        fs::write(&file, "").unwrap();
        mode(&file, 0o664);
        mode(&outer, 0o775);
        let held = || crate::held::own_folder(&crate::held::parts(&outer).unwrap()).map(drop);
        if folder(&inner).is_err() {
            return testing::does_not_apply("this user has no group of its own");
        }
        open(&file).unwrap();
        held().unwrap();
        if !give(&file) {
            return testing::does_not_apply("this file system has no access control lists");
        }
        let refused = |answer: String| assert!(answer.contains("access control list"), "{answer}");
        refused(open(&file).unwrap_err().to_string());
        refused(tree(&inner).unwrap_err().to_string());
        assert!(give(&outer));
        refused(folder(&inner).unwrap_err().to_string());
        refused(held().unwrap_err().to_string());
        // Then the list gives nobody else the right to write.
        mode(&outer, 0o755);
        mode(&file, 0o644);
        open(&file).unwrap();
        held().unwrap();
    }

    #[test]
    fn a_folder_of_another_user_is_refused_also_behind_a_link_and_nothing_is_made_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = folder(&dir.path().join("theirs")).unwrap();
        if chown(&theirs, Some(65_534), None).is_err() {
            return testing::skipped("only root can give a folder away");
        }
        let link = dir.path().join("link");
        symlink(&theirs, &link).unwrap();
        for path in [&theirs, &link, &theirs.join("new"), &link.join("new")] {
            let message = folder(path).unwrap_err().to_string();
            assert!(message.contains("owned by user 65534"), "{message}");
        }
        assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
    }

    #[test]
    fn a_link_of_another_user_is_refused_also_where_it_leads_to_our_own_folder() {
        let dir = tempfile::tempdir().unwrap();
        let ours = folder(&dir.path().join("ours")).unwrap();
        let link = dir.path().join("link");
        symlink(&ours, &link).unwrap();
        assert_eq!(folder(&link.join("new")).unwrap(), ours.join("new"));
        if std::os::unix::fs::lchown(&link, Some(65_534), None).is_err() {
            return testing::skipped("only root can give a link away");
        }
        for path in [&link, &link.join("new"), &link.join("other")] {
            let message = folder(path).unwrap_err().to_string();
            assert!(message.contains("owned by user 65534"), "{message}");
        }
        assert_eq!(fs::read_dir(&ours).unwrap().count(), 1);
    }

    #[test]
    fn what_another_user_puts_there_while_the_folder_is_made_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let ours = folder(&top.join("ours")).unwrap();
        let theirs = folder(&top.join("theirs")).unwrap();
        let link = top.join("link");
        symlink(&ours, &link).unwrap();
        let made = make_below(top.clone(), Path::new("new/../new/one")).unwrap();
        assert_eq!(made, top.join("new/one"));
        if std::os::unix::fs::lchown(&link, Some(65_534), None).is_err() {
            return testing::skipped("only root can give a link away");
        }
        chown(&theirs, Some(65_534), None).unwrap();
        for name in ["link", "link/new", "theirs", "theirs/new"] {
            let error = make_below(top.clone(), Path::new(name)).unwrap_err().to_string();
            assert!(error.contains("owned by user 65534"), "{name}: {error}");
        }
        for untouched in [ours, theirs] {
            assert_eq!(fs::read_dir(untouched).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_file_behind_a_link_of_another_user_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let ours = folder(&dir.path().join("ours")).unwrap();
        fs::write(ours.join("file"), "text").unwrap();
        let link = dir.path().join("link");
        symlink(&ours, &link).unwrap();
        open(&link.join("file")).unwrap();
        if std::os::unix::fs::lchown(&link, Some(65_534), None).is_err() {
            return testing::skipped("only root can give a link away");
        }
        let error = open(&link.join("file")).unwrap_err().to_string();
        assert!(error.contains("owned by user 65534"), "{error}");
    }

    #[test]
    fn files_of_others_links_and_pipes_are_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let ours = folder(&dir.path().join("ours")).unwrap();
        let file = ours.join("file");
        fs::write(&file, "text").unwrap();
        open(&file).unwrap();
        tree(&ours).unwrap();
        let link = ours.join("link");
        symlink(&file, &link).unwrap();
        assert!(open(&link).is_err() && lock_file(&link).is_err() && tree(&ours).is_err());
        owned(&ours).unwrap();
        if std::os::unix::fs::lchown(&link, Some(65_534), None).is_ok() {
            assert!(owned(&ours).is_err());
        }
        fs::remove_file(&link).unwrap();
        let pipe = ours.join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert!(open(&pipe).unwrap_err().to_string().contains("not a regular file"));
        mode(&file, 0o666);
        assert!(matches!(open(&file), Err(PrivateError::Unsafe { .. })));
        assert!(owned(&ours).is_err());
        mode(&file, 0o644);
        if chown(&file, Some(65_534), None).is_ok() {
            assert!(open(&file).unwrap_err().to_string().contains("owned by user 65534"));
            assert!(tree(&ours).is_err());
        }
    }

    #[test]
    fn a_path_is_followed_through_links_of_ours_alone() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (ours, theirs) = (top.join("ours"), top.join("theirs"));
        for folder in [&ours, &theirs] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(ours.join("file"), "").unwrap();
        symlink("../ours/./file", ours.join("link")).unwrap();
        symlink(ours.join("link"), ours.join("absolute")).unwrap();
        symlink("round", ours.join("round")).unwrap();
        assert_eq!(reached(&ours.join("absolute")).unwrap(), ours.join("file"));
        assert_eq!(reached(&ours.join("../ours/link")).unwrap(), ours.join("file"));
        assert!(reached(&ours.join("round")).is_err() && reached(&ours.join("none")).is_err());
        // Through a folder of another user and out of it, by that user's link, and by the
        // caller's link to it.
        symlink(ours.join("file"), theirs.join("link")).unwrap();
        symlink(theirs.join("link"), ours.join("over")).unwrap();
        symlink("file", ours.join("given")).unwrap();
        if std::os::unix::fs::lchown(ours.join("given"), Some(65_534), None).is_err() {
            return testing::skipped("only root can give a link away");
        }
        chown(&theirs, Some(65_534), None).unwrap();
        for path in ["theirs/../ours/file", "theirs/link", "ours/over", "ours/given"] {
            let error = reached(&top.join(path)).unwrap_err().to_string();
            assert!(error.contains("owned by user 65534"), "{path}: {error}");
        }
        // Where others may write, they may put a link; a file of the caller stays safe there.
        chown(&theirs, Some(0), None).unwrap();
        reached(&ours.join("over")).unwrap();
        mode(&theirs, 0o1777);
        reached(&ours.join("over")).unwrap();
        mode(&theirs, 0o777);
        assert!(reached(&ours.join("over")).is_err());
    }

    #[test]
    fn a_lock_neither_follows_a_link_nor_truncates() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("letter"), dir.path().join("lock"));
        fs::write(&file, "keep me").unwrap();
        symlink(&file, &link).unwrap();
        assert!(lock_file(&link).is_err());
        lock_file(&file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "keep me");
    }

    #[test]
    fn a_file_in_its_place_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        fs::write(&file, "").unwrap();
        assert!(matches!(folder(&file), Err(PrivateError::File { .. })));
    }
}
