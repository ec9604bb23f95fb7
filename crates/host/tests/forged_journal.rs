//! Journals that tailback did not write, or not so: `restore` undoes what it can tell to be
//! tailback's own change, and nothing else.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tailback_host::{Restored, Roots, restore};

/// A process that is gone: no process can have its pid.
const GONE: &str = "2000000000-1";

/// Set for the test below that runs once more with mounts of its own: the folder of its place.
const MOUNTED: &str = "TAILBACK_TEST_MOUNTED";

/// A machine with one CPU whose governor is at `performance`, and with control groups of v2.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Place { dir: tempfile::tempdir().unwrap() };
        let group = "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        place.put("proc/self/mountinfo", group);
        place.put("proc/self/cgroup", "0::/\n");
        place.put("proc/self/stat", &fs::read_to_string("/proc/self/stat").unwrap());
        place.put("sys/fs/cgroup/a/cgroup.subtree_control", "cpu memory\n");
        place.put(&governor("scaling_governor"), "performance\n");
        place.put(&governor("scaling_available_governors"), "performance powersave\n");
        place.put("etc/passwd", "root:x:0:0\n");
        place.put("home/letters/a", "keep me\n");
        place.put("run/tailback/lock", "");
        fs::set_permissions(place.at("run/tailback"), Permissions::from_mode(0o700)).unwrap();
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn put(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// Writes a journal as it is written by tailback.
    fn forge(&self, entries: &[Value]) -> PathBuf {
        let file = self.at(&format!("run/tailback/tailback-{GONE}-0.journal"));
        let number = |(number, entry): (usize, &Value)| {
            let mut entry = entry.clone();
            entry["number"] = number.into();
            entry
        };
        let entries: Vec<Value> = entries.iter().enumerate().map(number).collect();
        fs::write(&file, Value::from(entries).to_string()).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        file
    }

    fn file(&self, path: &str, was: &str, set: &str) -> Value {
        json!({"change": "file", "path": self.at(path), "was": was, "set": set})
    }

    fn temporary(&self, path: &str) -> Value {
        json!({"change": "temporary", "path": self.at(path)})
    }

    fn restore(&self) -> Restored {
        restore(&Roots::at(self.dir.path()))
    }

    /// Fails unless these entries are refused, stay in the journal, and change nothing.
    fn assert_refused(&self, entries: &[Value]) {
        let journal = self.forge(entries);
        let (before, text) = (files(self.dir.path()), fs::read(&journal).unwrap());
        let restored = self.restore();
        assert!(restored.undone.is_empty() && !restored.is_empty(), "{entries:?}: {restored:?}");
        assert_eq!(files(self.dir.path()), before, "{entries:?}");
        assert_eq!(fs::read(&journal).unwrap(), text, "{entries:?}");
        let debug = format!("{restored:?}");
        assert!(debug.contains("refused: [Refused"), "{entries:?}: {debug}");
        fs::remove_file(journal).unwrap();
    }
}

fn governor(file: &str) -> String {
    format!("sys/devices/system/cpu/cpu0/cpufreq/{file}")
}

/// A temporary of the process that is gone.
fn building(number: u32) -> String {
    format!(".building-{GONE}-{number:016x}")
}

/// All files below a folder with what is in them, links not followed.
fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap();
        let text = match kind.is_file() {
            true => fs::read_to_string(&path).unwrap(),
            false => String::new(),
        };
        if kind.is_dir() {
            found.append(&mut files(&path));
        }
        found.push((path, text));
    }
    found.sort();
    found
}

#[test]
fn a_folder_or_file_elsewhere_is_not_removed() {
    let place = Place::new();
    for path in ["home/letters", "home/letters/a", "etc", "home", "", "sys/fs/cgroup/a"] {
        place.assert_refused(&[place.temporary(path)]);
    }
    let absolute = |path: &str| json!({"change": "temporary", "path": path});
    for path in ["/", "/proc", "home/letters", ""] {
        place.assert_refused(&[absolute(path)]);
    }
}

#[test]
fn no_link_is_followed_to_what_is_removed() {
    let place = Place::new();
    place.put(&format!("home/{}/a", building(1)), "");
    place.put(&format!("home/deep/{}/a", building(2)), "");
    symlink("home", place.at("link")).unwrap();
    symlink("../home/deep", place.at("home/near")).unwrap();
    symlink(place.at("home/letters"), place.at(&format!("home/{}", building(3)))).unwrap();
    for path in ["link/", "home/near/"] {
        for number in [1, 2] {
            place.assert_refused(&[place.temporary(&format!("{path}{}", building(number)))]);
        }
    }
    // The last one is a link itself.
    place.assert_refused(&[place.temporary(&format!("home/{}", building(3)))]);
    // Without a link it goes.
    place.forge(&[place.temporary(&format!("home/{}", building(1)))]);
    assert_eq!(place.restore().undone.len(), 1);
    assert!(!place.at(&format!("home/{}", building(1))).exists());
}

#[test]
fn no_path_leads_up_or_around() {
    let place = Place::new();
    place.put(&format!("home/{}/a", building(1)), "");
    let name = building(1);
    for path in [
        format!("etc/../home/{name}"),
        format!("home/./{name}"),
        format!("home//{name}"),
        format!("home/{name}/"),
        format!("home/{name}/."),
        format!("home/{name}/../../etc"),
        format!("home/{name}/../letters"),
    ] {
        place.assert_refused(&[place.temporary(&path)]);
    }
    let up = governor("../../cpu0/cpufreq/scaling_governor");
    place.assert_refused(&[place.file(&up, "powersave", "performance")]);
}

#[test]
fn no_file_but_a_governors_is_written() {
    let place = Place::new();
    let was = "evil:x:0:0";
    place.assert_refused(&[place.file("etc/passwd", was, "root:x:0:0")]);
    place.assert_refused(&[place.file("home/letters/a", was, "keep me")]);
    place.put(&governor("scaling_max_freq"), "2000000\n");
    place.put("sys/devices/system/cpu/cpu0/online", "1\n");
    place.assert_refused(&[place.file(&governor("scaling_max_freq"), "1", "2000000")]);
    place.assert_refused(&[place.file("sys/devices/system/cpu/cpu0/online", "0", "1")]);
    // A link in the place of a governor, of its folder, of the CPU.
    for (file, link, aim) in [
        ("cpu1/cpufreq/scaling_governor", "cpu1/cpufreq/scaling_governor", "etc/passwd"),
        ("cpu2/cpufreq/scaling_governor", "cpu2/cpufreq", "home"),
        ("cpu3/cpufreq/scaling_governor", "cpu3", "home"),
    ] {
        let cpus = "sys/devices/system/cpu";
        fs::create_dir_all(place.at(&format!("{cpus}/{link}")).parent().unwrap()).unwrap();
        symlink(place.at(aim), place.at(&format!("{cpus}/{link}"))).unwrap();
        place.put("home/scaling_governor", "performance\n");
        place.put("home/cpufreq/scaling_governor", "performance\n");
        for folder in ["home", "home/cpufreq"] {
            place.put(&format!("{folder}/scaling_available_governors"), "performance powersave\n");
        }
        let path = format!("{cpus}/{file}");
        place.assert_refused(&[place.file(&path, "powersave", "performance")]);
    }
}

#[test]
fn no_value_but_a_listed_one_is_written_to_a_governor() {
    let place = Place::new();
    let path = governor("scaling_governor");
    for was in ["evil", "", "userspace", "powersave performance", "powersave\n", "../powersave"] {
        place.assert_refused(&[place.file(&path, was, "performance")]);
    }
    // Nor where something else was set than tailback sets.
    place.put(&path, "powersave\n");
    place.assert_refused(&[place.file(&path, "performance", "powersave")]);
    place.put(&path, "performance\n");
    place.forge(&[place.file(&path, "powersave", "performance")]);
    assert_eq!(place.restore().undone.len(), 1);
    assert_eq!(place.read(&path), "powersave");
}

#[test]
fn characters_that_steer_a_terminal_make_no_name() {
    let place = Place::new();
    let name = format!("home/\u{1b}[2J\u{202e}\n{}", building(1));
    place.put(&format!("{name}/a"), "");
    place.assert_refused(&[place.temporary(&name)]);
    let path = governor("scaling_governor\u{1b}[2J");
    place.put(&path, "performance\n");
    place.assert_refused(&[place.file(&path, "powersave", "performance")]);
}

#[test]
fn what_another_process_has_made_stays() {
    let place = Place::new();
    let own = fs::read_to_string("/proc/self/stat").unwrap();
    let started = own.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap();
    let living = format!("{}-{started}", std::process::id());
    for owner in [&living, "2000000000-2", "2000000001-1", "2000000000-1-ns5"] {
        let name = format!("home/.building-{owner}-00000000000000aa");
        place.put(&format!("{name}/a"), "");
        place.assert_refused(&[place.temporary(&name)]);
    }
    let half = format!("home/.a.json.{}.tailback.tmp", std::process::id());
    place.put(&half, "");
    place.assert_refused(&[place.temporary(&half)]);
}

#[test]
fn what_another_user_has_or_could_put_there_stays() {
    if !testing::root_or_skip() {
        return;
    }
    let place = Place::new();
    let name = |number| format!("home/{}", building(number));
    place.put(&format!("{}/a", name(1)), "");
    place.put(&name(2), "");
    for number in [1, 2] {
        lchown(place.at(&name(number)), Some(65_534), None).unwrap();
        place.assert_refused(&[place.temporary(&name(number))]);
    }
    // In folders of others.
    place.put(&format!("theirs/{}/a", building(3)), "");
    place.put(&format!("theirs/ours/{}/a", building(4)), "");
    lchown(place.at("theirs"), Some(65_534), None).unwrap();
    place.put(&format!("open/{}/a", building(5)), "");
    fs::set_permissions(place.at("open"), Permissions::from_mode(0o777)).unwrap();
    for path in [
        format!("theirs/{}", building(3)),
        format!("theirs/ours/{}", building(4)),
        format!("open/{}", building(5)),
    ] {
        place.assert_refused(&[place.temporary(&path)]);
    }
}

#[test]
fn no_controller_is_taken_but_from_a_control_group() {
    let place = Place::new();
    let group = |path: &str| {
        let group = place.at(path);
        json!({"change": "controller", "controller": "cpu", "group": group, "children": []})
    };
    place.put("home/cgroup.subtree_control", "cpu memory\n");
    symlink(place.at("home"), place.at("sys/fs/cgroup/link")).unwrap();
    for path in ["home", "sys/fs/cgroup/../../../home", "sys/fs/cgroup/link", "sys/fs/cgroup/a/"] {
        place.assert_refused(&[group(path)]);
    }
    place.forge(&[group("sys/fs/cgroup/a")]);
    assert_eq!(place.restore().undone.len(), 1);
    assert_eq!(place.read("sys/fs/cgroup/a/cgroup.subtree_control"), "-cpu");
}

#[test]
fn no_group_is_removed_but_that_of_the_process_of_the_journal() {
    let place = Place::new();
    let group = |path: &str| json!({"change": "group", "path": place.at(path)});
    let own = format!("tailback-{GONE}-3");
    for name in ["init.scope", "tailback-2000000001-1-3", &own] {
        fs::create_dir_all(place.at(&format!("home/{name}"))).unwrap();
        fs::create_dir_all(place.at(&format!("sys/fs/cgroup/{name}"))).unwrap();
    }
    for path in [
        &format!("home/{own}"),
        "sys/fs/cgroup/init.scope",
        "sys/fs/cgroup/tailback-2000000001-1-3",
        "sys/fs/cgroup",
        &format!("sys/fs/cgroup/a/../{own}"),
    ] {
        place.assert_refused(&[group(path)]);
    }
    place.forge(&[group(&format!("sys/fs/cgroup/{own}"))]);
    assert_eq!(place.restore().undone.len(), 1);
    assert!(!place.at(&format!("sys/fs/cgroup/{own}")).exists());
}

#[test]
fn a_hundred_thousand_entries_are_none() {
    let place = Place::new();
    let real = place.file(&governor("scaling_governor"), "powersave", "performance");
    for count in [20_001, 100_000] {
        // As short as they can be, so that many of them are a small journal too.
        let mut entries = vec![json!({"change": "temporary", "path": "/x"}); count - 1];
        entries.push(real.clone());
        place.assert_refused(&entries);
    }
}

#[test]
fn a_journal_that_is_not_the_callers_alone_is_none() {
    let place = Place::new();
    let real = [place.file(&governor("scaling_governor"), "powersave", "performance")];
    let refused = |journal: &Path| {
        let restored = place.restore();
        assert!(restored.undone.is_empty(), "{restored:?}");
        assert_eq!(place.read(&governor("scaling_governor")), "performance\n");
        fs::remove_file(journal).unwrap();
    };
    for mode in [0o644, 0o640, 0o604, 0o700, 0o4600] {
        let journal = place.forge(&real);
        fs::set_permissions(&journal, Permissions::from_mode(mode)).unwrap();
        refused(&journal);
    }
    let journal = place.forge(&real);
    fs::hard_link(&journal, place.at("home/other")).unwrap();
    refused(&journal);
    let journal = place.forge(&real);
    fs::rename(&journal, place.at("home/moved")).unwrap();
    symlink(place.at("home/moved"), &journal).unwrap();
    refused(&journal);
    if lchown(place.forge(&real), Some(65_534), None).is_err() {
        return testing::skipped("only root can give a journal away");
    }
    refused(&journal);
    place.forge(&real);
    assert_eq!(place.restore().undone.len(), 1);
}

#[test]
fn what_is_mounted_in_a_temporary_stays() {
    if let Some(folder) = std::env::var_os(MOUNTED) {
        let restored = restore(&Roots::at(folder));
        assert!(restored.undone.is_empty(), "{restored:?}");
        assert!(format!("{restored:?}").contains("another file system is mounted"), "{restored:?}");
        return;
    }
    if !testing::root_or_skip() {
        return;
    }
    let place = Place::new();
    let inside = place.at(&format!("home/{}/mounted", building(1)));
    fs::create_dir_all(&inside).unwrap();
    place.forge(&[place.temporary(&format!("home/{}", building(1)))]);
    // The same file system, so that its number says nothing.
    let script = "mount --bind \"$1\" \"$2\" && shift 2 && exec \"$@\"";
    let ran = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"])
        .args([place.at("home/letters"), inside])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "what_is_mounted_in_a_temporary_stays"])
        .env(MOUNTED, place.dir.path())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(place.read("home/letters/a"), "keep me\n");
}
