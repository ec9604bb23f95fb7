//! Limits that a scenario has to check before it starts.

use crate::cgroup_facts;
use crate::roots::Roots;
use crate::text;
use rustix::process::{Resource, getpriority_process, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

/// The target of `/proc/self/ns/user` in the first user namespace; the kernel fixes its number.
const FIRST_USER_NAMESPACE: &str = "user:[4026531837]";

/// Memory that is available without swapping, in bytes: the machine's available memory, or the
/// rest of the memory limit of this process's control groups, whichever is smaller.
pub fn memory_available(roots: &Roots) -> Option<u64> {
    let machine = os::memory::available(&roots.proc);
    machine.into_iter().chain(cgroup_facts::memory_headroom(roots)).min()
}

/// Most mappings that a process may have (`vm.max_map_count`).
pub fn max_map_count(roots: &Roots) -> Option<u64> {
    text::number_in(&roots.proc.join("sys/vm/max_map_count"))
}

/// The number that process ids stay below (`kernel.pid_max`).
pub fn pid_max(roots: &Roots) -> Option<u64> {
    text::number_in(&roots.proc.join("sys/kernel/pid_max"))
}

/// Whether this process may set its niceness to `nice`, which is clamped to -20..=19.
///
/// Raising the niceness is always allowed. Lowering it needs `RLIMIT_NICE` or CAP_SYS_NICE, the
/// latter in the first user namespace.
pub fn can_renice_to(nice: i32) -> bool {
    let current = getpriority_process(None).unwrap_or(0);
    // The kernel checks the capability in the first namespace, not in the namespace of this
    // process.
    let first = std::fs::read_link("/proc/self/ns/user")
        .is_ok_and(|link| link.as_os_str() == FIRST_USER_NAMESPACE);
    let capable =
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_NICE));
    may_renice(nice, current, getrlimit(Resource::Nice).current, first && capable)
}

/// `limit` is `RLIMIT_NICE`: 20 minus the lowest allowed niceness; None means no limit.
fn may_renice(nice: i32, current: i32, limit: Option<u64>, capable: bool) -> bool {
    let nice = nice.clamp(-20, 19);
    let needed = u64::try_from(20 - nice).unwrap_or(u64::MAX);
    nice >= current || capable || limit.is_none_or(|limit| limit >= needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::Tree;

    fn tree(files: &[(&str, &str)]) -> (Tree, Roots) {
        let tree = Tree::new(files);
        let roots = Roots::at(tree.root());
        (tree, roots)
    }

    #[test]
    fn memory_is_bounded_by_machine_and_group() {
        let meminfo = ("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:       8 kB\n");
        let (_dir, roots) = tree(&[meminfo]);
        assert_eq!(memory_available(&roots), Some(8192));
        let mounts = "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let group = [
            ("proc/self/mountinfo", mounts),
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/memory.max", "5000"),
        ];
        let (_dir, roots) = tree(&[&group[..], &[meminfo]].concat());
        assert_eq!(memory_available(&roots), Some(5000));
        let (_dir, roots) = tree(&group);
        assert_eq!(memory_available(&roots), Some(5000));
        assert_eq!(memory_available(&tree(&[]).1), None);
    }

    #[test]
    fn numbers_of_the_kernel() {
        let (_dir, roots) = tree(&[
            ("proc/sys/vm/max_map_count", "65530\n"),
            ("proc/sys/kernel/pid_max", "99999999999999999999\n"),
        ]);
        assert_eq!(max_map_count(&roots), Some(65530));
        assert_eq!(pid_max(&roots), None);
    }

    #[test]
    fn niceness_rises_freely_and_sinks_by_leave() {
        assert!(may_renice(15, 0, Some(0), false));
        assert!(may_renice(0, 0, Some(0), false));
        assert!(!may_renice(-5, 0, Some(24), false));
        assert!(may_renice(-5, 0, Some(25), false));
        assert!(may_renice(-5, 0, None, false));
        assert!(may_renice(-5, 0, Some(0), true));
        assert!(may_renice(i32::MAX, 19, Some(0), false));
        assert!(!may_renice(i32::MIN, 0, Some(39), false));
        assert!(can_renice_to(19));
    }
}
