//! The small part of the table of known answers.

use crate::common::BINARY;
use std::path::Path;
use truth::history::{Build, History, Machine};
use truth::real::Programs;
use truth::records::Records;
use truth::session::{End, TruthRun};
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
    let folder = tempfile::tempdir().unwrap();
    let session = TruthRun {
        rows,
        runs,
        programs: &programs,
        build: &Build::default(),
        machine: &Machine::here(),
        records: &Records::open(folder.path()).unwrap(),
        stop: &|| false,
        say: &|line| eprintln!("{line}"),
    };
    let mut history = History::read(&folder.path().join("history.jsonl")).unwrap();
    let end = session.run(&mut history).unwrap();
    if !end.wrong.is_empty() {
        // Records of a failure are kept, so that somebody can look at them.
        eprintln!("the records are kept in {}", folder.keep().display());
    }
    end
}
