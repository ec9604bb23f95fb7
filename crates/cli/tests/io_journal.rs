//! `io-journal`, for real on a machine with io.max, loop devices and mkfs.ext4. On other machines,
//! its error message. `guest.rs` runs it in a guest.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, assert_refused, groups, processes, says, turn};
use host::Roots;
use host::cgroup::{CgroupError, NoIo, ParentGroup};
use processes::Process;
use std::path::PathBuf;

/// Whether a trial can run here. If not, prints that the test is skipped. What it lacks besides a
/// group shows only when it runs.
fn runs_or_skip() -> bool {
    let home = ParentGroup::find_io(&Roots::real());
    if let Err(NoIo::Group(CgroupError::MemoryOfV1)) = home {
        testing::does_not_apply("this machine has the memory controller of cgroup v1");
        return false;
    }
    if !testing::has_or_skip(home.is_ok(), format_args!("no group can be limited: {home:?}")) {
        return false;
    }
    let args = ["run", "io-journal", "--samples", "1", "--duration", "500ms", "--no-fixes"];
    let ran = Place::new().say(&[&args[..], &["--no-probe"]].concat());
    testing::has_or_skip(ran.code() != 3, &ran.err)
}

/// The files in memory that are disks of tailback.
fn disks() -> Vec<String> {
    let devices = common::files("/sys/block".as_ref());
    let content = |device: PathBuf| std::fs::read_to_string(device.join("loop/backing_file")).ok();
    devices.into_iter().filter_map(content).filter(|file| file.contains("tailback-disk")).collect()
}

/// The kernel may remove a disk a moment after the last process that had it open.
fn wait_until_no_disk_is_left() {
    common::wait_for("the disk to go", || disks().is_empty().then_some(()));
}

#[test]
fn a_machine_with_cgroup_v1_is_told_so() {
    let home = ParentGroup::find_io(&Roots::real());
    let Err(NoIo::Group(CgroupError::MemoryOfV1)) = home else {
        return testing::does_not_apply(format_args!("this is not cgroup v1: {home:?}"));
    };
    let ran = Place::new().say(&["run", "io-journal"]);
    assert_eq!(ran.code(), 3, "{ran:?}");
    let line = ran.err.lines().find(|line| line.contains("cgroup v1")).unwrap();
    assert!(line.contains("tailback vm --kernel debian:6.12 -- run io-journal"), "{ran:?}");
}

#[test]
fn fsync_waits_for_a_capped_writer_on_the_same_file_system_alone() {
    let _turn = turn::take();
    if !runs_or_skip() {
        return;
    }
    let Some(ran) = says("affected", &["run", "io-journal", "--quick", "--json"]) else { return };
    let record = ran.json();
    let arms = record["judgement"]["arms"].as_array().unwrap();
    let median = |id: &str, figure: &str| {
        let arm = arms.iter().find(|one| one["id"] == id).unwrap();
        arm["measures"][figure]["median"].as_f64().unwrap()
    };
    let [control, case] = ["other-file-system", "case"].map(|arm| median(arm, "lost"));
    assert!(case > control, "{control} and {case}: {ran:?}");
    // The cap makes a round wait for a second, however fast the machine is.
    for arm in ["other-file-system", "case"] {
        assert!(median(arm, "writer_fsync") > 500.0, "{arm}: {ran:?}");
    }
    assert_eq!(groups::of_run(ran.pid), Vec::<PathBuf>::new());
    wait_until_no_disk_is_left();
}

#[test]
fn two_arms_on_other_file_systems_do_not_differ() {
    let _turn = turn::take();
    if !runs_or_skip() {
        return;
    }
    let args = ["run", "io-journal", "--on", "other", "--quick", "--no-fixes", "--json"];
    common::never_affected(&args).assert_no_panic();
}

/// A study with one trial that lasts until it is killed.
const LONG: [&str; 7] = ["run", "io-journal", "--duration", "20s", "--samples", "1", "--no-probe"];

/// The loads of a run, once its writer is there.
fn with_writer(tool: u32) -> Vec<Process> {
    let has = |one: &Process, wanted: &str| one.argv.iter().any(|word| word == wanted);
    common::wait_for("a writer", || {
        let mut family = processes::below(tool);
        family.retain(|one| has(one, "load"));
        family.iter().any(|one| has(one, "journal-writer")).then_some(family)
    })
}

#[test]
fn killed_it_leaves_nothing() {
    let _turn = turn::take();
    if !runs_or_skip() {
        return;
    }
    let place = Place::new();
    let mut tool = place.tailback(&LONG).spawn().unwrap();
    let family = with_writer(tool.id());
    tool.kill().unwrap();
    tool.wait().unwrap();
    place.say(&["host", "restore"]);
    assert_eq!(groups::of_run(tool.id()), Vec::<PathBuf>::new());
    processes::wait_until_all_gone(&family);
    wait_until_no_disk_is_left();
}

#[test]
fn a_writer_that_dies_is_an_error_and_no_stall() {
    let _turn = turn::take();
    if !runs_or_skip() {
        return;
    }
    let place = Place::new();
    let running = place.start(place.tailback(&LONG));
    let family = with_writer(running.pid());
    let is_writer = |one: &&Process| one.argv.iter().any(|word| word == "journal-writer");
    processes::kill(family.iter().find(is_writer).unwrap());
    let ran = running.end();
    assert!(![0, 1].contains(&ran.code()), "{ran:?}");
    // It has ended, or it did not get ready.
    assert!(ran.err.contains("the writer"), "{ran:?}");
    assert_eq!(groups::of_run(ran.pid), Vec::<PathBuf>::new());
}

#[test]
fn what_no_trial_can_be_made_of_is_refused_in_one_line() {
    assert_refused(
        &["run", "io-journal"],
        &[
            (&["--by", "twice"], 2, "rewritten, once, ordered"),
            (&["--on", "third"], 2, "same, other"),
            (&["--cap", "1KiB"], 2, "not between 64KiB and 1GiB"),
            (&["--burst", "65KiB"], 2, "whole blocks of 4 KiB only"),
            (&["--burst", "16MiB"], 2, "not between 64KiB and 8MiB"),
            (&["--pause", "2s"], 2, "--pause"),
            (&["--pause", "1s"], 2, "take 600ms or less"),
            (&["--duration", "1ms"], 2, "--duration"),
            (&["--fixes", "swap"], 2, "--fixes"),
        ],
    );
}
