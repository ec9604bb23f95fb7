//! Tests that measure take turns, across all test binaries, since they would stall each other.
//! The Makefile keeps all other tests apart from them.

use std::fs::{File, OpenOptions};

/// Holds the turn until it is dropped.
pub struct Turn(#[expect(dead_code, reason = "the lock lives as long as the file")] File);

/// Waits for the turn to measure.
pub fn take() -> Turn {
    take_of("")
}

/// Waits for a turn among tests of this kind. Two of them at a time would be too large, but they
/// measure nothing. They may run beside tests with another turn.
pub fn take_of(kind: &str) -> Turn {
    let path = std::env::temp_dir().join(format!("tailback-tests{kind}.lock"));
    // The file of another user can be locked, but not opened for writing.
    let file = File::open(&path).or_else(|_| {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)
    });
    let file = file.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    file.lock().unwrap();
    Turn(file)
}
