//! What a killed run leaves: nothing, at once; and what is put back where the helper was killed
//! too.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, groups, processes, turn, two_cpus_or_skip, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::time::Duration;
use testing::root_or_skip;

/// The journals of runs that are gone or going on.
const FOLDER: &str = "/run/tailback";

/// A number that no process can have.
const NOBODY: u32 = 2_000_000_000;

/// The helper that a run started: `restore`, by its parent.
fn helper_of(tool: u32) -> Option<u32> {
    let stat = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let parent = |stat: String| stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok();
    std::fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let argv = std::fs::read_to_string(entry.path().join("cmdline")).ok()?;
        let of_tool = stat(pid).and_then(parent) == Some(tool);
        (of_tool && argv.contains("\0restore\0")).then_some(pid)
    })
}

/// A journal of a run that is gone, by which this file holds another value.
fn journal(name: u32, path: &Path) -> PathBuf {
    std::fs::create_dir_all(FOLDER).unwrap();
    let file = Path::new(FOLDER).join(format!("tailback-{name}-1-0.journal"));
    let entry = serde_json::json!([{
        "number": 0, "change": "file", "path": path, "was": "powersave", "set": "performance"
    }]);
    std::fs::write(&file, entry.to_string()).unwrap();
    file
}

/// Starts a study that is in a group with a quota for long.
fn long_study(place: &Place) -> Option<std::process::Child> {
    if !root_or_skip() || !two_cpus_or_skip() {
        return None;
    }
    let args = ["run", "cpu-quota", "--duration", "20s", "--samples", "1", "--no-probe"];
    let child = place.tailback(&args).spawn().unwrap();
    // The first groups only try whether a quota can be had.
    let works = |group: &PathBuf| {
        std::fs::read_to_string(group.join("cgroup.procs")).is_ok_and(|procs| !procs.is_empty())
    };
    wait_for("a group at work", || groups::of_run(child.id()).iter().any(works).then_some(()));
    Some(child)
}

#[test]
fn a_killed_run_leaves_no_group_for_longer_than_a_moment() {
    let _turn = turn::take();
    let place = Place::new();
    let Some(mut tool) = long_study(&place) else { return };
    let helper = helper_of(tool.id()).expect("a helper");
    tool.kill().unwrap();
    tool.wait().unwrap();
    wait_for("the group to go", || groups::of_run(tool.id()).is_empty().then_some(()));
    let gone = || (!Path::new(&format!("/proc/{helper}")).exists()).then_some(());
    wait_for("the helper to go", gone);
}

/// Kills for the test below: `TAILBACK_KILLS=200` asks for more. `make torture` has more kinds of
/// them.
fn kills() -> u64 {
    std::env::var("TAILBACK_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(24)
}

/// Of those, so many go on at once. Even, so that each command meets all kinds of moments.
const AT_ONCE: u64 = 4;

/// Moments in microseconds that repeat, and that cover a short run evenly however many there are.
fn moment(kill: u64) -> Duration {
    Duration::from_micros((kill + 1) * 927_051 % 1_500_000)
}

/// What a run may leave in its place: records that are whole, and what the test itself made.
fn may_stay(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    let record = name.ends_with(".json") && !name.starts_with('.');
    let folder = ["state", "tailback"].contains(&name.as_ref()) || name.starts_with("locks-");
    record || folder || ["out", "err"].contains(&name.as_ref())
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in common::files(folder) {
        if path.is_dir() {
            found.append(&mut files_below(&path));
        }
        found.push(path);
    }
    found
}

/// What is left of a run that was killed: processes, its helper, groups, journals, files.
fn left_of(tool: u32, place: &Place) -> Vec<String> {
    let own = tool.to_string();
    let is_helper = |process: &processes::Process| {
        process.argv.iter().any(|word| word == "restore") && process.argv.contains(&own)
    };
    let running =
        processes::of(tool).into_iter().chain(processes::all().into_iter().filter(is_helper));
    let journals = common::files(Path::new(FOLDER))
        .into_iter()
        .filter(|path| path.to_string_lossy().contains(&format!("tailback-{tool}-")));
    let files = files_below(&place.path("")).into_iter().filter(|path| !may_stay(path));
    let paths = groups::of_run(tool).into_iter().chain(journals).chain(files);
    let running = running.map(|process| format!("{process:?}"));
    running.chain(paths.map(|path| path.display().to_string())).collect()
}

#[test]
fn killed_at_two_dozen_moments_runs_leave_nothing() {
    if !two_cpus_or_skip() {
        return;
    }
    let commands: &[&[&str]] = &[
        &["run", "cpu-quota", "--samples", "2", "--duration", "100ms", "--no-probe"],
        &["run", "mmap-lock", "--busy", "2", "--samples", "4", "--duration", "100ms", "--no-probe"],
    ];
    let _turn = turn::take();
    // Most of each is waiting for its moment.
    std::thread::scope(|scope| {
        for first in 0..AT_ONCE {
            scope.spawn(move || {
                for kill in (first..kills()).step_by(AT_ONCE as usize) {
                    leaves_nothing(kill, commands[kill as usize % commands.len()]);
                }
            });
        }
    });
}

/// Runs a command, kills it at the moment of this number, and fails where it leaves something.
fn leaves_nothing(kill: u64, command: &[&str]) {
    let place = Place::new();
    let running = place.start(place.tailback(command));
    let tool = running.pid();
    std::thread::sleep(moment(kill));
    // Of each three one loses a child first.
    let children = processes::of(tool);
    if kill % 3 == 2
        && let Some(child) = children.get(kill as usize % children.len().max(1))
    {
        let _ = kill_process(Pid::from_raw(child.pid as i32).unwrap(), Signal::KILL);
        std::thread::sleep(Duration::from_millis(30));
    }
    running.signal(Signal::KILL);
    running.end();
    let all_gone = || left_of(tool, &place).is_empty().then_some(());
    let what = format!("kill {kill} of {command:?} to leave nothing: {:?}", left_of(tool, &place));
    wait_for(&what, all_gone);
    for record in place.records() {
        let ran = place.say(&["judge", record.to_str().unwrap()]);
        assert!([0, 1, 3, 4].contains(&ran.code()), "kill {kill} of {command:?}: {ran:?}");
    }
}

#[test]
fn where_the_helper_is_killed_too_restore_removes_the_group() {
    let _turn = turn::take();
    let place = Place::new();
    let Some(mut tool) = long_study(&place) else { return };
    let helper = helper_of(tool.id()).expect("a helper");
    let helper = Pid::from_raw(i32::try_from(helper).unwrap()).unwrap();
    kill_process(helper, Signal::KILL).unwrap();
    tool.kill().unwrap();
    tool.wait().unwrap();
    assert!(!groups::of_run(tool.id()).is_empty(), "nobody was left to remove it");
    let ran = place.say(&["restore"]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.out.contains("removed /"), "{ran:?}");
    assert!(groups::of_run(tool.id()).is_empty());
}

#[test]
fn what_stands_in_the_journal_of_a_killed_run_is_put_back() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let governor = place.path("governor");
    std::fs::write(&governor, "performance\n").unwrap();
    let file = journal(NOBODY, &governor);
    let ran = place.say(&["restore"]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.out.contains("put back") && ran.out.contains("powersave"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&governor).unwrap(), "powersave");
    assert!(!file.exists());
}

#[test]
fn the_next_run_puts_it_back_too() {
    if !root_or_skip() || !two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let governor = place.path("governor");
    std::fs::write(&governor, "performance\n").unwrap();
    journal(NOBODY + 1, &governor);
    let args = ["run", "mmap-lock", "--busy", "0", "--samples", "1", "--duration", "20ms"];
    let ran = place.say(&args);
    assert!(ran.err.contains("left by a run that was killed: put back"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&governor).unwrap(), "powersave");
}

#[test]
fn a_second_run_is_told_which_one_has_the_machine() {
    if !root_or_skip() || !two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let study = |duration: &str| {
        let args = ["run", "mmap-lock", "--busy", "0", "--samples", "1", "--duration", duration];
        let mut command = place.tailback(&args);
        command.env_remove("TAILBACK_SHARE_HOST");
        command
    };
    let mut first = study("20s").spawn().unwrap();
    let says = format!("{} run mmap-lock", first.id());
    let lock = Path::new(FOLDER).join("run");
    let taken = || std::fs::read_to_string(&lock).is_ok_and(|text| text == says).then_some(());
    wait_for("the first run to take the machine", taken);
    let other = Place::new();
    let mut command = study("20ms");
    command.env("XDG_STATE_HOME", other.path("state"));
    let ran = other.run(command);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert_eq!(ran.complaints().len(), 1, "{ran:?}");
    assert!(
        ran.err.contains(&format!("process {}, tailback run mmap-lock", first.id())),
        "{ran:?}"
    );
}
