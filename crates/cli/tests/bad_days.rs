//! Trials under trouble, such as signals and killed processes. In every case nothing is left
//! running, and the results so far are kept.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, Ran, Running, processes, turn};
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Starts a study of many short blocks. Its record is kept in the place.
fn start_many_blocks(place: &Place) -> Running<'_> {
    place.start(many_blocks(place))
}

fn many_blocks(place: &Place) -> std::process::Command {
    let record = record(place);
    place.tailback(&[
        "run",
        "mmap-lock",
        "--busy",
        "3",
        // With normal priority, so that they run whatever else this machine does.
        "--nice",
        "0",
        "--samples",
        "200",
        "--duration",
        "400ms",
        "--hang-after",
        "50ms",
        "--size",
        "8MiB",
        "--record",
        record.to_str().unwrap(),
    ])
}

/// The record of a study, in its own folder.
fn record(place: &Place) -> PathBuf {
    place.path("kept/record.json")
}

/// Waits until a block was saved and a trial with load is running.
fn wait_for_mid_trial(place: &Place, tool: u32) {
    common::wait_for("a saved block", || record(place).exists().then_some(()));
    processes::wait_until_released(tool);
}

/// Fails unless the run ended in order: its record says so and holds whole trials, and nothing is
/// left running.
fn assert_interrupted(place: &Place, ran: &Ran, least: usize) {
    ran.assert_no_panic();
    assert_eq!(ran.code(), 130, "{ran:?}");
    processes::wait_until_gone(ran.pid);
    assert_nothing_temporary(place);
    let kept = common::json(&record(place));
    assert_eq!(kept["ended"], "interrupted");
    let trials = kept["trials"].as_array().unwrap();
    assert!(trials.len() >= least, "{} trials were kept", trials.len());
    assert!(trials.iter().all(|trial| trial["observation"]["window_ms"].as_f64().unwrap() > 0.0));
    assert_judge_reads(place);
}

/// Fails if a temporary file is beside the record.
fn assert_nothing_temporary(place: &Place) {
    // The helper of a killed run removes what it left, after its children have ended.
    common::wait_for("nothing but the record", || {
        let files = common::files(&place.path("kept"));
        files.iter().all(|file| *file == record(place)).then_some(())
    });
}

fn assert_judge_reads(place: &Place) {
    let ran = place.say(&["judge", record(place).to_str().unwrap()]);
    assert!([0, 1, 4].contains(&ran.code()), "{ran:?}");
    assert!(ran.out.contains("mmap-lock: ") && ran.err.is_empty(), "{ran:?}");
}

#[test]
fn a_signal_in_mid_trial_ends_the_study_in_order() {
    if !common::two_cpus_or_skip() {
        return;
    }
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let _turn = turn::take_of("-bad-days");
        let place = Place::new();
        let running = start_many_blocks(&place);
        wait_for_mid_trial(&place, running.pid());
        running.signal(signal);
        // The first block has a trial of each of three arms.
        assert_interrupted(&place, &running.end(), 3);
    }
}

#[test]
fn a_signal_in_the_very_first_trial() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take_of("-bad-days");
    let place = Place::new();
    let running = start_many_blocks(&place);
    processes::mapper(running.pid());
    running.signal(Signal::INT);
    assert_interrupted(&place, &running.end(), 0);
}

/// Available memory, in MiB.
fn free_memory_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
}

/// Waits for the mapper of a run. It may be ready soon, so the steps are shorter than those of
/// [`processes::mapper`].
fn wait_for_new_mapper(tool: u32) {
    let deadline = Instant::now() + common::PATIENCE;
    while !processes::of(tool).iter().any(|process| process.name == "mapper") {
        assert!(Instant::now() < deadline, "waited in vain for a mapper");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a run has scanners. They start once the mapper is ready.
fn has_scanners(tool: u32) -> bool {
    let is_scanner = |one: &processes::Process| one.argv.iter().any(|word| word == "scanner");
    processes::of(tool).iter().any(is_scanner)
}

#[test]
fn a_signal_while_the_mapper_is_set_up_is_not_put_off() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let size = (free_memory_mib() / 4).min(4096);
    if size < 512 {
        testing::skipped("needs 2 GiB of free memory, to be set up for longer than a moment");
        return;
    }
    let _turn = turn::take_of("-bad-days");
    for tries in 1.. {
        let place = Place::new();
        let running = start_large(&place, size);
        let tool = running.pid();
        wait_for_new_mapper(tool);
        if ends_before_the_scanners(&place, running) {
            return;
        }
        // The mapper may be ready before this test sees it, or before its signal arrives.
        assert!(tries < 5, "it set up the rest of the trial each time, in spite of the signal");
    }
}

/// Starts a study with a mapping of this size, in MiB.
fn start_large(place: &Place, size: u64) -> Running<'_> {
    let (path, seed) = (record(place), common::seed_for(&[1, 0, 2]));
    let size = format!("{size}MiB");
    let mut args = vec!["run", "mmap-lock", "--size", &size, "--busy", "1", "--seed", &seed];
    args.extend(["--record", path.to_str().unwrap()]);
    place.start(place.tailback(&args))
}

/// Interrupts a run whose mapper is being set up. Returns whether it has ended without scanners,
/// which are not needed any more.
fn ends_before_the_scanners(place: &Place, mut running: Running<'_>) -> bool {
    running.signal(Signal::INT);
    let mut went_on = has_scanners(running.pid());
    while !running.has_ended() {
        went_on |= has_scanners(running.pid());
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_interrupted(place, &running.end(), 0);
    !went_on
}

#[test]
fn control_c_reaches_the_whole_process_group() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take_of("-bad-days");
    let place = Place::new();
    let mut command = many_blocks(&place);
    command.process_group(0);
    let running = place.start(command);
    wait_for_mid_trial(&place, running.pid());
    let group = Pid::from_raw(i32::try_from(running.pid()).unwrap()).unwrap();
    kill_process_group(group, Signal::INT).unwrap();
    let ran = running.end();
    assert_interrupted(&place, &ran, 2);
    // Children that got the signal too would have counted as broken.
    assert!(!ran.err.contains("killed"), "{ran:?}");
}

/// Moments at which a run is killed, in microseconds after its start. They follow the
/// golden-ratio sequence: they are the same in every run of the test, and any number of them
/// covers the start, the first block and later blocks evenly. `TAILBACK_KILLS=50` asks for more
/// than the usual eight.
fn moments_us() -> impl Iterator<Item = u64> {
    let count = std::env::var("TAILBACK_KILLS").ok().and_then(|text| text.parse().ok());
    (1..=count.unwrap_or(8)).map(|index: u64| index * 1_545_085 % 2_500_000)
}

#[test]
fn killed_at_any_moment_it_leaves_nothing_running_and_no_torn_record() {
    if !common::two_cpus_or_skip() {
        return;
    }
    for moment in moments_us() {
        let _turn = turn::take_of("-bad-days");
        let place = Place::new();
        let running = start_many_blocks(&place);
        // The moments are arbitrary on purpose. The program has to survive a kill at any of them.
        std::thread::sleep(Duration::from_micros(moment));
        running.signal(Signal::KILL);
        let ran = running.end();
        eprintln!("killed after {moment} us; a record: {}", record(&place).exists());
        assert_eq!(ran.status.code(), None, "{ran:?}");
        processes::wait_until_gone(ran.pid);
        assert_nothing_temporary(&place);
        if record(&place).exists() {
            assert_eq!(common::json(&record(&place))["ended"], "running");
            assert_judge_reads(&place);
        }
    }
}

#[test]
fn killed_right_after_a_block_it_leaves_that_block() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take_of("-bad-days");
    let place = Place::new();
    let running = start_many_blocks(&place);
    wait_for_mid_trial(&place, running.pid());
    running.signal(Signal::KILL);
    let ran = running.end();
    processes::wait_until_gone(ran.pid);
    assert_nothing_temporary(&place);
    assert!(common::json(&record(&place))["trials"].as_array().unwrap().len() >= 2);
    assert_judge_reads(&place);
}

#[test]
fn a_second_run_into_the_same_record_is_refused_until_the_first_is_gone() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take_of("-bad-days");
    // The output of the second run goes to its own place. Both use the same state folder.
    let (place, other) = (Place::new(), Place::new());
    let running = start_many_blocks(&place);
    wait_for_mid_trial(&place, running.pid());
    let path = record(&place);
    let second = || {
        let args = ["run", "mmap-lock", "--busy", "1", "--samples", "1", "--duration", "50ms"];
        let mut command = other.tailback(&args);
        command.args(["--record", path.to_str().unwrap()]);
        command.env("XDG_STATE_HOME", place.path("state"));
        other.run(command)
    };
    let refused = second();
    let holder = format!("another run (process {}) is writing this file", running.pid());
    assert_eq!(refused.code(), 2, "{refused:?}");
    assert!(refused.err.contains(&holder) && refused.wrongs().len() == 1, "{refused:?}");
    running.signal(Signal::KILL);
    processes::wait_until_gone(running.end().pid);
    let ran = second();
    assert!([0, 1, 4].contains(&ran.code()), "{ran:?}");
    // The control, the case, and the arm that may fix it.
    assert_eq!(common::json(&path)["trials"].as_array().unwrap().len(), 3);
}

/// A study that stops right before it puts its record in place. Needs strace to stop it.
fn start_stopped_while_saving(place: &Place) -> Option<Running<'_>> {
    let strace = |args: &[&str]| {
        let mut command = place.program("strace");
        command.args(["-D", "-qq", "-o", "/dev/null", "-e", "trace=rename,renameat,renameat2"]);
        command.args(args);
        command
    };
    let works = strace(&["true"]).status().is_ok_and(|status| status.success());
    if !works {
        testing::skipped("needs strace, to stop the program while it saves");
        return None;
    }
    let mut command = strace(&["-e", "inject=rename,renameat,renameat2:delay_enter=3000000"]);
    let study = many_blocks(place);
    command.arg(study.get_program()).args(study.get_args());
    Some(place.start(command))
}

#[test]
fn killed_while_saving_it_leaves_nothing_that_the_next_run_does_not_clean_up() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take_of("-bad-days");
    let place = Place::new();
    let Some(mut running) = start_stopped_while_saving(&place) else { return };
    let mut saving = || !common::files(&place.path("kept")).is_empty() || running.has_ended();
    common::wait_for("the program to save", || saving().then_some(()));
    running.signal(Signal::KILL);
    processes::wait_until_gone(running.end().pid);
    let path = record(&place);
    let mut next = vec!["run", "mmap-lock", "--busy", "1", "--samples", "1"];
    next.extend(["--duration", "50ms", "--record", path.to_str().unwrap()]);
    place.say(&next);
    assert_judge_reads(&place);
    assert_nothing_temporary(&place);
}

/// Runs one trial with this many readers, and kills one of its processes once the load was
/// released. Then checks how the tool reports it.
fn with_a_killed(readers: &str, choose: fn(u32) -> processes::Process) {
    let _turn = turn::take_of("-bad-days");
    let place = Place::new();
    let path = record(&place);
    let mut args = vec!["run", "mmap-lock", "--busy", readers, "--seed"];
    // This seed runs the arm with the load first.
    let seed = common::seed_for(&[1, 0, 2]);
    // The death of any process but the mapper is noticed when the mapper's time is over. So this
    // time is short, but far longer than it takes to kill a process.
    args.extend([&seed, "--samples", "1", "--duration", "10s", "--lead", "300ms", "--nice", "0"]);
    args.extend(["--record", path.to_str().unwrap()]);
    let running = place.start(place.tailback(&args));
    processes::wait_until_released(running.pid());
    let victim = choose(running.pid());
    processes::kill(&victim);
    let ran = running.end();
    processes::wait_until_gone(ran.pid);
    assert_somebody_is_named(&place, &ran, &victim);
}

fn assert_somebody_is_named(place: &Place, ran: &Ran, victim: &processes::Process) {
    ran.assert_no_panic();
    assert_eq!(ran.code(), 4, "{victim:?} was killed: {ran:?}");
    let wrongs = ran.wrongs();
    assert_eq!(wrongs.len(), 1, "{ran:?}");
    // The line names the process, or the worker pool by its leader. The leader is the process
    // group.
    let named = [victim.pid, victim.parent].iter().any(|pid| wrongs[0].contains(&pid.to_string()));
    assert!(named && wrongs[0].contains("killed by signal 9"), "{victim:?}: {ran:?}");
    let kept = common::json(&record(place));
    assert!(kept["ended"]["broken"].is_object());
    assert_eq!(kept["judgement"]["state"], "untrustworthy");
    let judged = place.say(&["judge", record(place).to_str().unwrap()]);
    assert_eq!(judged.code(), 4, "{judged:?}");
}

#[test]
fn somebody_kills_the_mapper() {
    if common::two_cpus_or_skip() {
        with_a_killed("2", processes::mapper);
    }
}

#[test]
fn somebody_kills_the_only_scanner() {
    if common::two_cpus_or_skip() {
        with_a_killed("1", |tool| processes::worker(tool, "scanner"));
    }
}

#[test]
fn somebody_kills_one_scanner_of_several() {
    if common::two_cpus_or_skip() {
        with_a_killed("3", |tool| processes::worker(tool, "scanner"));
    }
}

#[test]
fn somebody_kills_one_spinner_of_several() {
    if common::two_cpus_or_skip() {
        with_a_killed("3", |tool| processes::worker(tool, "spinner"));
    }
}

#[test]
fn somebody_kills_the_leader_of_the_scanners() {
    if common::two_cpus_or_skip() {
        with_a_killed("2", |tool| processes::leader(tool, "scanner"));
    }
}

#[test]
fn somebody_kills_the_leader_of_the_spinners() {
    if common::two_cpus_or_skip() {
        with_a_killed("2", |tool| processes::leader(tool, "spinner"));
    }
}

#[test]
fn the_original_programs_leave_nothing_running_either() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let cpus: Vec<String> = common::allowed_cpus()[..2].iter().map(usize::to_string).collect();
    let mut args = vec!["compat", "proc-vs-map", "--duration", "60", "--nbusytasks", "3"];
    args.extend(["--cpumapper", &cpus[0], "--cpuscript", &cpus[0], "--cpubusytasks", &cpus[1]]);
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let _turn = turn::take_of("-bad-days");
        let place = Place::new();
        let running = place.start(place.tailback(&args));
        processes::wait_until_released(running.pid());
        running.signal(signal);
        let ran = running.end();
        assert_eq!(ran.status.code(), code, "{ran:?}");
        processes::wait_until_gone(ran.pid);
    }
}
