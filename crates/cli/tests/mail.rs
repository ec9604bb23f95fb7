//! The regression report of a measured ladder, word for word, and why equal kernels give no
//! report. `make golden` writes the report again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::packed;
use model::ladder::Ladder;
use model::{Facts, Judged};
use report::Shown;
use report::export::mail::mail;
use snapbox::{IntoData as _, assert_data_eq, file};

/// A ladder, as printed by `matrix --json`.
fn ladder(name: &str) -> Ladder {
    let path = format!("{}/tests/golden/{name}.ladder.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn judged(name: &str) -> Judged {
    scenarios::judged(Facts::from_json(&packed::read(&packed::golden(name))).unwrap())
}

/// Readers of smaps hold up a process for longer with 7.1.13 than with 7.0.13. From 7.2 on they
/// do not: with that kernel in the ladder there is no report.
#[test]
fn a_regression_is_reported() {
    let ladder = ladder("smaps-7.1");
    let [good, bad] = ["smaps-7.0", "smaps-7.1"].map(judged);
    let meta = scenarios::find("mmap-lock").unwrap().meta();
    let shown = [("debian:7.0", &good), ("debian:7.1", &bad)]
        .map(|(name, record)| Shown::new(record, Some(meta), name));
    let mail = mail(&ladder, &shown).unwrap();
    // Raw, so that a backslash stays one.
    assert_data_eq!(mail.text.raw(), file!["golden/mail.txt"].raw());
    assert_data_eq!(mail.before.join("\n") + "\n", file!["golden/mail.before.txt"]);
}

/// One kernel, booted twice.
#[test]
fn nothing_is_reported_of_equal_kernels() {
    let why = mail(&ladder("equal"), &[]).unwrap_err().to_string();
    let said = "no regression report: no boundary is named, so no regression is shown";
    assert_eq!(why, said);
}
