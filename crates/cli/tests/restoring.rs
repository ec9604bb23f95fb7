//! The rest of a killed run. The helper removes it at once. If the helper was killed too, a
//! restore removes it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, Ran, groups, processes, turn, two_cpus_or_skip, wait_for};
use os::stat::Stat;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testing::root_or_skip;

/// The journals of ended and of current runs.
const FOLDER: &str = "/run/tailback";

/// A number that no process can have.
const NOBODY: u32 = 2_000_000_000;

/// The helper that a run started: its child process `restore`.
fn helper_of(tool: u32) -> Option<u32> {
    let stat = |pid: u32| std::fs::read(format!("/proc/{pid}/stat")).ok();
    let parent = |stat: Vec<u8>| u32::try_from(Stat::parse(&stat)?.parent()?).ok();
    std::fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let argv = std::fs::read_to_string(entry.path().join("cmdline")).ok()?;
        let of_tool = stat(pid).and_then(parent) == Some(tool);
        (of_tool && argv.contains("\0restore\0")).then_some(pid)
    })
}

/// A folder of journals. The runs of one test use it in place of the machine's folder.
struct Journals(tempfile::TempDir);

impl Journals {
    fn new() -> Self {
        std::fs::create_dir_all(FOLDER).unwrap();
        // No other user may write to a folder above it.
        Journals(tempfile::tempdir_in("/run").unwrap())
    }

    /// The journal of an ended run, with these entries.
    fn put(&self, name: u32, entries: &serde_json::Value) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let file = self.0.path().join(format!("tailback-{name}-1-0.journal"));
        std::fs::write(&file, entries.to_string()).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        file
    }

    /// The journal of a run that was killed while it built something in this place. Returns it
    /// with the half-built folder.
    fn half_built(&self, place: &Place) -> (PathBuf, PathBuf) {
        let folder = place.path("").canonicalize().unwrap();
        let folder = folder.join(format!(".building-{NOBODY}-1-00000000000000ff"));
        std::fs::create_dir_all(folder.join("ebin")).unwrap();
        std::fs::write(folder.join("ebin/half"), "").unwrap();
        let entry = serde_json::json!([{"number": 0, "change": "temporary", "path": folder}]);
        (self.put(NOBODY, &entry), folder)
    }

    /// A shell command with these journals. `$TAILBACK` is the binary.
    fn shell(&self, place: &Place, namespaces: &[&str], script: &str) -> Command {
        let mut command = place.program("unshare");
        command.args(["--mount", "--propagation", "private"]).args(namespaces);
        let script = format!("mount --bind \"$1\" {FOLDER} && {script}");
        command.args(["sh", "-c", &script, "sh"]).arg(self.0.path());
        command.env("TAILBACK", common::BINARY);
        command
    }

    /// Runs the binary with these words and journals.
    fn say(&self, place: &Place, words: &str) -> Ran {
        place.run(self.shell(place, &[], &format!("exec \"$TAILBACK\" {words}")))
    }

    /// A shell command in its own PID namespace, as in a pod.
    fn in_pod(&self, place: &Place, script: &str) -> Command {
        let namespaces = ["--pid", "--fork", "--kill-child", "--mount-proc"];
        let mut command = self.shell(place, &namespaces, script);
        // unshare prints an error if its child is killed.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// Starts a study that stays in a group with a quota for a long time.
fn long_study(place: &Place) -> Option<std::process::Child> {
    long_study_of(place.program(common::BINARY))
}

/// Starts such a study by a command that ends up as the binary with the words that are added.
fn long_study_of(mut command: Command) -> Option<std::process::Child> {
    if !root_or_skip() || !two_cpus_or_skip() {
        return None;
    }
    command.args(["run", "cpu-quota", "--duration", "20s", "--samples", "1", "--no-probe"]);
    let child = command.spawn().unwrap();
    // The first groups only try whether a quota works.
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

#[test]
fn a_run_whose_program_was_removed_by_an_upgrade_leaves_nothing_either() {
    let _turn = turn::take();
    let place = Place::new();
    let mut command = place.program("sh");
    let script = "cp \"$0\" old && exec 3<old && rm old && exec /proc/self/fd/3 \"$@\"";
    command.args(["-c", script, common::BINARY]).current_dir(place.path(""));
    let Some(mut tool) = long_study_of(command) else { return };
    let has_helper = helper_of(tool.id()).is_some();
    tool.kill().unwrap();
    tool.wait().unwrap();
    assert!(has_helper, "no helper");
    wait_for("the group to go", || groups::of_run(tool.id()).is_empty().then_some(()));
}

/// Number of kills in the test below. `TAILBACK_KILLS=200` asks for more. `make torture` has more
/// kinds of kills.
fn kills() -> u64 {
    std::env::var("TAILBACK_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(24)
}

/// Number of kills at the same time. It is even, so that each command meets all kinds of moments.
const AT_ONCE: u64 = 4;

/// Moments in microseconds. They are the same in every run of the test, and any number of them
/// covers a short run evenly.
fn moment(kill: u64) -> Duration {
    Duration::from_micros((kill + 1) * 927_051 % 1_500_000)
}

/// The files that a run may leave in its place: whole records, and files of the test itself.
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

/// The rest of a killed run: processes, its helper, groups, journals, files.
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
    // Each thread mostly waits for its moment, so several can run.
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

/// Runs a command, kills it at the moment of this number, and fails if anything is left.
fn leaves_nothing(kill: u64, command: &[&str]) {
    let place = Place::new();
    let running = place.start(place.tailback(command));
    let tool = running.pid();
    std::thread::sleep(moment(kill));
    // One run in three loses a child first.
    let children = processes::of(tool);
    if kill % 3 == 2
        && let Some(child) = children.get(kill as usize % children.len().max(1))
    {
        let _ = kill_process(Pid::from_raw(child.pid as i32).unwrap(), Signal::KILL);
        std::thread::sleep(Duration::from_millis(30));
    }
    running.signal(Signal::KILL);
    running.end();
    let mut left = left_of(tool, &place);
    let deadline = Instant::now() + common::PATIENCE;
    while !left.is_empty() {
        assert!(Instant::now() < deadline, "kill {kill} of {command:?} left {left:#?}");
        std::thread::sleep(Duration::from_millis(2));
        left = left_of(tool, &place);
    }
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
    let ran = place.say(&["host", "restore"]);
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
    let (place, journals) = (Place::new(), Journals::new());
    let (file, built) = journals.half_built(&place);
    let ran = journals.say(&place, "host restore");
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.out.contains("removed /") && ran.out.contains(".building-"), "{ran:?}");
    assert!(!built.exists() && !file.exists());
}

#[test]
fn a_governor_is_put_back() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let (place, journals) = (Place::new(), Journals::new());
    // Few test machines have a governor, so a tmpfs replaces the kernel's tree.
    let folder = "/sys/devices/system/cpu/cpu0/cpufreq";
    let path = format!("{folder}/scaling_governor");
    let entry = serde_json::json!([{
        "number": 0, "change": "file", "path": path, "was": "powersave", "set": "performance"
    }]);
    let file = journals.put(NOBODY, &entry);
    let script = format!(
        "mount -t tmpfs none /sys/devices/system/cpu && mkdir -p {folder} && cd {folder} && \
         echo performance >scaling_governor && \
         echo performance powersave >scaling_available_governors && \"$TAILBACK\" restore && \
         cat scaling_governor"
    );
    let ran = place.run(journals.shell(&place, &[], &script));
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.out.contains("put back") && ran.out.ends_with("\npowersave"), "{ran:?}");
    assert!(!file.exists());
}

#[test]
fn the_next_run_puts_it_back_too() {
    if !root_or_skip() || !two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let (place, journals) = (Place::new(), Journals::new());
    let (_, built) = journals.half_built(&place);
    let ran = journals.say(&place, "run mmap-lock --busy 0 --samples 1 --duration 20ms");
    assert!(ran.taken_back.contains(": removed /"), "{ran:?}");
    assert!(!built.exists());
}

#[test]
fn a_module_of_ansible_says_nothing_about_it_beside_its_answer() {
    if !root_or_skip() {
        return;
    }
    let (place, journals) = (Place::new(), Journals::new());
    let (_, built) = journals.half_built(&place);
    let script = "ln -s \"$TAILBACK\" AnsiballZ_tailback && echo '{' >args && \
                  exec ./AnsiballZ_tailback args";
    let mut module = journals.shell(&place, &[], script);
    module.current_dir(place.path(""));
    let ran = place.run(module);
    assert_eq!((ran.err.as_str(), ran.taken_back.as_str()), ("", ""), "{ran:?}");
    assert_eq!(ran.json()["failed"], true);
    assert!(!built.exists(), "its helper removes it");
}

#[test]
fn what_tailback_did_not_make_is_named_in_a_line_and_stays() {
    if !root_or_skip() {
        return;
    }
    let _turn = turn::take();
    let (place, journals) = (Place::new(), Journals::new());
    let (letter, folder) = (place.path("letter"), place.path("folder\u{1b}[2J"));
    std::fs::write(&letter, "keep me").unwrap();
    std::fs::create_dir(&folder).unwrap();
    let mut entries = vec![
        serde_json::json!({"change": "file", "path": letter, "was": "evil", "set": "keep me"}),
    ];
    entries.extend((0..50).map(|_| serde_json::json!({"change": "temporary", "path": letter})));
    // The latest entry is undone first. It names a folder.
    entries.push(serde_json::json!({"change": "temporary", "path": folder}));
    entries.iter_mut().zip(0..).for_each(|(entry, number)| entry["number"] = number.into());
    let forged = journals.put(NOBODY, &entries.into());
    let damaged = journals.put(NOBODY + 1, &"\u{1b}[2J".into());
    let texts = || [&forged, &damaged].map(|file| std::fs::read(file).unwrap());
    let before = texts();
    let ran = journals.say(&place, "host restore");
    assert_eq!(ran.code(), 4, "{ran:?}");
    assert_eq!(std::fs::read_to_string(&letter).unwrap(), "keep me");
    assert!(folder.is_dir() && texts() == before);
    let wrongs = ran.wrongs();
    assert_eq!(wrongs.len(), 11, "ten, and how many more: {ran:?}");
    for (line, words) in [
        (0, "an entry that tailback did not make (not a cpufreq file that tailback sets)"),
        (0, "then remove it"),
        (1, "folder [2J: gone: an entry that tailback did not make"),
        (10, "and 43 more"),
    ] {
        assert!(wrongs[line].contains(words), "{words}: {ran:?}");
    }
    let all = format!("{}{}{}", ran.out, ran.err, ran.taken_back);
    assert!(!all.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn what_a_killed_pod_left_is_removed_by_the_next_one_and_not_by_the_host() {
    let _turn = turn::take();
    if !root_or_skip() || !two_cpus_or_skip() {
        return;
    }
    let (place, journals) = (Place::new(), Journals::new());
    let restore = "exec \"$TAILBACK\" restore";
    let run = "exec \"$TAILBACK\" run cpu-quota --duration 20s --samples 1 --no-probe";
    let mut pod = journals.in_pod(&place, run).spawn().unwrap();
    // Its process is process 1 of its namespace.
    let groups = || -> Vec<PathBuf> {
        let of_pods = groups::of_run(1).into_iter();
        of_pods.filter(|group| group.to_string_lossy().contains("-ns")).collect()
    };
    let works = |group: &PathBuf| {
        std::fs::read_to_string(group.join("cgroup.procs")).is_ok_and(|procs| !procs.is_empty())
    };
    wait_for("a group at work", || groups().iter().any(works).then_some(()));
    let ran = place.run(journals.in_pod(&place, restore));
    assert!(ran.out.contains("Nothing to put back") && !groups().is_empty(), "it lives: {ran:?}");
    let first = processes::below(pod.id())[0].pid;
    kill_process(Pid::from_raw(first as i32).unwrap(), Signal::KILL).unwrap();
    pod.wait().unwrap();
    // Another pod gets the number of the namespace, which is free by now.
    let mut other = journals.in_pod(&place, "exec sleep 1000").spawn().unwrap();
    let sleeps = |process: &processes::Process| process.argv.iter().any(|word| word == "1000");
    let there = || processes::below(other.id()).iter().any(sleeps).then_some(());
    wait_for("another pod", there);
    let ran = place.say(&["host", "restore"]);
    assert!(!groups().is_empty() && !ran.out.contains("-ns"), "not the host's: {ran:?}");
    let ran = place.run(journals.in_pod(&place, restore));
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.out.contains("removed /sys/fs/cgroup/"), "{ran:?}");
    assert_eq!(groups(), Vec::<PathBuf>::new());
    let left = common::files(journals.0.path());
    assert!(left.iter().all(|path| path.ends_with("lock") || path.ends_with("run")), "{left:?}");
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
    let mut command = study("20ms");
    command.args(["--format", "ktap"]).env("XDG_STATE_HOME", other.path("state"));
    let skipped = other.run(command);
    let mut command = study("20ms");
    command.args(["--exit-for", "bisect"]).env("XDG_STATE_HOME", other.path("state"));
    let bisected = other.run(command);
    first.kill().unwrap();
    first.wait().unwrap();
    let start = "KTAP version 1\n1..0 # SKIP another tailback loads this machine";
    assert!(skipped.code() == 4 && skipped.out.starts_with(start), "{skipped:?}");
    assert_eq!(bisected.code(), 128, "the commit is not skipped: {bisected:?}");
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert_eq!(ran.complaints().len(), 1, "{ran:?}");
    assert!(
        ran.err.contains(&format!("process {}, tailback run mmap-lock", first.id())),
        "{ran:?}"
    );
}
