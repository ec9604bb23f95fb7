//! `memory-high` for real, on a machine whose memory controller is v2's; elsewhere what it says
//! instead. `guest.rs` runs it in a guest.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, sure, turn};
use host::Roots;
use host::cgroup::{CgroupError, ParentGroup};

#[test]
fn work_above_its_limit_stands_still_or_the_machine_is_told_what_it_lacks() {
    let _turn = turn::take();
    match ParentGroup::find_memory(&Roots::real()) {
        Ok(_) => work_above_its_limit_stands_still(),
        Err(CgroupError::MemoryOfV1) => a_machine_with_cgroup_v1_is_told_so(),
        Err(missing) => testing::skipped(format_args!("no group can be limited: {missing:?}")),
    }
}

/// With its fix, `memory.max` and a restart.
fn work_above_its_limit_stands_still() {
    let Some(ran) = sure(&["run", "memory-high", "--quick", "--json"]) else { return };
    let record = ran.json();
    assert_eq!(record["verdict"]["state"], "affected", "{ran:?}");
    let fixes = record["verdict"]["fixes"].as_array().unwrap();
    assert_ne!(fixes[0]["outcome"], "not-shown", "{ran:?}");
}

/// In one line, with the run in a guest.
fn a_machine_with_cgroup_v1_is_told_so() {
    let ran = Place::new().say(&["run", "memory-high"]);
    assert_eq!(ran.status.code(), Some(3), "{ran:?}");
    let line = ran.err.lines().find(|line| line.contains("cgroup v1")).unwrap();
    assert!(line.contains("tailback vm --kernel debian:6.12 -- run memory-high"), "{ran:?}");
}

#[test]
fn what_no_trial_can_be_made_of_is_refused_in_one_line() {
    for words in [["--limit", "1MiB"], ["--unit", "1"], ["--by", "low"], ["--swap", "some"]] {
        let ran = Place::new().say(&["run", "memory-high", words[0], words[1]]);
        assert_eq!(ran.status.code(), Some(2), "{ran:?}");
        assert!(ran.err.contains(words[0]) && ran.err.lines().count() == 1, "{ran:?}");
    }
}
