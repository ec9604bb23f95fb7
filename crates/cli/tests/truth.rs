//! The rows of the table of known answers that are run on this machine in every test: they may be
//! undecided, since others may use the machine; they may not be wrong.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "common/table.rs"]
mod table;

use common::{turn, two_cpus_or_skip};

#[test]
fn no_small_row_on_this_machine_is_wrong() {
    if !two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    // Once each: how often it is undecided is for `make truth`.
    let end = table::run(&table::rows(false), Some(1));
    assert_eq!((end.wrong, end.failed), (Vec::new(), Vec::new()), "make truth ONLY='mmap-*'");
}
