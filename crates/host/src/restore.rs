//! Putting back what runs changed that were killed: what stands in their journals.

use crate::cgroup::controller;
use crate::journal::{self, Change, Undone, write_existing};
use crate::private;
use crate::roots::{self, Roots};
use crate::temporary;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file that who restores holds locked.
const LOCK: &str = "lock";

/// What was restored.
#[derive(Debug, Default)]
pub struct Restored {
    /// Changes that are undone now.
    pub undone: Vec<Change>,
    /// Changes that were left as they are, and why: somebody else has changed or come to need them.
    pub left: Vec<(Change, String)>,
    /// What could not be undone or read, and why.
    pub failed: Vec<(PathBuf, String)>,
}

impl Restored {
    /// Whether there was nothing to do.
    pub fn is_empty(&self) -> bool {
        self.undone.is_empty() && self.left.is_empty() && self.failed.is_empty()
    }
}

/// Undoes what stands in the journals of processes that are gone, the latest change first.
///
/// A file that no longer holds what was written there was changed by somebody else since, and is
/// left.
pub fn restore(roots: &Roots) -> Restored {
    let mut restored = Restored::default();
    let folder = journal::folder(roots);
    // Journals of another user are for that user to restore.
    let own = std::fs::metadata(&folder).is_ok_and(|found| found.uid() == geteuid().as_raw());
    if !own {
        return restored;
    }
    // Another restore that runs at this moment is waited for.
    let _lock = match locked(&folder) {
        Ok(lock) => lock,
        Err(why) => {
            restored.failed.push((folder, why));
            return restored;
        }
    };
    for file in journal::unfinished(roots, &folder) {
        if let Err(error) = std::fs::remove_file(&file) {
            restored.failed.push((file, error.to_string()));
        }
    }
    for file in journal::left_behind(roots, &folder) {
        restore_one(&file, &mut restored);
    }
    restored
}

fn locked(folder: &Path) -> Result<File, String> {
    loop {
        let folder = private::folder(folder).map_err(|error| error.to_string())?;
        let path = folder.join(LOCK);
        let file = private::lock_file(&path).map_err(|error| error.to_string())?;
        match flock(&file, FlockOperation::LockExclusive) {
            // Somebody who left nothing behind has removed it meanwhile.
            Ok(()) if !private::is_still_at(&file, &path) => {}
            // A kernel without file locks, as a small guest's: nobody else can be waited for.
            Ok(()) | Err(Errno::NOSYS) => return Ok(file),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Removes the folder of journals and locks, where nothing stands in a journal and nobody holds a
/// lock. `of_run` is the name of the lock that a run holds on the machine.
pub fn forget_locks(roots: &Roots, of_run: &str) {
    let Ok(folder) = private::folder(&journal::folder(roots)) else { return };
    let held = [of_run, LOCK].map(|name| {
        let path = folder.join(name);
        let file = private::lock_file(&path).ok()?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        private::is_still_at(&file, &path).then_some((file, path))
    });
    let [Some(run), Some(own)] = held else { return };
    for (file, path) in [run, own] {
        let _ = std::fs::remove_file(path);
        drop(file);
    }
    // A folder with a journal in it stays.
    let _ = std::fs::remove_dir(&folder);
}

fn restore_one(file: &Path, restored: &mut Restored) {
    let entries = match journal::read(file) {
        Ok(entries) => entries,
        Err(why) => {
            restored.failed.push((file.to_owned(), why));
            return;
        }
    };
    let mut kept = Vec::new();
    for entry in entries.into_iter().rev() {
        match undo(&entry.change) {
            Undone::Now => restored.undone.push(entry.change),
            Undone::Before => {}
            Undone::Left(why) => restored.left.push((entry.change, why)),
            Undone::Later => kept.push(entry),
            Undone::Failed(path, why) => {
                restored.failed.push((path, why));
                kept.push(entry);
            }
        }
    }
    kept.reverse();
    if let Err(error) = journal::leave(file, kept) {
        restored.failed.push((file.to_owned(), error.to_string()));
    }
}

fn undo(change: &Change) -> Undone {
    match change {
        Change::File { path, was, set } => undo_file(path, was, set),
        Change::Controller { controller, group, children } => {
            controller::withdraw(*controller, group, children)
        }
        Change::Temporary { path } => temporary::remove(path),
    }
}

fn undo_file(path: &Path, was: &str, set: &str) -> Undone {
    let Ok(now) = roots::read_text(path) else {
        // A CPU that went offline meanwhile comes back with the defaults of the kernel.
        return Undone::Left("it is gone".to_owned());
    };
    match now.trim() {
        now if now == was => Undone::Before,
        now if now != set => Undone::Left(format!("somebody has set it to {now:?} since")),
        _ => match write_existing(path, was) {
            Ok(()) => Undone::Now,
            Err(error) => Undone::Failed(path.to_owned(), error.to_string()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::note;
    use std::fs;

    /// A fake tree with `/proc/self/stat` of this process and a file of the kernel.
    struct Tree {
        roots: Roots,
        dir: tempfile::TempDir,
    }

    impl Tree {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let zeros = "0 ".repeat(18);
            let stat = format!("{} (tailback) S {zeros}4711 0 0\n", std::process::id());
            for own in ["self".to_owned(), std::process::id().to_string()] {
                let folder = dir.path().join("proc").join(own);
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join("stat"), &stat).unwrap();
            }
            fs::write(dir.path().join("governor"), "powersave\n").unwrap();
            Tree { roots: Roots::at(dir.path()), dir }
        }

        fn governor(&self) -> PathBuf {
            self.dir.path().join("governor")
        }

        fn change(&self) -> Change {
            let (was, set) = ("powersave".to_owned(), "performance".to_owned());
            Change::File { path: self.governor(), was, set }
        }

        /// Makes the change, and lets its process be gone.
        fn change_and_die(&self) {
            let _ = note(&self.roots, self.change()).unwrap();
            fs::write(self.governor(), "performance").unwrap();
            self.die();
        }

        /// Lets the process be gone whose journal there is.
        fn die(&self) {
            fs::remove_dir_all(self.roots.proc.join(std::process::id().to_string())).unwrap();
            let gone = self.journals();
            // A pid that no process can have.
            let name = gone[0].file_name().unwrap().to_str().unwrap().to_owned();
            let own = format!("tailback-{}-", std::process::id());
            let name = name.replace(&own, "tailback-2000000000-");
            fs::rename(&gone[0], gone[0].with_file_name(name)).unwrap();
        }

        fn journals(&self) -> Vec<PathBuf> {
            let entries = fs::read_dir(self.roots.run.join("tailback")).into_iter().flatten();
            let paths = entries.flatten().map(|entry| entry.path());
            paths.filter(|path| path.extension().is_some_and(|end| end == "journal")).collect()
        }
    }

    #[test]
    fn a_journal_that_was_not_whole_yet_is_removed() {
        let tree = Tree::new();
        let folder = tree.roots.run.join("tailback");
        private::folder(&folder).unwrap();
        let name = |pid: u32| folder.join(format!("tailback-{pid}-1-0.journal.new"));
        let living = name(std::process::id())
            .with_file_name(format!("tailback-{}-4711-0.journal.new", std::process::id()));
        for file in [&name(2_000_000_000), &living] {
            fs::write(file, "[{").unwrap();
        }
        assert!(restore(&tree.roots).is_empty());
        assert!(!name(2_000_000_000).exists());
        assert!(living.exists());
    }

    #[test]
    fn what_was_half_made_is_removed_and_what_another_run_holds_is_not() {
        let tree = Tree::new();
        let path = |name: &str| tree.dir.path().join(name);
        fs::create_dir_all(path("building/ebin")).unwrap();
        for name in ["building/ebin/a", "half", "held"] {
            fs::write(path(name), "").unwrap();
        }
        let held = fs::File::open(path("held")).unwrap();
        held.lock().unwrap();
        for name in ["building", "half", "held", "never made"] {
            let change = Change::Temporary { path: path(name) };
            let _ = note(&tree.roots, change).unwrap();
        }
        tree.die();
        let restored = restore(&tree.roots);
        assert_eq!(restored.undone.len(), 2, "{restored:?}");
        assert_eq!(restored.left.len(), 1, "{restored:?}");
        assert!(!path("building").exists() && !path("half").exists() && path("held").exists());
        assert!(tree.journals().is_empty());
    }

    #[test]
    fn a_change_stands_in_the_journal_until_it_is_undone() {
        let tree = Tree::new();
        let noted = note(&tree.roots, tree.change()).unwrap();
        let text = fs::read_to_string(&tree.journals()[0]).unwrap();
        assert!(text.contains("powersave") && text.contains("performance"), "{text}");
        noted.undone();
        assert!(tree.journals().is_empty());
    }

    #[test]
    fn what_a_killed_run_changed_is_put_back_once() {
        let tree = Tree::new();
        tree.change_and_die();
        let restored = restore(&tree.roots);
        assert_eq!(restored.undone, [tree.change()]);
        assert_eq!(fs::read_to_string(tree.governor()).unwrap(), "powersave");
        assert!(tree.journals().is_empty() && restore(&tree.roots).is_empty());
    }

    #[test]
    fn what_somebody_else_set_since_is_left() {
        let tree = Tree::new();
        tree.change_and_die();
        fs::write(tree.governor(), "schedutil\n").unwrap();
        let restored = restore(&tree.roots);
        assert!(restored.undone.is_empty() && restored.left[0].1.contains("schedutil"));
        assert_eq!(fs::read_to_string(tree.governor()).unwrap(), "schedutil\n");
        assert!(tree.journals().is_empty());
    }

    #[test]
    fn the_journal_of_a_process_that_lives_is_left_alone() {
        let tree = Tree::new();
        let noted = note(&tree.roots, tree.change()).unwrap();
        fs::write(tree.governor(), "performance").unwrap();
        assert!(restore(&tree.roots).is_empty());
        assert_eq!(fs::read_to_string(tree.governor()).unwrap(), "performance");
        noted.undone();
    }

    #[test]
    fn nonsense_and_links_are_named_and_change_nothing() {
        let tree = Tree::new();
        let folder = private::folder(&tree.roots.run.join("tailback")).unwrap();
        let (bad, link) = ("tailback-2000000000-1-0.journal", "tailback-2000000001-1-0.journal");
        fs::write(folder.join(bad), "[{\"number\":0}]").unwrap();
        let planted = tree.dir.path().join("planted");
        fs::write(&planted, "[]").unwrap();
        std::os::unix::fs::symlink(&planted, folder.join(link)).unwrap();
        let restored = restore(&tree.roots);
        assert_eq!(restored.failed.len(), 2, "{restored:?}");
        assert_eq!(fs::read_to_string(tree.governor()).unwrap(), "powersave\n");
    }

    #[test]
    fn a_file_that_cannot_be_written_stays_in_the_journal() {
        let tree = Tree::new();
        tree.change_and_die();
        // Read-only for root too.
        fs::remove_file(tree.governor()).unwrap();
        let journal = tree.journals().remove(0);
        let text = fs::read_to_string(&journal).unwrap();
        let text = text.replace(&tree.governor().display().to_string(), "/proc/version");
        let version = fs::read_to_string("/proc/version").unwrap();
        let set = serde_json::to_string(version.trim()).unwrap();
        fs::write(&journal, text.replace("\"performance\"", &set)).unwrap();
        let restored = restore(&tree.roots);
        assert_eq!(restored.failed.len(), 1, "{restored:?}");
        assert_eq!(tree.journals(), [journal]);
    }
}
