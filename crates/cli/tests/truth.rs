//! The small part of the table of known answers: all simulated rows, and two on this machine. A
//! real run may be undecided, since others may use the machine; it may not be wrong.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{BINARY, turn, two_cpus_or_skip};
use std::path::Path;
use truth::real::Programs;
use truth::results::Results;
use truth::session::{End, Session};
use truth::{Row, row};

fn rows(simulated: bool) -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../truth");
    let mut rows = row::read(&folder).unwrap();
    rows.retain(|row| row.small && row.simulate.is_some() == simulated);
    assert!(rows.len() >= 2);
    rows
}

fn run(rows: &[Row], runs: Option<u32>) -> End {
    let programs = Programs { tailback: BINARY.into() };
    let session = Session {
        rows,
        runs,
        programs: &programs,
        any_build: false,
        version: "test",
        stop: &|| false,
        say: &|line| eprintln!("{line}"),
    };
    let folder = tempfile::tempdir().unwrap();
    let mut results = Results::open(folder.path()).unwrap();
    let end = session.run(&mut results).unwrap();
    if !end.wrong.is_empty() {
        // What failed has to be there to be looked into.
        eprintln!("the records are kept in {}", folder.keep().display());
    }
    end
}

#[test]
fn no_simulated_row_is_wrong() {
    let end = run(&rows(true), None);
    assert_eq!((end.wrong, end.failed), (Vec::new(), Vec::new()), "make truth ONLY='sim-*'");
}

#[test]
fn no_small_row_on_this_machine_is_wrong() {
    if !two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    // Once each: how often it is undecided is for `make truth`.
    let end = run(&rows(false), Some(1));
    assert_eq!((end.wrong, end.failed), (Vec::new(), Vec::new()), "make truth ONLY='mmap-*'");
}

/// What stands in the repository is read by nobody else until somebody runs the table.
#[test]
fn the_table_is_large_enough_and_names_scenarios_that_there_are() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../truth");
    let rows = row::read(&folder).unwrap();
    let real: Vec<&Row> = rows.iter().filter(|row| row.simulate.is_none()).collect();
    assert!(real.len() >= 20 && real.iter().map(|row| row.runs).sum::<u32>() >= 200);
    for row in real {
        let words = row.words().unwrap();
        assert_eq!(words[0], "run", "{}", row.id);
        assert!(scenarios::find(&words[1]).is_some(), "{}: {}", row.id, words[1]);
    }
}
