//! The rows of the table of known answers that every test run repeats on this machine. They may
//! be undecided, since others may use the machine, but they must not be wrong.

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
    // Each row runs once. How often it is undecided is a question for `make truth`.
    let mut rows = table::rows(false);
    let mut end = table::run(&rows, Some(1));
    // One verdict in twenty may be wrong, so a row fails only if it is wrong three times in a
    // row.
    for _ in 0..2 {
        let is_wrong = |id: &str| end.wrong.iter().any(|line| line.starts_with(&format!("{id}: ")));
        rows.retain(|row| is_wrong(&row.id));
        if !rows.is_empty() {
            end.wrong = table::run(&rows, Some(1)).wrong;
        }
    }
    assert_eq!((end.wrong, end.failed), (Vec::new(), Vec::new()), "make truth ONLY='mmap-*'");
}
