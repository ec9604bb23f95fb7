//! For the fuzzer: files of control groups and processes, behind functions that take any text.

use crate::{cgroup, owner};

/// Reads a text as each of the files of a control group.
pub fn group(text: &str) {
    cgroup::fuzz(text);
}

/// Reads a text as the name of a group of ours, and as `/proc/PID/stat`.
pub fn owner(text: &str) {
    let _ = (owner::Owner::of(text), owner::parse_stat(text));
}
