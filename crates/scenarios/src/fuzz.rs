//! For the fuzzer: what is read of other programs, behind functions that take any bytes.

use crate::erlang::{strace, threads};
use host::roots::Roots;
use std::path::Path;

/// What strace prints when it ends.
pub fn strace(said: &[u8]) {
    if let Some(counted) = strace::counted(said) {
        assert!(counted.calls.is_finite() && counted.calls >= 0.0, "{counted:?}");
    }
}

/// `/proc/1/stat` below a folder.
pub fn process(folder: &Path) {
    let _ = threads::process_cpu(&Roots::at(folder), 1);
}
