//! Exported reproducers, run for real. They show the stall of their record, and none if its cause
//! is removed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, Ran, turn};
use host::Roots;
use host::cgroup::{CgroupError, ParentGroup};
use rustix::process::{Pid, Signal, getpriority_process, kill_process};
use serde_json::json;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The longest time of a study that stays undecided on a busy machine.
const PATIENCE: Duration = Duration::from_mins(5);

/// The reproducer of a golden record.
fn exported(place: &Place, name: &str) -> String {
    let record = place.golden(name);
    let said = place.say(&["export", "--format", "reproducer", record.to_str().unwrap()]);
    assert_eq!(said.code(), 0, "{said:?}");
    said.out
}

/// A command that runs an Erlang script.
fn escript(place: &Place, name: &str, script: &str) -> Command {
    let file = place.path(&format!("{name}.escript"));
    std::fs::write(&file, script).unwrap();
    let mut escript = place.program("escript");
    escript.arg(&file);
    escript
}

/// Runs an Erlang script until its end.
fn run_escript(place: &Place, name: &str, script: &str) -> Ran {
    place.start(escript(place, name, script)).end_within(PATIENCE)
}

/// Runs a program until its end.
fn run_program(place: &Place, program: &Path) -> Ran {
    place.start(place.program(program.to_str().unwrap())).end_within(PATIENCE)
}

/// The rest of the folders for temporary files that studies use.
fn left(place: &Place) -> Vec<String> {
    let all = std::fs::read_dir(place.path("")).unwrap().flatten();
    let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("stall-")).collect()
}

/// Fails unless it shows a stall and leaves nothing behind. A run that is undecided or shows none
/// is repeated: other work on the machine can hide a stall.
fn assert_stalls(place: &Place, scenario: &str, run: impl Fn() -> Ran) {
    let undecided = |ran: &Ran| ran.code() == 4 && ran.out.contains(" # SKIP undecided: ");
    let mut runs = (0..3).map(|_| run());
    let ran = runs.find(|ran| ran.code() != 0 && !undecided(ran)).expect("no stall in three runs");
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(ran.out.starts_with("KTAP version 1\n1..1\n"), "{ran:?}");
    assert!(ran.out.contains(&format!("\nnot ok 1 {scenario}\n")), "{ran:?}");
    assert_eq!(left(place), Vec::<String>::new());
}

/// Fails if it shows a stall three times in a row: by chance, one run in twenty shows one. On a
/// busy machine it may stay undecided.
fn assert_shows_none(scenario: &str, run: impl Fn() -> Ran) {
    let mut runs = (0..3).map(|_| run());
    let ran = runs.find(|ran| ran.code() != 1).expect("three runs, all with a stall");
    assert!(matches!(ran.code(), 0 | 4), "{ran:?}");
    assert!(ran.out.contains("\n# block 14: "), "{ran:?}");
    assert!(ran.out.contains(&format!("\nok 1 {scenario}")), "{ran:?}");
}

/// Builds it; None without a compiler.
fn built(source: &str, place: &Place, name: &str) -> Option<PathBuf> {
    let (file, program) = (place.path(&format!("{name}.c")), place.path(name));
    std::fs::write(&file, source).unwrap();
    let mut gcc = Command::new("gcc");
    let ran = gcc.args(["-O2", "-pthread", "-o"]).arg(&program).arg(&file).output().ok()?;
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(program)
}

#[test]
fn it_shows_the_stall_again_and_none_with_a_file_that_takes_no_lock() {
    let _turn = turn::take();
    if !common::two_cpus_or_skip() {
        return;
    }
    // Since 7.2, smaps takes the locks of single mappings in turn.
    let newer = model::ladder::version(rustix::system::uname().release().to_str().unwrap());
    if !testing::has_or_skip(newer < vec![7, 2], "needs a kernel before 7.2") {
        return;
    }
    // With another priority of this test, the program skips.
    let is_usual = getpriority_process(None) == Ok(0) && os::policy::is_usual(std::process::id());
    if !testing::has_or_skip(is_usual, "needs nice 0 and the usual policy") {
        return;
    }
    let place = Place::new();
    let program = exported(&place, "mmap-lock");
    let (smaps, stat) = ("#define PROCFILE \"smaps\"", "#define PROCFILE \"stat\"");
    assert!(program.contains(smaps), "{program}");
    let Some(stall) = built(&program, &place, "stall") else {
        return testing::skipped("no gcc");
    };
    assert_stalls(&place, "mmap-lock", || run_program(&place, &stall));
    let harmless = built(&program.replace(smaps, stat), &place, "harmless").unwrap();
    assert_shows_none("mmap-lock", || run_program(&place, &harmless));
    // Without memory for its mappings it can show nothing. A bisection has to stop there.
    let mut starved = place.program("sh");
    starved.args(["-c", &format!("ulimit -v 30000; exec {}", stall.display())]);
    let ran = place.run(starved);
    assert_eq!(ran.code(), 128, "{ran:?}");
    assert!(ran.out.contains("\nnot ok 1 mmap-lock # ERROR "), "{ran:?}");
    // At another priority its spinners would not have nice 0.
    let mut nice = place.program("nice");
    nice.args(["-n", "5"]).arg(&stall);
    let ran = place.run(nice);
    assert_eq!(ran.code(), 4, "{ran:?}");
    assert!(ran.out.contains(" # SKIP run it at nice 0"), "{ran:?}");
}

/// The program of a record that is made now. A stall that is not settled or does not show is
/// measured again.
fn exported_now(place: &Place, scenario: &str) -> String {
    let record = place.path(&format!("{scenario}.json"));
    let record = record.to_str().unwrap();
    let run = ["run", scenario, "--quick", "--no-probe", "--no-fixes", "--fresh", "--record"];
    let mut runs = (0..5).map(|_| place.say(&[&run[..], &[record]].concat()));
    let ran = runs.find(|ran| ![0, 4].contains(&ran.code())).expect("no stall in five runs");
    assert_eq!(ran.code(), 1, "{ran:?}");
    let said = place.say(&["export", "--format", "reproducer", record]);
    assert_eq!(said.code(), 0, "{said:?}");
    said.out
}

#[test]
fn programs_of_stalls_behind_a_holder_show_them_again_and_none_without_their_cause() {
    let _turn = turn::take();
    if !common::two_cpus_or_skip() {
        return;
    }
    for (scenario, cause, without) in [
        ("held-mutex", "#define NICE 19\n", "#define NICE 0\n"),
        // Beside another busy program, two threads on two CPUs would hold each other up too.
        ("preempted-holder", "#define THREADS 8\n", "#define THREADS 1\n"),
    ] {
        let place = Place::new();
        let program = exported_now(&place, scenario);
        assert!(program.contains(cause), "{program}");
        let Some(stall) = built(&program, &place, "stall") else {
            return testing::skipped("no gcc");
        };
        assert_stalls(&place, scenario, || run_program(&place, &stall));
        let harmless = built(&program.replace(cause, without), &place, "harmless").unwrap();
        assert_shows_none(scenario, || run_program(&place, &harmless));
    }
}

/// What a program lacks on this machine, in its own words. None if it has made its test.
fn lacking(ran: &Ran) -> Option<&str> {
    let (_, why) = ran.out.lines().find_map(|line| line.split_once(" # SKIP "))?;
    (!why.starts_with("undecided: ")).then_some(why)
}

/// Runs a program with a control group to its end. It has to remove the group.
fn run_in_group(place: &Place, program: &Path) -> Ran {
    let ran = run_program(place, program);
    assert_eq!(groups(ran.pid), Vec::<PathBuf>::new());
    ran
}

/// The program for a record of `cpu-quota` that says that the case lost half of its quota. This
/// kernel loses nothing, and a record without a stall has no program. What else happened in the
/// trials does not matter: their disturbances are left out. None, with the reason printed, if the
/// machine gives no quota.
fn exported_as_if_affected(place: &Place) -> Option<String> {
    let path = place.path("cpu-quota.json");
    let record = path.to_str().unwrap();
    // With a loss in each of eight blocks, the record is affected.
    let run = ["run", "cpu-quota", "--samples", "8", "--no-probe", "--no-fixes", "--record"];
    let ran = place.say(&[&run[..], &[record]].concat());
    if !testing::has_or_skip(ran.code() != 3, &ran.err) {
        return None;
    }
    let mut facts = common::json(&path);
    for trial in facts["trials"].as_array_mut().unwrap() {
        let lost = if trial["arm"] == "spread" { 50.0 } else { 0.0 };
        // On a busy machine a trial may have no such figure.
        trial["observation"]["measures"]["lost"] = json!({ "value": lost, "unit": "%" });
        trial["disturbance"] = json!({});
    }
    std::fs::write(&path, facts.to_string()).unwrap();
    let said = place.say(&["export", "--format", "reproducer", record]);
    assert_eq!(said.code(), 0, "{said:?}");
    Some(said.out)
}

/// That it shows the stall of a kernel whose slices expire is known from `make reproducers`.
#[test]
fn a_program_for_a_quota_shows_no_stall_where_slices_do_not_expire() {
    let _turn = turn::take();
    if !common::two_cpus_or_skip() {
        return;
    }
    let version = model::ladder::version(rustix::system::uname().release().to_str().unwrap());
    if version < vec![5, 4] {
        return testing::does_not_apply("slices may expire before Linux 5.4");
    }
    let place = Place::new();
    let Some(program) = exported_as_if_affected(&place) else { return };
    assert!(program.contains("#define NARROW 1\n"), "{program}");
    let Some(quota) = built(&program, &place, "quota") else {
        return testing::skipped("no gcc");
    };
    let first = run_in_group(&place, &quota);
    if let Some(why) = lacking(&first) {
        return testing::skipped(why);
    }
    let first = Cell::new(Some(first));
    let run = || first.take().unwrap_or_else(|| run_in_group(&place, &quota));
    assert_shows_none("cpu-quota", run);
    for signal in [Signal::INT, Signal::QUIT, Signal::TERM] {
        assert_leaves_no_group(&place, &quota, signal);
    }
}

/// Fails unless the program removes its group when this signal ends it during a trial.
fn assert_leaves_no_group(place: &Place, program: &Path, signal: Signal) {
    let running = place.start(place.program(program.to_str().unwrap()));
    let deadline = Instant::now() + PATIENCE;
    while groups(running.pid()).is_empty() {
        assert!(Instant::now() < deadline, "it makes no group");
        std::thread::sleep(Duration::from_millis(1));
    }
    running.signal(signal);
    let ran = running.end_within(PATIENCE);
    // A bisection has to stop there.
    assert_eq!(ran.code(), 128 + signal.as_raw(), "{ran:?}");
    assert_eq!(groups(ran.pid), Vec::<PathBuf>::new());
}

#[test]
fn a_program_for_memory_high_shows_the_stall_and_none_with_a_limit_above_the_need() {
    let _turn = turn::take();
    match ParentGroup::find_memory(&Roots::real()) {
        Ok(_) if !common::counts_waits_for_memory() => return,
        Ok(_) => {}
        Err(CgroupError::MemoryOfV1) => {
            return testing::does_not_apply("memory.high needs cgroup v2");
        }
        Err(missing) => {
            return testing::skipped(format_args!("no group can be limited: {missing:?}"));
        }
    }
    let place = Place::new();
    let program = exported_now(&place, "memory-high");
    // 32 MiB; the process keeps 64 MiB.
    let low = "#define LIMIT_BYTES 33554432ULL\n";
    assert!(program.contains(low), "{program}");
    let Some(stall) = built(&program, &place, "stall") else {
        return testing::skipped("no gcc");
    };
    let first = run_in_group(&place, &stall);
    if let Some(why) = lacking(&first) {
        return testing::skipped(why);
    }
    let first = Cell::new(Some(first));
    let run = || first.take().unwrap_or_else(|| run_in_group(&place, &stall));
    assert_stalls(&place, "memory-high", run);
    let enough = program.replace(low, "#define LIMIT_BYTES 134217728ULL\n");
    let harmless = built(&enough, &place, "harmless").unwrap();
    assert_shows_none("memory-high", || run_in_group(&place, &harmless));
    // A folder cannot be read either.
    let pressure = "\"%s/memory.pressure\"";
    assert!(program.contains(pressure), "{program}");
    let folder = program.replace(pressure, "\"%s\"");
    let without = built(&folder, &place, "without").unwrap();
    let ran = run_in_group(&place, &without);
    assert!(lacking(&ran).is_some_and(|why| why.contains("directory")), "{ran:?}");
    assert_eq!(ran.code(), 4, "{ran:?}");
}

#[test]
fn a_flooded_mailbox_is_slow_unless_the_write_waits_by_a_reference() {
    let _turn = turn::take();
    if !common::erlang_or_skip() {
        return;
    }
    let place = Place::new();
    let script = exported(&place, "mailbox-flood");
    let (port, call) = ("-define(SINK, port).", "-define(SINK, gen_server).");
    assert!(script.contains(port), "{script}");
    assert_stalls(&place, "mailbox-flood", || run_escript(&place, "flood", &script));
    let calls = script.replace(port, call);
    assert_shows_none("mailbox-flood", || run_escript(&place, "call", &calls));
}

#[test]
fn native_functions_put_schedulers_to_sleep_unless_they_yield() {
    let _turn = turn::take();
    if !common::erlang_or_skip() || !common::two_cpus_or_skip() {
        return;
    }
    let place = Place::new();
    let script = exported(&place, "blocking-nif");
    let first = run_escript(&place, "nif", &script);
    if first.out.contains("# SKIP no ") {
        return testing::skipped("no C compiler or no erl_nif.h");
    }
    let first = Cell::new(Some(first));
    let run = || first.take().unwrap_or_else(|| run_escript(&place, "nif", &script));
    assert_stalls(&place, "blocking-nif", run);
    // The result is always `control`, but the compiler cannot know that. It would leave out a
    // function that is never called, and then the library would not fit.
    let (once, slices) = ("calls(Arm, ?CALLS)", "calls(lists:max([Arm, control]), ?CALLS)");
    assert!(script.contains(once), "{script}");
    let sliced = script.replace(once, slices);
    assert_shows_none("blocking-nif", || run_escript(&place, "slices", &sliced));
}

/// Its control groups, in either version.
fn groups(pid: u32) -> Vec<PathBuf> {
    let of = |folder: &str| Path::new(folder).join(format!("stall-{pid}"));
    ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu"].map(of).into_iter().filter(|at| at.exists()).collect()
}

#[test]
fn a_study_under_a_quota_that_is_killed_leaves_no_group_and_no_folder() {
    let _turn = turn::take();
    if !common::erlang_or_skip() {
        return;
    }
    let place = Place::new();
    let script = exported(&place, "busy-wait");
    for signal in [Signal::KILL, Signal::TERM] {
        let running = place.start(escript(&place, "busy", &script));
        let pid = running.pid();
        let deadline = Instant::now() + PATIENCE;
        let said = || std::fs::read_to_string(place.path("out")).unwrap();
        while !said().contains("\n# block 1: ") {
            if said().contains(" # SKIP ") {
                return testing::skipped("no quota can be had");
            }
            assert!(Instant::now() < deadline && !said().contains("ERROR"), "{}", said());
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!((groups(pid).len(), left(&place).len()), (1, 1));
        kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
        // With exit code 0, an interrupted study would look like a study without a stall.
        assert_eq!(running.end_within(PATIENCE).status.code(), None);
        while !groups(pid).is_empty() || !left(&place).is_empty() {
            assert!(Instant::now() < deadline, "{:?} {:?}", groups(pid), left(&place));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
