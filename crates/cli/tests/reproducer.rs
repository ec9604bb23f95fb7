//! A reproducer that was exported, built and run: it shows the stall of its record, and where it
//! reads a file that takes no lock it shows none.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, turn};
use std::path::PathBuf;
use std::process::Command;

/// Builds it; none without a compiler.
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
    // Since 7.2 smaps takes the locks of single mappings in turn.
    let newer = model::ladder::version(rustix::system::uname().release().to_str().unwrap());
    if !testing::has_or_skip(newer < vec![7, 2], "needs a kernel before 7.2") {
        return;
    }
    let place = Place::new();
    let record = place.golden("mmap-lock");
    let said = place.say(&["export", "--format", "reproducer", record.to_str().unwrap()]);
    assert_eq!(said.code(), 0, "{said:?}");
    let (smaps, stat) = ("#define PROCFILE \"smaps\"", "#define PROCFILE \"stat\"");
    assert!(said.out.contains(smaps), "{}", said.out);
    let Some(stall) = built(&said.out, &place, "stall") else {
        return testing::skipped("no gcc");
    };
    let ran = place.run(place.program(stall.to_str().unwrap()));
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(ran.out.starts_with("KTAP version 1\n1..1\n"), "{ran:?}");
    assert!(ran.out.contains("\nnot ok 1 mmap-lock\n"), "{ran:?}");
    let harmless = built(&said.out.replace(smaps, stat), &place, "harmless").unwrap();
    let ran = place.run(place.program(harmless.to_str().unwrap()));
    // On a machine that is at work it may stay undecided.
    assert!(matches!(ran.code(), 0 | 4), "{ran:?}");
    assert!(ran.out.contains("\n# block 14: "), "{ran:?}");
    assert!(ran.out.contains("\nok 1 mmap-lock"), "{ran:?}");
}
