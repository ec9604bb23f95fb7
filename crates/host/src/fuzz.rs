//! Entry points for the fuzzer: functions that parse any text as files of control groups and
//! processes, or as journals.

use crate::{cgroup, cpufreq, owner, restore, temporary};

/// Parses a text as each of the files of a control group.
pub fn group(text: &str) {
    cgroup::fuzz(text);
}

/// Parses a text as the name of a group of tailback's, and as `/proc/PID/stat`.
pub fn owner(text: &str) {
    let stat = os::stat::Stat::parse(text.as_bytes());
    let _ = (owner::Owner::parse(text), stat.map(|stat| stat.started()));
}

/// Parses bytes as the journal of a process, and sorts its entries by kind; nothing is undone.
pub fn journal(bytes: &[u8]) {
    let Some(owner) = owner::Owner::parse("tailback-2000000000-1-0") else { return };
    restore::fuzz(bytes, &|path| cpufreq::fuzz(path) | temporary::fuzz(path, &owner));
}
