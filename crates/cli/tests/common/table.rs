//! The small part of the table of known answers.

use crate::common::BINARY;
use std::path::Path;
use truth::real::Programs;
use truth::results::Results;
use truth::session::{End, Session};
use truth::{Row, row};

pub fn rows(simulated: bool) -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../truth");
    let mut rows = row::read(&folder).unwrap();
    rows.retain(|row| row.small && row.simulate.is_some() == simulated);
    assert!(rows.len() >= 2);
    rows
}

pub fn run(rows: &[Row], runs: Option<u32>) -> End {
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
