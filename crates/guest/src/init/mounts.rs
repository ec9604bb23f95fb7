//! The file systems of a guest.

use rustix::mount::{MountFlags, mount};
use std::path::Path;

/// What is mounted where: type, place.
pub(super) const MOUNTS: &[(&str, &str)] = &[
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("tmpfs", "/tmp"),
    ("tmpfs", "/run"),
    ("cgroup2", "/sys/fs/cgroup"),
];

/// What says in which way the kernel preempts, below the folder with sysfs: type, place.
const DEBUG: (&str, &str) = ("debugfs", "sys/kernel/debug");

/// Mounts it below this root, where the kernel has it; a run needs nothing of it.
pub(super) fn mount_debug(root: &Path) {
    let (kind, place) = DEBUG;
    let place = root.join(place);
    if place.is_dir() {
        let _ = mount(kind, &place, kind, MountFlags::RDONLY, None);
    }
}

/// The controllers that groups below the root get.
const CONTROLLERS: &[&str] = &["cpu", "cpuset", "memory", "pids"];

/// Mounts all of them; what could not be had, a sentence each.
pub(super) fn mount_all() -> Vec<String> {
    let mut warnings: Vec<String> =
        MOUNTS.iter().filter_map(|(kind, place)| mount_one(kind, Path::new(place)).err()).collect();
    mount_debug(Path::new("/"));
    warnings.extend(give_controllers());
    hold_a_quota();
    warnings
}

fn mount_one(kind: &str, place: &Path) -> Result<(), String> {
    // Where the folder exists already this changes nothing.
    let _ = std::fs::create_dir_all(place);
    mount(kind, place, kind, MountFlags::empty(), None)
        .map_err(|error| format!("the guest cannot mount {kind} on {}: {error}", place.display()))
}

/// Lets groups below the root have the controllers that this kernel has.
fn give_controllers() -> Option<String> {
    let control = Path::new("/sys/fs/cgroup/cgroup.subtree_control");
    let mut warning = None;
    for controller in CONTROLLERS {
        let given = std::fs::write(control, format!("+{controller}"));
        if let (Err(error), "cpu") = (given, *controller) {
            warning = Some(format!("{}: +{controller}: {error}", control.display()));
        }
    }
    warning
}

/// Makes a group with a quota, and leaves it empty.
///
/// The kernel patches its own code when the first quota comes and when the last one goes. An
/// emulated CPU may run the breakpoint of that patching after it is gone, and the kernel gives up
/// (`int3` in `pick_task_fair`, QEMU 7.2). So there is one quota from the start to the end.
fn hold_a_quota() {
    let group = Path::new("/sys/fs/cgroup/quota-held");
    // A kernel without quotas has nothing to patch.
    if std::fs::create_dir(group).is_ok() {
        let _ = std::fs::write(group.join("cpu.max"), "100000 100000");
    }
}
