//! For the fuzzer: files of control groups and processes, and journals, behind functions that take
//! any text.

use crate::{cgroup, cpufreq, owner, restore, temporary};

/// Reads a text as each of the files of a control group.
pub fn group(text: &str) {
    cgroup::fuzz(text);
}

/// Reads a text as the name of a group of ours, and as `/proc/PID/stat`.
pub fn owner(text: &str) {
    let _ = (owner::Owner::parse(text), owner::parse_stat(text));
}

/// Reads bytes as the journal of a process, and tells its entries apart; nothing is undone.
pub fn journal(bytes: &[u8]) {
    let Some(owner) = owner::Owner::parse("tailback-2000000000-1-0") else { return };
    restore::fuzz(bytes, &|path| cpufreq::fuzz(path) | temporary::fuzz(path, &owner));
}
