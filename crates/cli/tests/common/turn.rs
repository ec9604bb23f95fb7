//! Tests that measure take turns, in all test binaries: they would stall one another. The Makefile
//! keeps all other tests from them too.

use std::fs::{File, OpenOptions};

/// Holds the turn until it is dropped.
pub struct Turn(#[expect(dead_code, reason = "the lock lives as long as the file")] File);

/// Waits for the turn of those that measure.
pub fn take() -> Turn {
    take_of("")
}

/// Waits for a turn among tests that are too large to run two at a time, but measure nothing: they
/// may run beside those that have another turn.
pub fn take_of(kind: &str) -> Turn {
    let path = std::env::temp_dir().join(format!("tailback-tests{kind}.lock"));
    // A file of another user can be locked too, but not opened for writing.
    let file = File::open(&path).or_else(|_| {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)
    });
    let file = file.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    file.lock().unwrap();
    Turn(file)
}
