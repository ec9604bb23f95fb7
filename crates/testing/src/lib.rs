//! What the tests of several crates share. No part of tailback: tests alone may use it.

mod tree;

use std::fmt::Display;

pub use tree::{CGROUP2, Tree};

/// Prints that a test is skipped, and why.
///
/// # Panics
///
/// Where all tests are wanted: `TAILBACK_SKIP_NOTHING` is set, as `make test` sets it.
#[track_caller]
pub fn skipped(why: impl Display) {
    assert!(
        std::env::var_os("TAILBACK_SKIP_NOTHING").is_none(),
        "TAILBACK_SKIP_NOTHING is set, and this test cannot run: {why}"
    );
    eprintln!("skipped: {why}");
}

/// Whether a test has what it needs; prints that it is skipped where it has not.
///
/// # Panics
///
/// As [`skipped`] does.
#[track_caller]
pub fn has_or_skip(has: bool, why: impl Display) -> bool {
    if !has {
        skipped(why);
    }
    has
}

/// Whether this is root; prints that the test is skipped where it is not.
///
/// # Panics
///
/// As [`skipped`] does.
#[track_caller]
pub fn root_or_skip() -> bool {
    use std::os::unix::fs::MetadataExt;
    let root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    has_or_skip(root, "needs root")
}
