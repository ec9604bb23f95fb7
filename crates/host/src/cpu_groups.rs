//! The groups of the cpu controller of all processes, with quotas and counters. They are only
//! read, never changed. Reading them takes no lock of a process.

use crate::cgroup::{Limit, Usage};
use crate::cgroup_tree::GroupTree;
use crate::hierarchy::{Hierarchy, Interface, depth_outside, group_in};
use crate::roots::{self, Roots};
use std::path::{Path, PathBuf};

/// The first cgroup namespace, in which every machine starts; the kernel fixes its inode
/// (`PROC_CGROUP_INIT_INO`).
const FIRST_GROUPS: &str = "cgroup:[4026531835]";

/// Longest name of a group, in bytes. The kernel allows 4,096, and users can make such groups.
const LONGEST_NAME: usize = 512;

/// Most groups above each other, the highest one included.
const MOST_LEVELS: usize = 32;

/// The weight of a group that uses only idle CPU time (`cpu.idle`).
pub const IDLE_WEIGHT: u64 = 3;

/// The hierarchy of the cpu controller.
#[derive(Debug, Clone)]
pub struct CpuGroups {
    hierarchy: Hierarchy,
    /// The hierarchy in which v1 counts CPU time.
    usage: Option<Hierarchy>,
    /// Whether the highest visible group is the top of a cgroup namespace; it then has limits
    /// like any group.
    namespaced: bool,
}

impl CpuGroups {
    /// Finds the hierarchy; None if none is mounted.
    pub fn find(roots: &Roots) -> Option<Self> {
        let tree = GroupTree::read(roots);
        let hierarchy = tree.hierarchy(roots, "cpu")?;
        let usage = match hierarchy.interface {
            Interface::V1 => tree.hierarchy(roots, "cpuacct"),
            Interface::V2 => None,
        };
        let own = std::fs::read_link(roots.proc.join("self/ns/cgroup"));
        let in_namespace = own.is_ok_and(|own| own.as_os_str() != FIRST_GROUPS);
        let namespaced = in_namespace && !hierarchy.is_of_machine();
        Some(CpuGroups { hierarchy, usage, namespaced })
    }

    /// Whether there are groups above the highest one that is visible here.
    pub fn hides_groups_above(&self) -> bool {
        self.namespaced || self.hierarchy.mounted() != Path::new("/")
    }

    /// Whether groups above this process's namespace are mounted, but its own group was not found
    /// among them, so that the names of groups do not fit.
    pub fn has_lost_itself(&self) -> bool {
        depth_outside(self.hierarchy.mounted()) > 0
    }

    /// Whether `/` may have a quota: it is the top of a container, not of the machine.
    pub fn top_is_bound(&self) -> bool {
        self.namespaced && self.hierarchy.mounted() == Path::new("/")
    }

    /// `v1` or `v2`.
    pub fn version(&self) -> &'static str {
        match self.hierarchy.interface {
            Interface::V1 => "v1",
            Interface::V2 => "v2",
        }
    }

    /// The group of a process, such as `/` or `/system.slice/ssh.service`. If its name is very
    /// long or its level very deep, the nearest group above it that is neither.
    pub fn of_process(&self, roots: &Roots, pid: u32) -> Option<String> {
        self.in_file(&roots.proc.join(format!("{pid}/cgroup")))
    }

    /// The group of a thread. The group of its process is that of the first thread. Other threads
    /// may be in groups of their own: libvirt makes one for each virtual CPU.
    pub fn of_thread(&self, roots: &Roots, pid: u32, tid: u32) -> Option<String> {
        self.in_file(&roots.proc.join(format!("{pid}/task/{tid}/cgroup")))
    }

    fn in_file(&self, file: &Path) -> Option<String> {
        let text = roots::read_text(file).ok()?;
        let group = group_in(&text, self.hierarchy.interface, "cpu")?;
        self.hierarchy.name(&group).map(bounded)
    }

    /// The groups whose quota applies to a group: the group itself first, up to the highest
    /// visible one. Only groups with the controller count, since these are the scheduler's
    /// levels.
    pub fn lineage(&self, group: &str) -> Vec<String> {
        let all = Path::new(group).ancestors().filter_map(Path::to_str);
        let all = all.take_while(|group| self.folder(group).is_some());
        all.filter(|group| *group == "/" || self.has_controller(group)).map(str::to_owned).collect()
    }

    fn has_controller(&self, group: &str) -> bool {
        let file = match self.hierarchy.interface {
            Interface::V1 => "cpu.cfs_quota_us",
            Interface::V2 => "cpu.max",
        };
        self.folder(group).is_some_and(|folder| folder.join(file).exists())
    }

    /// Whether the group exists.
    pub fn is_there(&self, group: &str) -> bool {
        self.folder(group).is_some_and(|folder| folder.is_dir())
    }

    /// Where the groups are mounted.
    pub fn point(&self) -> &Path {
        &self.hierarchy.point
    }

    /// The file that lists the CPUs of isolated partitions (cpuset). Newer kernels have it, in the
    /// top group of the machine. None with v1.
    pub fn isolated_cpus(&self) -> Option<PathBuf> {
        match self.hierarchy.interface {
            Interface::V1 => None,
            Interface::V2 => Some(self.hierarchy.point.join("cpuset.cpus.isolated")),
        }
    }

    /// The quota of a group; None without a quota, or if it cannot be read.
    pub fn limit(&self, group: &str) -> Option<Limit> {
        Limit::read(&self.folder(group)?, self.hierarchy.interface)
    }

    /// The weight of a group among its siblings: 1024 is `cpu.weight` 100 or `cpu.shares` 1024.
    /// None if it cannot be read.
    pub fn weight(&self, group: &str) -> Option<u64> {
        let folder = self.folder(group)?;
        let number = |file: &str| -> Option<u64> {
            roots::read_text(&folder.join(file)).ok()?.trim().parse().ok()
        };
        if number("cpu.idle") == Some(1) {
            return Some(IDLE_WEIGHT);
        }
        match self.hierarchy.interface {
            Interface::V1 => number("cpu.shares"),
            Interface::V2 => Some(number("cpu.weight")?.saturating_mul(1024) / 100),
        }
    }

    /// The counters of a group.
    pub fn usage(&self, group: &str) -> Usage {
        let Some(cpu) = self.folder(group) else { return Usage::default() };
        let counted = self.usage.as_ref().and_then(|usage| usage.folder(group));
        Usage::read(self.hierarchy.interface, &cpu, counted.as_deref())
    }

    /// All groups that have a quota.
    pub fn with_quota(&self) -> Vec<String> {
        let has_limit = |folder: &Path| Limit::read(folder, self.hierarchy.interface).is_some();
        self.hierarchy.walk(&has_limit)
    }

    fn folder(&self, group: &str) -> Option<PathBuf> {
        self.hierarchy.folder(group)
    }
}

/// The nearest group above this one, or itself, whose name and level are within the limits.
fn bounded(mut group: String) -> String {
    let ends = group.match_indices('/').skip(1).map(|(at, _)| at).chain([group.len()]);
    let most = ends.take(MOST_LEVELS - 1).take_while(|end| *end <= LONGEST_NAME).last();
    group.truncate(most.unwrap_or(1));
    group
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::{CGROUP2, Tree};

    #[test]
    fn a_very_long_or_deep_group_counts_for_one_above_it() {
        let of = |group: &str| bounded(group.to_owned());
        assert_eq!((of("/"), of("/a"), of("/a/b")), ("/".into(), "/a".into(), "/a/b".into()));
        let long = format!("/{}", "x".repeat(255));
        assert_eq!(of(&format!("{long}{long}")), format!("{long}{long}"));
        assert_eq!(of(&format!("{long}{long}/c")), format!("{long}{long}"));
        assert_eq!(of(&format!("/{}", "y".repeat(LONGEST_NAME))), "/");
        assert_eq!(of(&"/z".repeat(2_000)), "/z".repeat(MOST_LEVELS - 1));
    }

    const CGROUP1: [(&str, &str); 2] = [
        (
            "proc/self/mountinfo",
            "30 1 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
             31 1 0:31 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n",
        ),
        ("proc/self/cgroup", "3:cpu:/\n2:cpuacct:/\n0::/\n"),
    ];

    fn tree(kind: &str, files: &[(&str, &str)]) -> (Tree, Roots) {
        let own = if kind == "v1" { CGROUP1 } else { CGROUP2 };
        let tree = Tree::new(&[&own[..], files].concat());
        let roots = Roots::at(tree.root());
        (tree, roots)
    }

    #[test]
    fn groups_of_v2_are_found_with_their_quota_and_their_ancestors() {
        let (_dir, roots) = tree(
            "v2",
            &[
                ("sys/fs/cgroup/cgroup.procs", ""),
                ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
                ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
                ("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 7\nnr_throttled 2\n"),
                ("sys/fs/cgroup/a/b/c/cgroup.procs", ""),
                ("proc/7/cgroup", "0::/a/b/c\n"),
                ("proc/7/task/8/cgroup", "0::/a\n"),
            ],
        );
        let groups = CpuGroups::find(&roots).unwrap();
        assert_eq!(groups.version(), "v2");
        let own = groups.of_process(&roots, 7).unwrap();
        assert_eq!(groups.lineage(&own), ["/a/b", "/a", "/"]);
        let limit = Limit { quota_us: 50_000, period_us: 100_000 };
        assert_eq!((groups.limit("/a"), groups.limit("/a/b")), (Some(limit), None));
        assert_eq!(groups.with_quota(), ["/a"]);
        assert_eq!(groups.usage("/a/b").nr_throttled, Some(2));
        assert_eq!(groups.of_process(&roots, 8), None);
        assert_eq!(groups.of_thread(&roots, 7, 8).as_deref(), Some("/a"));
        assert_eq!(groups.of_thread(&roots, 7, 9), None);
        assert_eq!(groups.limit("/a/../../etc"), None);
    }

    #[test]
    fn a_container_sees_its_own_groups_and_none_above() {
        let namespaced = |roots: &Roots| {
            std::fs::create_dir_all(roots.proc.join("self/ns")).unwrap();
            let link = roots.proc.join("self/ns/cgroup");
            std::os::unix::fs::symlink("cgroup:[4026532200]", link).unwrap();
        };
        let files = [
            ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/a/cpu.max", "max 100000\n"),
        ];
        let (_dir, roots) = tree("v2", &files);
        let groups = CpuGroups::find(&roots).unwrap();
        assert!(!groups.top_is_bound() && !groups.hides_groups_above());
        namespaced(&roots);
        let groups = CpuGroups::find(&roots).unwrap();
        assert!(groups.top_is_bound() && groups.hides_groups_above());
        assert_eq!(groups.with_quota(), ["/"]);
        assert_eq!(groups.lineage("/a"), ["/a", "/"]);
        assert!(groups.lineage("/../other").is_empty());
        // The groups of a container, with the machine's paths.
        let (dir, roots) = tree("v2", &files);
        dir.put("proc/self/mountinfo", "30 1 0:30 /pod/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let groups = CpuGroups::find(&roots).unwrap();
        assert!(!groups.top_is_bound() && groups.hides_groups_above());
        assert_eq!(groups.lineage("/pod/x/a"), ["/pod/x/a", "/pod/x"]);
        assert!(!groups.has_lost_itself());
        // Groups above it are mounted, and none of them has this process.
        dir.put("proc/self/mountinfo", "30 1 0:30 /.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let groups = CpuGroups::find(&roots).unwrap();
        assert!(groups.has_lost_itself() && groups.hides_groups_above());
    }

    #[test]
    fn groups_of_v1_have_their_cpu_time_elsewhere() {
        let (_dir, roots) = tree(
            "v1",
            &[
                ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "10000\n"),
                ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/cpu/a/cpu.stat", "nr_periods 3\nthrottled_time 5\n"),
                ("sys/fs/cgroup/cpuacct/a/cpuacct.usage", "99\n"),
                ("proc/7/cgroup", "3:cpu:/a\n2:cpuacct:/b\n"),
            ],
        );
        let groups = CpuGroups::find(&roots).unwrap();
        assert_eq!((groups.version(), groups.with_quota()), ("v1", vec!["/a".to_owned()]));
        let usage = groups.usage("/a");
        assert_eq!((usage.usage_ns, usage.throttled_ns), (Some(99), Some(5)));
        assert_eq!(groups.of_process(&roots, 7).as_deref(), Some("/a"));
    }

    #[test]
    fn no_text_names_a_group_that_is_none() {
        for text in ["", "0", "0::", "0::a", "x:cpu", "1:cpu:relative", "\0"] {
            assert_eq!(group_in(text, Interface::V2, "cpu"), None, "{text:?}");
            assert_eq!(group_in(text, Interface::V1, "cpu"), None, "{text:?}");
        }
        assert_eq!(
            group_in("4:cpu,cpuacct:/x (deleted)\n", Interface::V1, "cpu").as_deref(),
            Some("/x")
        );
    }
}
