//! Machines that lack something: one CPU, no privilege, unusual mounts of /proc, a full disk.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, Ran, Running, allowed_cpus, processes, turn};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The user and group ID of nobody.
const NOBODY: u32 = 65534;

/// Two blocks of three short arms. With normal priority, so that they run whatever else this
/// machine does.
const SHORT: &[&str] = &[
    "run",
    "mmap-lock",
    "--quick",
    "--nice",
    "0",
    "--samples",
    "2",
    "--size",
    "4MiB",
    "--duration",
    "50ms",
    "--json",
];

/// Fails unless a short study was complete, whatever its verdict.
fn assert_complete(ran: &Ran) {
    ran.assert_no_panic();
    assert!([0, 1, 4].contains(&ran.code()), "{ran:?}");
    let record = ran.json();
    assert_eq!(record["ended"], "complete", "{ran:?}");
    assert_eq!(record["trials"].as_array().unwrap().len(), 6, "{ran:?}");
    processes::wait_until_gone(ran.pid);
}

#[test]
fn a_single_cpu_is_too_few() {
    let one = &allowed_cpus()[..1];
    let place = Place::new();
    let args = ["run", "mmap-lock", "--json"];
    let ran = place.start_on(one, place.tailback(&args)).end();
    ran.assert_no_panic();
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert_eq!(ran.complaints().len(), 1, "{ran:?}");
    assert!(ran.err.contains("needs 2 CPUs") && ran.err.contains("taskset"), "{ran:?}");
    let record = ran.json();
    assert_eq!(record["judgement"]["state"], "skipped");
    assert!(record["ended"]["not-run"].is_object());
    assert!(Place::new().said_of(&record).contains("taskset"), "{ran:?}");
    assert_eq!(place.records(), Vec::<PathBuf>::new());
    let ran = place.start_on(one, place.tailback(&["check", "--only", "mmap-lock"])).end();
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert!(ran.out.contains("skipped") && ran.err.contains("taskset"), "{ran:?}");
}

#[test]
fn a_pipe_in_the_place_of_a_file_of_an_otp_is_not_waited_for() {
    let _turn = turn::take();
    let place = Place::new();
    let [bin, release] = ["otp/bin", "otp/releases/27"].map(|name| place.path(name));
    for folder in [&bin, &release] {
        std::fs::create_dir_all(folder).unwrap();
    }
    testing::copy_program(Path::new("/bin/true"), &bin.join("erl"));
    let (pipe, mode) = (release.join("OTP_VERSION"), Mode::from_raw_mode(0o644));
    mknodat(CWD, &pipe, FileType::Fifo, mode, 0).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let brief = [&SHORT[..SHORT.len() - 1], &["--no-probe", "--brief"]].concat();
    for args in [&["host", "identify", "--json"][..], &brief] {
        let mut command = place.tailback(args);
        command.env("PATH", &path);
        let ran = place.run(command);
        ran.assert_no_panic();
        assert!(ran.out.contains("\"27\""), "{ran:?}");
    }
}

/// Runs the binary as nobody, from a folder that nobody can reach.
fn run_as_nobody(place: &Place, args: &[&str]) -> Ran {
    let mut command = place.program(reachable(place).to_str().unwrap());
    command.args(args).uid(NOBODY).gid(NOBODY);
    start_at_nice_0(place, command).end()
}

/// Starts a command with the usual nice value, whatever the one of this test: nobody may keep or
/// raise a nice value, but not lower it. Only root may call this.
fn start_at_nice_0(place: &Place, command: Command) -> Running<'_> {
    // On its own thread, since a child inherits the nice value of the thread that starts it.
    std::thread::scope(|scope| {
        let usual = scope.spawn(|| {
            rustix::process::setpriority_process(None, 0).unwrap();
            place.start(command)
        });
        usual.join().unwrap()
    })
}

fn reachable(place: &Place) -> PathBuf {
    let copy = place.path("tailback");
    if !copy.exists() {
        testing::copy_program(Path::new(common::BINARY), &copy);
    }
    copy
}

#[test]
fn nobody_may_not_raise_a_priority_and_is_told_what_would_help() {
    if !testing::root_or_skip() || !common::two_cpus_or_skip() {
        return;
    }
    let place = Place::new();
    let ran = run_as_nobody(&place, &["run", "mmap-lock", "--nice", "-5"]);
    ran.assert_no_panic();
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert_eq!(ran.complaints().len(), 1, "{ran:?}");
    for word in ["--nice -5", "root", "ulimit -e"] {
        assert!(ran.err.contains(word), "{word}: {ran:?}");
    }
    assert_eq!(place.records(), Vec::<PathBuf>::new());
}

#[test]
fn nobody_may_run_it_with_its_defaults() {
    if !testing::root_or_skip() || !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let ran = run_as_nobody(&place, &["run", "mmap-lock", "--samples", "1", "--json"]);
    ran.assert_no_panic();
    assert_eq!(ran.json()["ended"], "complete", "{ran:?}");
    assert_eq!(place.records().len(), 1, "{ran:?}");
    assert_eq!(ran.wrongs(), Vec::<&str>::new(), "{ran:?}");
    processes::wait_until_gone(ran.pid);
}

#[test]
fn nobody_may_not_make_a_group_and_is_told_what_would_help() {
    if !testing::root_or_skip() {
        return;
    }
    let place = Place::new();
    let ran = run_as_nobody(&place, &["run", "cpu-quota", "--json"]);
    ran.assert_no_panic();
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert!(ran.complaints().len() == 1 && ran.err.contains("run as root"), "{ran:?}");
    assert_eq!(ran.json()["judgement"]["state"], "skipped", "{ran:?}");
}

#[test]
fn no_cpu_controller_or_one_that_cannot_be_written_is_said_in_one_line() {
    let mounts = [
        "umount -a -t cgroup,cgroup2 2>/dev/null || umount -l -R /sys/fs/cgroup",
        "for m in $(grep -E ' cgroup2? ' /proc/mounts | cut -d' ' -f2); do \
         mount -o remount,bind,ro $m; done",
    ];
    for mount in mounts {
        if !mounts_or_skip(mount) {
            continue;
        }
        let place = Place::new();
        let binary = reachable(&place);
        let program = [binary.to_str().unwrap(), "run", "cpu-quota", "--json"];
        let ran = start_mounted(&place, mount, &program).end();
        ran.assert_no_panic();
        assert_eq!(ran.code(), 3, "{ran:?}");
        assert_eq!(ran.wrongs().len(), 1, "{ran:?}");
        assert_eq!(ran.json()["judgement"]["state"], "skipped", "{ran:?}");
    }
}

/// Starts a program in its own mount namespace, after this mount command and with the usual nice
/// value. The process becomes the program.
fn start_mounted<'a>(place: &'a Place, mount: &str, program: &[&str]) -> Running<'a> {
    let mut command = place.program("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-ec"]);
    command.arg(format!("{mount}\nexec \"$@\"")).arg("sh").args(program);
    start_at_nice_0(place, command)
}

/// Whether mount namespaces work. If not, prints that the test is skipped.
fn mounts_or_skip(mount: &str) -> bool {
    if !testing::root_or_skip() || !common::two_cpus_or_skip() {
        return false;
    }
    let place = Place::new();
    let ran = start_mounted(&place, mount, &["true"]).end();
    let works = ran.status.success();
    if !works {
        testing::skipped(format_args!("cannot do `{mount}` in a mount namespace: {}", ran.err));
    }
    works
}

/// A short study as root and as nobody, with /proc mounted with these options.
fn study_with_proc(options: &str) -> [(Place, Ran); 2] {
    let mount = format!("mount -t proc -o {options} proc /proc");
    let setpriv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    [&[][..], &setpriv[..]].map(|prefix| {
        let _turn = turn::take();
        let place = Place::new();
        let binary = reachable(&place);
        let program = [prefix, &[binary.to_str().unwrap()][..], SHORT].concat();
        let ran = start_mounted(&place, &mount, &program).end();
        ran.assert_no_panic();
        processes::wait_until_gone(ran.pid);
        (place, ran)
    })
}

#[test]
fn processes_hidden_in_proc() {
    if !mounts_or_skip("mount -t proc -o hidepid=2 proc /proc") {
        return;
    }
    for (_place, ran) in study_with_proc("hidepid=2") {
        assert_complete(&ran);
        let record = ran.json();
        let trials = record["trials"].as_array().unwrap();
        let read = |trial: &serde_json::Value| {
            trial["observation"]["measures"]["scan_bytes"]["value"].as_f64().unwrap()
        };
        assert!(trials.iter().any(|trial| read(trial) > 0.0), "the scanners read nothing: {ran:?}");
    }
}

#[test]
fn nothing_but_processes_in_proc() {
    if !mounts_or_skip("mount -t proc -o subset=pid proc /proc") {
        return;
    }
    for (_place, ran) in study_with_proc("subset=pid") {
        if ran.code() == 3 || ran.code() == 2 {
            assert_eq!(ran.wrongs().len(), 1, "{ran:?}");
        } else {
            assert_complete(&ran);
        }
    }
}

#[test]
fn no_proc_at_all_is_said_in_one_line() {
    if !mounts_or_skip("mount -t tmpfs none /proc") {
        return;
    }
    let place = Place::new();
    let binary = reachable(&place);
    let program = [&[binary.to_str().unwrap()][..], SHORT].concat();
    let ran = start_mounted(&place, "mount -t tmpfs none /proc", &program).end();
    ran.assert_no_panic();
    assert!([2, 3].contains(&ran.code()), "{ran:?}");
    assert_eq!(ran.complaints().len(), 1, "{ran:?}");
    assert!(ran.err.contains("/proc"), "{ran:?}");
}

/// Mounts a tmpfs of 64 KiB at this folder and fills most of it.
fn small_disk(folder: &str) -> String {
    format!(
        "mount -t tmpfs -o size=64k none {folder}\nhead -c 57344 /dev/zero > {folder}/fill\n\
         chmod 1777 {folder}"
    )
}

#[test]
fn a_full_disk_costs_no_measurement() {
    if !mounts_or_skip("mount -t tmpfs -o size=64k none /mnt") {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let disk = place.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let (record, mount) = (disk.join("record.json"), small_disk(disk.to_str().unwrap()));
    let keep = ["--record", record.to_str().unwrap()];
    let program = [&[common::BINARY], SHORT, &keep].concat();
    let ran = start_mounted(&place, &mount, &program).end();
    ran.assert_no_panic();
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert!(ran.err.contains("No space left on device"), "{ran:?}");
    assert!(ran.err.contains("the study continues"), "{ran:?}");
    let fallbacks = place.records();
    assert_eq!(fallbacks.len(), 1, "{ran:?}");
    let wrongs = ran.wrongs();
    assert!(wrongs.last().unwrap().contains(fallbacks[0].to_str().unwrap()), "{ran:?}");
    let kept = common::json(&fallbacks[0]);
    assert_eq!(kept["ended"], "complete");
    assert_eq!(kept["trials"].as_array().unwrap().len(), 6);
    assert_eq!(kept, ran.json());
}

#[test]
fn a_full_disk_costs_no_hindsight() {
    if !mounts_or_skip("mount -t tmpfs -o size=64k none /mnt") {
        return;
    }
    let place = Place::new();
    let disk = place.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let (record, mount) = (disk.join("w.json"), small_disk(disk.to_str().unwrap()));
    let args = ["watch", "--comm", "no-such-program", "--json", "--ring", "1MiB", "--record"];
    let program = [&[common::BINARY], &args[..], &[record.to_str().unwrap()]].concat();
    let running = start_mounted(&place, &mount, &program);
    let out = place.path("out");
    let lines = || std::fs::read_to_string(&out).unwrap().lines().count();
    let wait_for_lines = |more: usize| {
        let wanted = lines() + more;
        common::wait_for("lines", || (lines() >= wanted).then_some(()));
    };
    wait_for_lines(1);
    for _ in 0..3 {
        running.signal(rustix::process::Signal::USR1);
        wait_for_lines(2);
    }
    // The path is inside its mount namespace.
    let fill = format!("/proc/{}/root{}", running.pid(), disk.join("fill").display());
    std::fs::remove_file(fill).unwrap();
    // From here on no signal asks again.
    common::wait_for("the record", || running.err().contains("record: ").then_some(()));
    let inside = format!("/proc/{}/root{}", running.pid(), record.display());
    assert_eq!(common::json(std::path::Path::new(&inside))["scenario"], "watch");
    running.signal(rustix::process::Signal::TERM);
    let ran = running.end();
    ran.assert_no_panic();
    assert_eq!(ran.code(), 0, "{ran:?}");
    // Each request got an answer. The retries in between print nothing more.
    let wrongs = ran.wrongs();
    assert!((1..=3).contains(&wrongs.len()), "{ran:?}");
    for wrong in wrongs {
        for part in ["No space left on device", record.to_str().unwrap(), "tries again"] {
            assert!(wrong.contains(part), "{ran:?}");
        }
    }
}

#[test]
fn man_pages_need_room_on_the_disk_and_a_folder_that_can_be_written() {
    let place = Place::new();
    let file = place.path("file");
    std::fs::write(&file, "").unwrap();
    let ran = place.say(&["generate", "man", file.join("man1").to_str().unwrap()]);
    assert_eq!(ran.code(), 2, "{ran:?}");
    assert_eq!(ran.complaints().len(), 1, "{ran:?}");
    assert!(ran.err.contains("name a folder that can be written"), "{ran:?}");
    if !mounts_or_skip("mount -t tmpfs -o size=64k none /mnt") {
        return;
    }
    let disk = place.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let disk = disk.to_str().unwrap();
    let program = [common::BINARY, "generate", "man", disk];
    let ran = start_mounted(&place, &small_disk(disk), &program).end();
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert_eq!(ran.complaints().len(), 1, "{ran:?}");
    assert!(ran.err.contains("No space left on device"), "{ran:?}");
    assert!(ran.err.contains("free some disk space"), "{ran:?}");
}

#[test]
fn where_no_disk_has_room_it_says_that_the_record_is_lost() {
    if !mounts_or_skip("mount -t tmpfs -o size=64k none /mnt") {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let disk = place.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let disk = disk.to_str().unwrap();
    let mount = format!("{}\nexport XDG_STATE_HOME={disk} TMPDIR={disk}", small_disk(disk));
    let program = [&[common::BINARY], SHORT].concat();
    let ran = start_mounted(&place, &mount, &program).end();
    ran.assert_no_panic();
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert!(ran.wrongs().last().unwrap().contains("the record is lost"), "{ran:?}");
    // With --json, the measurements are not lost.
    assert_eq!(ran.json()["trials"].as_array().unwrap().len(), 6);
}

#[test]
fn a_reader_that_goes_away_is_no_crash() {
    let place = Place::new();
    let golden = place.golden("mmap-lock");
    let golden = golden.to_str().unwrap();
    let runs: &[&[&str]] = &[
        &["--help"],
        &["list"],
        &["list", "--json"],
        &["judge", golden],
        &["judge", "--json", golden],
        &["generate", "completions", "bash"],
        &["compat", "mapper", "--duration", "0", "--mb", "1"],
    ];
    for args in runs {
        assert_survives_a_closed_output(args);
    }
    if common::two_cpus_or_skip() {
        let _turn = turn::take();
        assert_survives_a_closed_output(SHORT);
    }
}

#[test]
fn a_panic_of_a_kernel_does_not_count_as_one_of_the_tool() {
    let [named, unnamed] = ["'main' (4590)", "'<unnamed>' (7)"].map(|thread| {
        format!("guest a: thread {thread} panicked at crates/cli/src/a.rs:1:1:\nwhy")
    });
    assert!(common::shows_panic(&named) && common::shows_panic(&unnamed));
    let kernel = "tailback: guest a: its kernel panicked before it was up: Kernel panic; booting";
    assert!(!common::shows_panic(kernel));
}

/// Fails if the run crashes when nobody reads its output: it must end with a known exit code and
/// without a panic.
fn assert_survives_a_closed_output(args: &[&str]) {
    let place = Place::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = place.tailback(args);
    command.stdout(writer).stderr(std::fs::File::create(place.path("err")).unwrap());
    let status = command.status().unwrap();
    let err = std::fs::read_to_string(place.path("err")).unwrap();
    assert!(status.code().is_some_and(|code| code < 5), "{args:?}: {status:?}: {err}");
    assert!(!common::shows_panic(&err), "{args:?}: {err}");
}
