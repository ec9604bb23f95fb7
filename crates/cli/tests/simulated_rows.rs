//! The simulated rows of the table of known answers, and the table itself.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "common/table.rs"]
mod table;

use std::path::Path;
use truth::{Row, row};

/// Most studies of a row. `make truth` runs all of them.
const MOST_RUNS: u32 = 200;

#[test]
fn no_simulated_row_is_wrong() {
    let mut rows = table::rows(true);
    // With fewer studies, an answer may have the same share.
    rows.iter_mut().for_each(|row| row.runs = row.runs.min(MOST_RUNS));
    let end = table::run(&rows, None);
    assert_eq!((end.wrong, end.failed), (Vec::new(), Vec::new()), "make truth ONLY='sim-*'");
}

/// The value of a constant in a source file, as text.
fn constant(file: &str, name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let start = format!("const {name}: ");
    let rest = text.lines().find_map(|line| line.strip_prefix(start.as_str()));
    let (_, value) = rest.and_then(|rest| rest.split_once(" = ")).unwrap();
    value.to_owned()
}

/// The error rates in the table are those of simulations that have their own copies of constants.
#[test]
fn constants_that_stand_in_several_crates_are_the_same() {
    let same = |name: &str, files: &[&str]| {
        let values: Vec<String> = files.iter().map(|file| constant(file, name)).collect();
        assert!(values.iter().all(|value| *value == values[0]), "{name}: {values:?}");
    };
    same("MADE_AGAIN", &["truth/src/ladders.rs", "cli/src/commands/matrix/repeat.rs"]);
    same("OVERTIME", &["runner/src/underway.rs", "cli/src/commands/check/turns.rs"]);
}

/// The page of known answers is made from it.
#[test]
fn the_history_in_the_repository_is_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../truth/history.jsonl");
    let history = truth::history::History::read(&path).unwrap();
    assert!(!history.is_torn() && history.lines().len() >= 20, "{}", history.lines().len());
}

/// Nothing else reads the files in the repository until somebody runs the table.
#[test]
fn the_table_is_large_enough_and_names_scenarios_that_there_are() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../truth");
    let rows = row::read(&folder).unwrap();
    let real: Vec<&Row> = rows.iter().filter(|row| row.simulate.is_none()).collect();
    assert!(real.len() >= 20 && real.iter().map(|row| row.runs).sum::<u32>() >= 200);
    for row in real {
        let words = row.words().unwrap();
        assert!(["run", "matrix", "compare"].contains(&words[0].as_str()), "{}", row.id);
        let scenario = row.scenario().unwrap();
        assert!(scenarios::find(&scenario).is_some(), "{}: {scenario}", row.id);
        for file in words.iter().filter(|word| word.ends_with(".toml")) {
            assert!(folder.join("..").join(file).is_file(), "{}: {file}", row.id);
        }
    }
}
