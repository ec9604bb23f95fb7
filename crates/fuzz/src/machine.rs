//! Files of /proc, /sys and /etc that describe a machine.

use host::disturbance::{Snapshot, run_delay_ns, tainted};
use host::facts::{self, KernelName};
use host::roots::Roots;
use host::{cgroup_facts, limits};
use std::path::Path;

/// The files, each relative to the folder that replaces the root of the machine.
const FILES: &[&str] = &[
    "proc/stat",
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/self/cgroup",
    "proc/self/mountinfo",
    "proc/mounts",
    "proc/pressure/cpu",
    "proc/sys/kernel/tainted",
    "proc/sys/kernel/pid_max",
    "proc/sys/vm/max_map_count",
    "proc/1/schedstat",
    "proc/config.gz",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "sys/fs/cgroup/cgroup.controllers",
    "sys/fs/cgroup/cpu.max",
    "sys/fs/cgroup/cpu.stat",
    "etc/os-release",
];

/// Bytes for these files. The first byte picks the file that gets the other bytes; 255 picks all
/// files.
pub(crate) fn machine(bytes: &[u8]) {
    let Some((which, rest)) = bytes.split_first() else { return };
    let Ok(folder) = tempfile::tempdir() else { return };
    for (index, file) in FILES.iter().enumerate() {
        if *which == u8::MAX || usize::from(*which) % FILES.len() == index {
            write(&folder.path().join(file), rest);
        }
    }
    read(&Roots::at(folder.path()));
}

/// The files of a thread, each relative to the folder of the thread.
const OF_A_THREAD: &[&str] = &["comm", "stat", "schedstat", "status", "wchan"];

/// Bytes for the files of a process. The first byte picks the file that gets the other bytes; 255
/// picks all files.
pub(crate) fn process(bytes: &[u8]) {
    let Some((which, rest)) = bytes.split_first() else { return };
    let Ok(folder) = tempfile::tempdir() else { return };
    let task = folder.path().join("proc/1/task");
    for (index, file) in OF_A_THREAD.iter().enumerate() {
        if *which == u8::MAX || usize::from(*which) % OF_A_THREAD.len() == index {
            write(&task.join("1").join(file), rest);
        }
    }
    write(&folder.path().join("proc/1/stat"), rest);
    beam::fuzz::threads(&task);
    beam::fuzz::texts(rest);
    scenarios::fuzz::process(folder.path());
    let text = String::from_utf8_lossy(rest);
    host::fuzz::owner(&text);
    host::fuzz::group(&text);
}

fn write(path: &Path, bytes: &[u8]) {
    let made = path.parent().map(std::fs::create_dir_all);
    // A full folder is no problem: then less is read.
    let _ = made.map(|_| std::fs::write(path, bytes));
}

fn read(roots: &Roots) {
    let name = |text: &str| text.to_owned();
    let kernel = KernelName { release: name("6.12.0"), build: name("#1"), arch: name("x86_64") };
    let machine = facts::machine_named(roots, kernel);
    assert!(serde_json::to_string(&machine).is_ok());
    let _ = cgroup_facts::cgroup_facts(roots);
    let before = Snapshot::take(roots);
    let _ = before.until(&Snapshot::take(roots));
    let _ = (tainted(roots), run_delay_ns(roots, 1));
    let _ = (limits::memory_available(roots), limits::max_map_count(roots), limits::pid_max(roots));
}
