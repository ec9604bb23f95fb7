//! Holds the CPU frequencies at their highest during a measurement, and restores them afterwards.

use crate::cpufreq::{self, Absent, PERFORMANCE, Setting};
use crate::journal::{self, Change, Noted, Undone};
use crate::roots::Roots;
use rustix::io::Errno;
use std::fmt;
use std::path::{Path, PathBuf};

/// Sets the governors and energy preferences of all CPUs to `performance`. Dropping it restores
/// the old values; after a kill, the journal restores them.
#[derive(Debug)]
pub struct Governor {
    roots: Roots,
    changed: Vec<(Saved, Noted)>,
    state: State,
}

/// The result of the attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// This machine does not scale frequencies, or does not show it, like most guests.
    Absent,
    /// All files were at `performance` already.
    Already,
    /// This number of files was set and will be restored.
    Set(usize),
    /// The kernel refused or the user lacks the rights; nothing is changed.
    Refused(String),
}

/// A file and its old value.
#[derive(Debug)]
struct Saved {
    path: PathBuf,
    value: String,
}

impl Governor {
    /// Saves the governor and energy preference of every CPU that has them, and sets them.
    ///
    /// If the machine refuses, nothing is changed: see [`Governor::state`].
    pub fn performance(roots: &Roots) -> Self {
        let found = settings(roots);
        if found.is_empty() {
            return Governor { roots: roots.clone(), changed: Vec::new(), state: State::Absent };
        }
        let mut governor =
            Governor { roots: roots.clone(), changed: Vec::new(), state: State::Already };
        for setting in found.into_iter().filter(|setting| setting.value != PERFORMANCE) {
            match set(roots, &setting) {
                Ok(noted) => governor.changed.push((setting, noted)),
                Err(why) => {
                    governor.restore();
                    governor.state = State::Refused(why);
                    return governor;
                }
            }
            governor.state = State::Set(governor.changed.len());
        }
        governor
    }

    /// The result of the attempt.
    pub fn state(&self) -> &State {
        &self.state
    }

    fn restore(&mut self) {
        for (saved, noted) in self.changed.drain(..) {
            // What could not be written, or not be looked at, stays in the journal, and the next
            // restore tries again.
            match undo(&self.roots, &saved.path, &saved.value, PERFORMANCE) {
                Undone::Now | Undone::Before | Undone::Left(_) => noted.undone(),
                Undone::Failed(..) | Undone::Refused(_) | Undone::Later => {}
            }
        }
    }
}

impl Drop for Governor {
    fn drop(&mut self) {
        self.restore();
    }
}

/// One sentence for the user.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Absent => f.write_str("no cpufreq here, so no governor is set"),
            State::Already => f.write_str("all CPUs are at performance already"),
            State::Set(1) => f.write_str("1 cpufreq setting is at performance until the run ends"),
            State::Set(count) => {
                write!(f, "{count} cpufreq settings are at performance until the run ends")
            }
            State::Refused(why) => write!(
                f,
                "the governor stays as it is: {why}; run as root, or set it beforehand: cpupower frequency-set -g performance"
            ),
        }
    }
}

/// All settings of all CPUs: governors first.
fn settings(roots: &Roots) -> Vec<Saved> {
    let saved = cpufreq::files(roots).into_iter().filter_map(|path| {
        let value = Setting::at(roots, &path).ok()?.value().ok()??;
        Some(Saved { path, value })
    });
    saved.collect()
}

/// Sets one file, after its old value is in the journal.
fn set(roots: &Roots, saved: &Saved) -> Result<Noted, String> {
    let refused = |why: String| format!("{}: {why}", saved.path.display());
    let setting =
        Setting::at(roots, &saved.path).map_err(|_| refused("the file is gone".to_owned()))?;
    // A file that `restore` would not restore is not changed.
    if !setting.takes(&saved.value).map_err(|error| refused(error.to_string()))? {
        return Err(refused(format!("the kernel does not list its value {:?}", saved.value)));
    }
    let change = Change::File {
        path: saved.path.clone(),
        was: saved.value.clone(),
        set: PERFORMANCE.to_owned(),
    };
    let noted = journal::note(roots, change).map_err(|error| error.to_string())?;
    match setting.set(PERFORMANCE) {
        Ok(()) => Ok(noted),
        Err(error) => {
            noted.undone();
            Err(refused(error.to_string()))
        }
    }
}

/// Gives a file its old value back, if it still has the value that tailback set.
pub(crate) fn undo(roots: &Roots, path: &Path, was: &str, set: &str) -> Undone {
    // Another driver makes new files, with its own defaults. The files of a CPU that is offline
    // stay, but cannot be read.
    let gone = || Undone::Left("the file is gone".to_owned());
    let failed = |error: std::io::Error| Undone::Failed(path.to_owned(), error.to_string());
    let setting = match Setting::at(roots, path) {
        Ok(setting) => setting,
        Err(Absent::Gone) => return gone(),
        Err(Absent::Foreign(why)) => return Undone::Refused(why),
    };
    let now = match setting.value() {
        Ok(Some(now)) => now,
        Ok(None) => return gone(),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
            return Undone::Refused("it is a link, not a file".to_owned());
        }
        Err(error) => return failed(error),
    };
    match setting.takes(was) {
        Ok(true) if set == PERFORMANCE => {}
        Ok(_) => return Undone::Refused("not a value that tailback sets or restores".to_owned()),
        Err(error) => return failed(error),
    }
    match now.as_str() {
        now if now == was => Undone::Before,
        now if now != set => Undone::Left(format!("somebody else has set it to {now:?}")),
        _ => setting.set(was).map_or_else(failed, |()| Undone::Now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    struct Tree {
        roots: Roots,
        _dir: tempfile::TempDir,
    }

    impl Tree {
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let tree = Tree { roots: Roots::at(dir.path()), _dir: dir };
            fs::create_dir_all(tree.path("cpu0")).unwrap();
            fs::create_dir_all(tree.roots.proc.join("self")).unwrap();
            fs::copy("/proc/self/stat", tree.roots.proc.join("self/stat")).unwrap();
            for (path, text) in files {
                let folder = tree.path(path).parent().unwrap().to_owned();
                fs::create_dir_all(&folder).unwrap();
                fs::write(tree.path(path), text).unwrap();
                for (list, values) in LISTS {
                    fs::write(folder.join(list), values).unwrap();
                }
            }
            tree
        }

        fn path(&self, path: &str) -> PathBuf {
            self.roots.sys.join("devices/system/cpu").join(path)
        }

        fn read(&self, path: &str) -> String {
            fs::read_to_string(self.path(path)).unwrap()
        }

        /// The text of all journals.
        fn journal(&self) -> String {
            let entries = fs::read_dir(self.roots.run.join("tailback")).unwrap().flatten();
            let texts = entries.map(|entry| fs::read_to_string(entry.path()).unwrap_or_default());
            texts.collect()
        }
    }

    /// The values that the kernel lists for the two files.
    const LISTS: [(&str, &str); 2] = [
        ("scaling_available_governors", "performance powersave schedutil ondemand\n"),
        ("energy_performance_available_preferences", "default performance balance_power power\n"),
    ];

    const G0: &str = "cpu0/cpufreq/scaling_governor";
    const G1: &str = "cpu1/cpufreq/scaling_governor";
    const E0: &str = "cpu0/cpufreq/energy_performance_preference";

    #[test]
    fn each_cpu_gets_back_its_own() {
        let policy = ("cpufreq/policy0/scaling_governor", "ondemand\n");
        let files = [(G0, "powersave\n"), (E0, "balance_power\n"), (G1, "schedutil\n"), policy];
        let tree = Tree::new(&files);
        let governor = Governor::performance(&tree.roots);
        assert_eq!(governor.state(), &State::Set(3));
        for file in [G0, G1, E0] {
            assert_eq!(tree.read(file), PERFORMANCE);
        }
        drop(governor);
        let back = [G0, E0, G1, policy.0].map(|file| tree.read(file));
        assert_eq!(back, ["powersave", "balance_power", "schedutil", "ondemand\n"]);
    }

    #[test]
    fn what_somebody_else_has_set_meanwhile_stays() {
        let tree = Tree::new(&[(G0, "powersave\n"), (G1, "powersave\n")]);
        let governor = Governor::performance(&tree.roots);
        fs::write(tree.path(G0), "schedutil\n").unwrap();
        fs::remove_file(tree.path(G1)).unwrap();
        drop(governor);
        assert_eq!(tree.read(G0), "schedutil\n");
        assert!(!tree.path(G1).exists());
    }

    #[test]
    fn the_governor_comes_before_the_preference() {
        let tree = Tree::new(&[(E0, "power\n"), (G0, "powersave\n"), (G1, "powersave\n")]);
        let order: Vec<PathBuf> = settings(&tree.roots).into_iter().map(|s| s.path).collect();
        assert_eq!(order, [tree.path(G0), tree.path(G1), tree.path(E0)]);
    }

    #[test]
    fn a_machine_without_cpufreq_is_left_alone_and_said_so() {
        let tree = Tree::new(&[("cpufreq/boost", "1\n")]);
        let governor = Governor::performance(&tree.roots);
        assert_eq!(governor.state(), &State::Absent);
        assert_eq!(governor.state().to_string(), "no cpufreq here, so no governor is set");
        assert_eq!(tree.read("cpufreq/boost"), "1\n");
    }

    #[test]
    fn what_is_at_performance_already_is_not_touched() {
        let tree = Tree::new(&[(G0, "performance\n"), (E0, "performance\n")]);
        let governor = Governor::performance(&tree.roots);
        assert_eq!(governor.state(), &State::Already);
        drop(governor);
        assert_eq!(tree.read(G0), "performance\n");
    }

    #[test]
    fn cpus_that_share_a_policy_share_its_files_through_links_as_in_the_kernel() {
        let policy = "cpufreq/policy0/scaling_governor";
        let tree = Tree::new(&[(policy, "powersave\n")]);
        for cpu in ["cpu0", "cpu1"] {
            fs::create_dir_all(tree.path(cpu)).unwrap();
            symlink("../cpufreq/policy0", tree.path(cpu).join("cpufreq")).unwrap();
        }
        let governor = Governor::performance(&tree.roots);
        assert_eq!(governor.state(), &State::Set(1));
        assert_eq!(tree.read(policy), PERFORMANCE);
        drop(governor);
        assert_eq!(tree.read(policy), "powersave");
    }

    #[test]
    fn where_one_refuses_all_are_put_back_at_once() {
        let tree = Tree::new(&[(G0, "powersave\n"), (E0, "odd\n")]);
        let governor = Governor::performance(&tree.roots);
        assert_eq!([tree.read(G0), tree.read(E0)], ["powersave", "odd\n"]);
        let shown = governor.state().to_string();
        assert!(shown.contains("energy_performance_preference: the kernel does not"), "{shown}");
        assert!(shown.starts_with("the governor stays as it is: "), "{shown}");
    }

    #[test]
    fn a_link_is_no_setting() {
        let tree = Tree::new(&[(G0, "powersave\n"), ("elsewhere", "powersave\n")]);
        fs::remove_file(tree.path(G0)).unwrap();
        symlink(tree.path("elsewhere"), tree.path(G0)).unwrap();
        assert_eq!(Governor::performance(&tree.roots).state(), &State::Absent);
        assert_eq!(tree.read("elsewhere"), "powersave\n");
    }

    #[test]
    fn a_preference_may_be_a_number() {
        let tree = Tree::new(&[(E0, "128\n")]);
        let governor = Governor::performance(&tree.roots);
        assert_eq!(governor.state(), &State::Set(1));
        drop(governor);
        assert_eq!(tree.read(E0), "128");
    }

    #[test]
    fn what_a_killed_run_set_stands_in_the_journal() {
        let tree = Tree::new(&[(G0, "powersave\n")]);
        let governor = Governor::performance(&tree.roots);
        assert!(tree.journal().contains("powersave"), "{}", tree.journal());
        drop(governor);
        assert_eq!(tree.journal(), "");
    }

    #[test]
    fn what_could_not_be_put_back_stays_in_the_journal() {
        let tree = Tree::new(&[(G0, "powersave\n")]);
        let list = tree.path("cpu0/cpufreq/scaling_available_governors");
        let governor = Governor::performance(&tree.roots);
        // A folder in its place cannot be read, and a list that is gone lists nothing.
        fs::remove_file(&list).unwrap();
        let undone = || undo(&tree.roots, &tree.path(G0), "powersave", PERFORMANCE);
        fs::create_dir(&list).unwrap();
        assert!(matches!(undone(), Undone::Failed(..)));
        fs::remove_dir(&list).unwrap();
        assert!(matches!(undone(), Undone::Refused(_)));
        drop(governor);
        assert_eq!(tree.read(G0), PERFORMANCE);
        assert!(tree.journal().contains("powersave"), "{}", tree.journal());
    }

    #[test]
    fn without_a_journal_nothing_is_set() {
        let tree = Tree::new(&[(G0, "powersave\n")]);
        fs::write(&tree.roots.run, "no folder").unwrap();
        let governor = Governor::performance(&tree.roots);
        assert!(matches!(governor.state(), State::Refused(why) if why.contains("journal")));
        assert_eq!(tree.read(G0), "powersave\n");
    }
}
