//! The file systems of a guest.

use rustix::mount::{MountFlags, mount};
use std::path::Path;

/// File systems and their mount points: type, path.
pub(super) const MOUNTS: &[(&str, &str)] = &[
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("tmpfs", "/tmp"),
    ("tmpfs", "/run"),
    ("cgroup2", "/sys/fs/cgroup"),
];

/// The file system that shows the preemption mode of the kernel, below the one for sysfs: type,
/// path.
const DEBUG: (&str, &str) = ("debugfs", "sys/kernel/debug");

/// Mounts it below this root, if the kernel supports it. A run does not depend on it.
pub(super) fn mount_debug(root: &Path) {
    let (kind, place) = DEBUG;
    let place = root.join(place);
    if place.is_dir() {
        let _ = mount(kind, &place, kind, MountFlags::RDONLY, None);
    }
}

/// The controllers for groups below the root.
const CONTROLLERS: &[&str] = &["cpu", "cpuset", "memory", "pids"];

/// The file that enables controllers for groups below the root.
const CONTROL: &str = "/sys/fs/cgroup/cgroup.subtree_control";

/// Mounts all file systems. Returns a sentence for each failure.
pub(super) fn mount_all() -> Vec<String> {
    let mut warnings: Vec<String> =
        MOUNTS.iter().filter_map(|(kind, place)| mount_one(kind, Path::new(place)).err()).collect();
    mount_debug(Path::new("/"));
    warnings.extend(give_controllers());
    hold_a_quota();
    warnings
}

fn mount_one(kind: &str, place: &Path) -> Result<(), String> {
    // This changes nothing if the folder already exists.
    let _ = std::fs::create_dir_all(place);
    mount(kind, place, kind, MountFlags::empty(), None)
        .map_err(|error| format!("the guest cannot mount {kind} on {}: {error}", place.display()))
}

/// Enables those controllers that this kernel has for groups below the root.
fn give_controllers() -> Option<String> {
    let mut warning = None;
    for controller in CONTROLLERS {
        let given = std::fs::write(CONTROL, format!("+{controller}"));
        if let (Err(error), "cpu") = (given, *controller) {
            warning = Some(format!("{CONTROL}: +{controller}: {error}"));
        }
    }
    warning
}

/// Enables the controller of block devices too, for a command that makes file systems. It has an
/// effect on every group that writes, so other commands run without it. A command that needs it
/// reports itself if the kernel lacks it.
pub(super) fn give_io() {
    let _ = std::fs::write(CONTROL, "+io");
}

/// Creates an empty group with a quota.
///
/// The kernel patches its own code when the first quota is set and when the last one is removed.
/// An emulated CPU may execute the breakpoint of that patching after it was removed; then the
/// kernel panics (`int3` in `pick_task_fair`, QEMU 7.2). So one quota exists from start to end.
fn hold_a_quota() {
    let group = Path::new("/sys/fs/cgroup/quota-held");
    // A kernel without quotas has nothing to patch.
    if std::fs::create_dir(group).is_ok() {
        let _ = std::fs::write(group.join("cpu.max"), "100000 100000");
    }
}
