//! Entry points for the fuzzer: parsers of other programs' output, as functions that take any
//! bytes.

use crate::erlang::{strace, threads};
use host::roots::Roots;
use std::path::Path;

/// The final report of strace.
pub fn strace(said: &[u8]) {
    if let Some(counted) = strace::counted(said) {
        assert!(counted.calls.is_finite() && counted.calls >= 0.0, "{counted:?}");
    }
}

/// The file `proc/1/stat` below a folder.
pub fn process(folder: &Path) {
    let _ = threads::process_cpu(&Roots::at(folder), 1);
}
