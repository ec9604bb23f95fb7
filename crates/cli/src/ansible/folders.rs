//! The files that the module has on the host while it runs. All of them are removed at the end.

use crate::exit::Failure;
use crate::guard;
use crate::session::Session;
use host::Roots;
use host::temporary::Temporary;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, Stat, openat, statat, unlinkat};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The age after which a copy of the module that no process runs counts as left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);

/// How a folder is opened.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// There is no folder of Ansible.
const NO_FOLDER: io::ErrorKind = io::ErrorKind::NotFound;

/// The folders of the module: the folder of Ansible with the program and its arguments, and one
/// for records and caches.
pub struct ModuleFolders<'a> {
    session: &'a Session,
    /// The folder of Ansible; None if it cannot be opened, or is behind a link of another user.
    ansibles: Option<AnsiblesFolder>,
    work: std::io::Result<Temporary>,
    /// Whether the folder of locks existed before.
    had_locks: bool,
}

impl<'a> ModuleFolders<'a> {
    /// Makes the folder. It is in the journal, so it is removed even if this process is killed.
    pub fn begin(arguments: &Path, session: &'a Session) -> Self {
        let ansibles = AnsiblesFolder::of(arguments).ok();
        ansibles.as_ref().into_iter().for_each(sweep);
        // Ansible lets only its own user run the program, but the load may run as another user.
        // Nobody else can enter the folder.
        let _ = fs::set_permissions("/proc/self/exe", fs::Permissions::from_mode(0o755));
        let had_locks = guard::has_locks();
        // The helper also undoes what killed runs left behind. It does so silently: if Ansible
        // reads both streams from one terminal, a message here would be in the middle of the
        // answer.
        session.guard.watch_over();
        let work = Temporary::folder(&Roots::real(), &std::env::temp_dir(), "tailback-module-");
        ModuleFolders { session, ansibles, work, had_locks }
    }

    /// Opens the file of arguments in the folder that was opened at the start, even if another
    /// folder has its path by now. Without a folder of Ansible it opens the path.
    ///
    /// # Errors
    /// If it cannot be opened, or is a link in the folder of Ansible.
    pub fn arguments(&self, path: &Path) -> io::Result<fs::File> {
        match &self.ansibles {
            Some(folder) => folder.open_arguments(),
            None => fs::File::open(path),
        }
    }

    /// The folder for records and caches.
    ///
    /// # Errors
    /// If it could not be made.
    pub fn work(&self) -> Result<&Path, Failure> {
        match &self.work {
            Ok(work) => Ok(work.path()),
            Err(error) => Err(Failure::need(format!(
                "{}: {error}; free some disk space, or set TMPDIR",
                std::env::temp_dir().display()
            ))),
        }
    }

    /// Writes this text to a file that only the caller can read, and returns its path.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn secret(&self, text: &str) -> Result<String, Failure> {
        let path = self.work()?.join("salt");
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        options
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| Failure::need(format!("{}: {error}", path.display())))?;
        Ok(path.to_string_lossy().into_owned())
    }

    /// Removes all files. This includes the folder of Ansible: if Ansible was stopped, nobody
    /// else removes it.
    pub fn end(self) {
        drop(self.work);
        self.session.guard.end();
        if !self.had_locks {
            guard::remove_locks();
        }
        let _ = self.ansibles.map(AnsiblesFolder::remove);
    }
}

/// A folder of Ansible with a copy of the module. It stays open, with the folder that it is in:
/// where root runs the module, it belongs to another user, who may put a link in its place.
struct AnsiblesFolder {
    above: OwnedFd,
    name: OsString,
    folder: OwnedFd,
    program: OsString,
    arguments: OsString,
}

impl AnsiblesFolder {
    /// The folder in which these arguments are. A path that is not absolute is not one of
    /// Ansible.
    fn of(arguments: &Path) -> io::Result<Self> {
        let program = std::env::args_os().next().map(PathBuf::from);
        let folder = arguments.parent().filter(|folder| folder.is_absolute());
        let (above, name) =
            folder.and_then(|own| own.parent().zip(own.file_name())).ok_or(NO_FOLDER)?;
        let program = program.as_deref().and_then(Path::file_name).ok_or(NO_FOLDER)?;
        let arguments = arguments.file_name().ok_or(NO_FOLDER)?;
        Self::open(os::folders::hold(above)?, name, program, arguments)
    }

    fn open(above: OwnedFd, name: &OsStr, program: &OsStr, file: &OsStr) -> io::Result<Self> {
        let folder = openat(&above, name, FOLDER | OFlags::PATH, Mode::empty())?;
        let [name, program, arguments] = [name, program, file].map(OsStr::to_owned);
        Ok(AnsiblesFolder { above, name, folder, program, arguments })
    }

    /// A pipe does not block: it is empty, and an empty file holds no arguments.
    fn open_arguments(&self) -> io::Result<fs::File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(openat(&self.folder, &self.arguments, flags, Mode::empty())?.into())
    }

    /// The names of other folders of Ansible beside this one.
    fn names_beside(&self) -> io::Result<Vec<OsString>> {
        let all = Dir::new(openat(&self.above, ".", FOLDER, Mode::empty())?)?;
        let names =
            all.flatten().map(|entry| OsString::from_vec(entry.file_name().to_bytes().into()));
        let is_other = |name: &OsString| *name != self.name;
        let ansibles = |name: &OsString| name.as_bytes().starts_with(b"ansible-tmp-");
        Ok(names.filter(ansibles).filter(is_other).collect())
    }

    /// The folder with this name beside this one, where the same module was copied.
    fn beside(&self, name: &OsStr) -> io::Result<Self> {
        Self::open(self.above.try_clone()?, name, &self.program, "args".as_ref())
    }

    /// Whether it is old, and has a copy of the module that no process runs.
    fn is_left_behind(&self) -> bool {
        let Ok(copied) = statat(&self.folder, &self.program, AtFlags::SYMLINK_NOFOLLOW) else {
            return false;
        };
        let folder = self.folder.try_clone().and_then(|folder| fs::File::from(folder).metadata());
        let changed = folder.and_then(|folder| folder.modified());
        let age = changed.ok().and_then(|changed| changed.elapsed().ok());
        age.is_some_and(|age| age > LEFT_BEHIND) && !runs(&copied)
    }

    /// Removes both files, and the folder if nothing else is in it.
    fn remove(self) -> rustix::io::Result<()> {
        let _ = unlinkat(&self.folder, &self.program, AtFlags::empty());
        let _ = unlinkat(&self.folder, &self.arguments, AtFlags::empty());
        unlinkat(&self.above, &self.name, AtFlags::REMOVEDIR)
    }
}

/// Removes the folders beside this one that an earlier run of Ansible left behind. That run was
/// stopped between copying the module and running it.
fn sweep(own: &AnsiblesFolder) {
    let names = own.names_beside().unwrap_or_default();
    let folders = names.iter().filter_map(|name| own.beside(name).ok());
    for folder in folders.filter(AnsiblesFolder::is_left_behind) {
        // What is left is tried again by the next run.
        let _ = folder.remove();
    }
}

/// Whether any process runs this program.
fn runs(program: &Stat) -> bool {
    let Ok(all) = fs::read_dir("/proc") else { return true };
    all.flatten().any(|process| {
        let running = rustix::fs::stat(process.path().join("exe"));
        running.is_ok_and(|one| (one.st_dev, one.st_ino) == (program.st_dev, program.st_ino))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn old_copies_of_the_module_go_and_nothing_else() {
        let above = tempfile::tempdir().unwrap();
        let program = std::env::args_os().next().map(PathBuf::from).unwrap();
        let make = |folder: &str, file: &std::ffi::OsStr, age: Duration| {
            let folder = above.path().join(folder);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(file), "").unwrap();
            let changed = SystemTime::now() - age;
            fs::File::open(&folder).unwrap().set_modified(changed).unwrap();
            folder
        };
        let (name, hour) = (program.file_name().unwrap(), LEFT_BEHIND);
        let own = make("ansible-tmp-1", "args".as_ref(), Duration::ZERO);
        let old = make("ansible-tmp-2", name, hour * 2);
        let fresh = make("ansible-tmp-3", name, hour / 2);
        let other = make("ansible-tmp-4", "AnsiballZ_copy.py".as_ref(), hour * 2);
        let unlike = make("notes", name, hour * 2);
        // A link to an old folder, which another user could make.
        let aim = make("aim", name, hour * 2);
        fs::write(aim.join("args"), "").unwrap();
        let link = above.path().join("ansible-tmp-5");
        std::os::unix::fs::symlink(&aim, &link).unwrap();
        let old_time = rustix::fs::Timespec { tv_sec: 1_000_000_000, tv_nsec: 0 };
        let times = rustix::fs::Timestamps { last_access: old_time, last_modification: old_time };
        rustix::fs::utimensat(rustix::fs::CWD, &link, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        sweep(&AnsiblesFolder::of(&own.join("args")).unwrap());
        assert!(!old.exists());
        for kept in [own, fresh, other, unlike, aim.join(name), aim.join("args"), link] {
            assert!(kept.exists(), "{}", kept.display());
        }
    }
}
