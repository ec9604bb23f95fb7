//! The files that the module has on the host while it runs. All of them are removed at the end.

use crate::exit::Failure;
use crate::guard;
use crate::session::Session;
use host::Roots;
use host::temporary::Temporary;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The age after which a copy of the module that no process runs counts as left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);

/// The folders of the module: the folder of Ansible with the program and its arguments, and one
/// for records and caches.
pub struct ModuleFolders<'a> {
    session: &'a Session,
    /// The file of arguments. It is in the same folder as the program.
    arguments: PathBuf,
    work: std::io::Result<Temporary>,
    /// Whether the folder of locks existed before.
    had_locks: bool,
}

impl<'a> ModuleFolders<'a> {
    /// Makes the folder. It is in the journal, so it is removed even if this process is killed.
    pub fn begin(arguments: &Path, session: &'a Session) -> Self {
        sweep(arguments);
        // Ansible lets only its own user run the program, but the load may run as another user.
        // Nobody else can enter the folder.
        let _ = fs::set_permissions("/proc/self/exe", fs::Permissions::from_mode(0o755));
        let had_locks = guard::has_locks();
        // The helper also undoes what killed runs left behind. It does so silently: if Ansible
        // reads both streams from one terminal, a message here would be in the middle of the
        // answer.
        session.guard.watch_over();
        let work = Temporary::folder(&Roots::real(), &std::env::temp_dir(), "tailback-module-");
        ModuleFolders { session, arguments: arguments.to_owned(), work, had_locks }
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
        let program = std::env::args_os().next().map(PathBuf::from);
        let folder = self.arguments.parent().filter(|folder| folder.is_absolute());
        // Only these two files are removed, by name: the user owns the folder and may swap it.
        let _ = program.map(fs::remove_file);
        let _ = fs::remove_file(&self.arguments);
        let _ = folder.map(fs::remove_dir);
    }
}

/// Removes the folders beside this one that an earlier run of Ansible left behind. That run was
/// stopped between copying the module and running it.
fn sweep(arguments: &Path) {
    let own = arguments.parent().filter(|own| own.is_absolute());
    let program = std::env::args_os().next().map(PathBuf::from);
    let name = program.as_deref().and_then(Path::file_name);
    let (Some(own), Some(name)) = (own, name) else { return };
    let Some(Ok(beside)) = own.parent().map(fs::read_dir) else { return };
    for folder in beside.flatten().map(|entry| entry.path()).filter(|folder| folder != own) {
        let is_ansibles = folder
            .file_name()
            .is_some_and(|name| name.to_str().is_some_and(|name| name.starts_with("ansible-tmp-")));
        let copied = folder.join(name);
        if is_ansibles && is_old(&folder) && copied.exists() && !runs(&copied) {
            let _ = [copied, folder.join("args")].map(fs::remove_file);
            let _ = fs::remove_dir(&folder);
        }
    }
}

fn is_old(folder: &Path) -> bool {
    let changed = fs::symlink_metadata(folder).and_then(|found| found.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > LEFT_BEHIND))
}

/// Whether any process runs this program.
fn runs(program: &Path) -> bool {
    let Ok(all) = fs::read_dir("/proc") else { return true };
    all.flatten().any(|process| {
        fs::read_link(process.path().join("exe")).is_ok_and(|running| running == program)
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
        sweep(&own.join("args"));
        assert!(!old.exists());
        for kept in [own, fresh, other, unlike] {
            assert!(kept.exists(), "{}", kept.display());
        }
    }
}
