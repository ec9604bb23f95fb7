//! `check` from its first trial to its last line.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, files, processes, turn};

#[test]
fn a_check_ends_with_its_verdicts_and_its_page() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let ran = place.say(&["check", "--only", "mmap-lock", "--quick"]);
    ran.assert_no_panic();
    // Whatever the verdict: what else runs here can disturb it.
    assert!([0, 1, 4].contains(&ran.code()), "{ran:?}");
    assert!(ran.err.contains("1 of 1, about"), "{ran:?}");
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
    let ran = place.say(&["check", "--only", "mmap-lock", "--quick", "--json", "--report", page]);
    assert_eq!(ran.json()[0]["scenario"], "mmap-lock", "{ran:?}");
    assert!(ran.err.contains(&format!("page: {page}")), "{ran:?}");
    assert!(std::fs::read_to_string(page).unwrap().starts_with("<!DOCTYPE html>"));
}
