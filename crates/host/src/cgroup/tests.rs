//! Tests with fake trees, and their helpers.

mod finding;
mod groups;
mod io;

use super::*;
use crate::roots::Roots;
use std::fs;
use std::path::{Path, PathBuf};

const V2: &str = "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
const V1_CPU: &str = "33 25 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
const V1_CPUACCT: &str = "34 25 0:31 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n";

const V1_FILES: &[(&str, &str)] = &[
    ("cpu.cfs_quota_us", "-1\n"),
    ("cpu.cfs_period_us", "100000\n"),
    ("cpu.cfs_burst_us", "0\n"),
    ("cpu.stat", "nr_periods 3\nnr_throttled 2\nthrottled_time 9\n"),
    ("cgroup.procs", ""),
];

const V2_FILES: &[(&str, &str)] = &[
    ("cpu.max", "max 100000\n"),
    ("cpu.max.burst", "0\n"),
    ("cpu.stat", "usage_usec 5\nnr_periods 3\nnr_throttled 2\nthrottled_usec 9\n"),
    ("cgroup.procs", ""),
];

/// A v2 group that enables the controllers in `passes` for its children, and holds the processes
/// in `procs`.
fn v2<'a>(passes: &'a str, procs: &'a str) -> [(&'static str, &'a str); 4] {
    [
        ("cgroup.controllers", "cpuset cpu memory\n"),
        ("cgroup.subtree_control", passes),
        ("cgroup.type", "domain\n"),
        ("cgroup.procs", procs),
    ]
}

struct Tree {
    roots: Roots,
    dir: tempfile::TempDir,
}

impl Tree {
    fn new(mounts: &str, own: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree { roots: Roots::at(dir.path()), dir };
        tree.group("/proc/self", &[("mountinfo", mounts), ("cgroup", own)]);
        fs::copy("/proc/self/stat", tree.path("/proc/self/stat")).unwrap();
        tree.group(&format!("/proc/{}", std::process::id()), &[]);
        let own_stat = tree.path(&format!("/proc/{}/stat", std::process::id()));
        fs::copy("/proc/self/stat", own_stat).unwrap();
        tree
    }

    fn path(&self, path: &str) -> PathBuf {
        self.roots.resolve(Path::new(path))
    }

    fn group(&self, dir: &str, files: &[(&str, &str)]) {
        fs::create_dir_all(self.path(dir)).unwrap();
        for (name, text) in files {
            fs::write(self.path(dir).join(name), text).unwrap();
        }
    }

    fn find(&self) -> Result<ParentGroup, CgroupError> {
        ParentGroup::find(&self.roots)
    }

    fn parent_group(&self) -> ParentGroup {
        self.find().unwrap()
    }

    fn refusal(&self) -> CgroupError {
        self.find().unwrap_err()
    }

    /// A path of the tree, as an error names it.
    fn shown(&self, path: &str) -> String {
        self.path(path).display().to_string()
    }
}

/// Adds the files to a new group that the kernel would make there.
fn populate(group: &BandwidthGroup, files: &[(&str, &str)]) {
    for dir in group.join_paths() {
        files.iter().for_each(|(name, text)| fs::write(dir.join(name), text).unwrap());
    }
}

/// Removes the files that the kernel would remove, so that the directory can be removed.
fn depopulate(group: &BandwidthGroup) {
    for dir in group.join_paths() {
        for entry in fs::read_dir(dir).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }
}

fn read(group: &BandwidthGroup, file: &str) -> String {
    fs::read_to_string(group.path().join(file)).unwrap()
}

const TEN_PERCENT: Bandwidth = Bandwidth { quota_us: 10_000, period_us: 100_000, burst_us: 5_000 };

fn split_v1() -> Tree {
    let own = "2:cpuacct:/b\n1:cpu:/a\n0::/\n";
    let tree = Tree::new(&format!("{V1_CPU}{V1_CPUACCT}"), own);
    tree.group("/sys/fs/cgroup/cpu/a", V1_FILES);
    tree.group("/sys/fs/cgroup/cpuacct/b", &[("cgroup.procs", "")]);
    tree
}
