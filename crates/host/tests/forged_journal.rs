//! Journals that tailback did not write, or wrote differently. `restore` undoes what it can
//! recognize as tailback's own change, and nothing else.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tailback_host::{Restored, Roots, restore};

/// A dead process: no process can have this pid.
const GONE: &str = "2000000000-1";

/// Set when the test below runs again with its own mounts: the folder of its files.
const MOUNTED: &str = "TAILBACK_TEST_MOUNTED";

/// A machine with one CPU whose governor is `performance`, and with control groups of v2.
struct FakeMachine {
    dir: tempfile::TempDir,
}

impl FakeMachine {
    fn new() -> Self {
        let machine = FakeMachine { dir: tempfile::tempdir().unwrap() };
        let group = "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        machine.put("proc/self/mountinfo", group);
        machine.put("proc/self/cgroup", "0::/\n");
        machine.put("proc/self/stat", &fs::read_to_string("/proc/self/stat").unwrap());
        machine.put("sys/fs/cgroup/a/cgroup.subtree_control", "cpu memory\n");
        machine.put(&governor("scaling_governor"), "performance\n");
        machine.put(&governor("scaling_available_governors"), "performance powersave\n");
        machine.put("etc/passwd", "root:x:0:0\n");
        machine.put("home/letters/a", "keep me\n");
        machine.put("run/tailback/lock", "");
        fs::set_permissions(machine.at("run/tailback"), Permissions::from_mode(0o700)).unwrap();
        machine
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

    /// Writes a journal in the same way as tailback does.
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

    /// Checks that these entries are refused, stay in the journal, and change nothing.
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

/// The name of a temporary of the dead process.
fn building(number: u32) -> String {
    format!(".building-{GONE}-{number:016x}")
}

/// All files below a folder with their content; links are not followed.
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
    let machine = FakeMachine::new();
    for path in ["home/letters", "home/letters/a", "etc", "home", "", "sys/fs/cgroup/a"] {
        machine.assert_refused(&[machine.temporary(path)]);
    }
    let absolute = |path: &str| json!({"change": "temporary", "path": path});
    for path in ["/", "/proc", "home/letters", ""] {
        machine.assert_refused(&[absolute(path)]);
    }
}

#[test]
fn no_link_is_followed_to_what_is_removed() {
    let machine = FakeMachine::new();
    machine.put(&format!("home/{}/a", building(1)), "");
    machine.put(&format!("home/deep/{}/a", building(2)), "");
    symlink("home", machine.at("link")).unwrap();
    symlink("../home/deep", machine.at("home/near")).unwrap();
    symlink(machine.at("home/letters"), machine.at(&format!("home/{}", building(3)))).unwrap();
    for path in ["link/", "home/near/"] {
        for number in [1, 2] {
            machine.assert_refused(&[machine.temporary(&format!("{path}{}", building(number)))]);
        }
    }
    // The last path is a link itself.
    machine.assert_refused(&[machine.temporary(&format!("home/{}", building(3)))]);
    // Without a link, it is removed.
    machine.forge(&[machine.temporary(&format!("home/{}", building(1)))]);
    assert_eq!(machine.restore().undone.len(), 1);
    assert!(!machine.at(&format!("home/{}", building(1))).exists());
}

#[test]
fn no_path_leads_up_or_around() {
    let machine = FakeMachine::new();
    machine.put(&format!("home/{}/a", building(1)), "");
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
        machine.assert_refused(&[machine.temporary(&path)]);
    }
    let up = governor("../../cpu0/cpufreq/scaling_governor");
    machine.assert_refused(&[machine.file(&up, "powersave", "performance")]);
}

#[test]
fn no_file_but_a_governors_is_written() {
    let machine = FakeMachine::new();
    let was = "evil:x:0:0";
    machine.assert_refused(&[machine.file("etc/passwd", was, "root:x:0:0")]);
    machine.assert_refused(&[machine.file("home/letters/a", was, "keep me")]);
    machine.put(&governor("scaling_max_freq"), "2000000\n");
    machine.put("sys/devices/system/cpu/cpu0/online", "1\n");
    machine.assert_refused(&[machine.file(&governor("scaling_max_freq"), "1", "2000000")]);
    machine.assert_refused(&[machine.file("sys/devices/system/cpu/cpu0/online", "0", "1")]);
    // A link in place of a governor, of its folder, and of the CPU.
    for (file, link, aim) in [
        ("cpu1/cpufreq/scaling_governor", "cpu1/cpufreq/scaling_governor", "etc/passwd"),
        ("cpu2/cpufreq/scaling_governor", "cpu2/cpufreq", "home"),
        ("cpu3/cpufreq/scaling_governor", "cpu3", "home"),
    ] {
        let cpus = "sys/devices/system/cpu";
        fs::create_dir_all(machine.at(&format!("{cpus}/{link}")).parent().unwrap()).unwrap();
        symlink(machine.at(aim), machine.at(&format!("{cpus}/{link}"))).unwrap();
        machine.put("home/scaling_governor", "performance\n");
        machine.put("home/cpufreq/scaling_governor", "performance\n");
        for folder in ["home", "home/cpufreq"] {
            machine
                .put(&format!("{folder}/scaling_available_governors"), "performance powersave\n");
        }
        let path = format!("{cpus}/{file}");
        machine.assert_refused(&[machine.file(&path, "powersave", "performance")]);
    }
}

#[test]
fn no_value_but_a_listed_one_is_written_to_a_governor() {
    let machine = FakeMachine::new();
    let path = governor("scaling_governor");
    for was in ["evil", "", "userspace", "powersave performance", "powersave\n", "../powersave"] {
        machine.assert_refused(&[machine.file(&path, was, "performance")]);
    }
    // Nor if the value that was set is none that tailback sets.
    machine.put(&path, "powersave\n");
    machine.assert_refused(&[machine.file(&path, "performance", "powersave")]);
    machine.put(&path, "performance\n");
    machine.forge(&[machine.file(&path, "powersave", "performance")]);
    assert_eq!(machine.restore().undone.len(), 1);
    assert_eq!(machine.read(&path), "powersave");
}

#[test]
fn characters_that_steer_a_terminal_make_no_name() {
    let machine = FakeMachine::new();
    let name = format!("home/\u{1b}[2J\u{202e}\n{}", building(1));
    machine.put(&format!("{name}/a"), "");
    machine.assert_refused(&[machine.temporary(&name)]);
    let path = governor("scaling_governor\u{1b}[2J");
    machine.put(&path, "performance\n");
    machine.assert_refused(&[machine.file(&path, "powersave", "performance")]);
}

#[test]
fn what_another_process_has_made_stays() {
    let machine = FakeMachine::new();
    let own = fs::read_to_string("/proc/self/stat").unwrap();
    let started = own.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap();
    let living = format!("{}-{started}", std::process::id());
    for owner in [&living, "2000000000-2", "2000000001-1", "2000000000-1-ns5"] {
        let name = format!("home/.building-{owner}-00000000000000aa");
        machine.put(&format!("{name}/a"), "");
        machine.assert_refused(&[machine.temporary(&name)]);
    }
    let half = format!("home/.a.json.{}.tailback.tmp", std::process::id());
    machine.put(&half, "");
    machine.assert_refused(&[machine.temporary(&half)]);
}

#[test]
fn what_another_user_has_or_could_put_there_stays() {
    if !testing::root_or_skip() {
        return;
    }
    let machine = FakeMachine::new();
    let name = |number| format!("home/{}", building(number));
    machine.put(&format!("{}/a", name(1)), "");
    machine.put(&name(2), "");
    for number in [1, 2] {
        lchown(machine.at(&name(number)), Some(65_534), None).unwrap();
        machine.assert_refused(&[machine.temporary(&name(number))]);
    }
    // In folders of other users.
    machine.put(&format!("theirs/{}/a", building(3)), "");
    machine.put(&format!("theirs/ours/{}/a", building(4)), "");
    lchown(machine.at("theirs"), Some(65_534), None).unwrap();
    machine.put(&format!("open/{}/a", building(5)), "");
    fs::set_permissions(machine.at("open"), Permissions::from_mode(0o777)).unwrap();
    for path in [
        format!("theirs/{}", building(3)),
        format!("theirs/ours/{}", building(4)),
        format!("open/{}", building(5)),
    ] {
        machine.assert_refused(&[machine.temporary(&path)]);
    }
}

#[test]
fn no_controller_is_taken_but_from_a_control_group() {
    let machine = FakeMachine::new();
    let group = |path: &str| {
        let group = machine.at(path);
        json!({"change": "controller", "controller": "cpu", "group": group, "children": []})
    };
    machine.put("home/cgroup.subtree_control", "cpu memory\n");
    symlink(machine.at("home"), machine.at("sys/fs/cgroup/link")).unwrap();
    for path in ["home", "sys/fs/cgroup/../../../home", "sys/fs/cgroup/link", "sys/fs/cgroup/a/"] {
        machine.assert_refused(&[group(path)]);
    }
    machine.forge(&[group("sys/fs/cgroup/a")]);
    assert_eq!(machine.restore().undone.len(), 1);
    assert_eq!(machine.read("sys/fs/cgroup/a/cgroup.subtree_control"), "-cpu");
}

#[test]
fn no_group_is_removed_but_that_of_the_process_of_the_journal() {
    let machine = FakeMachine::new();
    let group = |path: &str| json!({"change": "group", "path": machine.at(path)});
    let own = format!("tailback-{GONE}-3");
    for name in ["init.scope", "tailback-2000000001-1-3", &own] {
        fs::create_dir_all(machine.at(&format!("home/{name}"))).unwrap();
        fs::create_dir_all(machine.at(&format!("sys/fs/cgroup/{name}"))).unwrap();
    }
    for path in [
        &format!("home/{own}"),
        "sys/fs/cgroup/init.scope",
        "sys/fs/cgroup/tailback-2000000001-1-3",
        "sys/fs/cgroup",
        &format!("sys/fs/cgroup/a/../{own}"),
    ] {
        machine.assert_refused(&[group(path)]);
    }
    machine.forge(&[group(&format!("sys/fs/cgroup/{own}"))]);
    assert_eq!(machine.restore().undone.len(), 1);
    assert!(!machine.at(&format!("sys/fs/cgroup/{own}")).exists());
}

#[test]
fn a_hundred_thousand_entries_are_none() {
    let machine = FakeMachine::new();
    let real = machine.file(&governor("scaling_governor"), "powersave", "performance");
    for count in [20_001, 100_000] {
        // The shortest possible entries, so that many of them still make a small journal.
        let mut entries = vec![json!({"change": "temporary", "path": "/x"}); count - 1];
        entries.push(real.clone());
        machine.assert_refused(&entries);
    }
}

#[test]
fn a_journal_that_is_not_the_callers_alone_is_none() {
    let machine = FakeMachine::new();
    let real = [machine.file(&governor("scaling_governor"), "powersave", "performance")];
    let refused = |journal: &Path| {
        let restored = machine.restore();
        assert!(restored.undone.is_empty(), "{restored:?}");
        assert_eq!(machine.read(&governor("scaling_governor")), "performance\n");
        fs::remove_file(journal).unwrap();
    };
    for mode in [0o644, 0o640, 0o604, 0o700, 0o4600] {
        let journal = machine.forge(&real);
        fs::set_permissions(&journal, Permissions::from_mode(mode)).unwrap();
        refused(&journal);
    }
    let journal = machine.forge(&real);
    fs::hard_link(&journal, machine.at("home/other")).unwrap();
    refused(&journal);
    let journal = machine.forge(&real);
    fs::rename(&journal, machine.at("home/moved")).unwrap();
    symlink(machine.at("home/moved"), &journal).unwrap();
    refused(&journal);
    if lchown(machine.forge(&real), Some(65_534), None).is_err() {
        return testing::skipped("only root can give a journal away");
    }
    refused(&journal);
    machine.forge(&real);
    assert_eq!(machine.restore().undone.len(), 1);
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
    let machine = FakeMachine::new();
    let inside = machine.at(&format!("home/{}/mounted", building(1)));
    fs::create_dir_all(&inside).unwrap();
    machine.forge(&[machine.temporary(&format!("home/{}", building(1)))]);
    // The same file system, so its number does not show the mount.
    let script = "mount --bind \"$1\" \"$2\" && shift 2 && exec \"$@\"";
    let ran = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"])
        .args([machine.at("home/letters"), inside])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "what_is_mounted_in_a_temporary_stays"])
        .env(MOUNTED, machine.dir.path())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(machine.read("home/letters/a"), "keep me\n");
}
