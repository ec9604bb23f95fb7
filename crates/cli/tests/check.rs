//! `check`, from its first trial to its last line.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, Ran, files, processes, turn};

/// A check of one scenario, which continues to try its fix. The time limit holds however busy the
/// machine is.
const MMAP_LOCK: [&str; 6] = ["check", "--quick", "--only", "mmap-lock", "--time", "15s"];

/// Fails unless the table has one row with the verdict of the record, and the exit code fits. Any
/// verdict is accepted, since other work on this machine can disturb it.
fn assert_shows_its_verdict(place: &Place, ran: &Ran) {
    let heading = ["scenario", "verdict", "seconds"];
    let mut lines = ran.out.lines();
    lines
        .find(|line| line.split_whitespace().take(3).eq(heading))
        .unwrap_or_else(|| panic!("no table: {ran:?}"));
    // A line below the table may name the scenario too, followed by a colon.
    let is_row = |line: &&str| line.split_whitespace().next() == Some("mmap-lock");
    let rows: Vec<&str> = lines.filter(is_row).collect();
    assert_eq!(rows.len(), 1, "{ran:?}");
    let records = place.records();
    assert_eq!(records.len(), 1, "{ran:?}");
    let state = common::json(&records[0])["judgement"]["state"].as_str().unwrap().to_owned();
    assert_eq!(rows[0].split_whitespace().nth(1), Some(state.as_str()), "{ran:?}");
    let code = match state.as_str() {
        "affected" => 1,
        "not-affected" => 0,
        _ => 4,
    };
    assert_eq!(ran.code(), code, "{ran:?}");
    assert!(!ran.out.contains('\x1b'), "{ran:?}");
}

#[test]
fn a_check_ends_with_its_verdicts_and_its_page() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let ran = place.say(&MMAP_LOCK);
    ran.assert_no_panic();
    assert_shows_its_verdict(&place, &ran);
    assert!(ran.err.contains("mmap-lock: block 1: "), "{ran:?}");
    let pages: Vec<_> = files(&place.path("state/tailback"))
        .into_iter()
        .filter(|file| file.extension().is_some_and(|end| end == "html"))
        .collect();
    let [page] = pages.as_slice() else { panic!("{pages:?}: {ran:?}") };
    let last = ran.out.lines().last().unwrap();
    assert!(last.contains(page.to_str().unwrap()), "{last}");
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.starts_with("<!DOCTYPE html>") && text.contains("mmap-lock"), "{page:?}");
    let affected = ran.code() == 1;
    assert_eq!(ran.out.contains("Worth changing:"), affected, "{ran:?}");
    assert!(!affected || text.contains("tailback run mmap-lock --"), "{page:?}");
    processes::wait_until_gone(ran.pid);
}

#[test]
fn a_check_prints_records_alone_where_json_is_asked_for() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let page = place.path("page.html");
    let page = page.to_str().unwrap();
    let ran = place.say(&[&MMAP_LOCK[..5], &["5s", "--json", "--report", page]].concat());
    assert_eq!(ran.json()[0]["scenario"], "mmap-lock", "{ran:?}");
    assert!(ran.err.contains(&format!("page: {page}")), "{ran:?}");
    assert!(std::fs::read_to_string(page).unwrap().starts_with("<!DOCTYPE html>"));
}
