use super::*;
use crate::journal::note;
use std::fs;
use std::time::Duration;
use testing::once_released;

/// A dead process: no process can have this pid.
const GONE: &str = "2000000000-1";

/// A fake tree with `/proc/self/stat` of this process and a governor.
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
        let tree = Tree { roots: Roots::at(dir.path()), dir };
        fs::create_dir_all(tree.governor().parent().unwrap()).unwrap();
        fs::write(tree.governor(), "powersave\n").unwrap();
        let list = tree.governor().with_file_name("scaling_available_governors");
        fs::write(list, "performance powersave schedutil\n").unwrap();
        tree
    }

    fn governor(&self) -> PathBuf {
        self.roots.sys.join("devices/system/cpu/cpu0/cpufreq/scaling_governor")
    }

    /// A path that a temporary of the dead process can have.
    fn temporary(&self, number: u32) -> PathBuf {
        self.dir.path().join(format!(".building-{GONE}-{number:016x}"))
    }

    /// Writes the journal of a dead process.
    fn leave(&self, changes: &[Change]) {
        self.leave_of_boot(None, changes);
    }

    /// The same, with the ID of a boot.
    fn leave_of_boot(&self, boot: Option<&str>, changes: &[Change]) {
        let entry = |(change, number): (&Change, u64)| Entry {
            number,
            boot: boot.map(str::to_owned),
            change: change.clone(),
        };
        let entries = changes.iter().zip(0..).map(entry);
        let folder = private::folder(&self.roots.run.join("tailback")).unwrap();
        let file = folder.join(format!("tailback-{GONE}-0.journal"));
        journal::leave(&file, entries.collect()).unwrap();
    }

    fn change(&self) -> Change {
        let (was, set) = ("powersave".to_owned(), "performance".to_owned());
        Change::File { path: self.governor(), was, set }
    }

    /// Makes the change, and then makes its process look dead.
    fn change_and_die(&self) {
        let _ = note(&self.roots, self.change()).unwrap();
        fs::write(self.governor(), "performance").unwrap();
        self.die();
    }

    /// Makes the process of the existing journal look dead.
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
    let outside = tree.dir.path().join("outside");
    let [building, half, held, never_made] = [1, 2, 3, 4].map(|number| tree.temporary(number));
    fs::create_dir_all(building.join("ebin/deep")).unwrap();
    for file in [&building.join("ebin/a"), &half, &held, &outside] {
        fs::write(file, "").unwrap();
    }
    std::os::unix::fs::symlink(&outside, building.join("ebin/link")).unwrap();
    fs::write(&held, "4711").unwrap();
    let lock = fs::File::open(&held).unwrap();
    lock.lock().unwrap();
    let changes = [&building, &half, &held, &never_made];
    tree.leave(&changes.map(|path| Change::Temporary { path: path.clone() }));
    let restored = restore(&tree.roots);
    assert_eq!(restored.undone.len(), 2, "{restored:?}");
    assert_eq!(restored.left.len(), 1, "{restored:?}");
    assert!(!building.exists() && !half.exists() && held.exists() && outside.exists());
    assert!(tree.journals().is_empty());
}

#[test]
fn a_lock_that_a_killed_run_was_just_handing_to_a_child_is_waited_for() {
    let tree = Tree::new();
    let is_waited_for = |text: &str| {
        let held = tree.temporary(1);
        fs::write(&held, text).unwrap();
        let lock = fs::File::open(&held).unwrap();
        lock.lock().unwrap();
        tree.leave(&[Change::Temporary { path: held.clone() }]);
        let child = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            drop(lock);
        });
        let restored = restore(&tree.roots);
        child.join().unwrap();
        assert!(restored.left.is_empty() && restored.refused.is_empty(), "{restored:?}");
        if !restored.is_whole() {
            once_released(|| restore(&tree.roots).is_whole().then_some(()));
        }
        assert!(!held.exists() && tree.journals().is_empty());
        restored.is_whole()
    };
    // Before its holder has written to it, and after that. A stall of the machine can be as long
    // as a restore waits.
    for text in ["", GONE.split_once('-').unwrap().0] {
        assert!((0..3).any(|_| is_waited_for(text)), "{text:?}");
    }
    // A process that does not end soon is checked again by a later restore.
    let held = tree.temporary(1);
    fs::write(&held, "").unwrap();
    let lock = fs::File::open(&held).unwrap();
    lock.lock().unwrap();
    tree.leave(&[Change::Temporary { path: held.clone() }]);
    let restored = restore(&tree.roots);
    assert!(restored.failed[0].1.contains("a later restore tries again"), "{restored:?}");
    assert!(held.exists() && tree.journals().len() == 1);
    drop(lock);
    let restored = once_released(|| Some(restore(&tree.roots)).filter(Restored::is_whole));
    assert_eq!(restored.undone.len(), 1, "{restored:?}");
    assert!(!held.exists() && tree.journals().is_empty());
}

/// In a container, `/run` may outlive a boot. Here somebody has set the governor after the boot, to
/// the value that tailback had set before it.
#[test]
fn of_an_earlier_boot_only_temporaries_are_undone() {
    let tree = Tree::new();
    let id = tree.roots.proc.join("sys/kernel/random/boot_id");
    fs::create_dir_all(id.parent().unwrap()).unwrap();
    fs::write(&id, "this-boot\n").unwrap();
    let half = tree.temporary(1);
    let governor_after = |boot: Option<&str>| {
        fs::write(&half, "").unwrap();
        fs::write(tree.governor(), "performance").unwrap();
        tree.leave_of_boot(boot, &[tree.change(), Change::Temporary { path: half.clone() }]);
        let restored = restore(&tree.roots);
        assert!(restored.is_whole() && !half.exists(), "{restored:?}");
        assert!(tree.journals().is_empty());
        fs::read_to_string(tree.governor()).unwrap()
    };
    assert_eq!(governor_after(Some("earlier-boot")), "performance");
    assert_eq!(governor_after(Some("this-boot")), "powersave");
    // The journal of an older version.
    assert_eq!(governor_after(None), "powersave");
    let noted = note(&tree.roots, tree.change()).unwrap();
    let text = fs::read_to_string(&tree.journals()[0]).unwrap();
    assert!(text.contains("\"boot\":\"this-boot\""), "{text}");
    noted.undone();
}

#[test]
fn governors_are_put_back_before_preferences_and_groups_before_controllers() {
    let file =
        |path: &str| Change::File { path: path.into(), was: String::new(), set: String::new() };
    let group = |path: &str| Change::Group { path: path.into() };
    let changes = [group("1"), file("2"), file("3"), group("4")];
    let entry = |(change, number): (Change, u64)| Entry { number, boot: None, change };
    let entries = changes.into_iter().zip(0..).map(entry);
    let numbers: Vec<u64> = in_order(entries.collect()).map(|entry| entry.number).collect();
    assert_eq!(numbers, [1, 2, 3, 0]);
}

#[test]
fn what_is_refused_is_shown_on_one_line_of_bounded_length_and_stays() {
    let tree = Tree::new();
    let long = format!("/tmp/\u{1b}[2J\n\u{202e}{}", "x".repeat(100_000));
    tree.leave(&[Change::Temporary { path: long.into() }, tree.change()]);
    let before = fs::read(&tree.journals()[0]).unwrap();
    for _ in 0..2 {
        let restored = restore(&tree.roots);
        let [refused] = &restored.refused[..] else { panic!("{restored:?}") };
        let entry = refused.entry.as_ref().unwrap();
        assert!(entry.starts_with("/tmp/ [2J  xxx"), "{entry}");
        assert!(entry.chars().count() <= MOST_SHOWN && !entry.chars().any(os::terminal::steers));
        assert!(!restored.is_whole() && !restored.is_empty());
    }
    // The other entry was undone already, and is not kept.
    let after = fs::read(&tree.journals()[0]).unwrap();
    assert!(after.len() < before.len() && !String::from_utf8(after).unwrap().contains("powersave"));
}

#[test]
fn of_too_many_journals_the_rest_is_not_read() {
    let tree = Tree::new();
    let folder = private::folder(&tree.roots.run.join("tailback")).unwrap();
    for number in 0..=MOST_JOURNALS {
        fs::write(folder.join(format!("tailback-2000000000-{number}-0.journal")), "[]").unwrap();
    }
    let restored = restore(&tree.roots);
    // None of the files has the mode of a journal.
    assert_eq!(restored.refused.len(), 1 + MOST_JOURNALS);
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
fn a_journal_that_cannot_be_written_leaves_no_half_of_it() {
    let tree = Tree::new();
    let folder = private::folder(&tree.roots.run.join("tailback")).unwrap();
    let own = Owner::this(&tree.roots).unwrap();
    // A folder has the name of the journal.
    fs::create_dir(folder.join(format!("{}.journal", own.name(0)))).unwrap();
    assert!(note(&tree.roots, tree.change()).is_err());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
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
    tree.leave(&[tree.change()]);
    // The mode of the file stays.
    fs::write(folder.join(bad), "[{\"number\":0}]").unwrap();
    let planted = tree.dir.path().join("planted");
    fs::write(&planted, "[]").unwrap();
    std::os::unix::fs::symlink(&planted, folder.join(link)).unwrap();
    let restored = restore(&tree.roots);
    let [damaged, no_file] = &restored.refused[..] else { panic!("{restored:?}") };
    assert!(damaged.entry.is_none() && damaged.why.starts_with("damaged at"), "{damaged:?}");
    assert!(no_file.why.contains("without following links"), "{no_file:?}");
    assert_eq!(fs::read_to_string(tree.governor()).unwrap(), "powersave\n");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "with the lock");
}

#[test]
fn a_file_that_cannot_be_written_stays_in_the_journal() {
    let tree = Tree::new();
    // A folder that cannot be removed, since it is nested too deep.
    let deep = tree.temporary(1).join("a/".repeat(200));
    fs::create_dir_all(&deep).unwrap();
    tree.leave(&[Change::Temporary { path: tree.temporary(1) }]);
    let journals = tree.journals();
    let restored = restore(&tree.roots);
    let [(path, why)] = &restored.failed[..] else { panic!("{restored:?}") };
    assert!(*path == tree.temporary(1) && why.contains("folders deep"), "{restored:?}");
    assert!(deep.exists());
    assert_eq!(tree.journals(), journals);
}

#[test]
fn a_journal_of_another_pid_namespace_is_restored_once_nobody_holds_it() {
    let tree = Tree::new();
    tree.leave(&[tree.change()]);
    let journal = tree.journals().remove(0);
    let foreign = journal.with_file_name(format!("tailback-{GONE}-0-ns5.journal"));
    fs::rename(&journal, &foreign).unwrap();
    fs::write(tree.governor(), "performance").unwrap();
    let holder = fs::File::open(&foreign).unwrap();
    holder.lock().unwrap();
    assert!(restore(&tree.roots).is_empty(), "its process lives");
    drop(holder);
    let restored = once_released(|| Some(restore(&tree.roots)).filter(|it| !it.is_empty()));
    assert_eq!(restored.undone, [tree.change()], "{restored:?}");
    assert!(tree.journals().is_empty());
}

#[test]
fn a_journal_is_the_callers_alone_and_held_as_long_as_its_process_lives() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::new();
    let noted = note(&tree.roots, tree.change()).unwrap();
    let again = note(&tree.roots, tree.change()).unwrap();
    again.undone();
    let journal = fs::File::open(&tree.journals()[0]).unwrap();
    assert_eq!(journal.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
    assert!(journal.try_lock().is_err());
    noted.undone();
    // There is nothing in it any more.
    once_released(|| journal.try_lock().ok());
}
