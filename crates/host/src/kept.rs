//! Files that a daemon of root keeps for itself, such as a container engine's data about its
//! containers. They are read only if neither a user nor a container could have written them.
//!
//! Each folder on the way is opened from the folder above, without links. All of them belong to
//! root or to the caller, and nobody else may write to the file. So the file contains what the
//! daemon wrote.

use crate::roots::Roots;
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::process::geteuid;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Mode bits that let others than the owner write.
const SHARED: u32 = 0o022;
const FOR_ALL: u32 = 0o002;

/// Reads a file by its path below the root of the machine. None if it does not exist, is longer
/// than `most` bytes, or if others may have written it.
pub fn read(roots: &Roots, path: &str, most: u64) -> Option<Vec<u8>> {
    let (folders, name) = path.rsplit_once('/')?;
    let file = openat(&folder(roots, folders)?, name, FILE, Mode::empty()).ok()?;
    let about = fstat(&file).ok()?;
    let is_file = FileType::from_raw_mode(about.st_mode) == FileType::RegularFile;
    let fits = u64::try_from(about.st_size).is_ok_and(|size| size <= most);
    if !is_file || !fits || !is_own(&about) || about.st_mode & SHARED != 0 {
        return None;
    }
    let mut bytes = Vec::new();
    File::from(file).take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The names in a folder, one per line, up to `most` bytes in total. Hidden names are left out, and
/// names of several lines. None if everybody may create names there, or if it belongs to another
/// user.
pub fn names(roots: &Roots, path: &str, most: usize) -> Option<Vec<u8>> {
    let mut names = Vec::new();
    for entry in Dir::new(folder(roots, path)?).ok()?.flatten() {
        let name = entry.file_name().to_bytes();
        if name.starts_with(b".") || name.contains(&b'\n') {
            continue;
        }
        if names.len() + name.len() + 1 > most {
            break;
        }
        names.extend_from_slice(name);
        names.push(b'\n');
    }
    Some(names)
}

/// Opens a folder. It and all folders above it must belong to root or to the caller, and not
/// everybody may write to them.
fn folder(roots: &Roots, path: &str) -> Option<OwnedFd> {
    let mut at = openat(CWD, roots.top(), FOLDER, Mode::empty()).ok()?;
    for part in path.split('/') {
        at = openat(&at, part, FOLDER, Mode::empty()).ok()?;
        let about = fstat(&at).ok()?;
        if part == ".." || !is_own(&about) || about.st_mode & FOR_ALL != 0 {
            return None;
        }
    }
    Some(at)
}

/// Whether it belongs to root or to the caller.
fn is_own(about: &Stat) -> bool {
    about.st_uid == 0 || about.st_uid == geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    const PATH: &str = "run/engine/3f2a/config.json";

    fn tree() -> (testing::Tree, Roots) {
        let tree = testing::Tree::new(&[(PATH, "{}")]);
        let roots = Roots::at(tree.root());
        (tree, roots)
    }

    fn allow(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_a_daemon_keeps_for_itself_is_read() {
        let (tree, roots) = tree();
        allow(&tree.root().join(PATH), 0o600);
        assert_eq!(read(&roots, PATH, 99).as_deref(), Some(b"{}".as_slice()));
        assert_eq!(names(&roots, "run/engine", 99).as_deref(), Some(b"3f2a\n".as_slice()));
        assert_eq!(read(&roots, PATH, 1), None, "too long");
        assert_eq!(read(&roots, "run/engine/3f2b/config.json", 99), None);
        assert_eq!(read(&roots, "run/engine/3f2a", 99), None, "a folder");
        assert_eq!(read(&roots, "run/engine/../engine/3f2a/config.json", 99), None);
    }

    #[test]
    fn what_others_may_write_is_not() {
        let (tree, roots) = tree();
        let file = tree.root().join(PATH);
        for mode in [0o620, 0o602] {
            allow(&file, mode);
            assert_eq!(read(&roots, PATH, 99), None, "{mode:o}");
        }
        allow(&file, 0o600);
        let folder = tree.root().join("run/engine");
        allow(&folder, 0o757);
        assert_eq!((read(&roots, PATH, 99), names(&roots, "run/engine", 99)), (None, None));
        allow(&folder, 0o755);
        assert!(read(&roots, PATH, 99).is_some());
    }

    #[test]
    fn no_link_leads_elsewhere() {
        let (tree, roots) = tree();
        let (file, folder) = (tree.root().join(PATH), tree.root().join("run/engine"));
        fs::rename(&file, tree.root().join("elsewhere")).unwrap();
        symlink("../../../elsewhere", &file).unwrap();
        assert_eq!(read(&roots, PATH, 99), None);
        fs::rename(&folder, tree.root().join("moved")).unwrap();
        symlink("../moved", &folder).unwrap();
        assert_eq!(names(&roots, "run/engine", 99), None);
    }

    #[test]
    fn a_list_of_names_is_cut() {
        let tree = testing::Tree::new(&[("var/log/pods/a/x", ""), ("var/log/pods/b/x", "")]);
        let roots = Roots::at(tree.root());
        let few = names(&roots, "var/log/pods", 3).unwrap();
        assert_eq!(few.len(), 2, "{few:?}");
        // Other names could be written in a name of several lines.
        tree.put("var/log/pods/c\nd/x", "");
        assert_eq!(names(&roots, "var/log/pods", 99).unwrap().len(), 4);
    }
}
